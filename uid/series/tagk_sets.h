/*
 * The tag shapes of all metrics in memory: each a metric and the tagks of some
 * of its series, with how many series those are.
 *
 * Bounds:  some 100 bytes for each shape and for each metric.
 * Threads: any.  The lock is a leaf.
 */
#ifndef UID_SERIES_TAGK_SETS_H
#define UID_SERIES_TAGK_SETS_H

#include "storage/row/key.h"
#include "uid/series/series.h"

struct shapes; /* opaque */

struct shapes *shapes_new(const struct key_shape *widths);
void shapes_free(struct shapes **s);

/* 'key' is <metric> <tagk>..., ids of their widths. */
void shapes_set(struct shapes *s, struct slice key, uint64_t series);
/* 0: it does not exist. */
uint64_t shapes_get(struct shapes *s, struct slice key);

/* As series_shapes(). */
MUST_CHECK enum status shapes_list(struct shapes *s, uint64_t metric,
                                   struct arena *a, struct series_shape **out,
                                   size_t *len, struct error *e);

/* How many series the metric has, in all its shapes. */
uint64_t shapes_count(struct shapes *s, uint64_t metric);

/* The metrics, ascending, that have series with the tagk; of one metric: that,
 * or none.  To be freed. */
uint64_t *shapes_metrics(struct shapes *s, uint64_t metric, uint64_t tagk,
                         size_t *len);

/* The sum over all shapes. */
uint64_t shapes_total(struct shapes *s);

#endif
