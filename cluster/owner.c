/* See cluster/owner.h. */
#include "cluster/owner.h"

#include "cluster/payload.h"
#include "storage/scan/store_scan.h"
#include "storage/store/owners.h"
#include "storage/store/store.h"

static void *
owner_session_open(void *ctx)
{
    return store_session_new(ctx);
}

static void
owner_session_close(void *ctx, void *session)
{
    struct store_session *ss = session;

    (void)ctx;
    store_session_free(&ss);
}

static enum status
owner_put(void *ctx, void *session, struct slice record, uint64_t *lsn,
          struct error *e)
{
    (void)ctx;
    return store_session_put(session, record, lsn, e);
}

static enum status
owner_commit(void *ctx, uint64_t lsn, struct error *e)
{
    return store_commit(ctx, lsn, false, e);
}

static enum status
owner_head(struct store *s, struct slice request, struct buf *answer,
           struct error *e)
{
    struct payload_head h;
    struct buf rows = BUF_INIT;
    enum status st = payload_read_head(request, store_layout(s), &h, e);

    for (size_t i = 0; i < h.len && st == ST_OK; i++) {
        buf_clear(&rows);
        st = store_head_copy(s, &h.specs[i], &rows, e);
        buf_put_sized(answer, buf_slice(&rows));
    }
    buf_fini(&rows);
    payload_head_fini(&h);
    return st;
}

static enum status
owner_last(struct store *s, struct slice request, struct buf *answer,
           struct error *e)
{
    struct payload_series series;
    struct point p;
    bool found;
    enum status st = payload_read_series(request, store_layout(s), &series, e);

    if (st == ST_OK)
        st = store_owner_last(s, series.tsuid, series.to_ms, &p, &found, e);
    if (st == ST_OK)
        payload_put_point(answer, found ? &p : NULL);
    return st;
}

static enum status
owner_delete(struct store *s, struct slice request, struct buf *answer,
             struct error *e)
{
    struct payload_series series;
    uint64_t deleted = 0, lsn = 0;
    enum status st = payload_read_series(request, store_layout(s), &series, e);

    if (st == ST_OK)
        st = store_owner_delete(s, series.tsuid, series.from_ms, series.to_ms,
                                &deleted, &lsn, e);
    if (st == ST_OK)
        st = store_commit(s, lsn, false, e);
    if (st == ST_OK)
        payload_put_number(answer, deleted);
    return st;
}

static enum status
owner_serve(void *ctx, uint8_t type, struct slice request, struct buf *answer,
            struct error *e)
{
    switch (type) {
    case FRAME_HEAD:
        return owner_head(ctx, request, answer, e);
    case FRAME_LAST:
        return owner_last(ctx, request, answer, e);
    case FRAME_DELETE:
        return owner_delete(ctx, request, answer, e);
    case FRAME_FLUSH:
        return store_flush(ctx, e);
    default:
        return error_set(e, ST_INVALID, "no request of type %u",
                         (unsigned)type);
    }
}

struct peer_handlers
owner_handlers(struct store *s)
{
    return (struct peer_handlers){
        .ctx = s,
        .session_open = owner_session_open,
        .session_close = owner_session_close,
        .put = owner_put,
        .commit = owner_commit,
        .serve = owner_serve,
    };
}
