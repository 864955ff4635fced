/* 'halite version'. */
#include "tsd/commands/commands.h"

#include <stdio.h>

int
cmd_version(int argc, char **argv, bool as_tsdb)
{
    (void)printf("halite %s\n", PACKAGE_VERSION);
    return 0;
}
