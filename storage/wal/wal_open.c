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
    struct wal *w = mem_new(sizeof *w);

    w->magic = WAL_MAGIC;
    w->medium = o->medium;
    w->sync = o->sync;
    w->interval_ms = o->interval_ms == 0 ? 1000 : o->interval_ms;
    /* The append that goes past the end of a segment is in it. */
    w->segment_bytes =
        less_of(o->segment_bytes == 0 ? (size_t)64 << 20 : o->segment_bytes,
                m->max_segment - m->max_append);
    w->buffer_bytes =
        less_of(o->buffer_bytes == 0 ? (size_t)8 << 20 : o->buffer_bytes,
                m->max_append / 2);
    w->max_bundle = m->max_append;
    w->max_payload = less_of(WAL_MAX_PAYLOAD, m->max_append - WAL_ENTRY_ROOM);
    w->read_only = o->read_only;
    lock_init(&w->lock);
    cond_init(&w->changed);
    cond_init(&w->tick);
    return w;
}

static void
wal_free(struct wal **ref) NO_TS_CHECK
{
    struct wal *w = *ref;

    *ref = NULL;
    w->medium->ops->close(w->medium);
    buf_fini(&w->buffers[0]);
    buf_fini(&w->buffers[1]);
    cond_fini(&w->tick);
    cond_fini(&w->changed);
    lock_fini(&w->lock);
    OBJ_FREE(w);
}

static enum status
open_segments(struct wal *w, struct error *e) NO_TS_CHECK
{
    struct wal_held held;
    uint32_t file_key;
    enum status st = w->medium->ops->open(w->medium, &held, e);

    if (st != ST_OK)
        return st;
    w->first = held.first;
    w->replay_end = held.next;
    if (w->read_only) {
        (void)error_set(&w->failed, ST_IO, "this WAL is only read");
        return ST_OK;
    }
    for (uint64_t i = held.first; i < held.next; i++)
        w->older += w->medium->ops->size(w->medium, i);
    st = wal_make_segment(w, held.next, &file_key, e);
    if (st != ST_OK)
        return st;
    wal_begin_segment(w, held.next, file_key);
    atomic_store(&w->append_segment, held.next);
    return ST_OK;
}

enum status
wal_open(const struct wal_options *o, struct wal **out, struct error *e)
{
    struct wal *w = wal_new(o);
    enum status st = open_segments(w, e);

    *out = NULL;
    if (st == ST_OK && w->sync == WAL_SYNC_INTERVAL && !w->read_only)
        st = thread_start(&w->thread, wal_interval_main, w, "the WAL", e);
    if (st == ST_OK)
        *out = w;
    else
        wal_free(&w);
    return st;
}

enum status
wal_close(struct wal **ref, struct error *e)
{
    struct wal *w = OBJ_TAKE(ref, WAL_MAGIC);
    uint64_t lsn;
    enum status st = ST_OK;

    if (w == NULL)
        return ST_OK;
    if (w->read_only)
        goto out;
    lock_take(&w->lock);
    lsn = w->appended;
    lock_drop(&w->lock);
    st = wal_commit(w, lsn, true, e);
    lock_take(&w->lock);
    w->stopping = true;
    cond_signal(&w->tick);
    lock_drop(&w->lock);
    thread_join(&w->thread);
out:
    wal_free(&w);
    return st;
}

enum status
wal_replay(struct wal *w, wal_record_fn *f, void *ctx, struct error *e)
{
    uint64_t segment;
    enum status st = ST_OK;

    OBJ_CHECK(w, WAL_MAGIC);
    lock_take(&w->lock);
    segment = w->first;
    lock_drop(&w->lock);
    for (; st == ST_OK && segment < w->replay_end; segment++) {
        struct wal_segment loaded;
        uint64_t good;

        st = w->medium->ops->load(w->medium, segment, &loaded, e);
        if (st == ST_OK)
            st = wal_segment_read(&loaded, f, ctx, &good, e);
        wal_segment_fini(&loaded);
    }
    return st;
}
