/* The thread that flushes on its own: rows whose span has passed and that lie
 * idle, rows of series that lie idle for long whatever their time, the oldest
 * rows when the head or the WAL grows too large.  Between them it encodes hours
 * that are over, in the head (head_encode()).  And who else starts a flush,
 * the trimming of the WAL behind it, and waiting for room in the head. */
#include "base/process/crash.h"
#include "base/process/log.h"
#include "base/process/signals.h"
#include "storage/store/store_weeks_priv.h"

#define SWEEP_EVERY_S   5
#define ENCODE_EVERY_MS 60000
#define FORGET_TIMES    8
#define IN_FLIGHT_S     60 /* a forwarded point arrives sooner, or never */
/* Bytes of a WAL segment.  A trim makes a small table of what LevelDB has in
 * memory; with trims each MB, almost twice as many bytes were written. */
#define WORTH_TRIMMING ((uint64_t)4 << 20)
#define JUST_WRITTEN_S 2

enum status
store_trim(struct store *s, struct error *e)
{
    uint64_t needed;
    enum status status;

    if (s->wal == NULL)
        return ST_OK;
    /* Under the write lock no batch is in the WAL but not in the engine. */
    lock_take(&s->write_lock);
    needed = wal_segment_now(s->wal);
    lock_drop(&s->write_lock);
    needed = head_oldest_segment(s->head, needed);
    if (needed <= s->trimmed)
        return ST_OK;
    status = kv_sync(s->kv, e);
    crash_point("trim-synced");
    if (status == ST_OK)
        status = wal_trim(s->wal, needed, e);
    if (status == ST_OK)
        s->trimmed = needed;
    return status;
}

enum status
store_flush_until(struct store *s, size_t keep_bytes, struct error *e)
{
    struct flush_rule rule = { .newer_span_exists = true };
    enum status status;

    lock_take(&s->flush_lock);
    status = store_flush_pass(s, &rule, keep_bytes, e);
    rule.all = true;
    if (status == ST_OK && head_bytes(s->head) > keep_bytes)
        status = store_flush_pass(s, &rule, keep_bytes, e);
    lock_drop(&s->flush_lock);
    return status;
}

enum status
store_flush(struct store *s, struct error *e)
{
    enum status status;

    OBJ_CHECK(s, STORE_MAGIC);
    lock_take(&s->flush_lock);
    status = store_flush_all(s, e);
    if (status == ST_OK && s->aside.status != ST_OK)
        status = error_set(e, s->aside.status, "some rows stay open: %s",
                           s->aside.text);
    if (status == ST_OK && s->wal != NULL) {
        wal_rotate(s->wal);
        status = store_trim(s, e);
    }
    lock_drop(&s->flush_lock);
    return status;
}

enum status
store_flush_all(struct store *s, struct error *e)
{
    struct flush_rule rule = { .all = true };
    enum status status = ST_OK;

    /* Again while it helps: a row may have to wait for its predecessor. */
    for (int pass = 0; pass < FLUSH_PASSES && status == ST_OK; pass++) {
        uint64_t before = atomic_load(&s->rows_flushed);

        status = store_flush_pass(s, &rule, 0, e);
        if (head_counts(s->head).rows == 0 ||
            atomic_load(&s->rows_flushed) == before)
            break;
    }
    return status;
}

static unsigned
encode_every_ms(const struct store *s)
{
    return s->options.encode_delay_ms < ENCODE_EVERY_MS
               ? s->options.encode_delay_ms
               : ENCODE_EVERY_MS;
}

static bool
is_nearly_full(const struct store *s)
{
    return head_bytes(s->head) > s->options.head_bytes / 4 * 3;
}

/* At least a second, which is what the head counts in. */
static uint32_t
forget_after_s(const struct store *s)
{
    unsigned ms = s->options.series_idle_ms;

    return ms < 1000 ? 1 : ms / 1000;
}

static enum status
sweep(struct store *s, struct error *e)
{
    struct flush_rule rule = {
        .idle = true,
        .now_s = store_now_s(),
        .idle_s = s->options.flush_delay_ms / 1000,
        .forget_s = forget_after_s(s),
        .wall_s = clock_now_ms(s->options.clock) / 1000,
    };
    uint64_t flushed;
    enum status status;

    if (s->wal != NULL) {
        uint64_t now = wal_segment_now(s->wal);
        uint64_t keep = s->options.wal_bytes / s->options.wal_segment_bytes / 2;

        if (wal_counts(s->wal).bytes > s->options.wal_bytes && now > keep)
            rule.segment = now - keep;
    }
    lock_take(&s->flush_lock);
    status = store_flush_pass(s, &rule, 0, e);
    flushed = atomic_load(&s->rows_flushed);
    /* What was flushed need not wait for a segment to be full: a slow WAL would
     * keep it for days.  With nothing open the segment goes at once, otherwise
     * when the rows that were begun in it are flushed. */
    if (status == ST_OK && s->wal != NULL && flushed != s->rotated_at &&
        wal_counts(s->wal).current >= WORTH_TRIMMING) {
        s->rotated_at = flushed;
        wal_rotate(s->wal);
    }
    if (status == ST_OK)
        status = store_trim(s, e);
    lock_drop(&s->flush_lock);
    return status;
}

/* Bucket by bucket, so that a flush need not wait for all of them.  It may look
 * at all rows, and so is not done more often than rows can become due. */
static void
encode_hours(struct store *s, int64_t *done_ms)
{
    int64_t now_ms = clock_monotonic_us() / 1000;
    struct encode_rule rule = {
        .now_s = store_now_s(),
        .delay_s = s->options.encode_delay_ms / 1000,
        .wall_s = clock_now_ms(s->options.clock) / 1000,
    };

    if (now_ms - *done_ms < (int64_t)encode_every_ms(s))
        return;
    for (unsigned i = 0; i < s->layout.salt_buckets; i++) {
        bool must_stop;

        lock_take(&s->wake_lock);
        must_stop = s->stopping || s->flush_requested;
        lock_drop(&s->wake_lock);
        if (must_stop || is_nearly_full(s))
            break;
        lock_take(&s->flush_lock);
        (void)head_encode(s->head, i, &rule);
        lock_drop(&s->flush_lock);
    }
    *done_ms = clock_monotonic_us() / 1000;
}

/* 'now_s' counts from the start of the machine: if that was less than 'idle_s'
 * ago, no series has been idle for so long. */
static void
evict_idle(struct store *s, size_t keep, uint32_t idle_s)
{
    uint32_t now_s = store_now_s();

    if (now_s >= idle_s)
        head_evict(s->head, keep / s->layout.salt_buckets, now_s - idle_s);
}

static bool
has_too_many_series(const struct store *s)
{
    return head_counts(s->head).series > s->options.head_series;
}

static bool
is_watched(struct store *s)
{
    return clock_monotonic_us() < atomic_load(&s->watched_until_us);
}

/* Idle series leave memory.  If there are more than 'head_series', those leave
 * that were not written to since rows were last due; and if that is not enough,
 * as when a client makes new series all the time, all whose rows are flushed,
 * but for those that were made or written to just now.
 *
 * Handles become invalid in buckets where few of many series are left.  Not in
 * a pool: there, points that were forwarded may be put again with their
 * handles. */
static void
evict_series(struct store *s)
{
    uint64_t before = head_counts(s->head).forgotten;
    size_t keep = s->options.head_series;
    uint32_t idle_s = forget_after_s(s);
    bool watched;

    lock_take(&s->flush_lock);
    watched = is_watched(s);
    /* A purge can be repeated; memory that new series fill cannot wait. */
    if (watched && has_too_many_series(s)) {
        atomic_store(&s->watched_until_us, 0);
        watched = false;
    }
    /* A replay puts points by the handles that it has. */
    if (!watched && atomic_load(&s->replays) == 0) {
        /* Checking millions of series takes a while, so it is done FORGET_TIMES
         * times in the period after which a series is idle. */
        if (store_now_s() - s->forgot_s >= idle_s / FORGET_TIMES) {
            s->forgot_s = store_now_s();
            evict_idle(s, 0, idle_s);
        }
        if (has_too_many_series(s))
            evict_idle(s, keep, s->options.flush_delay_ms / 1000);
        if (has_too_many_series(s))
            evict_idle(s, keep / 4 * 3, JUST_WRITTEN_S);
    }
    if (head_counts(s->head).forgotten != before &&
        head_shrink(s->head, s->remote == NULL))
        atomic_fetch_add(&s->series_renumbered, 1);
    lock_drop(&s->flush_lock);
}

void
store_watch_series(struct store *s, int64_t until_us)
{
    OBJ_CHECK(s, STORE_MAGIC);
    /* A pass that removes idle series may be running; what is touched from now
     * on is not idle for it. */
    atomic_store(&s->watched_until_us, until_us);
    if (until_us != 0)
        head_watch(s->head);
}

bool
store_forget_series(struct store *s, const struct slice *tsuids, size_t len,
                    bool *kept)
{
    uint32_t now_s = store_now_s(), quiet_s = forget_after_s(s);

    OBJ_CHECK(s, STORE_MAGIC);
    if (quiet_s > IN_FLIGHT_S)
        quiet_s = IN_FLIGHT_S;
    head_forget(s->head, tsuids, len,
                s->remote == NULL ? UINT32_MAX
                : now_s < quiet_s ? 0
                                  : now_s - quiet_s,
                kept);
    /* evict_series() ends the watch before it removes anything. */
    return is_watched(s);
}

/* Reports what became of a flush to those who wait for room, and to the log
 * when it changes. */
static void
report(struct store *s, enum status status, const struct error *e)
{
    lock_take(&s->wake_lock);
    if (status != ST_OK && s->flush_error.status == ST_OK)
        log_error("store", "flushing fails: %s", e->text);
    if (status == ST_OK && s->flush_error.status != ST_OK)
        log_info("store", "flushing works again");
    s->flush_error = (struct error){ 0 };
    if (status != ST_OK)
        s->flush_error = *e;
    s->flush_requested = false;
    cond_broadcast(&s->room);
    lock_drop(&s->wake_lock);
}

static void *
flusher(void *arg)
{
    struct store *s = arg;
    uint32_t swept_s = store_now_s(), sweep_s = SWEEP_EVERY_S;
    int64_t encoded_ms = clock_monotonic_us() / 1000;
    unsigned wait_ms = encode_every_ms(s) < 1000 ? encode_every_ms(s) : 1000;

    if (sweep_s > forget_after_s(s))
        sweep_s = forget_after_s(s);
    signals_block();
    for (;;) {
        struct error e;
        enum status status = ST_OK;
        bool stop;

        lock_take(&s->wake_lock);
        if (!s->stopping && !s->flush_requested)
            cond_wait_ms(&s->wake, &s->wake_lock, wait_ms);
        stop = s->stopping;
        lock_drop(&s->wake_lock);
        if (stop)
            return NULL;
        store_check_disk(s);
        /* With so little the engine should not write either. */
        if (!store_has_room(s)) {
            status = error_set(&e, ST_BUSY, "the disk is full");
            report(s, status, &e);
            continue;
        }
        if (is_nearly_full(s))
            status = store_flush_until(s, s->options.head_bytes / 2, &e);
        if (status == ST_OK && store_now_s() - swept_s >= sweep_s) {
            swept_s = store_now_s();
            status = sweep(s, &e);
            evict_series(s);
        } else if (has_too_many_series(s)) {
            evict_series(s);
        }
        if (status == ST_OK)
            encode_hours(s, &encoded_ms);
        report(s, status, &e);
    }
}

enum status
store_flusher_start(struct store *s, struct error *e)
{
    enum status status =
        thread_start(&s->flusher, flusher, s, "the flusher", e);

    if (status != ST_OK || s->options.no_summaries)
        return status;
    return thread_start(&s->summariser, store_weeks_summarise, s,
                        "the summariser", e);
}

void
store_flusher_stop(struct store *s)
{
    lock_take(&s->wake_lock);
    s->stopping = true;
    cond_signal(&s->wake);
    cond_broadcast(&s->stop);
    lock_drop(&s->wake_lock);
    thread_join(&s->summariser);
    thread_join(&s->flusher);
}
