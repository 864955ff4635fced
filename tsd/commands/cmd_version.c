/* 'halite version'; as 'tsdb' the two lines that its callers expect. */
#include "tsd/commands/commands.h"

#include <stdio.h>

#include "tsd/api/api.h"

int
cmd_version(int argc, char **argv, bool as_tsdb)
{
    if (as_tsdb)
        (void)fputs(api_version_text, stdout);
    else
        (void)printf("halite %s\n", PACKAGE_VERSION);
    return 0;
}
