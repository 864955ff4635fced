/* The thread that summarises weeks.  In each salt bucket, metric by metric and
 * week by week, it reads the rows of some series at a time, as the directory
 * names them, and writes their entries. */
#include <stdlib.h>

#include "base/process/crash.h"
#include "base/process/log.h"
#include "base/process/signals.h"
#include "base/mem.h"
#include "storage/week/week.h"
#include "storage/store/store_weeks_priv.h"
#include "storage/store/week_rows.h"

#define CHUNK         256 /* series at a time: some 30 ms with the flush lock */
#define LOOK_EVERY_MS 2000
#define RESTS         9 /* times as long as it worked the thread rests .. */
#define RESTS_MOST_US INT64_C(60000000) /* .. but no longer */

struct filling {
    struct store *s;
    unsigned bucket;
    uint32_t from, to; /* weeks with from <= base < to */
    struct week *weeks;
    struct slice tsuids[CHUNK]; /* in 'bytes' */
    size_t len;
    struct buf bytes, value;
    struct points scratch;
    struct kv_batch *batch;
    bool again;       /* a stale week: some entries have no rows any more */
    uint64_t entries; /* written */
};

/* Moves 'p' to the first metric and week, at or after it, that has a key and
 * lies in from .. to - 1.  Returns false if there is none. */
static bool
next_week(const struct filling *f, struct key_place *p, struct error *e,
          enum status *status)
{
    const struct key_layout *layout = &f->s->layout;
    size_t metric_at = 1u + layout->salt_width;
    uint8_t bytes[ROW_KEY_MAX] = { p->table, (uint8_t)p->bucket };
    struct kv_iter *it = kv_iter_open(f->s->kv, slice_of(bytes, metric_at));
    bool found = false;

    while (!found) {
        bool on_key =
            kv_iter_seek(it, slice_of(bytes, key_place(layout, p, bytes)));

        while (on_key && !key_base(layout, kv_iter_key(it), &p->base))
            on_key = kv_iter_next(it); /* a state */
        if (!on_key || memcmp(kv_iter_key(it).data, bytes, metric_at) != 0)
            break;
        p->metric = key_get_uint(kv_iter_key(it).data + metric_at,
                                 layout->metric_width);
        found = p->base >= f->from && p->base < f->to;
        if (!found)
            p->base = p->base < f->from ? f->from : UINT32_MAX;
    }
    *status = kv_iter_close(&it, e);
    return found && *status == ST_OK;
}

/* -- entries --------------------------------------------------------------- */

static bool
is_stopping(struct store *s)
{
    bool stopping;

    lock_take(&s->wake_lock);
    stopping = s->stopping;
    lock_drop(&s->wake_lock);
    return stopping;
}

static enum status
write_weeks(struct filling *f, uint32_t week, struct error *e)
{
    struct store *s = f->s;
    const struct cut_times cut = store_cut_times_of(s, f->tsuids[0]);
    uint8_t bytes[ROW_KEY_MAX];
    enum status status;

    kv_batch_clear(f->batch);
    kv_batch_set_bucket(f->batch, f->bucket);
    for (size_t i = 0; i < f->len; i++) {
        struct slice key =
            slice_of(bytes, key_week(&s->layout, f->tsuids[i], week, bytes));

        if (store_weeks_read_final(s, key, week, &cut, &f->value))
            continue;
        f->weeks[i].rows = WEEK_ROWS_KEPT;
        if (!week_is_empty(&f->weeks[i])) {
            buf_clear(&f->value);
            week_encode(&f->weeks[i], &f->value);
            if (f->value.failed)
                return error_set(e, ST_BUSY, "no memory for a week");
            kv_batch_put(f->batch, key, buf_slice(&f->value));
            f->entries++;
        } else if (f->again) {
            kv_batch_delete(f->batch, key);
        }
    }
    if (kv_batch_len(f->batch) == 0)
        return ST_OK;
    status = store_write_owned(s, f->batch, e);
    crash_point("weeks-written");
    return status;
}

/* While the pass was not under the flush lock, the bucket may have gone to
 * another process, and come back. Meanwhile that one kept to what the engine
 * says of the bucket. */
static bool
is_ours(const struct store *s, const struct filling *f) REQUIRES(s->flush_lock)
{
    return store_bucket_state(s, f->bucket) == BUCKET_LOCAL &&
           f->to <= s->weeks[f->bucket].until;
}

/* Of the series that were gathered. */
static enum status
fill_chunk(struct filling *f, uint32_t week, struct error *e)
{
    struct store *s = f->s;
    const struct week_rows rows = { s->kv, &s->layout, f->tsuids, f->len };
    struct error why;
    enum status status = ST_OK;

    if (f->len == 0)
        return ST_OK;
    if (is_stopping(s))
        return error_set(e, ST_BUSY, "the store is closing");
    lock_take(&s->flush_lock);
    if (!is_ours(s, f))
        status = store_not_owner(f->bucket, &why);
    if (status == ST_OK)
        status = week_rows_sum(&rows, week, f->weeks, &f->scratch, &why);
    if (status != ST_OK && store_pass_over_damage(s, status, &why) == ST_OK)
        status = week_rows_sum_each(&rows, week, f->weeks, &f->scratch, &why);
    if (status != ST_OK)
        (void)error_set(e, status, "%s", why.text);
    if (status == ST_OK)
        status = write_weeks(f, week, e);
    lock_drop(&s->flush_lock);
    f->len = 0;
    buf_clear(&f->bytes);
    return status;
}

/* 'bytes' has room for a chunk and does not move. */
static void
gather(struct filling *f, struct slice tsuid)
{
    uint8_t *at = f->bytes.data + f->bytes.size;

    buf_put_slice(&f->bytes, tsuid);
    f->tsuids[f->len++] = slice_of(at, tsuid.size);
}

/* Writes the entries of a metric's week: those of all series that the directory
 * has in this bucket, or only those that are stale. */
static enum status
fill_week(struct filling *f, const struct key_place *p, struct error *e)
{
    const struct key_layout *layout = &f->s->layout;
    uint8_t key[ROW_KEY_MAX];
    struct slice prefix = { key, f->again
                                     ? key_place(layout, p, key)
                                     : key_series_of(layout, p->metric, key) };
    struct slice at = prefix;
    enum status status = ST_OK;
    bool more = true;

    while (more && status == ST_OK) {
        struct kv_iter *it = kv_iter_open(f->s->kv, prefix);

        /* A malformed key that is longer than 'key' is never the next start. */
        for (more = kv_iter_seek(it, at);
             more && (f->len < CHUNK || kv_iter_key(it).size > sizeof key);
             more = kv_iter_next(it)) {
            struct slice found = kv_iter_key(it);
            struct slice tsuid = slice_of(found.data + 1, found.size - 1);
            struct tsuid parsed;
            uint32_t base;

            if (!f->again && tsuid_is_valid(layout, tsuid) &&
                key_salt(layout, tsuid) == f->bucket &&
                tsuid_tags_begin_at(layout, tsuid, 1))
                gather(f, tsuid);
            if (f->again && kv_iter_value(it).size == 0 &&
                key_week_parse(layout, found, &base, &parsed, NULL) == ST_OK)
                gather(f, tsuid_slice(&parsed));
        }
        if (more) {
            at = slice_of(key, kv_iter_key(it).size);
            memcpy(key, kv_iter_key(it).data, at.size);
        }
        status = kv_iter_close(&it, e);
        if (status == ST_OK)
            status = fill_chunk(f, p->base, e);
    }
    return status;
}

/* -- a bucket -------------------------------------------------------------- */

static enum status
put_state(struct store *s, struct filling *f, struct error *e)
    REQUIRES(s->flush_lock)
{
    kv_batch_clear(f->batch);
    kv_batch_set_bucket(f->batch, f->bucket);
    store_weeks_put_state(s, f->bucket, f->batch);
    return store_write_owned(f->s, f->batch, e);
}

/* Chooses what to do next: the weeks that are over since the last pass, or then
 * one stale week after the other, each once. A week that is not over stays
 * stale: the clock was ahead when it was summed up, and it still changes. */
static bool
begins(struct store *s, struct filling *f, struct weeks *w)
    REQUIRES(s->flush_lock)
{
    int64_t delay_us = (int64_t)s->options.summary_delay_ms * 1000;
    int64_t now_us = clock_monotonic_us();
    uint32_t over = store_weeks_over(s);
    size_t i = 0;

    if (store_bucket_state(s, f->bucket) != BUCKET_LOCAL || w->unknown)
        return false;
    /* Weeks of late rows would be summarised again and again: they are when
     * none have come for a while, or for long. */
    if (w->next_stale == 0 && w->old_row_us != 0 &&
        now_us - w->old_row_us < delay_us &&
        now_us - w->passed_us < MOST_DELAYS * delay_us)
        return false;
    f->from = w->done;
    f->to = over;
    if (f->from < f->to)
        return true;
    while (i < w->stale_len && w->stale[i] < w->next_stale)
        i++;
    if (i == w->stale_len || w->stale[i] >= over) {
        w->next_stale = 0;
        return false;
    }
    f->again = true;
    f->from = w->stale[i];
    f->to = w->next_stale = f->from + WEEK_S;
    w->stale_again = false;
    return true;
}

/* After a week that became stale, once more or of another series, entries stay
 * to be made again. */
static enum status
ends(struct filling *f, struct error *e)
{
    struct store *s = f->s;
    struct weeks *w = &s->weeks[f->bucket];
    enum status status = ST_OK;
    size_t i = 0;

    lock_take(&s->flush_lock);
    if (!is_ours(s, f)) {
        status = store_not_owner(f->bucket, e);
    } else if (!f->again) {
        w->done = w->done > f->to ? w->done : f->to;
        status = put_state(s, f, e);
    } else if (w->next_stale == f->to && !w->stale_again) {
        while (w->stale[i] != f->from)
            i++;
        w->stale_len--;
        memmove(w->stale + i, w->stale + i + 1,
                (w->stale_len - i) * sizeof *w->stale);
        status = put_state(s, f, e);
    }
    lock_drop(&s->flush_lock);
    return status;
}

/* Visits, metric by metric, each week that has rows, or each that has entries
 * if stale entries are to be made again. */
static enum status
fill_weeks(struct filling *f, struct error *e)
{
    struct key_place p = { f->again ? TABLE_WEEKS : TABLE_ROWS, f->bucket, 0,
                           f->from };
    struct store *s = f->s;
    struct weeks *w = &s->weeks[f->bucket];
    enum status status = ST_OK;

    buf_make_room(&f->bytes, (size_t)CHUNK * TSUID_MAX);
    if (f->bytes.failed)
        return error_set(e, ST_BUSY, "no memory to summarise weeks");
    /* Up to where entries will be is written before the first one is. */
    lock_take(&s->flush_lock);
    if (store_bucket_state(s, f->bucket) != BUCKET_LOCAL || w->unknown) {
        status = store_not_owner(f->bucket, e);
    } else if (w->until < f->to) {
        w->until = f->to;
        status = put_state(s, f, e);
    }
    lock_drop(&s->flush_lock);
    while (status == ST_OK && next_week(f, &p, e, &status)) {
        p.base = week_base(p.base);
        status = fill_week(f, &p, e);
        p.base = p.base > UINT32_MAX - WEEK_S ? UINT32_MAX : p.base + WEEK_S;
    }
    crash_point("weeks-filled");
    return status == ST_OK ? ends(f, e) : status;
}

/* One pass over a bucket; '*more' if there was something to do. */
static enum status
fill_bucket(struct store *s, unsigned bucket, bool *more, struct error *e)
{
    struct filling f = { .s = s, .bucket = bucket };
    struct weeks *w = &s->weeks[bucket];
    enum status status;

    lock_take(&s->flush_lock);
    *more = begins(s, &f, w);
    lock_drop(&s->flush_lock);
    if (!*more)
        return ST_OK;
    f.weeks = mem_new_array(CHUNK, sizeof *f.weeks);
    f.batch = kv_batch_new();
    status = fill_weeks(&f, e);
    lock_take(&s->flush_lock);
    w->passed_us = clock_monotonic_us();
    lock_drop(&s->flush_lock);
    atomic_fetch_add(&s->weeks_written, f.entries);
    free(f.weeks);
    kv_batch_free(&f.batch);
    buf_fini(&f.bytes);
    buf_fini(&f.value);
    points_fini(&f.scratch);
    return status;
}

/* -- the thread ------------------------------------------------------------ */

void *
store_weeks_summarise(void *arg)
{
    struct store *s = arg;
    bool failing = false;
    int64_t rests_until_us = 0;
    unsigned wait_ms = s->options.summary_delay_ms < LOOK_EVERY_MS
                           ? s->options.summary_delay_ms
                           : LOOK_EVERY_MS;

    signals_block();
    for (;;) {
        int64_t from_us, now_us, rests_us;
        enum status status = ST_OK;
        struct error e;
        bool stop;

        lock_take(&s->wake_lock);
        if (!s->stopping)
            cond_wait_ms(&s->stop, &s->wake_lock, wait_ms);
        stop = s->stopping;
        lock_drop(&s->wake_lock);
        if (stop)
            return NULL;
        from_us = clock_monotonic_us();
        /* The next look is soon enough if the disk is full. */
        if (from_us < rests_until_us || !store_has_room(s))
            continue;
        for (unsigned i = 0; i < s->layout.salt_buckets; i++) {
            bool more = true;

            while (more && status == ST_OK && !is_stopping(s))
                status = fill_bucket(s, i, &more, &e);
            if (status == ST_MOVED)
                status = ST_OK; /* the bucket is another's now */
        }
        if (status != ST_OK && status != ST_BUSY && !failing)
            log_error("store",
                      "weeks are not summarised, long queries read rows: %s",
                      e.text);
        failing = status != ST_OK && status != ST_BUSY;
        now_us = clock_monotonic_us();
        rests_us = RESTS * (now_us - from_us);
        rests_until_us =
            now_us + (rests_us < RESTS_MOST_US ? rests_us : RESTS_MOST_US);
    }
}
