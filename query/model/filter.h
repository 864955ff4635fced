/* Filters on tag values: the seven types of OpenTSDB and not_key.
 *
 * Owns:    memory is its query's arena; regular expressions are released by
 *          filter_fini().
 * Threads: frozen; filter_matches(): any. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"
#include "query/model/regexp.h"

/* enum, name in requests */
#define FILTER_LIST(X)                           \
    X(FILTER_LITERAL_OR, "literal_or")           \
    X(FILTER_ILITERAL_OR, "iliteral_or")         \
    X(FILTER_NOT_LITERAL_OR, "not_literal_or")   \
    X(FILTER_NOT_ILITERAL_OR, "not_iliteral_or") \
    X(FILTER_WILDCARD, "wildcard")               \
    X(FILTER_IWILDCARD, "iwildcard")             \
    X(FILTER_REGEXP, "regexp")                   \
    X(FILTER_NOT_KEY, "not_key")

enum filter_type {
#define X(e, name) e,
    FILTER_LIST(X)
#undef X
};

struct filter {
    enum filter_type type;
    struct slice tagk; /* name */
    struct slice text; /* as the client wrote it, without "type(...)" */
    bool group_by;
    bool ignore_case; /* then 'parts' are in lower case */
    /* Of the literal types: the literals, sorted, each once.  Of wildcards: the
     * texts between the stars, the first and the last of which are anchored:
     * "web*" has "web" and "". */
    struct slice *parts;
    size_t parts_len;
    bool matches_all;      /* a wildcard of stars only */
    struct regexp *regexp; /* for FILTER_REGEXP */
};

/* All texts between separators, empty ones too, as OpenTSDB's own split. */
MUST_CHECK enum status text_split(struct slice text, char separator,
                                  struct arena *a, struct slice **parts,
                                  size_t *len, struct error *e);

/* A filter as a client writes it; 'type' is the name of a type, in lower case.
 */
struct filter_texts {
    struct slice type, tagk, text;
    bool group_by;
};

/* Makes the filter that the texts describe.  Errors have OpenTSDB's texts. */
MUST_CHECK enum status filter_make(const struct filter_texts *t,
                                   struct arena *a, struct filter *out,
                                   struct error *e);

/* Flags for filter_from_tag(). */
enum filter_flags {
    FILTER_GROUPS = 1, /* series are grouped by the filter's tag */
    /* Names may contain parentheses (tsd.core.tag.allow_specialchars), so
     * "x(y)" is a value unless x is a filter type.  Without this flag it is an
     * error.
     */
    FILTER_PARENS = 2,
};

/* The old form of tags and of m=metric{k=v}: "*" and "web*" are wildcards that
 * ignore case, "a|b" is literal_or, "type(expr)" names the type in any case. */
MUST_CHECK enum status filter_from_tag(struct arena *a, struct slice tagk,
                                       struct slice value, unsigned flags,
                                       struct filter *out, struct error *e);
void filter_fini(struct filter *f);

/* Appends all that filter_matches() depends on, and the tagk: two filters with
 * the same key take the same series.  What they group by does not count. */
void filter_cache_key(const struct filter *f, struct buf *out);
bool filter_equal(const struct filter *a, const struct filter *b);
/* The same for equal ones. */
uint64_t filter_hash(const struct filter *f, uint64_t seed);

/* Does the filter take a series whose tagk has this value? (not_key: never.) A
 * regular expression that exceeds its match limits is ST_INVALID in '*e' (which
 * may be NULL) and false. */
bool filter_matches(const struct filter *f, struct slice tagv, struct error *e);

const char *filter_type_name(enum filter_type type);
