/* What is known of a salt bucket's weeks, and how they become stale. */
#include "storage/store/store_weeks_priv.h"

#include <stdlib.h>

#include "base/process/log.h"
#include "base/mem.h"
#include "storage/week/week.h"

/* So long after its end rows of a week are in the engine: a span, and the time
 * that it lies idle. */
#define OVER_AFTER_S (30 * HOUR_S)

void
store_weeks_init(struct store *s)
{
    s->weeks = mem_new_array(s->layout.salt_buckets, sizeof *s->weeks);
}

void
store_weeks_fini(struct store *s)
{
    for (size_t i = 0; s->weeks != NULL && i < s->layout.salt_buckets; i++) {
        free(s->weeks[i].stale);
        free(s->weeks[i].late);
    }
    free(s->weeks);
    s->weeks = NULL;
}

uint32_t
store_weeks_over(const struct store *s)
{
    int64_t now_s = clock_now_ms(s->options.clock) / 1000 - OVER_AFTER_S;

    return now_s <= 0
               ? 0
               : week_base(now_s > UINT32_MAX ? UINT32_MAX : (uint32_t)now_s);
}

/* -- the state in the engine ----------------------------------------------- */

enum status
store_weeks_state(struct slice value, uint32_t *done, struct error *e)
{
    *done = 0;
    if (value.size < 4 || value.size % 4 != 0)
        return error_set(e, ST_CORRUPT, "weeks: a state of %zu bytes",
                         value.size);
    *done = (uint32_t)key_get_uint(value.data, 4);
    return *done % WEEK_S == 0
               ? ST_OK
               : error_set(e, ST_CORRUPT, "weeks: no week begins at %u",
                           (unsigned)*done);
}

void
store_weeks_put_state(struct store *s, unsigned bucket, struct kv_batch *b)
{
    const struct weeks *w = &s->weeks[bucket];
    uint8_t key[2];
    struct buf value = BUF_INIT;

    buf_make_room(&value, 4 + 4 * w->stale_len);
    buf_put_u32(&value, w->done);
    for (size_t i = 0; i < w->stale_len; i++)
        buf_put_u32(&value, w->stale[i]);
    kv_batch_put(b, slice_of(key, key_weeks_state(&s->layout, bucket, key)),
                 buf_slice(&value));
    buf_fini(&value);
}

bool
store_weeks_note_stale(struct weeks *w, uint32_t week)
{
    size_t i = w->stale_len;

    while (i > 0 && w->stale[i - 1] >= week)
        i--;
    if (i < w->stale_len && w->stale[i] == week)
        return false;
    w->stale =
        mem_grow(w->stale, w->stale_len, &w->stale_cap, sizeof *w->stale);
    memmove(w->stale + i + 1, w->stale + i,
            (w->stale_len - i) * sizeof *w->stale);
    w->stale[i] = week;
    w->stale_len++;
    w->unwritten = true;
    return true;
}

/* A state that cannot be read makes way: all weeks of the bucket are summarised
 * anew. */
static enum status
reset_state(struct store *s, unsigned bucket, const struct error *why,
            struct error *e) REQUIRES(s->flush_lock)
{
    struct kv_batch *b = kv_batch_new();
    enum status status;

    log_error("store",
              "the weeks of salt bucket %u are summarised anew, as their state "
              "is unreadable: %s",
              bucket, why->text);
    kv_batch_set_bucket(b, bucket);
    store_weeks_put_state(s, bucket, b);
    status = kv_write(s->kv, b, e);
    kv_batch_free(&b);
    return status;
}

static bool
has_rows(struct store *s, unsigned bucket)
{
    const uint8_t prefix[] = { TABLE_ROWS, (uint8_t)bucket };
    struct slice key = slice_of(prefix, 1u + s->layout.salt_width);
    struct kv_iter *it = kv_iter_open(s->kv, key);
    bool any = kv_iter_seek(it, key);

    return kv_iter_close(&it, NULL) == ST_OK && any;
}

enum status
store_weeks_load(struct store *s, unsigned bucket, struct error *e)
{
    struct weeks *w = &s->weeks[bucket];
    struct buf value = BUF_INIT;
    uint8_t key[2];
    struct error why;
    enum status status =
        kv_get(s->kv, slice_of(key, key_weeks_state(&s->layout, bucket, key)),
               &value, &why);

    w->done = 0;
    w->stale_len = 0;
    w->next_stale = 0;
    w->loaded++;
    w->late_len = 0;
    w->loaded_us = clock_monotonic_us();
    if (status == ST_OK)
        status = store_weeks_state(buf_slice(&value), &w->done, &why);
    for (size_t i = 4; status == ST_OK && i < value.size; i += 4)
        (void)store_weeks_note_stale(w,
                                     (uint32_t)key_get_uint(value.data + i, 4));
    buf_fini(&value);
    if (status == ST_CORRUPT)
        w->done = 0;
    w->unwritten = false;
    w->watched = w->done;
    w->passed_us = clock_monotonic_us();
    /* What a new store is filled with comes first. */
    w->old_row_us = status == ST_NOT_FOUND && !has_rows(s, bucket)
                        ? clock_monotonic_us()
                        : 0;
    if (status == ST_CORRUPT)
        return reset_state(s, bucket, &why, e);
    return status == ST_OK || status == ST_NOT_FOUND
               ? ST_OK
               : error_set(e, status, "%s", why.text);
}

static void
take_state(void *ctx, size_t i, const struct slice *value)
{
    uint32_t *done = ctx;

    done[i] = 0;
    if (value != NULL && store_weeks_state(*value, &done[i], NULL) != ST_OK)
        done[i] = 0;
}

enum status
store_weeks_done(struct store *s, const unsigned *buckets, size_t len,
                 uint32_t *done, struct error *e)
{
    struct slice *keys = mem_new_array(len, sizeof *keys);
    uint8_t *bytes = mem_new_array(len, 2);
    enum status status;

    for (size_t i = 0; i < len; i++)
        keys[i] =
            slice_of(bytes + 2 * i,
                     key_weeks_state(&s->layout, buckets[i], bytes + 2 * i));
    status = kv_get_many(s->kv, keys, len, take_state, done, e);
    if (status == ST_CORRUPT) { /* rows have the same */
        memset(done, 0, len * sizeof *done);
        status = ST_OK;
    }
    free(keys);
    free(bytes);
    return status;
}

/* -- becoming stale -------------------------------------------------------- */

bool
store_weeks_is_final(struct store *s, struct slice key, uint32_t week,
                     const struct cut_times *cut)
{
    struct buf value = BUF_INIT;
    enum status status;
    struct week w;
    bool final;

    if (!cut_times_are_alone_in(cut, week))
        return false;
    status = kv_get(s->kv, key, &value, NULL);
    final = status != ST_NOT_FOUND;
    if (status == ST_OK)
        final = value.size > 0 && (week_decode(buf_slice(&value), week,
                                               HOURS_NONE, &w, NULL) != ST_OK ||
                                   store_week_is_final(&w, cut));
    buf_fini(&value);
    return final;
}

/* -- late rows ------------------------------------------------------------- */

static int64_t
hold_us(const struct store *s)
{
    return (int64_t)s->options.summary_delay_ms * 1000 * MOST_DELAYS;
}

/* Weeks that are not held any more make way. */
static void
note_late(struct store *s, struct weeks *w, uint32_t week)
    REQUIRES(s->flush_lock)
{
    int64_t now_us = clock_monotonic_us();
    size_t i = w->late_len, to = 0;

    while (i > 0 && w->late[i - 1].week >= week)
        i--;
    if (i < w->late_len && w->late[i].week == week) {
        w->late[i].flushed_us = now_us;
        return;
    }
    for (size_t k = 0; k < w->late_len; k++)
        if (now_us - w->late[k].flushed_us < hold_us(s))
            w->late[to++] = w->late[k];
    w->late = mem_grow(w->late, to, &w->late_cap, sizeof *w->late);
    for (i = to; i > 0 && w->late[i - 1].week > week; i--)
        w->late[i] = w->late[i - 1];
    w->late[i] = (struct late_week){ week, now_us };
    w->late_len = to + 1;
}

bool
store_weeks_held(struct store *s, unsigned bucket, uint32_t week)
{
    const struct weeks *w = &s->weeks[bucket];
    int64_t since_us = clock_monotonic_us() - hold_us(s);

    if (w->loaded_us > since_us)
        return true;
    for (size_t i = 0; i < w->late_len; i++)
        if (w->late[i].week == week)
            return w->late[i].flushed_us > since_us;
    return false;
}

/* The batch that had the state of a week that was noted may have failed: then
 * the next one has it again. */
static void
begin_batch(struct store *s, unsigned bucket, struct kv_batch *stale)
    REQUIRES(s->flush_lock)
{
    kv_batch_set_bucket(stale, bucket);
    if (s->weeks[bucket].unwritten && kv_batch_len(stale) == 0)
        store_weeks_put_state(s, bucket, stale);
}

/* Says in a final entry that rows of other hours come. */
static bool
mark_late(struct store *s, unsigned bucket, struct slice key, uint32_t week,
          struct kv_batch *stale, const struct cut_times *cut)
    REQUIRES(s->flush_lock)
{
    struct buf value = BUF_INIT;
    enum status status = kv_get(s->kv, key, &value, NULL);
    struct week w;
    bool readable =
        status == ST_OK && value.size > 0 &&
        week_decode(buf_slice(&value), week, HOURS_NONE, &w, NULL) == ST_OK;
    bool final = readable && store_week_is_final(&w, cut);

    if (final && w.rows != WEEK_ROWS_LATE) {
        week_set_rows(&value, week, WEEK_ROWS_LATE);
        begin_batch(s, bucket, stale);
        kv_batch_put(stale, key, buf_slice(&value));
    }
    /* One that cannot be read is left as it is, and so is its row. */
    final |= !readable && status != ST_NOT_FOUND && value.size > 0;
    buf_fini(&value);
    return final;
}

/* A row of a week that is not over by the clock, nor in its future, while weeks
 * up to a later one are summed up: the clock was wrong when they were.  They
 * are summed up again when they are over, not for each of its rows. */
static bool
is_ahead(const struct store *s, const struct weeks *w, uint32_t span)
{
    return span >= store_weeks_over(s) && w->done > week_base(span) &&
           (int64_t)span * 1000 <= clock_now_ms(s->options.clock);
}

static void
lower_done(struct store *s, unsigned bucket, uint32_t week,
           struct kv_batch *stale) REQUIRES(s->flush_lock)
{
    struct weeks *w = &s->weeks[bucket];

    log_info("store",
             "salt bucket %u: the clock was ahead; weeks from %u on are "
             "summed up again",
             bucket, (unsigned)week);
    w->done = w->watched = week;
    w->loaded++; /* a pass under way has seen another state */
    while (w->stale_len > 0 && w->stale[w->stale_len - 1] >= week)
        w->stale_len--;
    kv_batch_set_bucket(stale, bucket);
    store_weeks_put_state(s, bucket, stale);
}

void
store_weeks_collect_stale(struct store *s, struct slice tsuid, uint32_t span,
                          struct kv_batch *stale)
{
    unsigned bucket = key_salt(&s->layout, tsuid);
    const struct cut_times cut = store_cut_times_of(s, tsuid);
    struct weeks *w = &s->weeks[bucket];
    uint32_t week = week_base(span);
    uint8_t bytes[ROW_KEY_MAX];
    struct slice key;

    if (span < store_weeks_over(s)) {
        w->old_row_us = clock_monotonic_us();
        note_late(s, w, week);
    }
    if (!tsuid_tags_begin_at(&s->layout, tsuid, 1) || span < cut.hourly_s)
        return;
    key = slice_of(bytes, key_week(&s->layout, tsuid, span, bytes));
    if (cut_times_are_alone_in(&cut, week) &&
        mark_late(s, bucket, key, week, stale, &cut))
        return;
    if (span >= w->watched)
        return;
    if (is_ahead(s, w, span)) {
        lower_done(s, bucket, week, stale);
        return;
    }
    begin_batch(s, bucket, stale);
    kv_batch_put(stale, key, slice_of(NULL, 0));
    /* Also if 'done' is not there yet: the pass under way may be past it. */
    if (store_weeks_note_stale(w, week))
        store_weeks_put_state(s, bucket, stale);
}

enum status
store_weeks_mark_stale(struct store *s, struct kv_batch *stale, struct error *e)
{
    enum status status = store_write_owned(s, stale, e);

    if (status == ST_OK && kv_batch_len(stale) > 0)
        s->weeks[kv_batch_bucket(stale)].unwritten = false;
    kv_batch_clear(stale);
    return status;
}

/* -- deletion -------------------------------------------------------------- */

static bool
clear_days(struct week *w, int64_t from_ms, int64_t to_ms)
{
    bool cleared = false;

    for (unsigned i = 0; i < WEEK_DAYS; i++) {
        int64_t day_ms = week_day_ms(w, i);

        if (w->day[i].count == 0 || day_ms < from_ms ||
            day_ms + DAY_MS - 1 > to_ms)
            continue;
        w->day[i] = (struct summary){ .count = 0 };
        memset(&w->count[i * DAY_HOURS], 0, DAY_HOURS * sizeof w->count[0]);
        cleared = true;
    }
    return cleared;
}

/* Of the weeks of a series. */
struct clearing {
    struct store *s;
    struct slice *keys;
    uint32_t from; /* the first one */
    int64_t from_ms, to_ms;
    struct kv_batch *batch;
    unsigned bucket;
    struct cut_times cut;
    enum status status;
    struct error *e;
};

/* An entry of which nothing is left is stale: points that came late may still
 * be there.  One that cannot be read is left to fsck. */
static void
clear_week(void *ctx, size_t i, const struct slice *value) NO_TS_CHECK
{
    struct clearing *x = ctx;
    uint32_t base = x->from + (uint32_t)i * WEEK_S;
    struct buf out = BUF_INIT;
    struct week w;

    if (value == NULL || value->size == 0 ||
        week_decode(*value, base, HOURS_ALL, &w, NULL) != ST_OK ||
        !store_week_is_final(&w, &x->cut) ||
        !clear_days(&w, x->from_ms, x->to_ms))
        return;
    if (!week_is_empty(&w))
        week_encode(&w, &out);
    if (out.failed)
        x->status = error_set(x->e, ST_BUSY, "no memory for a week");
    else
        kv_batch_put(x->batch, x->keys[i], buf_slice(&out));
    if (out.size == 0 && store_weeks_note_stale(&x->s->weeks[x->bucket], base))
        store_weeks_put_state(x->s, x->bucket, x->batch);
    buf_fini(&out);
}

static enum status
clear_weeks(struct clearing *x, struct slice tsuid, size_t len)
{
    uint8_t *bytes = mem_new_array(len, ROW_KEY_MAX);
    enum status status;

    x->keys = mem_new_array(len, sizeof *x->keys);
    for (size_t i = 0; i < len; i++)
        x->keys[i] = slice_of(bytes + i * ROW_KEY_MAX,
                              key_week(&x->s->layout, tsuid,
                                       x->from + (uint32_t)i * WEEK_S,
                                       bytes + i * ROW_KEY_MAX));
    status = kv_get_many(x->s->kv, x->keys, len, clear_week, x, x->e);
    if (status == ST_OK)
        status = x->status;
    if (status == ST_OK)
        status = store_write_owned(x->s, x->batch, x->e);
    free(x->keys);
    free(bytes);
    return status;
}

enum status
store_weeks_delete(struct store *s, struct slice tsuid, int64_t from_ms,
                   int64_t to_ms, struct error *e)
{
    const struct cut_times cut = store_cut_times_of(s, tsuid);
    uint32_t from_s = (uint32_t)(from_ms / 1000), end = cut.alone_s;
    struct clearing x = {
        .s = s,
        .from = week_base(from_s > cut.hourly_s ? from_s : cut.hourly_s),
        .from_ms = from_ms,
        .to_ms = to_ms,
        .bucket = key_salt(&s->layout, tsuid),
        .cut = cut,
        .status = ST_OK,
        .e = e,
    };
    enum status status;

    if (to_ms / 1000 < end)
        end = (uint32_t)(to_ms / 1000) + 1;
    if (cut.hourly_s == cut.alone_s || x.from >= end ||
        !tsuid_tags_begin_at(&s->layout, tsuid, 1))
        return ST_OK;
    x.batch = kv_batch_new();
    kv_batch_set_bucket(x.batch, x.bucket);
    status = clear_weeks(&x, tsuid, (end - x.from + WEEK_S - 1) / WEEK_S);
    kv_batch_free(&x.batch);
    return status;
}
