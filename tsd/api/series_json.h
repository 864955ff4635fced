/* Series in replies: their names as JSON, lists of TSUIDs, and whether a series
 * has given tags.
 *
 * Threads: any. */
#pragma once

#include "tsd/api/api.h"

/* TSUIDs in an arena. */
struct tsuid_list {
    struct arena *arena;
    struct slice *tsuids;
    size_t len, cap;
    bool no_memory;
};

/* Copies it.  False, with 'no_memory', when the arena is full. */
bool tsuid_list_add(struct tsuid_list *l, struct slice tsuid);

/* Tags as ids, ascending by key. */
struct series_tags {
    uint64_t keys[KEY_MAX_TAGS], values[KEY_MAX_TAGS];
    size_t len;
};

/* ST_INVALID: too many; ST_NOT_FOUND: a name without an id.  If 'unknown' is
 * not NULL and tsd.query.skip_unresolved_tagvs is on, a value without an id is
 * no failure: it sets '*unknown', and no series has these tags. */
MUST_CHECK enum status series_tags_find(const struct api *a,
                                        const struct tag *tags, size_t len,
                                        struct series_tags *out, bool *unknown,
                                        struct error *e);
/* Has the series all of these tags? */
bool series_has_tags(const struct api *a, struct slice tsuid,
                     const struct series_tags *tags);

/* "metric" and {"key":"value",..}.  ST_NOT_FOUND: an id without a name. */
MUST_CHECK enum status series_put_metric(const struct api *a, struct buf *b,
                                         struct slice tsuid, struct error *e);
MUST_CHECK enum status series_put_tags(const struct api *a, struct buf *b,
                                       struct slice tsuid, struct error *e);
/* {"tsuid":..,"metric":..,"tags":{..}} */
MUST_CHECK enum status series_put(const struct api *a, struct buf *b,
                                  struct slice tsuid, struct error *e);
