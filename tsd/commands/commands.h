/* The commands of the program, one file each: cmd_*.c of this room, and
 * tsd/cmd_tsd.c beside the daemon that it runs.  argv[0] is the
 * command's own word; the result is the process' exit status: 0 done, 1 failed,
 * 2 usage error.
 *
 * Threads: the first of the process. */
#pragma once

#include <stdbool.h>

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
