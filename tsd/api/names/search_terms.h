/* What /api/search is asked, in the plainest of Lucene's words:
 *
 *     cpu  metric:sys.*  host:"web 01"  -notes:test  NOT old  *
 *
 * Terms are parted by blanks and must all hold; a '-' or NOT turns one around.
 * A term without a field may be found in any.  '*' and '?' stand for any and
 * for one character, letters' case (of ASCII) counts for nothing; the pattern
 * must fit a whole value or a whole word of it.
 *
 * A document shows its fields one by one:
 *
 *     search_begin -> search_field ... -> search_is_hit
 *
 * Owns:    nothing; terms lend from the text that was parsed.
 * Threads: one at a time. */
#pragma once

#include "base/error.h"
#include "base/slice.h"

#define SEARCH_TERMS_MAX 64
/* Bytes of a pattern: what is searched may be long, too. */
#define SEARCH_PATTERN_MAX 1024

struct search_term {
    struct slice field; /* empty: any */
    struct slice pattern;
    bool negated;
    bool found; /* in the document under way */
};

struct search_terms {
    struct search_term terms[SEARCH_TERMS_MAX];
    size_t len;
};

/* ST_INVALID on OR, brackets, a quote without an end, a field without a value,
 * too many terms, a long one, and none. */
MUST_CHECK enum status search_parse(struct slice text, struct search_terms *out,
                                    struct error *e);

void search_begin(struct search_terms *s);
/* A field "custom.owner" is meant by "custom.owner", "custom" and "owner".
 * Empty values are no values. */
void search_field(struct search_terms *s, struct slice name,
                  struct slice value);
bool search_is_hit(const struct search_terms *s);
