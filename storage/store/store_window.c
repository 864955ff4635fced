/* Points that were sent to their buckets' owners and are not answered yet, for
 * who acknowledges none of them one by one (owners.h).  Per bucket they stand
 * in their order: when one has to be put again, all behind it are. */
#include <stdlib.h>

#include "base/mem.h"
#include "storage/store/store_put_priv.h"

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

static void
add_forwarded(struct store_window *w, const struct put *p,
              const struct forwarded *f)
{
    struct forwarded *to;

    w->forwarded = mem_grow(w->forwarded, w->forwarded_len, &w->forwarded_cap,
                            sizeof *w->forwarded);
    to = &w->forwarded[w->forwarded_len++];
    *to = *f;
    to->from = w->len;
    for (size_t i = f->from; i < f->from + f->len; i++)
        if (series_ref_bucket(p->points[i].series) == f->bucket &&
            p->points[i].status == ST_OK)
            add_point(w, &p->points[i]);
    to->len = w->len - to->from;
}

/* What waits for an owner; what is put now comes behind it. */
static void
note_waiting(const struct store_window *w, struct put_others *o)
{
    for (unsigned i = 0; i < 256; i++)
        if (w->waiting[i] > 0)
            store_put_note_again(o, i);
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
    for (size_t i = 0; i < o.forwarded_len; i++)
        add_forwarded(w, &p, &o.forwarded[i]);
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
    store_put_rest(&p, w->len);
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
