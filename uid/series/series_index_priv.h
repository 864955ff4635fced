/*
 * An index in memory over the series of metrics that are asked for: which
 * series have a given value under a tagk, and which values there are.
 *
 * A metric's list is made from the directory once scans without it have looked
 * at a fourth of the keys that it takes to make it.  One caller makes it,
 * others scan meanwhile.  Series that come later are kept beside it, up to some
 * hundreds; then it is dropped.
 *
 * Bounds:  96 MB in all, tables of tags included; lists that were not used for
 *          a while make room.  A metric whose keys exceed 48 MB has no list.
 * Threads: any.  A list that was taken is frozen but for its own lock's part.
 */
#pragma once

#include "base/arena.h"
#include "storage/row/key.h"

struct series_index; /* opaque */
struct index_list;   /* opaque */

/* Keys of series that came after their list was made, ascending; the list may
 * have some of them, too. */
struct index_more {
    size_t len, size; /* keys, and their bytes, which lie behind 'keys' */
    struct slice keys[];
};

struct series_index *series_index_new(const struct key_layout *widths);
void series_index_free(struct series_index **x);

/* The metric's list while it has 'count' series with those that came later
 * ('*more', or NULL), to be dropped; or NULL.  With '*make' the caller makes
 * one and ends with series_index_made(). */
struct index_list *series_index_take(struct series_index *x, uint64_t metric,
                                     uint64_t count, struct index_more **more,
                                     bool *make);
void series_index_drop(struct series_index *x, struct index_list **l,
                       struct index_more **more);
/* A scan without a list looked at so many keys of the metric. */
void series_index_spend(struct series_index *x, uint64_t metric,
                        uint64_t steps);
/* Drops all lists. */
void series_index_clear(struct series_index *x);
/* A new series of the metric, which is counted already; it may be told twice.
 */
void series_index_enter(struct series_index *x, uint64_t metric,
                        struct slice key);

/* A list in the making: keys of the directory, ascending. */
struct index_list *index_list_new(struct series_index *x, uint64_t metric,
                                  uint64_t count);
/* False: it became too large. */
bool index_list_add(struct index_list *l, struct slice key);
/* Ends the making: a list that fits and is whole can be taken by others from
 * now on; the caller still drops what is returned.  One that is not is freed,
 * and one that is too large is not made again. */
struct index_list *series_index_made(struct series_index *x,
                                     struct index_list *l, bool fits,
                                     bool whole);

size_t index_list_len(const struct index_list *l);
/* Its key, lent. */
struct slice index_list_key(const struct index_list *l, size_t i);
/* The value of a key of the directory under the tagk; false: it has none. */
bool series_value_of(const struct key_layout *w, struct slice key,
                     uint64_t tagk, uint64_t *out);

/* The values of one tagk, ascending, and for each the series that have it. */
struct index_tag {
    struct index_tag *next;
    uint64_t tagk;
    size_t len;
    uint64_t *values;
    uint32_t *from;   /* len + 1 places in 'series' */
    uint32_t *series; /* of one value ascending */
};
const struct index_tag *index_list_tag(struct index_list *l, uint64_t tagk);

/* Results that a caller once got from the list's values, under a key that says
 * all that they depend on; the last few are kept.  Recalled ids are a copy in
 * the arena; false: not known, or no memory. */
void index_list_remember(struct index_list *l, struct slice key,
                         const uint64_t *ids, size_t len);
bool index_list_recall(struct index_list *l, struct slice key, struct arena *a,
                       uint64_t **ids, size_t *len);
