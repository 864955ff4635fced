/* The commands of the program, one file each: cmd_*.c of this room, and
 * tsd/cmd_tsd.c beside the daemon that it runs.  argv[0] is the
 * command's own word; the result is the process' exit status: 0 done, 1 failed,
 * 2 usage error.
 *
 * Threads: the first of the process. */
#pragma once

#include <stdbool.h>

#include "tsd/tool/tool_args.h"

int cmd_backup(int argc, char **argv, bool as_tsdb);
int cmd_copy(int argc, char **argv, bool as_tsdb);
int cmd_demo(int argc, char **argv, bool as_tsdb);
int cmd_fsck(int argc, char **argv, bool as_tsdb);
int cmd_members(int argc, char **argv, bool as_tsdb);
int cmd_restore(int argc, char **argv, bool as_tsdb);
int cmd_secret(int argc, char **argv, bool as_tsdb);
int cmd_tsd(int argc, char **argv, bool as_tsdb);
int cmd_tool(int argc, char **argv, bool as_tsdb);
int cmd_version(int argc, char **argv, bool as_tsdb);

/* The arguments of a command of this room, from which its help is printed. */
struct command_help {
    const char *usage; /* before the options: the words, what it does */
    const struct tool_option *options; /* without --help, --store and --data */
    const char *end;                   /* after the options; may be NULL */
    size_t words;                      /* how many it wants */
    /* Which of them, counted from 1, --store, --data and perhaps --server
     * replace; 0: it has no such options. */
    size_t place;
    bool at_server; /* it has --server; the place is then NULL */
};

/* Reads the arguments into '*a', which lends the texts of 'argv'. Returns -1 if
 * the command shall run; it calls tool_args_fini() afterwards. Otherwise prints
 * the help or what is wrong, and returns the exit status. */
int command_read(const struct command_help *h, int argc, char **argv,
                 struct tool_args *a);
/* Prints the error as the command's own; returns 1. */
int command_fail(const char *command, const char *why);
