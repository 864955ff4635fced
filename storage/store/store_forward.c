/* Points of salt buckets that other processes own (owners.h):
 *
 *     put_bucket() local:   into the head and the WAL, as in every store
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

/* Points whose record is on its way to their bucket's owner. */
struct forwarded {
    unsigned bucket;
    uint64_t link, ticket;
    size_t from, len; /* of the points: those of the bucket among them */
};

/* What a put sends to other owners.  The status of a point whose bucket has
 * moved, or has no owner, is ST_MOVED until it is put again. */
struct put_others {
    struct store_retry retry;
    struct forwarded *forwarded;
    size_t forwarded_len, forwarded_cap;
    bool is_again;         /* the points at hand were put before */
    bool has_again;        /* some are to be put again .. */
    unsigned again_bucket; /* .. of this bucket and others */
    bool waits[256];       /* by bucket: some of its points are */
    /* By bucket: how many points are on their way to another owner.  While
     * there are some, newer points of the bucket are not put here even if it
     * has become this process's, so that their order is kept.  NULL: there are
     * none. */
    const uint32_t *sent;
};

/* Returns the status that a client is told if the owner of a salt bucket failed
 * with 'status'. */
static enum status
client_status(enum status status)
{
    return status == ST_TIMEOUT ? ST_BUSY : status;
}

/* Notes that points of the bucket are to be put again. */
static void
note_again(struct put_others *o, unsigned bucket)
{
    o->has_again = true;
    o->again_bucket = bucket;
    o->waits[bucket] = true;
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
    struct put_others *o = put->others;
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
    if (o->is_again) /* the owner may not know the ids */
        store_forget_ids(w);
    first = w->link_ids.next;
    record = store_write_record(w, &w->link_ids, p, ids);
    st = w->writer.record.failed
             ? error_set(&why, ST_BUSY, "no memory for a record")
             : r->put(r->ctx, p->bucket, f.link, record, &f.ticket, &why);
    if (st == ST_OK) {
        o->forwarded = mem_grow(o->forwarded, o->forwarded_len,
                                &o->forwarded_cap, sizeof *o->forwarded);
        o->forwarded[o->forwarded_len++] = f;
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
    note_again(p->others, put->bucket);
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
        note_again(o, put->bucket);
    } else if (first && st != ST_OK) {
        p->status = st;
    }
    return true;
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
        if (st == ST_OK)
            continue;
        /* The owner did not take the points of this record. */
        for (size_t k = f->from; k < f->from + f->len; k++)
            if (series_ref_bucket(p->points[k].series) == f->bucket &&
                p->points[k].status == ST_OK)
                p->points[k].status = client_status(st);
        if (st == ST_MOVED)
            note_again(o, f->bucket);
        else if (store_put_is_first_failure(p))
            p->status = error_set(p->e, client_status(st), "%s", why.text);
    }
    o->forwarded_len = 0;
}

/* Puts the points whose status is ST_MOVED again. */
static void
put_again(struct put *p, size_t len)
{
    struct series_point *all = p->points, *again;
    size_t n = 0;

    p->points = again = mem_new_array(len, sizeof *again);
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

/* Waits for the owners of what was forwarded, and puts points again that have
 * no owner, until the retry's time is over: their status is ST_BUSY then. */
static void
put_rest(struct put *p, size_t len)
{
    struct put_others *o = p->others;
    struct error why;
    enum status st;

    wait_for_owners(p);
    o->is_again = true;
    while (o->has_again && store_retry(p->log.s, &o->retry)) {
        o->has_again = false;
        memset(o->waits, 0, sizeof o->waits);
        put_again(p, len);
    }
    /* The points' names and series were known here, which holds only while this
     * process hears what others change. */
    if (o->forwarded_cap > 0 && (st = store_owns(p->log.s, &why)) != ST_OK) {
        for (size_t i = 0; i < len; i++)
            if (p->points[i].status == ST_OK)
                p->points[i].status = st;
        p->status = error_set(p->e, st, "%s", why.text);
    }
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
    put_rest(p, len);
    free(o.forwarded);
}

/* -- windows ---------------------------------------------------------------
 *
 * A window has the points that were sent to the owners of their buckets and are
 * not answered yet.  Telnet uses it, which acknowledges no single point
 * (owners.h).  The points of a bucket are in their order: if one has to be put
 * again, all that follow it are, too. */

#define WINDOW_MAGIC FOURCC('W', 'N', 'D', 'W')

struct store_window {
    uint32_t magic;
    struct store *s;
    struct series_point *points;
    size_t len, cap;
    struct forwarded *forwarded; /* of ranges of them; no range: ST_MOVED */
    size_t forwarded_len, forwarded_cap;
    uint32_t in_bucket[256], waiting[256]; /* points; of these ST_MOVED */
    size_t rejected;                       /* not reported yet .. */
    struct error reason;                   /* .. why the first of them was */
};

struct store_window *
store_window_new(struct store *s)
{
    struct store_window *w;

    OBJ_CHECK(s, STORE_MAGIC);
    if (s->remote == NULL)
        return NULL;
    w = mem_new(sizeof *w);
    w->magic = WINDOW_MAGIC;
    w->s = s;
    return w;
}

void
store_window_free(struct store_window **w)
{
    struct store_window *x = OBJ_TAKE(w, WINDOW_MAGIC);

    if (x == NULL)
        return;
    free(x->points);
    free(x->forwarded);
    OBJ_FREE(x);
}

static void
add_point(struct store_window *w, const struct series_point *x)
{
    w->points = mem_grow(w->points, w->len, &w->cap, sizeof *w->points);
    w->points[w->len++] = *x;
    w->in_bucket[series_ref_bucket(x->series)]++;
    w->waiting[series_ref_bucket(x->series)] += x->status == ST_MOVED;
}

/* What waits for an owner; what is put now comes behind it. */
static void
note_waiting(const struct store_window *w, struct put_others *o)
{
    for (unsigned i = 0; i < 256; i++)
        if (w->waiting[i] > 0)
            note_again(o, i);
}

enum status
store_window_put(struct store_window *w, struct series_point *points,
                 size_t len, uint64_t *lsn, struct error *e)
{
    struct put_others o = { .sent = w->in_bucket };
    struct put p = {
        .log.s = w->s,
        .points = points,
        .e = e,
        .now_s = store_now_s(),
        .others = &o,
    };

    OBJ_CHECK(w, WINDOW_MAGIC);
    p.room = store_wait_for_room(w->s, len, e);
    note_waiting(w, &o);
    store_put_chunks(&p, len);
    for (size_t i = 0; i < o.forwarded_len; i++) {
        struct forwarded f = o.forwarded[i], *to;

        w->forwarded = mem_grow(w->forwarded, w->forwarded_len,
                                &w->forwarded_cap, sizeof *w->forwarded);
        to = &w->forwarded[w->forwarded_len++];
        *to = f;
        to->from = w->len;
        for (size_t k = f.from; k < f.from + f.len; k++)
            if (series_ref_bucket(points[k].series) == f.bucket &&
                points[k].status == ST_OK)
                add_point(w, &points[k]);
        to->len = w->len - to->from;
    }
    for (size_t i = 0; i < len; i++)
        if (points[i].status == ST_MOVED) {
            add_point(w, &points[i]);
            points[i].status = ST_OK;
        }
    free(o.forwarded);
    store_count_added(w->s, p.taken);
    *lsn = p.log.lsn;
    return p.status;
}

/* What is to be tried again stays, and with it what is behind it. */
static void
drop_ended(struct store_window *w)
{
    size_t len = w->len;

    w->len = 0;
    memset(w->in_bucket, 0, sizeof w->in_bucket);
    memset(w->waiting, 0, sizeof w->waiting);
    for (size_t i = 0; i < len; i++) {
        struct series_point x = w->points[i];

        if (x.status == ST_BUSY ||
            (x.status == ST_OK &&
             w->waiting[series_ref_bucket(x.series)] > 0)) {
            x.status = ST_MOVED;
            add_point(w, &x);
        } else if (x.status != ST_OK) {
            w->rejected++;
        }
    }
}

enum status
store_window_end(struct store_window *w, uint64_t *lsn, size_t *rejected,
                 struct error *e)
{
    struct error why = { .text = "" };
    struct put_others o = {
        .forwarded = w->forwarded,
        .forwarded_len = w->forwarded_len,
        .forwarded_cap = w->forwarded_cap,
    };
    struct put p = {
        .log.s = w->s,
        .points = w->points,
        .e = &why,
        .now_s = store_now_s(),
        .others = &o,
    };
    bool had_rejected = w->rejected > 0;

    OBJ_CHECK(w, WINDOW_MAGIC);
    *lsn = *rejected = 0;
    if (w->len == 0)
        return ST_OK;
    p.room = store_wait_for_room(w->s, w->len, &why);
    note_waiting(w, &o);
    put_rest(&p, w->len);
    store_count_added(w->s, p.taken);
    w->forwarded = o.forwarded;
    w->forwarded_cap = o.forwarded_cap;
    w->forwarded_len = 0;
    *lsn = p.log.lsn;
    drop_ended(w);
    if (w->rejected > 0 && !had_rejected)
        w->reason = why;
    if (w->len > 0)
        return error_set(e, ST_BUSY, "%s", why.text);
    if (w->rejected == 0)
        return ST_OK;
    *rejected = w->rejected;
    w->rejected = 0;
    return error_set(e, ST_IO, "%zu points: %s", *rejected, w->reason.text);
}
