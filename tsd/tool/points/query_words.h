/* Queries as words of a command line, for 'query', 'scan' and 'fsck', in
 * OpenTSDB's grammar:
 *
 *     START [END] [+OPTION...] QUERY...
 *     QUERY: FUNC [rate [counter[,MAX[,RESET]]]] [downsample MS FUNC]
 *            METRIC [TAGK=FILTER...] ["options of a line"]
 *
 * END is looked for where there are four words at least: it has a ':', a '/' or
 * a '-' in it, or is a positive number.  Options tell how a graph is to look.
 *
 * Owns:    all lies in the arena, but for what query_fini() releases.
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_INVALID with OpenTSDB's texts; ST_LIMIT past the arena. */
#pragma once

#include "query/parse/parse.h"

struct query_words {
    struct query query;         /* with subs */
    bool has_end;               /* else it is now */
    const char *const *options; /* "+name=value", of all words */
    size_t options_len;
    const char *
        *lines; /* for each sub-query the options of its line, or NULL */
};

/* On failure too '*out' wants its query_fini(). */
MUST_CHECK enum status
query_words_parse(const char *const *words, size_t len, int64_t now_ms,
                  const struct timezone *zone, struct arena *a,
                  struct query_words *out, struct error *e);
