/* The WAL: appenders copy into one of two buffers; whoever commits first
 * takes that buffer and writes it for all ("the writer"), while the others
 * append to the other one.
 *
 *     pending --swap--> written to the segment --sync--> synced
 *              writing                        syncing
 *
 * 'writing' and 'syncing' are roles that one thread at a time holds, without
 * the lock; they may overlap, so appends and commits go on during a sync.  A
 * change of segment needs both.  The segment of a record is fixed when it is
 * appended, so a change is decided at the swap: what is pending then belongs
 * to the old segment as a whole.
 *
 * A buffer is a bundle, with room for its head before it; the checksums are
 * taken by the writer.
 *
 * How far the file is synced is written behind it as a mark, with what is
 * written next, or alone when nothing is pending.  A mark is no record of the
 * callers: it has no LSN, and never triggers an fsync.  Where appends are
 * durable there are no syncs and no marks. */
#include "storage/wal/wal_priv.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/process/clock.h"
#include "base/process/crash.h"
#include "base/hash.h"
#include "base/process/lock.h"
#include "base/process/log.h"
#include "base/process/signals.h"
#include "base/obj.h"

/* What the writer carries out of the lock. */
struct write_batch {
    struct buf *bytes;
    size_t end; /* of its records */
    uint32_t file_key;
    uint64_t upto; /* LSN behind the bytes */
    bool change;   /* of the segment, afterwards */
    uint64_t writes;
};

static void flush(struct wal *w, bool change) REQUIRES(w->lock);
static void flush_or_wait(struct wal *w) REQUIRES(w->lock);
static void sync_written(struct wal *w) REQUIRES(w->lock);

/* -- appending ------------------------------------------------------------ */

static enum status
failure(struct wal *w, struct error *e) REQUIRES(w->lock)
{
    if (w->failed.status != ST_OK && e != NULL)
        *e = w->failed;
    return w->failed.status;
}

static bool
bundle_add(struct wal *w, uint8_t type, struct slice payload) REQUIRES(w->lock)
{
    static const uint8_t head[WAL_RECORD_HEADER];
    struct buf *b = &w->buffers[w->filling];
    size_t before = b->size;

    if (buf_reserve(b, payload.size + WAL_ENTRY_ROOM) == NULL) {
        b->failed = false;
        return false;
    }
    if (before == 0)
        buf_put(b, head, sizeof head);
    w->appended -= b->size;
    buf_put_u8(b, type);
    buf_put_sized(b, payload);
    w->appended += b->size;
    return true;
}

enum status
wal_append(struct wal *w, uint64_t segment, uint8_t type, struct slice payload,
           uint64_t *lsn, struct error *e)
{
    enum status st = ST_OK;

    OBJ_CHECK(w, WAL_MAGIC);
    INSIST(type != WAL_MARK && type != WAL_BUNDLE);
    if (payload.size > w->max_payload)
        return error_set(e, ST_LIMIT, "a WAL record of %zu bytes",
                         payload.size);
    lock_take(&w->lock);
    if (w->failed.status != ST_OK)
        st = failure(w, e);
    else if (segment != 0 && segment != atomic_load(&w->append_segment))
        st = error_set(e, ST_NOT_FOUND, "segment %" PRIu64 " has ended",
                       segment);
    else if (w->buffers[w->filling].size + payload.size + WAL_ENTRY_ROOM >
             w->max_bundle)
        st = error_set(e, ST_BUSY,
                       "the WAL's buffer is full: %zu bytes wait to be written",
                       w->buffers[w->filling].size);
    else if (!bundle_add(w, type, payload))
        st = error_set(e, ST_LIMIT, "no memory for %zu bytes of WAL",
                       payload.size);
    else
        *lsn = w->appended;
    lock_drop(&w->lock);
    return st;
}

enum status
wal_wait_for_room(struct wal *w, struct error *e)
{
    enum status st;

    OBJ_CHECK(w, WAL_MAGIC);
    lock_take(&w->lock);
    while (w->failed.status == ST_OK &&
           w->buffers[w->filling].size > w->buffer_bytes)
        flush_or_wait(w);
    st = failure(w, e);
    lock_drop(&w->lock);
    return st;
}

enum status
wal_commit(struct wal *w, uint64_t lsn, bool sync, struct error *e)
{
    enum status st;

    OBJ_CHECK(w, WAL_MAGIC);
    lock_take(&w->lock);
    INSIST(lsn <= w->appended);
    if (sync)
        lsn = w->appended;
    sync = sync || w->sync == WAL_SYNC_ALWAYS;
    while (w->failed.status == ST_OK) {
        if (w->written < lsn) {
            flush_or_wait(w);
        } else if (!sync || w->synced >= lsn) {
            break;
        } else if (w->syncing) {
            cond_wait(&w->changed, &w->lock);
        } else {
            sync_written(w);
        }
    }
    st = failure(w, e);
    lock_drop(&w->lock);
    return st;
}

/* -- the writer and the syncer -------------------------------------------- */

static void
fail(struct wal *w, const struct error *e) REQUIRES(w->lock)
{
    if (w->failed.status != ST_OK)
        return;
    w->failed = *e;
    if (e->status != ST_CONFLICT)
        w->failed.status = ST_IO;
    log_error("wal", "%s: nothing is acknowledged%s", e->text,
              e->status == ST_CONFLICT ? " by this process any more"
                                       : " until it is begun anew");
}

static bool
is_durable(const struct wal *w)
{
    return w->medium->ops->sync == NULL;
}

static void
latency_since(struct wal *w, int64_t from_us)
{
    latency_add(&w->sync_latency, (uint64_t)(clock_monotonic_us() - from_us));
}

static enum status
sync_segment(struct wal *w, struct error *e)
{
    int64_t from_us = clock_monotonic_us();
    enum status st;

    if (is_durable(w))
        return ST_OK;
    st = w->medium->ops->sync(w->medium, e);
    latency_since(w, from_us);
    return st;
}

/* Says in the file how far it is synced, behind what is pending. */
static void
add_mark(struct wal *w) REQUIRES(w->lock)
{
    struct buf *b = &w->buffers[w->filling];
    uint8_t mark[WAL_MARK_SIZE];

    if (w->marked >= w->reach)
        return;
    if (buf_reserve(b, sizeof mark) == NULL) {
        b->failed = false; /* a later one will do */
        return;
    }
    wal_mark(w->reach, w->file_key, mark);
    buf_put(b, mark, sizeof mark);
    w->marked = w->reach;
}

static struct write_batch
batch_take(struct wal *w, bool change) REQUIRES(w->lock)
{
    struct write_batch t = { .bytes = &w->buffers[w->filling],
                             .end = w->buffers[w->filling].size,
                             .file_key = w->file_key,
                             .upto = w->appended };
    uint64_t size;

    add_mark(w);
    size = w->size + t.bytes->size;
    w->filling ^= 1;
    t.change =
        (change && size > WAL_SEGMENT_HEADER) || size >= w->segment_bytes;
    if (t.change)
        atomic_store(&w->append_segment, w->segment + 1);
    return t;
}

/* What was written before 'from_us', up to 'upto', is on the disk. */
static void
note_sync(struct wal *w, uint64_t upto, int64_t from_us) REQUIRES(w->lock)
{
    if (w->synced < upto)
        w->synced = upto;
    w->counts.syncs++;
    w->counts.synced_us = clock_monotonic_us();
    w->unsynced_us = w->synced < w->written ? from_us : 0;
}

/* What was written is counted; the buffer is free for the next turn. */
static void
batch_done(struct wal *w, const struct write_batch *t) REQUIRES(w->lock)
{
    if (w->written < t->upto && w->unsynced_us == 0)
        w->unsynced_us = clock_monotonic_us();
    w->written = t->upto;
    w->size += t->bytes->size;
    w->counts.writes += t->writes;
    if (t->bytes->cap > 2 * w->buffer_bytes)
        buf_fini(t->bytes);
    else
        buf_clear(t->bytes);
    if (is_durable(w))
        note_sync(w, t->upto, 0);
}

/* The old segment is on the disk before the new one has a name. */
static enum status
change_segments(struct wal *w, const struct write_batch *t, struct error *e)
    REQUIRES(w->lock)
{
    uint64_t segment;
    uint32_t file_key;
    int64_t from_us;
    enum status st;

    while (w->syncing)
        cond_wait(&w->changed, &w->lock);
    w->syncing = true;
    from_us = clock_monotonic_us();
    segment = w->segment + 1;
    lock_drop(&w->lock);
    st = sync_segment(w, e);
    crash_point("rotate-synced");
    if (st == ST_OK)
        st = wal_make_segment(w, segment, &file_key, e);
    lock_take(&w->lock);
    w->syncing = false;
    if (st != ST_OK)
        return st;
    note_sync(w, t->upto, from_us);
    wal_begin_segment(w, segment, file_key);
    return ST_OK;
}

/* Takes the writer's role, which must be free, and writes what is pending. */
static void
flush(struct wal *w, bool change)
{
    struct write_batch t;
    struct error e;
    enum status st;
    uint8_t *head;
    int64_t from_us;

    INSIST(!w->writing);
    w->writing = true;
    t = batch_take(w, change);
    lock_drop(&w->lock);
    head = t.bytes->data;
    from_us = is_durable(w) ? clock_monotonic_us() : 0;
    if (t.bytes->size == 0) {
        st = ST_OK;
    } else {
        if (t.end > 0) { /* the head before the records */
            wal_record_header(
                WAL_BUNDLE,
                slice_of(head + WAL_RECORD_HEADER, t.end - WAL_RECORD_HEADER),
                head);
            wal_record_mask(head, t.file_key);
        }
        st = w->medium->ops->append(w->medium, buf_slice(t.bytes), &t.writes,
                                    &e);
        if (is_durable(w))
            latency_since(w, from_us);
    }
    lock_take(&w->lock);
    if (st == ST_OK) {
        batch_done(w, &t);
        if (t.change) {
            cond_broadcast(&w->changed);
            st = change_segments(w, &t, &e);
        }
    }
    if (st != ST_OK)
        fail(w, &e);
    w->writing = false;
    cond_broadcast(&w->changed);
}

static void
flush_or_wait(struct wal *w)
{
    if (w->writing)
        cond_wait(&w->changed, &w->lock);
    else
        flush(w, false);
}

/* Takes the syncer's role, which must be free.  With nothing pending the mark
 * is written at once: a server that then lies idle knows what it has. */
static void
sync_written(struct wal *w)
{
    uint64_t upto = w->written, reach = w->size;
    int64_t from_us = clock_monotonic_us();
    struct error e;
    enum status st;

    INSIST(!w->syncing);
    w->syncing = true;
    lock_drop(&w->lock);
    st = sync_segment(w, &e);
    lock_take(&w->lock);
    w->syncing = false;
    if (st != ST_OK) {
        fail(w, &e);
    } else {
        note_sync(w, upto, from_us);
        w->reach = reach;
    }
    cond_broadcast(&w->changed);
    if (st == ST_OK && !w->writing && w->buffers[w->filling].size == 0)
        flush(w, false);
}

void *
wal_interval_main(void *arg)
{
    struct wal *w = arg;

    signals_block();
    lock_take(&w->lock);
    while (!w->stopping) {
        cond_wait_ms(&w->tick, &w->lock, w->interval_ms);
        if (w->failed.status == ST_OK && !w->writing &&
            w->written < w->appended)
            flush(w, false);
        if (w->failed.status == ST_OK && !w->syncing && w->synced < w->written)
            sync_written(w);
    }
    lock_drop(&w->lock);
    return NULL;
}

/* -- segments ------------------------------------------------------------- */

uint64_t
wal_segment_now(const struct wal *w)
{
    OBJ_CHECK(w, WAL_MAGIC);
    return atomic_load(&w->append_segment);
}

void
wal_rotate(struct wal *w)
{
    OBJ_CHECK(w, WAL_MAGIC);
    lock_take(&w->lock);
    while (w->writing)
        cond_wait(&w->changed, &w->lock);
    if (w->failed.status == ST_OK)
        flush(w, true);
    lock_drop(&w->lock);
}

enum status
wal_make_segment(struct wal *w, uint64_t segment, uint32_t *file_key,
                 struct error *e)
{
    uint8_t header[WAL_SEGMENT_HEADER];

    *file_key = wal_segment_header(segment, hash_random_seed(), header);
    return w->medium->ops->begin(w->medium, segment,
                                 slice_of(header, sizeof header), e);
}

void
wal_begin_segment(struct wal *w, uint64_t segment, uint32_t file_key)
{
    w->older += w->size;
    w->file_key = file_key;
    w->segment = segment;
    w->size = w->reach = w->marked = WAL_SEGMENT_HEADER;
}

enum status
wal_trim(struct wal *w, uint64_t segment, struct error *e)
{
    enum status st = ST_OK;

    OBJ_CHECK(w, WAL_MAGIC);
    lock_take(&w->lock);
    while (st == ST_OK && w->first < segment && w->first < w->segment) {
        uint64_t oldest = w->first, size;

        lock_drop(&w->lock);
        size = w->medium->ops->size(w->medium, oldest);
        st = w->medium->ops->remove(w->medium, oldest, e);
        lock_take(&w->lock);
        if (st == ST_OK) {
            w->first++;
            w->older -= size < w->older ? size : w->older;
        }
    }
    lock_drop(&w->lock);
    return st;
}

enum status
wal_status(struct wal *w, struct error *e)
{
    enum status st;

    OBJ_CHECK(w, WAL_MAGIC);
    lock_take(&w->lock);
    st = failure(w, e);
    lock_drop(&w->lock);
    return st;
}

enum status
wal_restart(struct wal *w, struct error *e)
{
    uint64_t first, segment;
    uint32_t file_key;
    enum status st = ST_OK;

    OBJ_CHECK(w, WAL_MAGIC);
    lock_take(&w->lock);
    while (w->writing || w->syncing)
        cond_wait(&w->changed, &w->lock);
    if (w->failed.status == ST_OK || w->failed.status == ST_CONFLICT) {
        st = failure(w, e);
        goto out;
    }
    w->writing = w->syncing = true;
    first = w->first;
    segment = atomic_fetch_add(&w->append_segment, 1) + 1;
    lock_drop(&w->lock);
    /* The oldest first, so that a crash leaves the damaged one as the last.
     * What an earlier try made goes with them. */
    for (; st == ST_OK && first < segment; first++)
        st = w->medium->ops->remove(w->medium, first, e);
    if (st == ST_OK)
        st = wal_make_segment(w, segment, &file_key, e);
    lock_take(&w->lock);
    w->writing = w->syncing = false;
    if (st == ST_OK) {
        wal_begin_segment(w, segment, file_key);
        w->first = segment;
        w->older = 0;
        buf_clear(&w->buffers[0]);
        buf_clear(&w->buffers[1]);
        w->written = w->synced = w->appended;
        w->unsynced_us = 0;
        w->failed = (struct error){ 0 };
        log_info("wal", "works again, with segment %" PRIu64, w->segment);
    }
    cond_broadcast(&w->changed);
out:
    lock_drop(&w->lock);
    return st;
}

struct wal_counts
wal_counts(struct wal *w)
{
    struct wal_counts c;

    OBJ_CHECK(w, WAL_MAGIC);
    lock_take(&w->lock);
    c = w->counts;
    c.segments = w->segment - w->first + 1;
    c.current = w->size;
    c.bytes = w->older + w->size;
    if (w->sync != WAL_SYNC_OFF && w->unsynced_us != 0)
        c.unsynced_us = clock_monotonic_us() - w->unsynced_us;
    lock_drop(&w->lock);
    return c;
}

const struct latency *
wal_sync_latency(const struct wal *w)
{
    OBJ_CHECK(w, WAL_MAGIC);
    return &w->sync_latency;
}
