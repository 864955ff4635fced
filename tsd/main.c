/* The program: 'halite COMMAND'. */
#include "config.h"

#include <stdio.h>
#include <string.h>

int
main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "version") == 0) {
        (void)printf("halite %s\n", PACKAGE_VERSION);
        return 0;
    }
    (void)fprintf(stderr, "usage: halite version\n");
    return 2;
}
