/* The words of a command line in OpenTSDB's grammar: '--name VALUE' or
 * '--name=VALUE' anywhere among them, '--' ends the options, '-' is a word, no
 * abbreviations, no bundles.  Of an option given twice the last one counts.
 *
 * Owns:    'words'; the texts themselves are the caller's argv.
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_INVALID "Unrecognized option --x", "Missing argument for --x". */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct tool_option {
    const char *name; /* with its dashes; NULL ends a table */
    const char *meta; /* what stands for its value; NULL: it takes none */
    const char *text;
};

#define TOOL_OPTIONS_MAX 32

struct tool_args {
    const struct tool_option *tables[2]; /* a command's own, the common ones */
    const char *values[2][TOOL_OPTIONS_MAX]; /* NULL: was not given */
    const char **words;                      /* the others */
    size_t len;
};

/* 'argv' is without the command's own word; tables may be NULL. */
MUST_CHECK enum status tool_args_parse(struct tool_args *a,
                                       const struct tool_option *own,
                                       const struct tool_option *common,
                                       size_t argc, const char *const *argv,
                                       struct error *e);
void tool_args_fini(struct tool_args *a);

/* The option's value, "" of a flag that was given; NULL: it was not.  'name'
 * must be in one of the tables. */
const char *tool_args_get(const struct tool_args *a, const char *name);

/* "  --name=META text" lines, sorted by name. */
void tool_args_describe(const struct tool_option *own,
                        const struct tool_option *common, struct buf *out);
