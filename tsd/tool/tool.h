/* A tool is a command that works on the database: 'uid', 'query', 'scan' ...
 * It does not know whether this process opened the store or a server runs it
 * for a client: what it prints goes to sinks, and whoever made the struct
 * delivers it.
 *
 *     command line -> args -> struct tool -> run() -> sinks, exit status
 *
 * Output is text of lines; 'out' collects, and reaches its sink in chunks of
 * TOOL_CHUNK bytes, before anything goes to 'err', and at the end.
 *
 * Owns:    its buffer; all else is lent.
 * Threads: owner.
 * Fails:   a sink that takes no more cancels the tool: writing is a no-op from
 *          then on, and long work ends soon after (tool_is_cancelled). */
#pragma once

#include <stdarg.h>

#include "tsd/api/api.h"
#include "tsd/tool/tool_args.h"

/* Exit statuses. */
#define TOOL_FAILED 1
#define TOOL_USAGE  2

#define TOOL_CHUNK ((size_t)64 << 10) /* bytes */

struct tool_command;

/* False: the reader is gone. */
struct tool_sink {
    bool (*write)(void *ctx, struct slice bytes);
    void *ctx;
    /* Waits until the reader has all that was written; NULL: it has. */
    bool (*drain)(void *ctx);
};

struct tool {
    const struct tool_command *command;
    const struct tool_args *args;
    const struct settings *settings;
    const struct api *api;       /* NULL: without a store, or at a server */
    bool at_server;              /* others use 'api' too */
    struct client *remote;       /* where 'api' is NULL; NULL: no server */
    const struct timezone *zone; /* of absolute dates in words */
    struct arena *arena;         /* of this run */
    bool as_tsdb;                /* called by OpenTSDB's name */
    struct tool_sink out, err;
    struct cancel cancel; /* the reader's, for who prints nothing */
    struct buf text;      /* of 'out', not written yet */
    bool cancelled;
};

enum tool_flag {
    TOOL_AT_CLIENT = 1, /* runs there though the store is a server's */
    TOOL_READS = 2,     /* prints data; changes nothing without --delete */
};

/* One line of the table in run/tool_commands.c; tools are one file each. */
struct tool_command {
    const char *name;
    unsigned flags;
    /* Makes a store where there is none: "" always, or where this is its first
     * word; NULL: never. */
    const char *creates;
    const char *usage; /* behind "Usage: ", lines and their ends */
    const struct tool_option *options; /* beside the common ones; may be NULL */
    /* Before a store is opened: 0, or the exit status, and why was said. */
    int (*check)(struct tool *t);
    int (*run)(struct tool *t); /* the exit status */
};

/* Options of all commands. */
extern const struct tool_option tool_common_options[];

/* A command's check() or run(). */
typedef int tool_fn(struct tool *t);

tool_fn tool_fsck, tool_fsck_check;
tool_fn tool_import, tool_import_check;
tool_fn tool_mkmetric, tool_mkmetric_check;
tool_fn tool_purge;
tool_fn tool_query, tool_query_check;
tool_fn tool_scan, tool_scan_check;
tool_fn tool_search, tool_search_check;
tool_fn tool_uid, tool_uid_check;
tool_fn tool_uid_fsck; /* 'uid fsck [fix] [delete_unknown]' */

/* command->check(), if there is one. */
int tool_check(struct tool *t);
/* Runs the command and writes what is left in 'text': the exit status. */
int tool_run(struct tool *t);

/* -- what tools call ------------------------------------------------------- */

void tool_printf(struct tool *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
void tool_write(struct tool *t, struct slice bytes);
/* Writes 'text' to the sink now, and waits until the reader has it; else the
 * tool is cancelled. */
void tool_drain(struct tool *t);
bool tool_is_cancelled(const struct tool *t);
struct cancel tool_cancel(const struct tool *t);

/* A line to 'err', behind what was printed so far. */
void tool_say(struct tool *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same; returns TOOL_FAILED. */
int tool_fail(struct tool *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A line, the usage and the options to 'err'; returns TOOL_USAGE. */
int tool_usage(struct tool *t, const char *why);

/* The words that are no options. */
size_t tool_words(const struct tool *t);
struct slice tool_word(const struct tool *t, size_t i);
/* As tool_args_get(). */
const char *tool_option(const struct tool *t, const char *name);
/* --verbose or -v. */
bool tool_is_verbose(const struct tool *t);

/* "Usage: ..." with its options. */
void tool_describe(const struct tool_command *c, struct buf *out);
