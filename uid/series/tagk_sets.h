/* The tag-key sets of all metrics in memory: each a metric and the tagks of
 * some of its series, with how many series those are.
 *
 * Where several processes enter series, each salt bucket has counts of its own
 * in the engine: here they are added up, and remembered.
 *
 * Bounds:  some 100 bytes for each tag-key set and for each metric; 4 bytes
 *          more a bucket where these have counts of their own.
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

/* 'by_bucket': each salt bucket has counts of its own. */
struct tagk_sets *tagk_sets_new(const struct key_layout *layout,
                                bool by_bucket);
void tagk_sets_free(struct tagk_sets **s);

/* <'h'> <metric> <tagk>..., ids of their widths; by bucket the salt behind. */
#define TAGK_SETS_KEY_MAX (2 + TSUID_MAX)
struct slice tagk_sets_key(const struct key_layout *w, bool by_bucket,
                           struct slice tsuid, uint8_t out[TAGK_SETS_KEY_MAX]);
bool tagk_sets_key_is_valid(const struct key_layout *w, bool by_bucket,
                            struct slice key);

/* How many series a key counts. */
void tagk_sets_set(struct tagk_sets *s, struct slice key, uint64_t series);
/* The same, unless it is known that there are more: counts come in any order
 * from where series are entered. */
void tagk_sets_raise(struct tagk_sets *s, struct slice key, uint64_t series);
/* 0: it does not exist. */
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
