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

static void flush(struct wal *j, bool change) REQUIRES(j->lock);
static void flush_or_wait(struct wal *j) REQUIRES(j->lock);
static void sync_written(struct wal *j) REQUIRES(j->lock);

/* -- appending ------------------------------------------------------------ */

static enum status
failure(struct wal *j, struct error *e) REQUIRES(j->lock)
{
    if (j->failed.status != ST_OK && e != NULL)
        *e = j->failed;
    return j->failed.status;
}

static bool
bundle_add(struct wal *j, uint8_t type, struct slice payload) REQUIRES(j->lock)
{
    static const uint8_t head[WAL_RECORD_HEADER];
    struct buf *b = &j->buffers[j->filling];
    size_t before = b->size;

    if (buf_reserve(b, payload.size + WAL_ENTRY_ROOM) == NULL) {
        b->failed = false;
        return false;
    }
    if (before == 0)
        buf_put(b, head, sizeof head);
    j->appended -= b->size;
    buf_put_u8(b, type);
    buf_put_sized(b, payload);
    j->appended += b->size;
    return true;
}

enum status
wal_append(struct wal *j, uint64_t segment, uint8_t type, struct slice payload,
           uint64_t *lsn, struct error *e)
{
    enum status st = ST_OK;

    OBJ_CHECK(j, WAL_MAGIC);
    INSIST(type != WAL_MARK && type != WAL_BUNDLE);
    if (payload.size > j->max_payload)
        return error_set(e, ST_LIMIT, "a WAL record of %zu bytes",
                         payload.size);
    lock_take(&j->lock);
    if (j->failed.status != ST_OK)
        st = failure(j, e);
    else if (segment != 0 && segment != atomic_load(&j->append_segment))
        st = error_set(e, ST_NOT_FOUND, "segment %" PRIu64 " has ended",
                       segment);
    else if (j->buffers[j->filling].size + payload.size + WAL_ENTRY_ROOM >
             j->max_bundle)
        st = error_set(e, ST_BUSY,
                       "the WAL's buffer is full: %zu bytes wait to be written",
                       j->buffers[j->filling].size);
    else if (!bundle_add(j, type, payload))
        st = error_set(e, ST_LIMIT, "no memory for %zu bytes of WAL",
                       payload.size);
    else
        *lsn = j->appended;
    lock_drop(&j->lock);
    return st;
}

enum status
wal_wait_for_room(struct wal *j, struct error *e)
{
    enum status st;

    OBJ_CHECK(j, WAL_MAGIC);
    lock_take(&j->lock);
    while (j->failed.status == ST_OK &&
           j->buffers[j->filling].size > j->buffer_bytes)
        flush_or_wait(j);
    st = failure(j, e);
    lock_drop(&j->lock);
    return st;
}

enum status
wal_commit(struct wal *j, uint64_t lsn, bool sync, struct error *e)
{
    enum status st;

    OBJ_CHECK(j, WAL_MAGIC);
    lock_take(&j->lock);
    INSIST(lsn <= j->appended);
    if (sync)
        lsn = j->appended;
    sync = sync || j->sync == WAL_SYNC_ALWAYS;
    while (j->failed.status == ST_OK) {
        if (j->written < lsn) {
            flush_or_wait(j);
        } else if (!sync || j->synced >= lsn) {
            break;
        } else if (j->syncing) {
            cond_wait(&j->changed, &j->lock);
        } else {
            sync_written(j);
        }
    }
    st = failure(j, e);
    lock_drop(&j->lock);
    return st;
}

/* -- the writer and the syncer -------------------------------------------- */

static void
fail(struct wal *j, const struct error *e) REQUIRES(j->lock)
{
    if (j->failed.status != ST_OK)
        return;
    j->failed = *e;
    if (e->status != ST_CONFLICT)
        j->failed.status = ST_IO;
    log_error("wal", "%s: nothing is acknowledged%s", e->text,
              e->status == ST_CONFLICT ? " by this process any more"
                                       : " until it is begun anew");
}

static bool
is_durable(const struct wal *j)
{
    return j->medium->ops->sync == NULL;
}

static void
latency_since(struct wal *j, int64_t from_us)
{
    latency_add(&j->sync_latency, (uint64_t)(clock_monotonic_us() - from_us));
}

static enum status
write_all(struct wal *j, struct write_batch *t, struct error *e)
{
    uint8_t *head = t->bytes->data;
    int64_t from_us = is_durable(j) ? clock_monotonic_us() : 0;
    enum status st;

    if (t->bytes->size == 0)
        return ST_OK;
    if (t->end > 0) { /* the head before the records */
        wal_record_header(
            WAL_BUNDLE,
            slice_of(head + WAL_RECORD_HEADER, t->end - WAL_RECORD_HEADER),
            head);
        wal_record_mask(head, t->file_key);
    }
    st = j->medium->ops->append(j->medium, buf_slice(t->bytes), &t->writes, e);
    if (is_durable(j))
        latency_since(j, from_us);
    return st;
}

static enum status
sync_segment(struct wal *j, struct error *e)
{
    int64_t from_us = clock_monotonic_us();
    enum status st;

    if (is_durable(j))
        return ST_OK;
    st = j->medium->ops->sync(j->medium, e);
    latency_since(j, from_us);
    return st;
}

/* Says in the file how far it is synced, behind what is pending. */
static void
add_mark(struct wal *j) REQUIRES(j->lock)
{
    struct buf *b = &j->buffers[j->filling];
    uint8_t mark[WAL_MARK_SIZE];

    if (j->marked >= j->reach)
        return;
    if (buf_reserve(b, sizeof mark) == NULL) {
        b->failed = false; /* a later one will do */
        return;
    }
    wal_mark(j->reach, j->file_key, mark);
    buf_put(b, mark, sizeof mark);
    j->marked = j->reach;
}

static struct write_batch
batch_take(struct wal *j, bool change) REQUIRES(j->lock)
{
    struct write_batch t = { .bytes = &j->buffers[j->filling],
                             .end = j->buffers[j->filling].size,
                             .file_key = j->file_key,
                             .upto = j->appended };
    uint64_t size;

    add_mark(j);
    size = j->size + t.bytes->size;
    j->filling ^= 1;
    t.change = (change && size > WAL_FILE_HEADER) || size >= j->segment_bytes;
    if (t.change)
        atomic_store(&j->append_segment, j->segment + 1);
    return t;
}

/* What was written before 'from_us', up to 'upto', is on the disk. */
static void
note_sync(struct wal *j, uint64_t upto, int64_t from_us) REQUIRES(j->lock)
{
    if (j->synced < upto)
        j->synced = upto;
    j->counts.syncs++;
    j->counts.synced_us = clock_monotonic_us();
    j->unsynced_us = j->synced < j->written ? from_us : 0;
}

/* What was written is counted; the buffer is free for the next turn. */
static void
batch_done(struct wal *j, const struct write_batch *t) REQUIRES(j->lock)
{
    if (j->written < t->upto && j->unsynced_us == 0)
        j->unsynced_us = clock_monotonic_us();
    j->written = t->upto;
    j->size += t->bytes->size;
    j->counts.writes += t->writes;
    if (t->bytes->cap > 2 * j->buffer_bytes)
        buf_fini(t->bytes);
    else
        buf_clear(t->bytes);
    if (is_durable(j))
        note_sync(j, t->upto, 0);
}

/* The old segment is on the disk before the new one has a name. */
static enum status
change_segments(struct wal *j, const struct write_batch *t, struct error *e)
    REQUIRES(j->lock)
{
    uint64_t segment;
    uint32_t file_key;
    int64_t from_us;
    enum status st;

    while (j->syncing)
        cond_wait(&j->changed, &j->lock);
    j->syncing = true;
    from_us = clock_monotonic_us();
    segment = j->segment + 1;
    lock_drop(&j->lock);
    st = sync_segment(j, e);
    crash_point("rotate-synced");
    if (st == ST_OK)
        st = wal_make_segment(j, segment, &file_key, e);
    lock_take(&j->lock);
    j->syncing = false;
    if (st != ST_OK)
        return st;
    note_sync(j, t->upto, from_us);
    wal_begin_segment(j, segment, file_key);
    return ST_OK;
}

/* Takes the writer's role, which must be free, and writes what is pending. */
static void
flush(struct wal *j, bool change)
{
    struct write_batch t;
    struct error e;
    enum status st;

    INSIST(!j->writing);
    j->writing = true;
    t = batch_take(j, change);
    lock_drop(&j->lock);
    st = write_all(j, &t, &e);
    lock_take(&j->lock);
    if (st == ST_OK) {
        batch_done(j, &t);
        if (t.change) {
            cond_broadcast(&j->changed);
            st = change_segments(j, &t, &e);
        }
    }
    if (st != ST_OK)
        fail(j, &e);
    j->writing = false;
    cond_broadcast(&j->changed);
}

static void
flush_or_wait(struct wal *j)
{
    if (j->writing)
        cond_wait(&j->changed, &j->lock);
    else
        flush(j, false);
}

/* Takes the syncer's role, which must be free.  With nothing pending the mark
 * is written at once: a server that then lies idle knows what it has. */
static void
sync_written(struct wal *j)
{
    uint64_t upto = j->written, reach = j->size;
    int64_t from_us = clock_monotonic_us();
    struct error e;
    enum status st;

    INSIST(!j->syncing);
    j->syncing = true;
    lock_drop(&j->lock);
    st = sync_segment(j, &e);
    lock_take(&j->lock);
    j->syncing = false;
    if (st != ST_OK) {
        fail(j, &e);
    } else {
        note_sync(j, upto, from_us);
        j->reach = reach;
    }
    cond_broadcast(&j->changed);
    if (st == ST_OK && !j->writing && j->buffers[j->filling].size == 0)
        flush(j, false);
}

void *
wal_interval_main(void *arg)
{
    struct wal *j = arg;

    signals_block();
    lock_take(&j->lock);
    while (!j->stopping) {
        cond_wait_ms(&j->tick, &j->lock, j->interval_ms);
        if (j->failed.status == ST_OK && !j->writing &&
            j->written < j->appended)
            flush(j, false);
        if (j->failed.status == ST_OK && !j->syncing && j->synced < j->written)
            sync_written(j);
    }
    lock_drop(&j->lock);
    return NULL;
}

/* -- segments ------------------------------------------------------------- */

uint64_t
wal_segment(const struct wal *j)
{
    OBJ_CHECK(j, WAL_MAGIC);
    return atomic_load(&j->append_segment);
}

void
wal_rotate(struct wal *j)
{
    OBJ_CHECK(j, WAL_MAGIC);
    lock_take(&j->lock);
    while (j->writing)
        cond_wait(&j->changed, &j->lock);
    if (j->failed.status == ST_OK)
        flush(j, true);
    lock_drop(&j->lock);
}

enum status
wal_make_segment(struct wal *j, uint64_t segment, uint32_t *file_key,
                 struct error *e)
{
    uint8_t header[WAL_FILE_HEADER];

    *file_key = wal_file_header(segment, hash_random_seed(), header);
    return j->medium->ops->begin(j->medium, segment,
                                 slice_of(header, sizeof header), e);
}

void
wal_begin_segment(struct wal *j, uint64_t segment, uint32_t file_key)
{
    j->older += j->size;
    j->file_key = file_key;
    j->segment = segment;
    j->size = j->reach = j->marked = WAL_FILE_HEADER;
}

enum status
wal_trim(struct wal *j, uint64_t segment, struct error *e)
{
    enum status st = ST_OK;

    OBJ_CHECK(j, WAL_MAGIC);
    lock_take(&j->lock);
    while (st == ST_OK && j->first < segment && j->first < j->segment) {
        uint64_t oldest = j->first, size;

        lock_drop(&j->lock);
        size = j->medium->ops->size(j->medium, oldest);
        st = j->medium->ops->remove(j->medium, oldest, e);
        lock_take(&j->lock);
        if (st == ST_OK) {
            j->first++;
            j->older -= size < j->older ? size : j->older;
        }
    }
    lock_drop(&j->lock);
    return st;
}

enum status
wal_status(struct wal *j, struct error *e)
{
    enum status st;

    OBJ_CHECK(j, WAL_MAGIC);
    lock_take(&j->lock);
    st = failure(j, e);
    lock_drop(&j->lock);
    return st;
}

enum status
wal_restart(struct wal *j, struct error *e)
{
    uint64_t first, segment;
    uint32_t file_key;
    enum status st = ST_OK;

    OBJ_CHECK(j, WAL_MAGIC);
    lock_take(&j->lock);
    while (j->writing || j->syncing)
        cond_wait(&j->changed, &j->lock);
    if (j->failed.status == ST_OK || j->failed.status == ST_CONFLICT) {
        st = failure(j, e);
        goto out;
    }
    j->writing = j->syncing = true;
    first = j->first;
    segment = atomic_fetch_add(&j->append_segment, 1) + 1;
    lock_drop(&j->lock);
    /* The oldest first, so that a crash leaves the damaged one as the last.
     * What an earlier try made goes with them. */
    for (; st == ST_OK && first < segment; first++)
        st = j->medium->ops->remove(j->medium, first, e);
    if (st == ST_OK)
        st = wal_make_segment(j, segment, &file_key, e);
    lock_take(&j->lock);
    j->writing = j->syncing = false;
    if (st == ST_OK) {
        wal_begin_segment(j, segment, file_key);
        j->first = segment;
        j->older = 0;
        buf_clear(&j->buffers[0]);
        buf_clear(&j->buffers[1]);
        j->written = j->synced = j->appended;
        j->unsynced_us = 0;
        j->failed = (struct error){ 0 };
        log_info("wal", "works again, with segment %" PRIu64, j->segment);
    }
    cond_broadcast(&j->changed);
out:
    lock_drop(&j->lock);
    return st;
}

struct wal_counts
wal_counts(struct wal *j)
{
    struct wal_counts c;

    OBJ_CHECK(j, WAL_MAGIC);
    lock_take(&j->lock);
    c = j->counts;
    c.segments = j->segment - j->first + 1;
    c.current = j->size;
    c.bytes = j->older + j->size;
    if (j->sync != WAL_SYNC_OFF && j->unsynced_us != 0)
        c.unsynced_us = clock_monotonic_us() - j->unsynced_us;
    lock_drop(&j->lock);
    return c;
}

const struct latency *
wal_sync_latency(const struct wal *j)
{
    OBJ_CHECK(j, WAL_MAGIC);
    return &j->sync_latency;
}
