/* The WAL: appenders copy into one of two buffers; whoever commits first
 * takes that buffer and writes it for all ("the writer"), while the others
 * append to the other one.
 *
 *     pending --swap--> written to the file --fdatasync--> synced
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
 * callers: it has no LSN, and never triggers an fsync. */
#include "storage/wal/wal_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/crash.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/obj.h"

/* What the writer carries out of the lock. */
struct write_batch {
    struct buf *bytes;
    size_t end; /* of its records */
    uint32_t file_key;
    int fd;
    uint64_t upto; /* LSN behind the bytes */
    bool change;   /* of the segment, afterwards */
    uint64_t writes;
};

/* What a record takes in a bundle at most, beside its payload: the bundle's
 * head, if it is the first, a type and a varint. */
#define ENTRY_ROOM (WAL_RECORD_HEADER + 1 + 5)

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

    if (buf_reserve(b, payload.size + ENTRY_ROOM) == NULL) {
        b->failed = false;
        return false;
    }
    if (before == 0)
        buf_put(b, head, sizeof head);
    j->appended -= b->size;
    buf_put_u8(b, type);
    buf_put_varint(b, payload.size);
    buf_put_slice(b, payload);
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
    if (payload.size > WAL_MAX_PAYLOAD)
        return error_set(e, ST_LIMIT, "a WAL record of %zu bytes",
                         payload.size);
    lock_take(&j->lock);
    if (j->failed.status != ST_OK)
        st = failure(j, e);
    else if (segment != 0 && segment != atomic_load(&j->append_segment))
        st = error_set(e, ST_NOT_FOUND, "segment %" PRIu64 " has ended",
                       segment);
    else if (j->buffers[j->filling].size + payload.size + ENTRY_ROOM >
             WAL_MAX_BUNDLE)
        st = error_set(e, ST_BUSY,
                       "the WAL's buffer is full: %zu bytes wait for the disk",
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
    log_error("wal", "%s: nothing is acknowledged until it is begun anew",
              e->text);
}

static enum status
write_all(const struct wal *j, struct write_batch *t, struct error *e)
{
    uint8_t *head = t->bytes->data;
    size_t done = 0;

    if (t->end > 0) { /* the head before the records */
        wal_record_header(
            WAL_BUNDLE,
            slice_of(head + WAL_RECORD_HEADER, t->end - WAL_RECORD_HEADER),
            head);
        wal_record_mask(head, t->file_key);
    }
    while (done < t->bytes->size) {
        ssize_t n =
            j->io.write(t->fd, t->bytes->data + done, t->bytes->size - done);

        t->writes++;
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return error_set(e, ST_IO, "write to the WAL in %s: %m", j->dir);
        done += (size_t)n;
    }
    return ST_OK;
}

static enum status
sync_file(struct wal *j, int fd, struct error *e)
{
    int64_t from_us = clock_monotonic_us();
    int rc;

    do
        rc = j->io.sync(fd);
    while (rc != 0 && errno == EINTR);
    latency_add(&j->sync_latency, (uint64_t)(clock_monotonic_us() - from_us));
    if (rc != 0)
        return error_set(e, ST_IO, "sync the WAL in %s: %m", j->dir);
    return ST_OK;
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
                             .fd = j->fd,
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

/* The old file is on the disk before the new one has a name. */
static enum status
change_files(struct wal *j, const struct write_batch *t, struct error *e)
    REQUIRES(j->lock)
{
    struct wal_begun begun;
    int64_t from_us;
    enum status st;

    while (j->syncing)
        cond_wait(&j->changed, &j->lock);
    j->syncing = true;
    from_us = clock_monotonic_us();
    begun.segment = j->segment + 1;
    lock_drop(&j->lock);
    st = sync_file(j, t->fd, e);
    crash_point("rotate-synced");
    if (st == ST_OK)
        st = wal_make_file(j, &begun, e);
    lock_take(&j->lock);
    j->syncing = false;
    if (st != ST_OK)
        return st;
    note_sync(j, t->upto, from_us);
    wal_begin_file(j, &begun);
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
            st = change_files(j, &t, &e);
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
    int fd = j->fd;
    struct error e;
    enum status st;

    INSIST(!j->syncing);
    j->syncing = true;
    lock_drop(&j->lock);
    st = sync_file(j, fd, &e);
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
    sigset_t all;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
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

void
wal_begin_file(struct wal *j, const struct wal_begun *b)
{
    if (j->fd >= 0)
        (void)close(j->fd);
    j->fd = b->fd;
    j->file_key = b->file_key;
    j->segment = b->segment;
    j->size = j->reach = j->marked = WAL_FILE_HEADER;
}

/* Each deletion is on the disk before the next: a power cut leaves no gap. */
enum status
wal_delete_file(const struct wal *j, uint64_t segment, struct error *e)
{
    char name[WAL_NAME_SIZE];

    wal_name(segment, name);
    if (unlinkat(j->dir_fd, name, 0) != 0 && errno != ENOENT)
        return error_set(e, ST_IO, "delete %s/%s: %m", j->dir, name);
    crash_point("trim-deleted");
    if (fsync(j->dir_fd) != 0)
        return error_set(e, ST_IO, "sync %s: %m", j->dir);
    return ST_OK;
}

enum status
wal_trim(struct wal *j, uint64_t segment, struct error *e)
{
    enum status st = ST_OK;

    OBJ_CHECK(j, WAL_MAGIC);
    lock_take(&j->lock);
    while (st == ST_OK && j->first < segment && j->first < j->segment) {
        uint64_t oldest = j->first;

        lock_drop(&j->lock);
        st = wal_note(j, WAL_FIRST, oldest + 1, e);
        if (st == ST_OK)
            st = wal_delete_file(j, oldest, e);
        lock_take(&j->lock);
        if (st == ST_OK)
            j->first++;
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
    struct wal_begun begun;
    uint64_t first;
    enum status st = ST_OK;

    OBJ_CHECK(j, WAL_MAGIC);
    lock_take(&j->lock);
    while (j->writing || j->syncing)
        cond_wait(&j->changed, &j->lock);
    if (j->failed.status == ST_OK)
        goto out;
    j->writing = j->syncing = true;
    first = j->first;
    begun.segment = atomic_fetch_add(&j->append_segment, 1) + 1;
    lock_drop(&j->lock);
    /* And the last is before it: none. */
    st = wal_note(j, WAL_FIRST, begun.segment, e);
    /* The oldest first, so that a crash leaves the damaged one as the last.  A
     * file of an earlier try goes with them. */
    for (; st == ST_OK && first < begun.segment; first++)
        st = wal_delete_file(j, first, e);
    if (st == ST_OK)
        st = wal_make_file(j, &begun, e);
    lock_take(&j->lock);
    j->writing = j->syncing = false;
    if (st == ST_OK) {
        wal_begin_file(j, &begun);
        j->first = begun.segment;
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
    c.bytes = c.current = j->size;
    if (j->sync != WAL_SYNC_OFF && j->unsynced_us != 0)
        c.unsynced_us = clock_monotonic_us() - j->unsynced_us;
    for (uint64_t i = j->first; i < j->segment; i++)
        c.bytes += wal_size(j, i);
    lock_drop(&j->lock);
    return c;
}

const struct latency *
wal_sync_latency(const struct wal *j)
{
    OBJ_CHECK(j, WAL_MAGIC);
    return &j->sync_latency;
}
