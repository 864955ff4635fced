/* The program: 'halite COMMAND', or OpenTSDB's 'tsdb COMMAND' when called by
 * that name. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tsd/commands/commands.h"

struct command {
    const char *name;
    bool tsdb; /* OpenTSDB has it, too */
    int (*run)(int argc, char **argv, bool as_tsdb);
    const char *text;
};

/* OpenTSDB's in its order. */
static const struct command commands[] = {
    { "fsck", true, cmd_fsck, "check what is stored, and repair it" },
    { "import", true, cmd_tool, "store the points of files" },
    { "mkmetric", true, cmd_tool, "give metrics ids" },
    { "purge", false, cmd_tool, "forget series and names without points" },
    { "query", true, cmd_tool, "print the points of queries" },
    { "tsd", true, cmd_tsd, "run the daemon" },
    { "scan", true, cmd_tool, "print what is stored" },
    { "search", true, cmd_tool, "list series by metric and tags" },
    { "uid", true, cmd_tool, "look names and ids up, change them" },
    { "version", true, cmd_version, "print the version" },
    { "demo", false, cmd_demo, "feed this machine's load, to have a look" },
    { "backup", false, cmd_backup, "copy a data folder that is in use" },
    { "members", false, cmd_members, "tell which daemons share a pool" },
    { "restore", false, cmd_restore, "make a data folder from a backup" },
    { "copy", false, cmd_copy, "make a store of another one, elsewhere" },
    { "secret", false, cmd_secret, "make a line for halite.auth.file" },
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
                  "\n'%s help COMMAND' explains a command; '%s tsd "
                  "--help-settings' lists all settings.\n",
                  self, self);
}

static int
reject(const char *self, const char *name, bool as_tsdb)
{
    const char *between = "";

    if (as_tsdb) { /* OpenTSDB's words for it, and its exit status */
        (void)fprintf(stderr,
                      "tsdb: error: unknown command '%s'\n"
                      "usage: tsdb <command> [args]\n",
                      name);
        (void)printf("Valid commands: ");
        for (size_t i = 0; i < COMMANDS_LEN; i++)
            if (commands[i].tsdb) {
                (void)printf("%s%s", between, commands[i].name);
                between = ", ";
            }
        (void)printf("\n");
        return 1;
    }
    if (*name != '\0')
        (void)fprintf(stderr, "%s: there is no command '%s'\n", self, name);
    print_usage(stderr, self, as_tsdb);
    return 2;
}

/* 'help' and 'help COMMAND', which is 'COMMAND --help'. */
static int
help(const char *self, const char *name, bool as_tsdb)
{
    const struct command *c = find_command(name, as_tsdb);
    char word[32], flag[] = "--help";
    char *argv[] = { word, flag, NULL };

    if (*name == '\0') {
        print_usage(stdout, self, as_tsdb);
        return 0;
    }
    if (c == NULL)
        return reject(self, name, as_tsdb);
    (void)snprintf(word, sizeof word, "%s", name);
    return c->run(2, argv, as_tsdb);
}

/* A file of ours that got the number of a closed stream would take what is
 * printed.  To write to a closed stdout fails, and so does to read a closed
 * stdin; what goes to a closed stderr is lost. */
static bool
open_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int flags = fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY;

        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags) != fd)
            return false;
    }
    return true;
}

static int
run(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *self = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : "";
    bool as_tsdb = strcmp(self, "tsdb") == 0;
    const struct command *c;

    if (argc < 2)
        return reject(self, "", as_tsdb);
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0)
        return help(self, argc > 2 ? argv[2] : "", as_tsdb);
    if (strcmp(argv[1], "--version") == 0)
        return cmd_version(argc - 1, argv + 1, as_tsdb);
    c = find_command(argv[1], as_tsdb);
    if (c == NULL)
        return reject(self, argv[1], as_tsdb);
    return c->run(argc - 1, argv + 1, as_tsdb);
}

/* A write past a limit of file sizes (LimitFSIZE=) fails like one on a full
 * disk, and the signals of log rotation end nothing. */
static void
ignore_signals(void)
{
    static const int ignored[] = { SIGXFSZ, SIGUSR1, SIGUSR2 };

    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        (void)signal(ignored[i], SIG_IGN);
}

/* A command whose output is not complete has failed. */
int
main(int argc, char **argv)
{
    int rc;

    if (!open_streams()) {
        (void)fputs("halite: cannot open /dev/null\n", stderr);
        return 1;
    }
    ignore_signals();
    rc = run(argc, argv);
    errno = 0; /* that of a write before is not known any more */
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return rc;
    if (errno != EPIPE) /* who does not read on knows */
        (void)fprintf(stderr, "halite: standard output: %s\n",
                      errno == 0 ? "not all was written" : strerror(errno));
    return rc == 0 ? 1 : rc;
}
