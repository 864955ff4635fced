#include "storage/head/head_priv.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/obj.h"
#include "storage/block/row_value.h"

struct head *
head_new(const struct key_layout *layout)
{
    struct head *h = mem_new(sizeof *h);

    h->layout = layout;
    h->epoch = 1;
    h->seed = hash_random_seed();
    h->buckets_len = layout->salt_buckets;
    h->buckets = mem_new_array(h->buckets_len, sizeof *h->buckets);
    for (size_t i = 0; i < h->buckets_len; i++)
        lock_init(&h->buckets[i].lock);
    return h;
}

void
head_series_fini(struct head_series *s)
{
    while (s->rows != NULL) {
        struct head_row *r = s->rows;

        s->rows = r->next;
        open_row_fini(&r->open);
        free(r);
    }
}

NO_TS_CHECK void
head_free(struct head **hp)
{
    struct head *h = *hp;

    *hp = NULL;
    if (h == NULL)
        return;
    for (size_t i = 0; i < h->buckets_len; i++) {
        struct head_bucket *b = &h->buckets[i];

        for (size_t k = 0; k < b->series_len; k++)
            if (b->series[k] != NULL)
                head_series_fini(b->series[k]);
        arena_free(&b->memory);
        free(b->series);
        table_fini(&b->by_tsuid);
        for (size_t k = 0; k < b->metrics_len; k++)
            free(b->metrics[k].series);
        free(b->metrics);
        table_fini(&b->by_metric);
        free(b->index);
        lock_fini(&b->lock);
    }
    free(h->buckets);
    free(h);
}

static bool
is_series(const void *ctx, uint32_t i, const void *key)
{
    struct head_series *const *series = ctx;

    return slice_eq(head_tsuid(series[i]), *(const struct slice *)key);
}

struct head_series *
head_find(const struct head *h, struct head_bucket *b, struct slice tsuid)
{
    uint32_t i = table_find(&b->by_tsuid, hash_slice(tsuid, h->seed), is_series,
                            b->series, &tsuid);

    return i == TABLE_NONE ? NULL : b->series[i];
}

static bool
is_of_metric(const void *ctx, uint32_t i, const void *key) NO_TS_CHECK
{
    const struct head_bucket *b = ctx;
    const struct head_series *s = b->series[b->metrics[i].series[0]];

    return slice_starts(head_tsuid(s), *(const struct slice *)key);
}

static struct head_metric *
find_metric(const struct head *h, const struct head_bucket *b,
            struct slice metric) REQUIRES(b->lock)
{
    uint32_t i = table_find(&b->by_metric, hash_slice(metric, h->seed),
                            is_of_metric, b, &metric);

    return i == TABLE_NONE ? NULL : &b->metrics[i];
}

void
head_metric_add(const struct head *h, struct head_bucket *b,
                const struct head_series *s)
{
    struct slice metric = tsuid_metric(h->layout, head_tsuid(s));
    struct head_metric *m = find_metric(h, b, metric);

    if (m == NULL) {
        b->metrics = mem_grow(b->metrics, b->metrics_len, &b->metrics_cap,
                              sizeof *b->metrics);
        table_add(&b->by_metric, hash_slice(metric, h->seed),
                  (uint32_t)b->metrics_len);
        m = &b->metrics[b->metrics_len++];
        *m = (struct head_metric){ 0 };
    }
    if (m->len == m->cap) {
        m->cap = m->cap + m->cap / 2 + 1;
        m->series = mem_resize(m->series, m->cap, sizeof *m->series);
    }
    if (m->sorted == m->len &&
        (m->len == 0 || slice_cmp(head_tsuid(b->series[m->series[m->len - 1]]),
                                  head_tsuid(s)) < 0))
        m->sorted++;
    m->series[m->len++] = s->index;
}

static int
compare_series(const void *x, const void *y, void *ctx)
{
    struct head_series *const *series = ctx;

    return slice_cmp(head_tsuid(series[*(const uint32_t *)x]),
                     head_tsuid(series[*(const uint32_t *)y]));
}

/* How many of the metric's first 'len' series are before 'x'. */
static size_t
place_of(const struct head_bucket *b, const struct head_metric *m, size_t len,
         const uint32_t *x) REQUIRES(b->lock)
{
    size_t from = 0;

    while (from < len) {
        size_t mid = from + (len - from) / 2;

        if (compare_series(&m->series[mid], x, b->series) < 0)
            from = mid + 1;
        else
            len = mid;
    }
    return from;
}

bool
head_each_block(const struct head *h, struct head_row *r,
                const struct head_visit *visit)
{
    struct head_row_view v = head_view(r);
    uint32_t span_s = key_span_s(h->layout);
    struct row_hours hours;
    bool more = true;

    if (v.base > visit->to_base ||
        (visit->from_base > v.base && visit->from_base - v.base >= span_s))
        return true;
    v.is_block = true;
    INSIST(row_hours_begin(h->layout, v.base, v.bytes, &hours, NULL) == ST_OK);
    while (more && row_hours_next(&hours, &v.base, &v.bytes)) {
        struct summary s;

        if (v.base < visit->from_base || v.base > visit->to_base)
            continue;
        INSIST(block_summary(v.bytes, v.base, &s, NULL) == ST_OK);
        v.count = s.count;
        more = visit->f(visit->ctx, &v);
    }
    return more;
}

static bool
each_row(const struct head *h, const struct head_series *s,
         const struct head_visit *visit)
{
    struct head_row *r = s->rows;
    bool more = true;

    while (r != NULL && r->next != NULL)
        r = r->next;
    for (; r != NULL && more; r = r->newer) {
        struct head_row_view v = head_view(r);

        if (r->encoded)
            more = head_each_block(h, r, visit);
        else if (v.base >= visit->from_base && v.base <= visit->to_base)
            more = visit->f(visit->ctx, &v);
    }
    return more;
}

/* So many series ahead of the one that is looked at the pointer to the series,
 * the series, its newest row, then what that points to are fetched.  Always
 * inline, as in head_put.c.
 */
#define PLACES_AHEAD 40
#define SERIES_AHEAD 24
#define ROWS_AHEAD   16
#define BYTES_AHEAD  8

static inline __attribute__((always_inline)) void
fetch_ahead(const struct head_bucket *b, const struct head_metric *m, size_t i)
    REQUIRES(b->lock)
{
    if (i + PLACES_AHEAD < m->len)
        __builtin_prefetch(&b->series[m->series[i + PLACES_AHEAD]]);
    if (i + SERIES_AHEAD < m->len) {
        const struct head_series *s = b->series[m->series[i + SERIES_AHEAD]];

        __builtin_prefetch(s);
        __builtin_prefetch((const char *)s + 64);
    }
    if (i + ROWS_AHEAD < m->len) {
        const struct head_row *r = b->series[m->series[i + ROWS_AHEAD]]->rows;

        if (r != NULL) {
            __builtin_prefetch(r);
            __builtin_prefetch((const char *)r + 64);
        }
    }
    if (i + BYTES_AHEAD < m->len) {
        const struct head_row *r = b->series[m->series[i + BYTES_AHEAD]]->rows;

        if (r != NULL) {
            __builtin_prefetch(r->open.bytes);
            __builtin_prefetch(r->open.bytes + r->open.size);
        }
    }
}

static void
each_of_metric(const struct head *h, const struct head_bucket *b,
               const struct head_visit *visit) REQUIRES(b->lock)
{
    struct head_metric *m = find_metric(h, b, visit->metric);

    if (m != NULL && m->sorted < m->len) {
        size_t len = m->sorted, more = m->len - len;
        uint32_t *came = mem_new_array(more, sizeof *came);

        /* So that copies of rows are in the order of keys.  Those that came
         * since the last query are sorted, and put in their places from the end
         * on: few that come to many cost little. */
        memcpy(came, m->series + len, more * sizeof *came);
        qsort_r(came, more, sizeof *came, compare_series, b->series);
        for (; more > 0; more--) {
            size_t at = place_of(b, m, len, &came[more - 1]);

            memmove(m->series + at + more, m->series + at,
                    (len - at) * sizeof *m->series);
            m->series[at + more - 1] = came[more - 1];
            len = at;
        }
        m->sorted = m->len;
        free(came);
    }
    for (size_t i = 0; m != NULL && i < m->len; i++) {
        fetch_ahead(b, m, i);
        if (!each_row(h, b->series[m->series[i]], visit))
            return;
    }
}

void
head_each_row(struct head *h, const struct head_visit *visit)
{
    struct head_bucket *b = &h->buckets[visit->bucket];
    const struct head_series *s = NULL;
    bool more = true;

    lock_take(&b->lock);
    for (size_t i = 0; visit->series != NULL && i < visit->series_len && more;
         i++) {
        s = head_find(h, b, visit->series[i]);
        more = s == NULL || each_row(h, s, visit);
    }
    if (visit->series == NULL)
        each_of_metric(h, b, visit);
    lock_drop(&b->lock);
}

static uint32_t
take_index(struct head_bucket *b) REQUIRES(b->lock)
{
    if (b->series_live < b->series_len) {
        for (; b->free_index < b->series_len; b->free_index++)
            if (b->series[b->free_index] == NULL)
                return b->free_index;
    }
    b->series = mem_grow(b->series, b->series_len, &b->series_cap,
                         sizeof(struct head_series *));
    return (uint32_t)b->series_len++;
}

series_ref
head_series(struct head *h, struct slice tsuid, bool is_new, uint32_t now_s)
{
    unsigned bucket = key_salt(h->layout, tsuid);
    struct head_bucket *b = &h->buckets[bucket];
    struct head_series *s;
    series_ref ref;

    lock_take(&b->lock);
    s = head_find(h, b, tsuid);
    if (s == NULL) {
        INSIST(tsuid.size <= TSUID_MAX);
        if (b->memory == NULL)
            b->memory = arena_new(0);
        s = arena_array(b->memory, 1,
                        offsetof(struct head_series, tsuid) + tsuid.size);
        INSIST(s != NULL);
        s->tsuid_size = (uint16_t)tsuid.size;
        memcpy(s->tsuid, tsuid.data, tsuid.size);
        s->index = take_index(b);
        b->generation = b->generation % HEAD_GENERATION_MAX + 1;
        s->generation = b->generation;
        b->series[s->index] = s;
        b->series_live++;
        table_add(&b->by_tsuid, hash_slice(tsuid, h->seed), s->index);
        head_metric_add(h, b, s);
        atomic_fetch_add(&h->series, 1);
        s->is_unflushed = is_new;
    }
    s->touched_s = now_s;
    s->is_touched = true;
    ref = (uint64_t)bucket << 56 | (uint64_t)s->generation << 32 | s->index;
    lock_drop(&b->lock);
    return ref;
}

bool
head_tsuid_of(struct head *h, series_ref ref, struct tsuid *out)
{
    struct head_bucket *b = &h->buckets[series_ref_bucket(ref)];
    uint32_t index = (uint32_t)ref;
    const struct head_series *s;
    bool found;

    lock_take(&b->lock);
    s = index < b->series_len ? b->series[index] : NULL;
    found = s != NULL && s->generation == (ref >> 32 & HEAD_GENERATION_MAX);
    if (found) {
        out->size = s->tsuid_size;
        memcpy(out->bytes, s->tsuid, s->tsuid_size);
    }
    lock_drop(&b->lock);
    return found;
}

bool
head_has_rows(struct head *h, struct slice tsuid, uint32_t from_s,
              uint32_t to_s)
{
    struct head_bucket *b = head_bucket_of(h, tsuid);
    const struct head_series *s;
    bool has = false;

    lock_take(&b->lock);
    s = head_find(h, b, tsuid);
    for (const struct head_row *r = s == NULL ? NULL : s->rows;
         r != NULL && !has; r = r->next) {
        uint32_t base = r->open.base - r->encoded;
        uint32_t end = base + (r->encoded ? key_span_s(h->layout) : HOUR_S);

        has = base < to_s && end > from_s;
    }
    lock_drop(&b->lock);
    return has;
}

bool
head_has_series(struct head *h, struct slice tsuid, uint64_t *evictions)
{
    struct head_bucket *b = head_bucket_of(h, tsuid);
    bool has;

    lock_take(&b->lock);
    has = head_find(h, b, tsuid) != NULL;
    *evictions = atomic_load(&h->evictions);
    lock_drop(&b->lock);
    return has;
}

enum status
head_while_empty(struct head *h, enum status (*f)(void *ctx, struct error *e),
                 void *ctx, struct error *e) NO_TS_CHECK
{
    enum status status;

    for (size_t i = 0; i < h->buckets_len; i++)
        lock_take(&h->buckets[i].lock);
    if (atomic_load(&h->rows) != 0)
        status = error_set(e, ST_IO, "some rows could not be flushed");
    else
        status = f(ctx, e);
    for (size_t i = h->buckets_len; i > 0; i--)
        lock_drop(&h->buckets[i - 1].lock);
    return status;
}

struct head_counts
head_counts(const struct head *h)
{
    return (struct head_counts){
        .series = atomic_load(&h->series),
        .forgotten = atomic_load(&h->forgotten),
        .rows = atomic_load(&h->rows),
        .points = atomic_load(&h->points),
        .encoded = atomic_load(&h->encoded),
        .bytes = atomic_load(&h->bytes),
    };
}

size_t
head_bytes(const struct head *h)
{
    return atomic_load_explicit(&h->bytes, memory_order_relaxed);
}
