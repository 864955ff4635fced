/* The insides of the head, for head*.c alone.
 *
 * The rows of a bucket are linked in the order of their making.  A series' only
 * row is found at once; where there are more, an index has of each hour the row
 * made last, and of each span the encoded row. */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/process/lock.h"
#include "base/table.h"
#include "storage/head/head.h"
#include "storage/head/open_row.h"

struct head_row {
    struct open_row open;    /* encoded: only bytes, size, cap, count, base */
    uint32_t segment;        /* centuries fit */
    uint32_t touched_s : 28; /* monotonic, of the last append */
    bool encoded : 1;
    bool immutable : 1;
    bool indexed : 1;
    bool behind : 1; /* another one of its hour, when it was made */
    struct head_series *series;
    struct head_row *next, *newer;    /* of the series, newest first */
    struct head_row *older, *younger; /* of the bucket */
};

struct head_series {
    uint32_t index;
    uint32_t touched_s;
    struct head_log_id log;
    struct head_row *rows; /* the one made last comes first */
    uint32_t generation;   /* differs from that of others of its index; not 0 */
    uint16_t tsuid_size;
    bool is_unflushed : 1; /* surely no row of it is in the engine */
    bool is_touched : 1;   /* since head_watch() */
    uint8_t tsuid[];
};

/* The series of a metric in a bucket. */
struct head_metric {
    uint32_t *series; /* their indices */
    size_t len, cap;
    size_t sorted; /* so many ascend by TSUID; those behind them came since */
};

/* The 'base' of an encoded row, which is that of no hour. */
#define ENCODED_BASE(span) ((span) + 1)

/* Of the index of rows; no row: free. */
struct head_slot {
    struct head_row *row;
    uint32_t series, base;
};

#define TOUCHED_MASK        ((UINT32_C(1) << 28) - 1)
#define HEAD_GENERATION_MAX ((UINT32_C(1) << 24) - 1)

struct head_bucket {
    struct lock lock;
    bool crowded GUARDED_BY(lock);   /* a row is, since the put at hand began */
    bool elsewhere GUARDED_BY(lock); /* its rows are another process's */
    struct head_series **series GUARDED_BY(lock); /* by index; NULL: free */
    uint32_t generation GUARDED_BY(lock);         /* of the newest series */
    size_t series_len GUARDED_BY(lock);           /* indexes in use, or free */
    size_t series_cap GUARDED_BY(lock);
    size_t series_live GUARDED_BY(lock);
    struct arena *memory GUARDED_BY(lock); /* of the series; NULL: none yet */
    size_t dead GUARDED_BY(lock); /* series in 'memory' that were forgotten */
    uint32_t free_index GUARDED_BY(lock);        /* where to look for a hole */
    struct hash_table by_tsuid GUARDED_BY(lock); /* of 'series' */
    struct head_metric *metrics GUARDED_BY(lock);
    size_t metrics_len GUARDED_BY(lock);
    size_t metrics_cap GUARDED_BY(lock);
    struct hash_table by_metric GUARDED_BY(lock); /* of 'metrics' */
    struct head_slot *index GUARDED_BY(lock);     /* hash table */
    size_t index_len GUARDED_BY(lock);
    size_t index_used GUARDED_BY(lock);
    size_t rows_len GUARDED_BY(lock);
    struct head_row *oldest GUARDED_BY(lock);
    struct head_row *youngest GUARDED_BY(lock);
};

struct head {
    const struct key_layout *layout;
    size_t buckets_len;
    struct head_bucket *buckets;
    uint64_t seed;
    _Atomic uint64_t epoch;     /* of what puts were checked by */
    _Atomic uint64_t evictions; /* steps of head_evict() that forgot some */
    _Atomic uint64_t forgotten; /* series, ever */
    _Atomic size_t bytes;       /* of rows */
    _Atomic size_t rows;
    _Atomic size_t points; /* in rows */
    _Atomic size_t encoded;
    _Atomic size_t series;
};

/* NULL when there is none. */
struct head_series *head_find(const struct head *h, struct head_bucket *b,
                              struct slice tsuid) REQUIRES(b->lock);

/* Frees the rows of a series; its own memory goes with the bucket's arena. */
void head_series_fini(struct head_series *s);

/* Adds a series to the list of its metric. */
void head_metric_add(const struct head *h, struct head_bucket *b,
                     const struct head_series *s) REQUIRES(b->lock);

/* Makes the index of rows as large as its rows need.  'map', unless NULL, has
 * the new index of each series. */
void head_index_rebuild(const struct head *h, struct head_bucket *b,
                        const uint32_t *map) REQUIRES(b->lock);

/* The newest row of that hour, or NULL.  It looks at the series' newest row,
 * and if that is of another hour at the index, from head_home() on. */
struct head_row *head_newest_row(const struct head *h,
                                 const struct head_bucket *b,
                                 const struct head_series *s, uint32_t base)
    REQUIRES(b->lock);

/* Appends to 'r', which was head_newest_row() since the lock was taken, or
 * NULL: then it looks again, and makes a row where there is none that takes
 * points; false when there is no memory. */
bool head_append(struct head *h, struct head_bucket *b, struct head_series *s,
                 struct head_row *r, struct point p, uint64_t segment,
                 uint32_t now_s) REQUIRES(b->lock);

/* The open row of its series and hour that was made before, or NULL. */
struct head_row *head_predecessor(const struct head_row *r);

/* The encoded row of a span, or NULL. */
static inline struct head_row *
head_encoded_row(const struct head *h, const struct head_bucket *b,
                 const struct head_series *s, uint32_t span) REQUIRES(b->lock)
{
    return head_newest_row(h, b, s, ENCODED_BASE(span));
}

/* Calls the visit's 'f' for those blocks of an encoded row that it is for;
 * false when that said so.  Under the bucket's lock. */
bool head_each_block(const struct head *h, struct head_row *r,
                     const struct head_visit *visit);

/* An immutable open row becomes an encoded one, which has 'value', that is
 * taken over.  Or an encoded row gets another value. */
void head_set_encoded(struct head *h, struct head_bucket *b, struct head_row *r,
                      struct slice value, uint32_t count) REQUIRES(b->lock);

/* A copy of such a value, for the call above; data NULL: there is no memory, or
 * the value is empty. */
struct slice head_copy_value(const struct buf *value);

/* How long ago that was, by a monotonic clock. */
static inline uint32_t
head_idle_s(uint32_t now_s, uint32_t touched_s)
{
    return touched_s > now_s ? 0 : now_s - touched_s;
}

/* Takes the row out of its lists and frees it. */
void head_drop_row(struct head *h, struct head_bucket *b, struct head_row *r)
    REQUIRES(b->lock);

static inline struct slice
head_tsuid(const struct head_series *s)
{
    return (struct slice){ s->tsuid, s->tsuid_size };
}

static inline struct head_row_view
head_view(struct head_row *r)
{
    return (struct head_row_view){
        .row = r,
        .tsuid = head_tsuid(r->series),
        .bytes = { r->open.bytes, r->open.size },
        .base = r->open.base - r->encoded,
        .count = r->open.count,
        .open = &r->open,
    };
}

/* Is this a point that 'series' can have? */
static inline enum status
head_check_point(const struct series_point *x, const struct head_series *series,
                 struct error *e)
{
    if (series == NULL ||
        series->generation != (x->series >> 32 & HEAD_GENERATION_MAX))
        return error_set(e, ST_NOT_FOUND, "the series was forgotten");
    if (x->point.ts_ms < 0 || x->point.ts_ms > POINT_MAX_TS_MS)
        return error_set(e, ST_INVALID, "a time that no row can hold");
    return ST_OK;
}

/* Where the index has that hour. */
static inline size_t
head_home(const struct head *h, const struct head_bucket *b, uint32_t series,
          uint32_t base) REQUIRES(b->lock)
{
    uint64_t x = (((uint64_t)series << 32 | base) ^ h->seed) *
                 UINT64_C(0x9e3779b97f4a7c15);

    return (x ^ x >> 32) & (b->index_len - 1);
}

static inline struct head_bucket *
head_bucket_of(const struct head *h, struct slice tsuid)
{
    return &h->buckets[key_salt(h->layout, tsuid)];
}
