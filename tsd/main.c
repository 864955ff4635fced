/* The program: 'halite COMMAND', or OpenTSDB's 'tsdb COMMAND' when called by
 * that name. */
#include <stdio.h>
#include <string.h>

#include "tsd/commands/commands.h"

struct command {
    const char *name;
    bool tsdb; /* OpenTSDB has it, too */
    int (*run)(int argc, char **argv, bool as_tsdb);
    const char *text;
};

static const struct command commands[] = {
    { "tsd", true, cmd_tsd, "run the daemon" },
    { "backup", false, cmd_backup, "copy a data folder that is in use" },
    { "restore", false, cmd_restore, "make a data folder from a backup" },
    { "fsck", true, cmd_fsck, "check what is stored, and repair it" },
    { "secret", false, cmd_secret, "make a line for halite.auth.file" },
    { "version", true, cmd_version, "print the version" },
};
#define COMMANDS_LEN (sizeof commands / sizeof commands[0])

static const struct command *
find_command(const char *name, bool as_tsdb)
{
    for (size_t i = 0; i < COMMANDS_LEN; i++)
        if (strcmp(commands[i].name, name) == 0 &&
            (commands[i].tsdb || !as_tsdb))
            return &commands[i];
    return NULL;
}

static void
print_usage(FILE *out, const char *self, bool as_tsdb)
{
    (void)fprintf(out, "usage: %s COMMAND [ARGUMENT]...\n\n", self);
    for (size_t i = 0; i < COMMANDS_LEN; i++)
        if (commands[i].tsdb || !as_tsdb)
            (void)fprintf(out, "  %-10s %s\n", commands[i].name,
                          commands[i].text);
    (void)fprintf(out,
                  "\n'%s COMMAND --help' explains a command; '%s tsd "
                  "--help-settings' lists all settings.\n",
                  self, self);
}

int
main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *self = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : "";
    bool as_tsdb = strcmp(self, "tsdb") == 0;
    const struct command *c;

    if (argc < 2) {
        print_usage(stderr, self, as_tsdb);
        return 2;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0) {
        print_usage(stdout, self, as_tsdb);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0)
        return cmd_version(argc - 1, argv + 1, as_tsdb);
    c = find_command(argv[1], as_tsdb);
    if (c == NULL) {
        (void)fprintf(stderr, "%s: there is no command '%s'\n", self, argv[1]);
        print_usage(stderr, self, as_tsdb);
        return 2;
    }
    return c->run(argc - 1, argv + 1, as_tsdb);
}
