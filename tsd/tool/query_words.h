/* The query language of OpenTSDB's command line, for 'query' and 'scan':
 *
 *     START [END] [+OPTION]... QUERY...
 *     QUERY: FUNC [rate [counter[,MAX[,RESET]]]] [downsample MS FUNC] METRIC
 *            [TAGK=FILTER]... ["line options"]
 *
 * The second word is END where there are four words or more, and it has ':',
 * '/' or '-' in it or is a positive number.
 *
 * Owns:    query_words_fini() releases what the arena does not.
 * Threads: any; a function of its arguments.
 * Fails:   ST_INVALID with OpenTSDB's text, where it has one; ST_LIMIT past the
 *          arena. */
#pragma once

#include "query/parse/parse.h"

struct query_words {
    struct query *queries; /* one for each QUERY, with one sub-query */
    size_t len;
};

/* The words must outlive '*out', which wants its fini() on failure too. */
MUST_CHECK enum status query_words_parse(const char *const *words, size_t len,
                                         const struct parse_options *o,
                                         struct arena *a,
                                         struct query_words *out,
                                         struct error *e);
void query_words_fini(struct query_words *q);
