/* The cuts of a store: up to where the rows of each metric are dropped. A cut
 * is written, and made durable, before the first row goes. */
#include "storage/store/store_retention.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/store/store_weeks_priv.h"
#include "storage/week/week.h"

/* Another process may know a cut this much later than it was written. */
#define SHARED_READ_US (INT64_C(30) * 1000000)
/* Rows may be dropped this much later than this process knows the cut. */
#define DROPPABLE_AFTER_US (INT64_C(120) * 1000000)

static int64_t
droppable_from_us(const struct store *s)
{
    return kv_traits(s->kv)->shared ? clock_monotonic_us() + DROPPABLE_AFTER_US
                                    : 0;
}

enum status
store_cuts_read(struct store *s, struct error *e)
{
    return cuts_read(&s->cuts, &s->layout, s->kv, droppable_from_us(s), e);
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
    return cuts_get(&s->cuts, metric);
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
    struct buf value = BUF_INIT;
    uint8_t key[CUTS_KEY_MAX];
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
        buf_clear(&value);
        cuts_put(&value, &to[i]);
        kv_batch_put(b,
                     slice_of(key, cuts_key(&s->layout, cuts[i].metric, key)),
                     buf_slice(&value));
    }
    if (st == ST_OK && kv_batch_len(b) > 0)
        st = store_write(s, b, &lsn, e);
    if (st == ST_OK && lsn != 0)
        st = store_commit(s, lsn, true, e);
    for (size_t i = 0; i < len && st == ST_OK; i++)
        cuts_raise(&s->cuts, cuts[i].metric, &to[i], droppable_from_us(s));
    kv_batch_free(&b);
    buf_fini(&value);
    free(to);
    return st;
}

enum status
store_cuts_lower(struct store *s, int64_t now_ms, struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    struct buf value = BUF_INIT;
    uint8_t key[CUTS_KEY_MAX];
    struct cut_times to;
    uint64_t lsn = 0;
    enum status st = ST_OK;

    OBJ_CHECK(s, STORE_MAGIC);
    for (uint64_t metric = 0;
         st == ST_OK && cuts_find_future(&s->cuts, &s->layout,
                                         to_seconds(now_ms), &metric, &to);
         metric++) {
        kv_batch_clear(b);
        buf_clear(&value);
        cuts_put(&value, &to);
        kv_batch_put(b, slice_of(key, cuts_key(&s->layout, metric, key)),
                     buf_slice(&value));
        st = store_write(s, b, &lsn, e);
        if (st == ST_OK)
            cuts_lower(&s->cuts, metric, &to);
    }
    kv_batch_free(&b);
    buf_fini(&value);
    return st;
}
