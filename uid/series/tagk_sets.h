/* The tag-key sets of all metrics in memory.  A tag-key set is a metric and the
 * tagks of some of its series, and has the number of these series.
 *
 * In the engine each salt bucket has a count of its own for each tag-key set,
 * so that the entry of a series and the count are in one salt bucket.  This
 * object remembers the counts of the salt buckets and adds them up.
 *
 * Bounds:  some 100 bytes for each tag-key set and for each metric, and 4 bytes
 *          for each tag-key set and salt bucket.
 * Threads: any.  The lock is a leaf. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "storage/row/key.h"

/* One tag-key set of a metric. */
struct series_tagk_set {
    uint64_t tagks[KEY_MAX_TAGS]; /* ids, ascending */
    size_t tagks_len;
    uint64_t series; /* how many */
};

struct tagk_sets; /* opaque */

struct tagk_sets *tagk_sets_new(const struct key_layout *layout);
void tagk_sets_free(struct tagk_sets **s);

/* The key of the tag-key set and salt bucket that the TSUID is counted in:
 * <'h'> <metric> <tagk>... <salt:1>, with ids of their widths. */
#define TAGK_SETS_KEY_MAX (2 + TSUID_MAX)
struct slice tagk_sets_key(const struct key_layout *w, struct slice tsuid,
                           uint8_t out[TAGK_SETS_KEY_MAX]);
/* Can a tag-key set have this key and this number of series? */
bool tagk_sets_is_valid(const struct key_layout *w, struct slice key,
                        uint64_t series);

/* Sets the number of series that 'key' counts. */
void tagk_sets_set(struct tagk_sets *s, struct slice key, uint64_t series);
/* Sets the number of series unless it is larger already: the counts of other
 * processes arrive in any order. */
void tagk_sets_raise(struct tagk_sets *s, struct slice key, uint64_t series);
/* How often counts were set or raised. */
uint64_t tagk_sets_changes(struct tagk_sets *s);
/* Exchanges the counts for those of 'fresh', which may be lower.  False, and
 * nothing is changed, if tagk_sets_changes() does not return 'changes' any
 * more: 'fresh' may lack what came since. */
bool tagk_sets_replace(struct tagk_sets *s, struct tagk_sets *fresh,
                       uint64_t changes);
/* The number of series that 'key' counts; 0 if it is not known. */
uint64_t tagk_sets_get(struct tagk_sets *s, struct slice key);

/* As series_tagk_sets(). */
MUST_CHECK enum status tagk_sets_list(struct tagk_sets *s, uint64_t metric,
                                      struct arena *a,
                                      struct series_tagk_set **out, size_t *len,
                                      struct error *e);

/* How many series the metric has, in all its tag-key sets. */
uint64_t tagk_sets_count(struct tagk_sets *s, uint64_t metric);

/* The metrics, ascending, that have series with the tagk.  To be freed. */
uint64_t *tagk_sets_metrics(struct tagk_sets *s, uint64_t tagk, size_t *len);

/* The sum over all tag-key sets. */
uint64_t tagk_sets_total(struct tagk_sets *s);
