/* See storage/head/head.h. */
#include "config.h"

#include "storage/head/head.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

#define FIRST_SLOTS 64

void
head_init(struct head *h, const struct key_layout *layout)
{
    *h = (struct head){ .layout = layout, .seed = hash_random_seed() };
    h->buckets_len = layout->salt_width == 0 ? 1 : layout->salt_buckets;
    h->buckets = mem_new_array(h->buckets_len, sizeof *h->buckets);
    for (size_t i = 0; i < h->buckets_len; i++)
        lock_init(&h->buckets[i].lock);
}

static void
free_series(struct head_series *s)
{
    while (s->rows != NULL) {
        struct head_row *r = s->rows;

        s->rows = r->next;
        open_row_fini(&r->open);
        free(r);
    }
    free(s);
}

NO_TS_CHECK void
head_fini(struct head *h)
{
    for (size_t i = 0; i < h->buckets_len; i++) {
        struct head_bucket *b = &h->buckets[i];

        for (size_t k = 0; k < b->series_len; k++)
            if (b->series[k] != NULL)
                free_series(b->series[k]);
        free(b->series);
        free(b->generations);
        free(b->slots);
        free(b->metrics);
        free(b->index);
        lock_fini(&b->lock);
    }
    free(h->buckets);
    *h = (struct head){ 0 };
}

/* -- series by TSUID ------------------------------------------------------- */

/* The slot of the TSUID, or the empty one where it would go. */
static size_t
slot_of(const struct head *h, const struct head_bucket *b, struct slice tsuid)
    REQUIRES(b->lock)
{
    size_t mask = b->slots_len - 1;
    size_t at = hash_slice(tsuid, h->seed) & mask;

    while (b->slots[at] != 0 &&
           !slice_eq(head_tsuid(b->series[b->slots[at] - 1]), tsuid))
        at = (at + 1) & mask;
    return at;
}

static void
rehash(const struct head *h, struct head_bucket *b, size_t len)
    REQUIRES(b->lock)
{
    free(b->slots);
    b->slots = mem_new_array(len, sizeof *b->slots);
    b->slots_len = len;
    for (size_t i = 0; i < b->series_len; i++)
        if (b->series[i] != NULL)
            b->slots[slot_of(h, b, head_tsuid(b->series[i]))] = (uint32_t)i + 1;
}

struct head_series *
head_find(const struct head *h, struct head_bucket *b, struct slice tsuid)
{
    uint32_t found;

    if (b->slots_len == 0)
        return NULL;
    found = b->slots[slot_of(h, b, tsuid)];
    return found == 0 ? NULL : b->series[found - 1];
}

/* -- series by metric ------------------------------------------------------ */

static uint64_t
metric_id(const struct head *h, struct slice tsuid)
{
    return key_get_uint(tsuid.data, h->layout->metric_width);
}

static struct head_metric *
metric_slot(struct head_metric *metrics, size_t len, uint64_t id)
{
    size_t at = (id * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (len - 1);

    while (metrics[at].first != NULL && metrics[at].id != id)
        at = (at + 1) & (len - 1);
    return &metrics[at];
}

static void
grow_metrics(struct head_bucket *b) REQUIRES(b->lock)
{
    size_t len = b->metrics_len == 0 ? FIRST_SLOTS : b->metrics_len * 2;
    struct head_metric *metrics = mem_new_array(len, sizeof *metrics);

    for (size_t i = 0; i < b->metrics_len; i++)
        if (b->metrics[i].first != NULL)
            *metric_slot(metrics, len, b->metrics[i].id) = b->metrics[i];
    free(b->metrics);
    b->metrics = metrics;
    b->metrics_len = len;
}

static void
link_metric(const struct head *h, struct head_bucket *b, struct head_series *s)
    REQUIRES(b->lock)
{
    uint64_t id = metric_id(h, head_tsuid(s));
    struct head_metric *m;

    if (b->metrics_used * 2 >= b->metrics_len)
        grow_metrics(b);
    m = metric_slot(b->metrics, b->metrics_len, id);
    b->metrics_used += m->first == NULL;
    m->id = id;
    s->metric_next = m->first;
    m->first = s;
}

static bool
each_row(const struct head_series *s, head_row_fn *f, void *ctx)
{
    struct head_row *r = s->rows;

    while (r != NULL && r->next != NULL)
        r = r->next;
    while (r != NULL && f(ctx, head_tsuid(s), r))
        r = r->newer;
    return r == NULL;
}

void
head_each_row(struct head *h, unsigned bucket, struct slice metric,
              const struct slice *series, size_t len, head_row_fn *f, void *ctx)
{
    struct head_bucket *b = &h->buckets[bucket];
    const struct head_series *s = NULL;
    bool more = true;

    lock_take(&b->lock);
    for (size_t i = 0; series != NULL && i < len && more; i++) {
        s = head_find(h, b, series[i]);
        more = s == NULL || each_row(s, f, ctx);
    }
    if (series == NULL && b->metrics_len > 0)
        s = metric_slot(b->metrics, b->metrics_len, metric_id(h, metric))
                ->first;
    for (; series == NULL && s != NULL && more; s = s->metric_next)
        more = each_row(s, f, ctx);
    lock_drop(&b->lock);
}

/* After series went: lists and table are made anew from those that stay. */
static void
relink_metrics(const struct head *h, struct head_bucket *b) REQUIRES(b->lock)
{
    free(b->metrics);
    b->metrics = NULL;
    b->metrics_len = b->metrics_used = 0;
    for (size_t i = b->series_len; i-- > 0;)
        if (b->series[i] != NULL)
            link_metric(h, b, b->series[i]);
}

/* -- making and forgetting series ------------------------------------------ */

static uint32_t
take_index(struct head_bucket *b) REQUIRES(b->lock)
{
    if (b->series_live < b->series_len) {
        for (; b->free_index < b->series_len; b->free_index++)
            if (b->series[b->free_index] == NULL)
                return b->free_index;
    }
    if (b->series_len == b->series_cap) {
        size_t cap = b->series_cap == 0 ? FIRST_SLOTS : b->series_cap * 2;

        b->series = mem_resize(b->series, cap, sizeof(struct head_series *));
        b->generations =
            mem_resize(b->generations, cap, sizeof *b->generations);
        b->series_cap = cap;
    }
    b->generations[b->series_len] = 0;
    b->series[b->series_len] = NULL;
    return (uint32_t)b->series_len++;
}

struct head_series *
head_series(struct head *h, struct head_bucket *b, struct slice tsuid)
{
    struct head_series *s = head_find(h, b, tsuid);

    if (s != NULL)
        return s;
    INSIST(tsuid.size <= TSUID_MAX);
    s = mem_new(offsetof(struct head_series, tsuid) + tsuid.size);
    s->tsuid_size = (uint16_t)tsuid.size;
    memcpy(s->tsuid, tsuid.data, tsuid.size);
    s->index = take_index(b);
    s->generation = ++b->generations[s->index];
    b->series[s->index] = s;
    b->series_live++;
    if (b->series_live * 2 > b->slots_len)
        rehash(h, b, b->slots_len == 0 ? FIRST_SLOTS : b->slots_len * 2);
    else
        b->slots[slot_of(h, b, tsuid)] = s->index + 1;
    link_metric(h, b, s);
    atomic_fetch_add(&h->series, 1);
    return s;
}

void
head_evict(struct head *h, struct head_bucket *b, size_t keep,
           uint32_t idle_before_s)
{
    size_t before = b->series_live;

    for (size_t i = 0; i < b->series_len && b->series_live > keep; i++) {
        struct head_series *s = b->series[i];

        if (s == NULL || s->rows != NULL || s->touched_s >= idle_before_s)
            continue;
        b->series[i] = NULL;
        b->series_live--;
        free_series(s);
    }
    if (b->series_live == before)
        return;
    atomic_fetch_sub(&h->series, before - b->series_live);
    b->free_index = 0;
    rehash(h, b, b->slots_len);
    relink_metrics(h, b);
}
