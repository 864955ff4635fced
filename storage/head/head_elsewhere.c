/* Points of salt buckets whose rows another process owns: their series are in
 * memory, so that they have ids, but they have no rows. */
#include "storage/head/head_priv.h"

void
head_set_elsewhere(struct head *h, unsigned bucket, bool elsewhere)
{
    struct head_bucket *b = &h->buckets[bucket];

    lock_take(&b->lock);
    b->elsewhere = elsewhere;
    lock_drop(&b->lock);
}

enum status
head_forward(struct head *h, const struct head_put *p, head_log_fn *forward,
             struct error *e)
{
    struct head_bucket *b = &h->buckets[p->bucket];
    struct head_log_id *ids[HEAD_PUT_MAX];
    enum status status = ST_CONFLICT, forwarded = ST_OK;
    size_t len = 0;

    INSIST(p->len <= HEAD_PUT_MAX);
    lock_take(&b->lock);
    if (b->elsewhere) {
        enum status first = ST_OK;

        /* Sets each point's status, and the id of each whose status is ST_OK;
         * returns the first failure. */
        for (size_t i = 0; i < p->len; i++) {
            struct series_point *x = &p->points[p->order[i]];
            uint32_t index = (uint32_t)x->series;
            struct head_series *s =
                index < b->series_len ? b->series[index] : NULL;

            x->status = head_check_point(x, s, first == ST_OK ? e : NULL);
            ids[i] = NULL;
            if (x->status == ST_OK) {
                INSIST(s != NULL);
                s->touched_s = p->now_s;
                s->is_touched = true;
                ids[i] = &s->log;
                ++len;
            }
            first = first == ST_OK ? x->status : first;
        }
        status = first;
        if (len > 0)
            forwarded = forward(p->ctx, p, ids, e);
    }
    lock_drop(&b->lock);
    if (forwarded == ST_OK)
        return status;
    for (size_t i = 0; i < p->len; i++)
        p->points[p->order[i]].status = forwarded;
    return forwarded;
}
