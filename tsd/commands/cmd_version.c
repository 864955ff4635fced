/* 'halite version'; as 'tsdb' the two lines that its callers expect. */
#include "tsd/commands/commands.h"

#include <stdio.h>
#include <string.h>

#include "tsd/api/api.h"

static const struct command_help version_help = {
    .usage =
        "version\n\n"
        "Prints the version of the program; as 'tsdb' in OpenTSDB's form.\n",
};

int
cmd_version(int argc, char **argv, bool as_tsdb)
{
    struct tool_args a;

    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return command_read(&version_help, argc, argv, &a);
    if (as_tsdb)
        (void)fputs(api_version_text, stdout);
    else
        (void)printf("halite %s\n", PACKAGE_VERSION);
    return 0;
}
