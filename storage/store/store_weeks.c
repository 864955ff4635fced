/* What is known of a salt bucket's weeks, and how they become stale. */
#include "storage/store/store_weeks_priv.h"

#include <stdlib.h>

#include "base/process/log.h"
#include "base/mem.h"
#include "storage/store/row_values.h"
#include "storage/week/week.h"

/* So long after its end rows of a week are in the engine: a span, and the time
 * that it lies idle. */
#define OVER_AFTER_S (30 * HOUR_S)

#define FORGOTTEN_AT_ONCE 4096 /* entries in a batch */

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
store_weeks_state(struct slice value, uint32_t *done, uint32_t *until,
                  struct error *e)
{
    enum status status;

    *done = *until = 0;
    if (value.size < WEEKS_STATE_SIZE || value.size % 4 != 0)
        return error_set(e, ST_CORRUPT, "weeks: a state of %zu bytes",
                         value.size);
    *done = (uint32_t)key_get_uint(value.data, 4);
    *until = (uint32_t)key_get_uint(value.data + 4, 4);
    if (*done % WEEK_S == 0 && *until % WEEK_S == 0 && *done <= *until)
        return ST_OK;
    status = error_set(e, ST_CORRUPT,
                       "weeks: no weeks begin at %u and %u, or the first of "
                       "these times is the later one",
                       (unsigned)*done, (unsigned)*until);
    *done = *until = 0;
    return status;
}

void
store_weeks_put_state(struct store *s, unsigned bucket, struct kv_batch *b)
{
    const struct weeks *w = &s->weeks[bucket];
    uint8_t key[2];
    struct buf value = BUF_INIT;

    buf_make_room(&value, WEEKS_STATE_SIZE + 4 * w->stale_len);
    buf_put_u32(&value, w->done);
    buf_put_u32(&value, w->until);
    for (size_t i = 0; i < w->stale_len; i++)
        buf_put_u32(&value, w->stale[i]);
    kv_batch_put(b, slice_of(key, key_weeks_state(&s->layout, bucket, key)),
                 buf_slice(&value));
    buf_fini(&value);
}

void
store_weeks_note_stale(struct weeks *w, uint32_t week)
{
    size_t i = w->stale_len;

    while (i > 0 && w->stale[i - 1] >= week)
        i--;
    if (i < w->stale_len && w->stale[i] == week) {
        w->stale_again |= week + WEEK_S == w->next_stale;
        return;
    }
    w->stale =
        mem_grow(w->stale, w->stale_len, &w->stale_cap, sizeof *w->stale);
    memmove(w->stale + i + 1, w->stale + i,
            (w->stale_len - i) * sizeof *w->stale);
    w->stale[i] = week;
    w->stale_len++;
    w->unwritten = true;
}

bool
store_weeks_is_final(struct slice value, uint32_t week,
                     const struct cut_times *cut)
{
    struct week w;

    return cut_times_are_alone_in(cut, week) && value.size > 0 &&
           (week_decode(value, week, HOURS_NONE, &w, NULL) != ST_OK ||
            week_is_final(&w));
}

bool
store_weeks_read_final(struct store *s, struct slice key, uint32_t week,
                       const struct cut_times *cut, struct buf *value)
{
    enum status status;

    if (!cut_times_are_alone_in(cut, week))
        return false;
    status = kv_get(s->kv, key, value, NULL);
    return status == ST_OK ? store_weeks_is_final(buf_slice(value), week, cut)
                           : status != ST_NOT_FOUND;
}

/* Without a state, what entries say is not known to be true: those that are not
 * final are deleted. */
static enum status
forget_entries(struct store *s, unsigned bucket, struct error *e)
    REQUIRES(s->flush_lock)
{
    uint8_t bytes[2];
    struct slice prefix =
        slice_of(bytes, key_weeks_state(&s->layout, bucket, bytes));
    struct kv_iter *it = kv_iter_open(s->kv, prefix);
    struct kv_batch *b = kv_batch_new();
    enum status status = ST_OK;

    kv_batch_set_bucket(b, bucket);
    for (bool on = kv_iter_seek(it, prefix); on && status == ST_OK;
         on = kv_iter_next(it)) {
        struct tsuid tsuid;
        struct cut_times cut;
        uint32_t week;

        if (key_week_parse(&s->layout, kv_iter_key(it), &week, &tsuid, NULL) !=
            ST_OK)
            continue;
        cut = store_cut_times_of(s, tsuid_slice(&tsuid));
        if (store_weeks_is_final(kv_iter_value(it), week, &cut))
            continue;
        kv_batch_delete(b, kv_iter_key(it));
        if (kv_batch_len(b) >= FORGOTTEN_AT_ONCE) {
            status = store_write_owned(s, b, e);
            kv_batch_clear(b);
        }
    }
    status = kv_iter_end(&it, status, e);
    if (status == ST_OK)
        status = store_write_owned(s, b, e);
    kv_batch_free(&b);
    return status;
}

enum status
store_weeks_load(struct store *s, unsigned bucket, struct error *e)
{
    struct weeks *w = &s->weeks[bucket];
    const uint8_t prefix[] = { TABLE_ROWS, (uint8_t)bucket };
    struct buf value = BUF_INIT;
    uint8_t key[2];
    struct error why;
    enum status status =
        kv_get(s->kv, slice_of(key, key_weeks_state(&s->layout, bucket, key)),
               &value, &why);

    w->done = w->until = w->next_stale = 0;
    w->stale_len = w->late_len = 0;
    w->loaded_us = w->passed_us = clock_monotonic_us();
    if (status == ST_OK)
        status =
            store_weeks_state(buf_slice(&value), &w->done, &w->until, &why);
    for (size_t i = WEEKS_STATE_SIZE; status == ST_OK && i < value.size; i += 4)
        store_weeks_note_stale(w, (uint32_t)key_get_uint(value.data + i, 4));
    buf_fini(&value);
    w->unwritten = w->unknown = false;
    /* What a new store is filled with comes first. */
    w->old_row_us = 0;
    if (status == ST_NOT_FOUND) {
        struct slice rows = slice_of(prefix, 1u + s->layout.salt_width);
        struct kv_iter *it = kv_iter_open(s->kv, rows);
        bool any = kv_iter_seek(it, rows);

        if (kv_iter_close(&it, NULL) != ST_OK || !any)
            w->old_row_us = w->loaded_us;
    }
    if (status == ST_CORRUPT)
        log_error("store",
                  "the weeks of salt bucket %u are summarised anew, as their "
                  "state is unreadable: %s",
                  bucket, why.text);
    if (status == ST_CORRUPT || status == ST_NOT_FOUND)
        status = forget_entries(s, bucket, &why);
    /* Damaged entries are there: queries read rows, and fsck repairs. */
    w->unknown = status != ST_OK;
    if (status == ST_OK || store_pass_over_damage(s, status, &why) == ST_OK)
        return ST_OK;
    return error_set(e, status, "%s", why.text);
}

static void
take_state(void *ctx, size_t i, const struct slice *value)
{
    uint32_t *done = ctx, until;

    done[i] = 0;
    if (value != NULL)
        (void)(store_weeks_state(*value, &done[i], &until, NULL) == ST_OK);
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

/* -- late rows ------------------------------------------------------------- */

static int64_t
hold_us(const struct store *s)
{
    return (int64_t)s->options.summary_delay_ms * 1000 * MOST_DELAYS;
}

/* Notes that a late row comes to the week. Weeks that are not held any more
 * make way for a new one. */
static void
note_late(struct store *s, struct weeks *w, uint32_t week)
    REQUIRES(s->flush_lock)
{
    int64_t now_us = clock_monotonic_us();
    size_t to = 0;

    for (size_t i = w->late_len; i-- > 0;)
        if (w->late[i].week == week) {
            w->late[i].flushed_us = now_us;
            return;
        }
    for (size_t i = 0; i < w->late_len; i++)
        if (now_us - w->late[i].flushed_us < hold_us(s))
            w->late[to++] = w->late[i];
    w->late = mem_grow(w->late, to, &w->late_cap, sizeof *w->late);
    w->late[to] = (struct late_week){ week, now_us };
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

void
store_weeks_collect_stale(struct store *s, struct slice tsuid, uint32_t span,
                          struct kv_batch *stale)
{
    unsigned bucket = key_salt(&s->layout, tsuid);
    const struct cut_times cut = store_cut_times_of(s, tsuid);
    struct weeks *w = &s->weeks[bucket];
    uint32_t week = week_base(span);
    struct buf value = BUF_INIT;
    uint8_t bytes[ROW_KEY_MAX];
    struct slice key;

    if (span < store_weeks_over(s)) {
        w->old_row_us = clock_monotonic_us();
        note_late(s, w, week);
    }
    if (!tsuid_tags_begin_at(&s->layout, tsuid, 1) || span < cut.hourly_s)
        return;
    kv_batch_set_bucket(stale, bucket);
    key = slice_of(bytes, key_week(&s->layout, tsuid, span, bytes));
    if (store_weeks_read_final(s, key, week, &cut, &value) && value.size > 0) {
        /* Rows of other hours come to a final entry. */
        if (week_answers(buf_slice(&value), week) &&
            !week_is_late(buf_slice(&value))) {
            week_set_rows(&value, week, WEEK_ROWS_LATE);
            kv_batch_put(stale, key, buf_slice(&value));
        }
    } else if (week < w->until) {
        kv_batch_put(stale, key, slice_of(NULL, 0));
        store_weeks_note_stale(w, week);
    }
    buf_fini(&value);
}

/* A batch with the state may have failed: then the next one has it again. */
enum status
store_weeks_mark_stale(struct store *s, struct kv_batch *stale, struct error *e)
{
    struct weeks *w;
    enum status status;

    if (kv_batch_len(stale) == 0)
        return ST_OK;
    w = &s->weeks[kv_batch_bucket(stale)];
    if (w->unwritten && !w->unknown)
        store_weeks_put_state(s, kv_batch_bucket(stale), stale);
    status = store_write_owned(s, stale, e);
    w->unwritten &= status != ST_OK;
    kv_batch_clear(stale);
    return status;
}

/* -- deletion -------------------------------------------------------------- */

/* Clears the days that lie wholly in the range; false: there are none. */
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

/* An entry of which nothing is left becomes stale: points that came late may
 * still be in rows. */
static enum status
put_cleared(struct store *s, struct kv_batch *batch, struct slice key,
            const struct week *w, struct error *e) REQUIRES(s->flush_lock)
{
    struct buf out = BUF_INIT;
    enum status status = ST_OK;

    if (week_is_empty(w))
        store_weeks_note_stale(&s->weeks[kv_batch_bucket(batch)], w->base);
    else
        week_encode(w, &out);
    if (out.failed)
        status = error_set(e, ST_BUSY, "no memory for a week");
    else
        kv_batch_put(batch, key, buf_slice(&out));
    buf_fini(&out);
    return status;
}

enum status
store_weeks_delete(struct store *s, struct slice tsuid, int64_t from_ms,
                   int64_t to_ms, struct error *e)
{
    const struct cut_times cut = store_cut_times_of(s, tsuid);
    uint32_t from_s = (uint32_t)(from_ms / 1000), end = cut.alone_s;
    uint64_t base = week_base(from_s > cut.hourly_s ? from_s : cut.hourly_s);
    struct row_values v = { 0 };
    struct kv_batch *batch;
    uint8_t key[ROW_KEY_MAX];
    enum status status = ST_OK;

    if (to_ms / 1000 < end)
        end = (uint32_t)(to_ms / 1000) + 1;
    if (cut.hourly_s == cut.alone_s || base >= end ||
        !tsuid_tags_begin_at(&s->layout, tsuid, 1))
        return ST_OK;
    batch = kv_batch_new();
    kv_batch_set_bucket(batch, key_salt(&s->layout, tsuid));
    while (base < end && status == ST_OK) {
        uint32_t first = (uint32_t)base;

        /* As many weeks as are read at once. */
        row_values_clear(&v);
        for (; base < end && v.len < row_values_room(&v); base += WEEK_S)
            row_values_add(&v, slice_of(key, key_week(&s->layout, tsuid,
                                                      (uint32_t)base, key)));
        status = row_values_read(&v, s->kv, e);
        for (size_t i = 0; i < v.len && status == ST_OK; i++) {
            struct slice value;
            struct week w;

            status = row_values_get(&v, s->kv, i, &value, e);
            /* An entry that cannot be decoded is left to fsck. */
            if (status == ST_OK && value.size > 0 &&
                week_decode(value, first + (uint32_t)i * WEEK_S, HOURS_ALL, &w,
                            NULL) == ST_OK &&
                week_is_final(&w) && clear_days(&w, from_ms, to_ms))
                status = put_cleared(s, batch, v.keys[i], &w, e);
            else if (status == ST_NOT_FOUND)
                status = ST_OK;
        }
    }
    if (status == ST_OK)
        status = store_weeks_mark_stale(s, batch, e);
    row_values_fini(&v);
    kv_batch_free(&batch);
    return status;
}
