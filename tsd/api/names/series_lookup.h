/* Which series have a metric, tags, or both: what /api/search/lookup and
 * 'search lookup' ask.
 *
 *     series_lookup_tag() ... -> series_lookup_resolve() ->
 * series_lookup_walk()
 *
 * Owns:    nothing; texts are lent.
 * Threads: owner.
 * Fails:   ST_INVALID; ST_NOT_FOUND "No such name for 'tagk': 'x'". */
#pragma once

#include "tsd/api/api.h"

/* A tag asked for; a NULL text and "*" stand for anything. */
struct lookup_pair {
    struct slice key, value;
    uint64_t key_id, value_id; /* set by series_lookup_resolve() */
};

struct series_lookup {
    const struct api *a;
    struct arena *arena;
    struct slice metric; /* empty or "*": any */
    struct lookup_pair *pairs;
    size_t len;
    /* Of each series, ascending; false: stop. */
    bool (*found)(void *ctx, struct slice tsuid);
    void *ctx;
    struct cancel cancel;
    /* Set by series_lookup_resolve(): */
    uint64_t metric_id, seen;
    struct lookup_key *keys;
    size_t keys_len;
};

/* The pairs of one tag key (0: of those without a key), by their values. */
struct lookup_key {
    uint64_t id;
    bool any;         /* one of them asks for any value */
    uint64_t *values; /* ascending, without 0 */
    size_t values_len;
};

/* "k=v", "k=" or "=v". */
MUST_CHECK enum status
series_lookup_tag(struct slice text, struct lookup_pair *out, struct error *e);
MUST_CHECK enum status series_lookup_resolve(struct series_lookup *l,
                                             struct error *e);
/* Pairs of one key are alternatives, and so are those without a key; the keys
 * must all be satisfied. */
MUST_CHECK enum status series_lookup_walk(struct series_lookup *l,
                                          struct error *e);
