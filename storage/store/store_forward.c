/* Points of salt buckets that other processes own (owners.h):
 *
 *     put_chunk()  local:   into the head and the WAL, as in every store
 *                  remote:  a record is queued for the owner
 *
 * Then each owner's answer is waited for.  Points whose bucket has moved, or
 * has no owner, are put again.
 *
 * The record is the same as in the WAL, but for its ids, which count on a link.
 *
 * Points of a bucket keep their order.  If some of them must be put again,
 * those that follow them wait, too ('waits'): otherwise an older value would be
 * put last. */
#include <stdlib.h>

#include "base/process/counters.h"
#include "base/mem.h"
#include "storage/store/store_put_priv.h"

#define MOST_IDS (UINT32_C(1) << 24) /* of a bucket, on a link */

/* Returns the status that a client is told if the owner of a salt bucket failed
 * with 'status'. */
static enum status
client_status(enum status status)
{
    return status == ST_TIMEOUT ? ST_BUSY : status;
}

void
store_put_note_again(struct put_others *o, unsigned bucket)
{
    o->has_again = true;
    o->again_bucket = bucket;
    o->waits[bucket] = true;
}

static void
note_forwarded(struct put_others *o, const struct forwarded *f)
{
    o->forwarded = mem_grow(o->forwarded, o->forwarded_len, &o->forwarded_cap,
                            sizeof *o->forwarded);
    o->forwarded[o->forwarded_len++] = *f;
}

/* Queues a record of the points for the bucket's owner.  The head calls it
 * under the bucket's lock, so that records, whose ids count on, are queued in
 * order. ST_MOVED: there is no owner now. */
static enum status
forward_points(void *ctx, const struct head_put *p,
               struct head_log_id *const *ids, struct error *e)
{
    struct put *put = ctx;
    const struct store_remote *r = put->log.s->remote;
    struct wal_bucket *w = &put->log.s->wal_buckets[p->bucket];
    struct forwarded f = {
        p->bucket, r->link(r->ctx, p->bucket), 0, put->at, put->len,
    };
    struct slice record;
    struct error why;
    uint32_t first;
    enum status st;

    if (f.link == 0)
        return ST_MOVED;
    /* A process that stood still past the end of its lease forwards nothing:
     * the client may have put these points, and newer ones, elsewhere. */
    st = store_owns(put->log.s, &why);
    if (st != ST_OK)
        return error_set(e, st, "%s", why.text);
    if (w->link_ids.next >= MOST_IDS) /* define all of them again, from 0 */
        w->link_ids.of = 0;
    store_begin_ids(w, &w->link_ids, f.link);
    if (put->others->is_again) /* the owner may not know the ids */
        store_forget_ids(w);
    first = w->link_ids.next;
    record = store_write_record(w, &w->link_ids, p, ids);
    st = w->writer.record.failed
             ? error_set(&why, ST_BUSY, "no memory for a record")
             : r->put(r->ctx, p->bucket, f.link, record, &f.ticket, &why);
    if (st == ST_OK) {
        note_forwarded(put->others, &f);
        counter_add(CNT_POINTS_FORWARDED, p->len);
        return ST_OK;
    }
    store_forget_ids(w);
    w->link_ids.next = first; /* the owner has not seen them */
    return st == ST_MOVED ? st
                          : error_set(e, client_status(st), "%s", why.text);
}

static void
put_later(struct put *p, const struct head_put *put)
{
    for (size_t i = 0; i < put->len; i++)
        put->points[put->order[i]].status = ST_MOVED;
    store_put_note_again(p->others, put->bucket);
}

bool
store_put_elsewhere(struct put *p, const struct head_put *put)
{
    struct put_others *o = p->others;
    bool first = store_put_is_first_failure(p);
    enum status st;

    if (o->waits[put->bucket]) {
        put_later(p, put);
        return true;
    }
    st = head_forward(p->log.s->head, put, forward_points, first ? p->e : NULL);
    if (st == ST_CONFLICT) { /* the rows are here */
        if (o->sent == NULL || o->sent[put->bucket] == 0)
            return false;
        put_later(p, put);
    } else if (st == ST_MOVED) {
        store_put_note_again(o, put->bucket);
    } else if (first && st != ST_OK) {
        p->status = st;
    }
    return true;
}

/* Sets the status of the points of a record whose owner did not take it. */
static void
forwarded_failed(struct put *p, const struct forwarded *f, enum status st,
                 const struct error *why)
{
    enum status status = client_status(st);

    for (size_t i = f->from; i < f->from + f->len; i++)
        if (series_ref_bucket(p->points[i].series) == f->bucket &&
            p->points[i].status == ST_OK)
            p->points[i].status = status;
    if (st == ST_MOVED)
        store_put_note_again(p->others, f->bucket);
    else if (store_put_is_first_failure(p))
        p->status = error_set(p->e, status, "%s", why->text);
}

static void
wait_for_owners(struct put *p)
{
    const struct store_remote *r = p->log.s->remote;
    struct put_others *o = p->others;
    int64_t end_us = store_retry_end(p->log.s, &o->retry);

    for (size_t i = 0; i < o->forwarded_len; i++) {
        const struct forwarded *f = &o->forwarded[i];
        struct error why = { .text = "" };
        enum status st =
            r->wait(r->ctx, f->bucket, f->link, f->ticket, end_us, &why);

        if (st == ST_OK && o->waits[f->bucket])
            st = ST_MOVED;
        if (st != ST_OK)
            forwarded_failed(p, f, st, &why);
    }
    o->forwarded_len = 0;
}

/* Puts the points whose status is ST_MOVED again. */
static void
put_again(struct put *p, size_t len)
{
    struct series_point *all = p->points, *again;
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += all[i].status == ST_MOVED;
    p->points = again = mem_new_array(n, sizeof *again);
    n = 0;
    for (size_t i = 0; i < len; i++)
        if (all[i].status == ST_MOVED)
            again[n++] = all[i];
    store_put_chunks(p, n);
    wait_for_owners(p);
    p->points = all;
    n = 0;
    for (size_t i = 0; i < len; i++)
        if (all[i].status == ST_MOVED)
            all[i].status = again[n++].status;
    free(again);
}

/* The points' names and series were known here, which holds only while this
 * process hears what others change. */
static void
check_forwarded(struct put *p, size_t len)
{
    struct error why;
    enum status st = store_owns(p->log.s, &why);

    if (st == ST_OK)
        return;
    for (size_t i = 0; i < len; i++)
        if (p->points[i].status == ST_OK)
            p->points[i].status = st;
    p->status = error_set(p->e, st, "%s", why.text);
}

void
store_put_rest(struct put *p, size_t len)
{
    struct put_others *o = p->others;

    wait_for_owners(p);
    o->is_again = true;
    while (o->has_again && store_retry(p->log.s, &o->retry)) {
        o->has_again = false;
        memset(o->waits, 0, sizeof o->waits);
        put_again(p, len);
    }
    if (o->forwarded_cap > 0)
        check_forwarded(p, len);
    if (!o->has_again)
        return;
    for (size_t i = 0; i < len; i++)
        if (p->points[i].status == ST_MOVED)
            p->points[i].status = ST_BUSY;
    if (store_put_is_first_failure(p))
        p->status = store_no_owner(o->again_bucket, p->e);
}

void
store_put_to_owners(struct put *p, size_t len)
{
    struct put_others o = { .sent = NULL };

    p->others = &o;
    store_put_chunks(p, len);
    store_put_rest(p, len);
    free(o.forwarded);
}
