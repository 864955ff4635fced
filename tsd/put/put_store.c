/* From a batch that was looked up into the store, and what comes back. */
#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"
#include "base/obj.h"
#include "storage/store/owners.h"
#include "storage/store/store.h"
#include "tsd/put/put_priv.h"

/* 'e' tells of one point of the batch. */
static void
reject_row(struct put_batch *b, size_t row, enum status status,
           const struct error *e)
{
    if (status == ST_EXPIRED)
        (void)PUT_REJECT(b, row, PUT_EXPIRED,
                         "the point is older than the retention policy of its "
                         "metric keeps it (see /api/retention)");
    else if (status == ST_CONFLICT)
        (void)PUT_REJECT(b, row, PUT_COUNTED,
                         "the raw points of this hour were dropped, and their "
                         "hourly values stay as they are (see docs/RETENTION.md"
                         ")");
    else
        (void)PUT_REJECT(b, row, PUT_STORAGE, "%s", e->text);
}

/* What became of the points: taken, rejected, or to be offered again, which is
 * kept, in order.  After the first that the store is too busy for, all are
 * offered again, taken or not: the last write must stay the last. */
static enum status
settle(struct put_batch *b, const struct error *e, size_t *stored)
{
    size_t kept = 0;
    enum status result = ST_OK;
    bool all = true; /* no point is to blame */

    for (size_t i = 0; i < b->out_len; i++)
        all &= b->out[i].status == ST_OK;
    for (size_t i = 0; i < b->out_len; i++) {
        size_t row = b->rows[i];
        enum status status = all ? e->status : b->out[i].status;

        if (status == ST_BUSY)
            result = ST_BUSY;
        if (result != ST_BUSY && status == ST_OK) {
            ++*stored;
            continue;
        }
        if (status == ST_NOT_FOUND && !b->again[i]) {
            if (!put_look_up_again(b, row))
                continue;
            b->again[i] = true;
        } else if (status != ST_OK && status != ST_BUSY) {
            reject_row(b, row, status, e);
            continue;
        }
        b->out[kept] =
            (struct series_point){ b->refs[row], b->points[row], ST_OK };
        b->again[kept] = b->again[i];
        b->rows[kept++] = (uint16_t)row;
    }
    b->out_len = kept;
    return result;
}

void
put_batch_begin_window(struct put_batch *b)
{
    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    b->window = store_window_new(b->path->store);
}

enum status
put_batch_end_window(struct put_batch *b, struct error *e)
{
    size_t rejected;
    uint64_t lsn;
    enum status status;

    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    if (b->window == NULL)
        return ST_OK;
    status = store_window_end(b->window, &lsn, &rejected, e);
    put_batch_note(b, lsn);
    if (rejected > 0) {
        counter_add(CNT_ERR_STORAGE, rejected);
        log_warn("put", "owners of salt buckets rejected %s", e->text);
    }
    return status;
}

enum status
put_batch_flush(struct put_batch *b, size_t *stored)
{
    enum status result = ST_OK;
    size_t taken = 0;

    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    if (b->len == 0)
        return ST_OK;
    if (!b->looked_up) {
        counter_add(CNT_RPC_PUT, b->len);
        put_look_up(b);
    }
    while (b->out_len > 0 && result == ST_OK) {
        struct error e = { ST_IO, "" };
        uint64_t lsn = 0;
        enum status st =
            b->window == NULL
                ? store_put(b->path->store, b->out, b->out_len, &lsn, &e)
                : store_window_put(b->window, b->out, b->out_len, &lsn, &e);

        put_batch_note(b, lsn);
        if (st == ST_OK) {
            taken += b->out_len;
            b->out_len = 0;
        } else {
            result = settle(b, &e, &taken);
            b->busy = e;
        }
    }
    b->uncommitted += taken;
    if (stored != NULL)
        *stored += taken;
    if (result == ST_OK) {
        b->len = 0;
        b->looked_up = false;
    }
    return result;
}

const char *
put_batch_why_busy(const struct put_batch *b)
{
    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    return b->busy.text;
}

enum status
put_batch_rejected(const struct put_batch *b, struct error *e)
{
    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    return store_may_write(b->path->store, e);
}

enum status
put_batch_commit(struct put_batch *b, bool sync, struct error *e)
{
    int64_t from_us;
    enum status status;

    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    if (b->lsn == b->committed && !sync) {
        b->uncommitted = 0;
        return ST_OK;
    }
    from_us = clock_monotonic_us();
    status = store_commit(b->path->store, b->lsn, sync, e);
    latency_add(&b->path->latency, (uint64_t)(clock_monotonic_us() - from_us));
    if (status == ST_OK) {
        b->committed = b->lsn;
        b->uncommitted = 0;
    }
    return status;
}

size_t
put_batch_uncommitted(const struct put_batch *b)
{
    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    return b->uncommitted;
}

void
put_batch_note(struct put_batch *b, uint64_t lsn)
{
    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    if (lsn > b->lsn)
        b->lsn = lsn;
}
