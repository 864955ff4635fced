/* The cuts of a store: up to where the rows of each metric are dropped. A cut
 * is written, and made durable, before the first row goes. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/log.h"
#include "base/mem.h"
#include "storage/store/store_retention.h"
#include "storage/store/store_weeks_priv.h"
#include "storage/week/week.h"

/* Another process may know a cut this much later than it was written. */
#define SHARED_READ_US (INT64_C(30) * 1000000)
/* Rows may be dropped this much later than this process knows the cut. */
#define DROPPABLE_AFTER_US (INT64_C(120) * 1000000)

/* -- in memory ------------------------------------------------------------- */

void
cuts_fini(struct cuts *c) NO_TS_CHECK
{
    free(c->list);
    lock_fini(&c->lock);
}

/* Of the first whose metric is not less. */
static size_t
cuts_find(const struct cuts *c, uint64_t metric) REQUIRES(c->lock)
{
    size_t from = 0, to = c->len;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (c->list[middle].metric < metric)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct cut
cuts_copy(struct cuts *c, uint64_t metric)
{
    struct cut found = { .metric = metric };
    size_t i;

    lock_take(&c->lock);
    i = cuts_find(c, metric);
    if (i < c->len && c->list[i].metric == metric)
        found = c->list[i];
    lock_drop(&c->lock);
    return found;
}

/* Raises the cuts of 'metric'.  Where several processes have the engine, rows
 * may be dropped by the new ones only later.  A cut that would fall keeps its
 * value. */
static void
cuts_raise(struct store *s, uint64_t metric, const struct cut_times *to)
{
    struct cuts *c = &s->cuts;
    struct cut_times raised;
    struct cut *cut;
    size_t i;

    lock_take(&c->lock);
    i = cuts_find(c, metric);
    if (i == c->len || c->list[i].metric != metric) {
        c->list = mem_grow(c->list, c->len, &c->cap, sizeof *c->list);
        memmove(c->list + i + 1, c->list + i, (c->len - i) * sizeof *c->list);
        c->list[i] = (struct cut){ .metric = metric };
        c->len++;
    }
    cut = &c->list[i];
    raised = cut_times_max(&cut->now, to);
    if (raised.hourly_s < raised.alone_s &&
        atomic_load(&c->youngest_ms) < (int64_t)raised.alone_s * 1000)
        atomic_store(&c->youngest_ms, (int64_t)raised.alone_s * 1000);
    if (!cut_times_equal(&raised, &cut->now)) {
        if (clock_monotonic_us() >= cut->since_us)
            cut->droppable = cut->now;
        cut->now = raised;
        cut->since_us = kv_traits(s->kv)->shared
                            ? clock_monotonic_us() + DROPPABLE_AFTER_US
                            : 0;
    }
    lock_drop(&c->lock);
}

struct cut_times
store_cuts_droppable(struct store *s, uint64_t metric)
{
    const struct cut found = cuts_copy(&s->cuts, metric);

    return clock_monotonic_us() < found.since_us ? found.droppable : found.now;
}

struct cut_times
store_cut_times(struct store *s, uint64_t metric)
{
    OBJ_CHECK(s, STORE_MAGIC);
    /* What cannot be read now is read by a later one: this is asked by queries,
     * which then fail by themselves. */
    if (kv_traits(s->kv)->shared &&
        clock_monotonic_us() - atomic_load(&s->cuts.read_us) > SHARED_READ_US)
        (void)(store_cuts_read(s, NULL) == ST_OK);
    return cuts_copy(&s->cuts, metric).now;
}

struct cut_times
store_cut_times_of(struct store *s, struct slice tsuid)
{
    return store_cut_times(s, tsuid_metric_id(&s->layout, tsuid));
}

int64_t
store_cut_ms(struct store *s, uint64_t metric)
{
    return (int64_t)store_cut_times(s, metric).raw_s * 1000;
}

int64_t
store_alone_ms(struct store *s, uint64_t metric)
{
    return (int64_t)store_cut_times(s, metric).alone_s * 1000;
}

int64_t
store_hourly_cut_ms(struct store *s, uint64_t metric)
{
    return (int64_t)store_cut_times(s, metric).hourly_s * 1000;
}

static uint32_t
to_seconds(int64_t time_ms)
{
    int64_t time_s = time_ms < 0 ? 0 : time_ms / 1000;

    return time_s < UINT32_MAX ? (uint32_t)time_s : UINT32_MAX;
}

struct cut_times
store_times_of_cut(const struct store *s, const struct store_cut *c)
{
    uint32_t hourly_s = key_span_base(&s->layout, to_seconds(c->hourly_ms));
    uint32_t raw_s = week_base(to_seconds(c->raw_ms));

    if (raw_s < hourly_s)
        raw_s = hourly_s;
    return (struct cut_times){ raw_s, hourly_s, raw_s };
}

/* -- bytes ----------------------------------------------------------------- */

size_t
cuts_key(const struct key_layout *layout, uint64_t metric,
         uint8_t out[CUTS_KEY_MAX])
{
    out[0] = TABLE_RETENTION;
    key_put_uint(out + 1, metric, layout->metric_width);
    return 1u + layout->metric_width;
}

static void
put_cut(const struct store *s, struct kv_batch *b, uint64_t metric,
        const struct cut_times *t)
{
    struct buf value = BUF_INIT;
    uint8_t key[CUTS_KEY_MAX];
    bool has_fallen = t->alone_s != t->raw_s;

    buf_make_room(&value, 12);
    buf_put_u32(&value, t->raw_s);
    if (t->hourly_s != t->raw_s || has_fallen)
        buf_put_u32(&value, t->hourly_s);
    if (has_fallen)
        buf_put_u32(&value, t->alone_s);
    kv_batch_put(b, slice_of(key, cuts_key(&s->layout, metric, key)),
                 buf_slice(&value));
    buf_fini(&value);
}

enum status
cuts_parse(const struct key_layout *layout, struct slice key,
           struct slice value, uint64_t *metric, struct cut_times *out,
           struct error *e)
{
    bool two = value.size == 8, three = value.size == 12;

    if (key.size != 1u + layout->metric_width ||
        (value.size != 4 && !two && !three))
        return error_set(e, ST_CORRUPT,
                         "a cut with a key of %zu and a value of %zu bytes",
                         key.size, value.size);
    *metric = key_get_uint(key.data + 1, layout->metric_width);
    out->raw_s = out->hourly_s = (uint32_t)key_get_uint(value.data, 4);
    if (two || three)
        out->hourly_s = (uint32_t)key_get_uint(value.data + 4, 4);
    out->alone_s = out->raw_s;
    if (three)
        out->alone_s = (uint32_t)key_get_uint(value.data + 8, 4);
    if (three && (out->hourly_s > out->raw_s || out->raw_s >= out->alone_s))
        return error_set(e, ST_CORRUPT,
                         "cuts at %u and %u, of weeks that stand alone at %u",
                         (unsigned)out->raw_s, (unsigned)out->hourly_s,
                         (unsigned)out->alone_s);
    if (two && (out->raw_s % WEEK_S != 0 || out->hourly_s >= out->raw_s ||
                out->hourly_s != key_span_base(layout, out->hourly_s)))
        return error_set(e, ST_CORRUPT,
                         "cuts of raw points at %u and of hourly values at %u",
                         (unsigned)out->raw_s, (unsigned)out->hourly_s);
    return out->raw_s == key_span_base(layout, out->raw_s)
               ? ST_OK
               : error_set(e, ST_CORRUPT,
                           "a cut at %u, where no row of %u hours begins",
                           (unsigned)out->raw_s, layout->row_hours);
}

enum status
store_cuts_read(struct store *s, struct error *e)
{
    const struct slice table = KEY_TABLE(TABLE_RETENTION);
    struct kv_iter *it = kv_iter_open(s->kv, table);
    struct cut_times cut;
    uint64_t metric;
    struct error why;

    for (bool on = kv_iter_seek(it, table); on; on = kv_iter_next(it)) {
        if (cuts_is_other_key(kv_iter_key(it)))
            continue;
        if (cuts_parse(&s->layout, kv_iter_key(it), kv_iter_value(it), &metric,
                       &cut, &why) == ST_OK)
            cuts_raise(s, metric, &cut);
        else
            log_error("store", "%s is skipped (see: halite fsck)", why.text);
    }
    atomic_store(&s->cuts.read_us, clock_monotonic_us());
    return kv_iter_close(&it, e);
}

/* -- raising and lowering ---------------------------------------------------
 */

/* Sets '*out' to the time before which all salt buckets have summed up their
 * weeks. Later entries may come from the store that this one was copied from,
 * and may lack late points and deletions since then: no cut may make them
 * final. */
static enum status
least_done(struct store *s, uint32_t *out, struct error *e)
{
    size_t len = s->layout.salt_buckets;
    unsigned *buckets = mem_new_array(len, sizeof *buckets);
    uint32_t *done = mem_new_array(len, sizeof *done);
    enum status st;

    for (size_t i = 0; i < len; i++)
        buckets[i] = (unsigned)i;
    st = store_weeks_done(s, buckets, len, done, e);
    *out = UINT32_MAX;
    for (size_t i = 0; st == ST_OK && i < len; i++)
        if (done[i] < *out)
            *out = done[i];
    free(buckets);
    free(done);
    return st;
}

enum status
store_cuts_set(struct store *s, const struct store_cut *cuts, size_t len,
               struct error *e)
{
    struct cut_times *to = mem_new_array(len, sizeof *to);
    struct kv_batch *b = kv_batch_new();
    uint64_t lsn = 0;
    uint32_t done = 0;
    enum status st = ST_OK;

    OBJ_CHECK(s, STORE_MAGIC);
    if (kv_traits(s->kv)->shared) /* another one may have raised them */
        st = store_cuts_read(s, e);
    if (st == ST_OK)
        st = least_done(s, &done, e);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        const struct cut_times now = store_cut_times(s, cuts[i].metric);

        to[i] = store_times_of_cut(s, &cuts[i]);
        if (to[i].raw_s > to[i].hourly_s && to[i].raw_s > done)
            to[i].raw_s = to[i].alone_s =
                done > to[i].hourly_s ? done : to[i].hourly_s;
        to[i] = cut_times_max(&to[i], &now);
        if (cut_times_equal(&to[i], &now))
            continue;
        put_cut(s, b, cuts[i].metric, &to[i]);
    }
    if (st == ST_OK && kv_batch_len(b) > 0)
        st = store_write(s, b, &lsn, e);
    if (st == ST_OK && lsn != 0)
        st = store_commit(s, lsn, true, e);
    for (size_t i = 0; i < len && st == ST_OK; i++)
        cuts_raise(s, cuts[i].metric, &to[i]);
    kv_batch_free(&b);
    free(to);
    return st;
}

/* Finds the first metric, from '*metric' on, with a cut that is later than
 * 'now_s', and sets 'to' to what it has to be lowered to: of raw points alone
 * to the span of 'now_s'; where hourly values stay to its week. */
static bool
find_future(struct store *s, uint32_t now_s, uint64_t *metric,
            struct cut_times *to)
{
    struct cuts *c = &s->cuts;
    bool found = false;

    lock_take(&c->lock);
    for (size_t i = cuts_find(c, *metric); i < c->len && !found; i++) {
        const struct cut_times *t = &c->list[i].now;

        if (t->raw_s <= now_s)
            continue;
        *metric = c->list[i].metric;
        *to = *t;
        to->raw_s = t->hourly_s < t->raw_s ? now_s - now_s % WEEK_S
                                           : key_span_base(&s->layout, now_s);
        if (to->hourly_s > to->raw_s)
            to->hourly_s = to->raw_s;
        if (t->hourly_s == t->alone_s) /* nothing stood alone */
            to->alone_s = to->raw_s;
        found = true;
    }
    lock_drop(&c->lock);
    return found;
}

/* Lowers those cuts of 'metric' that are later than 'to'. */
static void
cuts_lower(struct cuts *c, uint64_t metric, const struct cut_times *to)
{
    size_t i;

    lock_take(&c->lock);
    i = cuts_find(c, metric);
    for (size_t k = 0; k < 2 && i < c->len && c->list[i].metric == metric;
         k++) {
        struct cut_times *t = k == 0 ? &c->list[i].now : &c->list[i].droppable;

        if (t->raw_s > to->raw_s)
            t->raw_s = to->raw_s;
        if (t->hourly_s > to->hourly_s)
            t->hourly_s = to->hourly_s;
        if (t->alone_s > to->alone_s)
            t->alone_s = to->alone_s;
    }
    lock_drop(&c->lock);
}

enum status
store_cuts_lower(struct store *s, int64_t now_ms, struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    struct cut_times to;
    uint64_t lsn = 0;
    enum status st = ST_OK;

    OBJ_CHECK(s, STORE_MAGIC);
    for (uint64_t metric = 0;
         st == ST_OK && find_future(s, to_seconds(now_ms), &metric, &to);
         metric++) {
        kv_batch_clear(b);
        put_cut(s, b, metric, &to);
        st = store_write(s, b, &lsn, e);
        if (st == ST_OK)
            cuts_lower(&s->cuts, metric, &to);
    }
    kv_batch_free(&b);
    return st;
}
