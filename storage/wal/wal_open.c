/* Opens, replays and closes a WAL. */
#include "storage/wal/wal_priv.h"

#include <stdatomic.h>

#include "base/process/lock.h"
#include "base/mem.h"
#include "base/obj.h"

static size_t
less_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static struct wal *
wal_new(const struct wal_options *o)
{
    const struct wal_medium *m = o->medium;
    struct wal *j = mem_new(sizeof *j);

    j->magic = WAL_MAGIC;
    j->medium = o->medium;
    j->sync = o->sync;
    j->interval_ms = o->interval_ms == 0 ? 1000 : o->interval_ms;
    /* The append that goes past the end of a segment is in it. */
    j->segment_bytes =
        less_of(o->segment_bytes == 0 ? (size_t)64 << 20 : o->segment_bytes,
                m->max_segment - m->max_append);
    j->buffer_bytes =
        less_of(o->buffer_bytes == 0 ? (size_t)8 << 20 : o->buffer_bytes,
                m->max_append / 2);
    j->max_bundle = m->max_append;
    j->max_payload = less_of(WAL_MAX_PAYLOAD, m->max_append - WAL_ENTRY_ROOM);
    j->read_only = o->read_only;
    lock_init(&j->lock);
    cond_init(&j->changed);
    cond_init(&j->tick);
    return j;
}

static void
wal_free(struct wal **ref) NO_TS_CHECK
{
    struct wal *j = *ref;

    *ref = NULL;
    j->medium->ops->close(j->medium);
    buf_fini(&j->buffers[0]);
    buf_fini(&j->buffers[1]);
    cond_fini(&j->tick);
    cond_fini(&j->changed);
    lock_fini(&j->lock);
    OBJ_FREE(j);
}

static enum status
open_segments(struct wal *j, struct error *e) NO_TS_CHECK
{
    struct wal_held held;
    uint32_t file_key;
    enum status st = j->medium->ops->open(j->medium, &held, e);

    if (st != ST_OK)
        return st;
    j->first = held.first;
    j->replay_end = held.next;
    if (j->read_only) {
        (void)error_set(&j->failed, ST_IO, "this WAL is only read");
        return ST_OK;
    }
    for (uint64_t i = held.first; i < held.next; i++)
        j->older += j->medium->ops->size(j->medium, i);
    st = wal_make_segment(j, held.next, &file_key, e);
    if (st != ST_OK)
        return st;
    wal_begin_segment(j, held.next, file_key);
    atomic_store(&j->append_segment, held.next);
    return ST_OK;
}

enum status
wal_open(const struct wal_options *o, struct wal **out, struct error *e)
{
    struct wal *j = wal_new(o);
    enum status st = open_segments(j, e);

    *out = NULL;
    if (st == ST_OK && j->sync == WAL_SYNC_INTERVAL && !j->read_only)
        st = thread_start(&j->thread, wal_interval_main, j, "the WAL", e);
    if (st == ST_OK)
        *out = j;
    else
        wal_free(&j);
    return st;
}

enum status
wal_close(struct wal **ref, struct error *e)
{
    struct wal *j = OBJ_TAKE(ref, WAL_MAGIC);
    uint64_t lsn;
    enum status st = ST_OK;

    if (j == NULL)
        return ST_OK;
    if (j->read_only)
        goto out;
    lock_take(&j->lock);
    lsn = j->appended;
    lock_drop(&j->lock);
    st = wal_commit(j, lsn, true, e);
    lock_take(&j->lock);
    j->stopping = true;
    cond_signal(&j->tick);
    lock_drop(&j->lock);
    thread_join(&j->thread);
out:
    wal_free(&j);
    return st;
}

enum status
wal_replay(struct wal *j, wal_record_fn *f, void *ctx, struct error *e)
{
    uint64_t segment;
    enum status st = ST_OK;

    OBJ_CHECK(j, WAL_MAGIC);
    lock_take(&j->lock);
    segment = j->first;
    lock_drop(&j->lock);
    for (; st == ST_OK && segment < j->replay_end; segment++) {
        struct wal_file w;
        uint64_t good;

        st = j->medium->ops->load(j->medium, segment, &w, e);
        if (st == ST_OK)
            st = wal_file_read(&w, f, ctx, &good, e);
        wal_file_fini(&w);
    }
    return st;
}
