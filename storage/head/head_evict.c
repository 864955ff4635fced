/* Idle series leave memory:
 *
 *     head_evict()    removes idle series from the tables, some thousands under
 *                     one hold of the bucket's lock
 *     head_shrink()   gives their memory back: copies the series that are left
 *                     into a new arena, and frees the old one
 *
 * The series of a bucket share an arena.  Copying is needed because one series
 * that is left would keep a page of many others that are gone. */
#include "storage/head/head_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/obj.h"

#define STEP_SERIES ((size_t)1 << 15) /* checked under one hold of the lock */
#define WORTH_COPY  1024 /* the memory of fewer series is not given back */

/* -- forgetting ------------------------------------------------------------ */

/* Removes series that were forgotten from the lists of their metrics. */
static void
drop_from_metrics(const struct head *h, struct head_bucket *b) REQUIRES(b->lock)
{
    size_t metrics = b->metrics_len;

    table_fini(&b->by_metric);
    b->metrics_len = 0;
    for (size_t i = 0; i < metrics; i++) {
        struct head_metric m = b->metrics[i];
        size_t len = m.len, sorted = m.sorted;

        m.len = m.sorted = 0;
        for (size_t k = 0; k < len; k++) {
            if (b->series[m.series[k]] == NULL)
                continue;
            m.series[m.len++] = m.series[k];
            m.sorted += k < sorted;
        }
        if (m.len == 0) {
            free(m.series);
            continue;
        }
        if (m.len < m.cap / 4) {
            m.cap = m.len;
            m.series = mem_resize(m.series, m.cap, sizeof *m.series);
        }
        table_add(&b->by_metric,
                  hash_slice(tsuid_metric(h->layout,
                                          head_tsuid(b->series[m.series[0]])),
                             h->seed),
                  (uint32_t)b->metrics_len);
        b->metrics[b->metrics_len++] = m;
    }
}

static void
forget_series(struct head *h, struct head_bucket *b, struct head_series *s)
    REQUIRES(b->lock)
{
    table_remove(&b->by_tsuid, hash_slice(head_tsuid(s), h->seed), s->index);
    b->series[s->index] = NULL;
    b->series_live--;
    b->dead++;
    head_series_fini(s);
}

/* Checks series from the index 'at' on.  Returns the index at which the next
 * step begins, or SIZE_MAX if there is none. */
static size_t
evict_step(struct head *h, struct head_bucket *b, size_t at, size_t keep,
           uint32_t idle_before_s) REQUIRES(b->lock)
{
    size_t before = b->series_live;
    size_t end = at + STEP_SERIES;

    for (; at < end && at < b->series_len && b->series_live > keep; at++) {
        struct head_series *s = b->series[at];

        if (s == NULL || s->rows != NULL || s->touched_s >= idle_before_s)
            continue;
        /* The count changes before a series is gone: see head_has_series(). */
        if (b->series_live == before)
            atomic_fetch_add(&h->evictions, 1);
        forget_series(h, b, s);
    }
    if (b->series_live < before) {
        atomic_fetch_sub(&h->series, before - b->series_live);
        atomic_fetch_add(&h->forgotten, before - b->series_live);
        b->free_index = 0;
        drop_from_metrics(h, b);
    }
    return b->series_live > keep && at < b->series_len ? at : SIZE_MAX;
}

void
head_evict(struct head *h, size_t keep, uint32_t idle_before_s)
{
    for (size_t i = 0; i < h->buckets_len; i++) {
        struct head_bucket *b = &h->buckets[i];

        for (size_t at = 0; at != SIZE_MAX;) {
            lock_take(&b->lock);
            at = evict_step(h, b, at, keep, idle_before_s);
            lock_drop(&b->lock);
        }
    }
}

void
head_watch(struct head *h)
{
    for (size_t i = 0; i < h->buckets_len; i++) {
        struct head_bucket *b = &h->buckets[i];

        lock_take(&b->lock);
        for (size_t k = 0; k < b->series_len; k++)
            if (b->series[k] != NULL)
                b->series[k]->is_touched = b->series[k]->rows != NULL;
        lock_drop(&b->lock);
    }
}

/* Forgets those of 'tsuids' that are in the bucket and idle.  Returns how many
 * were forgotten. */
static size_t
forget_of_bucket(struct head *h, struct head_bucket *b,
                 const struct slice *tsuids, size_t len, uint32_t idle_before_s,
                 bool *kept) REQUIRES(b->lock)
{
    size_t forgotten = 0;

    for (size_t i = 0; i < len; i++) {
        struct head_series *s = head_bucket_of(h, tsuids[i]) == b
                                    ? head_find(h, b, tsuids[i])
                                    : NULL;

        if (s == NULL)
            continue;
        kept[i] =
            s->rows != NULL || s->is_touched || s->touched_s >= idle_before_s;
        if (kept[i])
            continue;
        if (forgotten++ == 0)
            atomic_fetch_add(&h->evictions, 1);
        forget_series(h, b, s);
    }
    if (forgotten > 0) {
        b->free_index = 0;
        drop_from_metrics(h, b);
    }
    return forgotten;
}

void
head_forget(struct head *h, const struct slice *tsuids, size_t len,
            uint32_t idle_before_s, bool *kept)
{
    memset(kept, 0, len * sizeof *kept);
    for (size_t i = 0; i < h->buckets_len; i++) {
        struct head_bucket *b = &h->buckets[i];
        size_t forgotten;

        lock_take(&b->lock);
        forgotten = forget_of_bucket(h, b, tsuids, len, idle_before_s, kept);
        lock_drop(&b->lock);
        atomic_fetch_sub(&h->series, forgotten);
        atomic_fetch_add(&h->forgotten, forgotten);
    }
}

/* -- giving memory back ---------------------------------------------------- */

static void
copy_series(const struct head *h, struct head_bucket *b) REQUIRES(b->lock)
{
    struct arena *memory = arena_new(0);

    table_fini(&b->by_tsuid);
    for (size_t i = 0; i < b->series_len; i++) {
        const struct head_series *old;
        struct head_series *s;

        if (b->series[i] == NULL)
            continue;
        /* Moves the series to the new arena, and its rows' pointers with it.  A
         * pass of flushing lends pointers to series as well, so none may be
         * under way. */
        old = b->series[i];
        s = arena_copy(memory, old,
                       offsetof(struct head_series, tsuid) + old->tsuid_size);
        INSIST(s != NULL);
        for (struct head_row *r = s->rows; r != NULL; r = r->next)
            r->series = s;
        b->series[i] = s;
        table_add(&b->by_tsuid, hash_slice(head_tsuid(b->series[i]), h->seed),
                  (uint32_t)i);
    }
    arena_free(&b->memory);
    b->memory = memory;
    b->dead = 0;
}

/* Gives the series that are left the indexes from 0 on, in the same order. */
static void
renumber_series(const struct head *h, struct head_bucket *b) REQUIRES(b->lock)
{
    uint32_t *map = mem_new_array(b->series_len, sizeof *map);
    size_t len = 0;

    table_fini(&b->by_tsuid);
    for (size_t i = 0; i < b->series_len; i++) {
        struct head_series *s = b->series[i];

        if (s == NULL)
            continue;
        map[i] = s->index = (uint32_t)len;
        b->series[len++] = s;
        table_add(&b->by_tsuid, hash_slice(head_tsuid(s), h->seed), s->index);
    }
    INSIST(len == b->series_live);
    for (size_t i = 0; i < b->metrics_len; i++)
        for (size_t k = 0; k < b->metrics[i].len; k++)
            b->metrics[i].series[k] = map[b->metrics[i].series[k]];
    head_index_rebuild(h, b, map);
    free(map);
    b->series_len = len;
    b->series_cap = len + len / 2 + 1;
    b->series = mem_resize(b->series, b->series_cap, sizeof(void *));
    b->free_index = 0;
}

bool
head_shrink(struct head *h, bool renumber)
{
    bool renumbered = false;

    for (size_t i = 0; i < h->buckets_len; i++) {
        struct head_bucket *b = &h->buckets[i];

        lock_take(&b->lock);
        if (b->dead >= WORTH_COPY && b->dead >= b->series_live / 4) {
            copy_series(h, b);
            head_index_rebuild(h, b, NULL);
        }
        if (renumber && b->series_len >= WORTH_COPY &&
            b->series_live < b->series_len / 4) {
            renumber_series(h, b);
            renumbered = true;
        }
        lock_drop(&b->lock);
    }
    return renumbered;
}
