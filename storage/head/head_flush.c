/* Which rows are flushed, and what becomes of them in the head:
 *
 *     bucket lock   mark rows immutable
 *     no lock       the store writes them
 *     bucket lock   drop them */
#include "storage/head/head_priv.h"

#define IDLE_FOR_LONG_S 3600

/* -- the rule -------------------------------------------------------------- */

bool
head_row_is_due(const struct flush_times *t, uint32_t delay_s, uint32_t span_s)
{
    if (t->series_idle_s >= IDLE_FOR_LONG_S ||
        t->idle_s >= IDLE_FOR_LONG_S + span_s)
        return true;
    if (t->idle_s < delay_s)
        return false;
    if (t->newest > 0)
        return true;
    return t->has_passed && (t->newest < 0 || t->series_idle_s >= delay_s ||
                             t->idle_s >= IDLE_FOR_LONG_S);
}

static bool
takes(const struct head_pass *p, const struct head_row *r)
{
    const struct flush_rule *rule = p->rule;
    const struct key_layout *layout = p->h->layout;
    const struct head_series *series = r->series;
    uint32_t span = key_span_base(layout, r->open.base);
    uint32_t newest = key_span_base(layout, series->rows->open.base);

    if (rule->all || r->segment < rule->segment ||
        (rule->newer_span_exists && newest != span))
        return true;
    if (!rule->idle)
        return false;
    if (rule->forget_s != 0 &&
        head_idle_s(rule->now_s, series->touched_s) >= rule->forget_s)
        return true;
    return head_row_is_due(
        &(struct flush_times){
            .idle_s = head_idle_s(rule->now_s, r->touched_s),
            .series_idle_s = head_idle_s(rule->now_s, series->touched_s),
            .newest = (newest > span) - (newest < span),
            .has_passed = rule->wall_s >= (int64_t)span + key_span_s(layout),
        },
        rule->idle_s, key_span_s(layout));
}

/* Because another one of its span is flushed.  Not one that was just written
 * to, if the rule is for idle ones; the encoded one must be in the engine
 * before a row over it is. */
static bool
takes_with_span(const struct head_pass *p, const struct head_row *r)
{
    return !p->rule->idle || r->encoded ||
           head_idle_s(p->rule->now_s, r->touched_s) >= p->rule->idle_s;
}

/* A predecessor is there when a flushing failed and points came meanwhile: it
 * must be in the engine before this one is merged. */
static bool
may_be_flushed(const struct head_row *r)
{
    return !r->immutable && head_predecessor(r) == NULL;
}

/* -- a pass ---------------------------------------------------------------- */

void
head_pass_begin(struct head_pass *p, struct head *h, unsigned bucket,
                const struct flush_rule *rule, size_t keep)
{
    struct head_bucket *b = &h->buckets[bucket];

    *p = (struct head_pass){
        .h = h, .bucket = bucket, .rule = rule, .keep = keep
    };
    lock_take(&b->lock);
    p->at = b->oldest;
    p->left = b->rows_len;
    lock_drop(&b->lock);
}

/* All rows of 'first's span go with it; returns their bytes. */
static size_t
mark_span(const struct head_pass *p, const struct head_bucket *b,
          struct head_row *first, struct head_flushing *rows, size_t *len)
    REQUIRES(b->lock)
{
    const struct key_layout *layout = p->h->layout;
    const struct head_series *series = first->series;
    uint32_t span = key_span_base(layout, first->open.base);
    size_t bytes = 0;

    for (unsigned i = 0; i <= layout->row_hours; i++) {
        uint32_t base = i == 0 ? ENCODED_BASE(span) : span + (i - 1) * HOUR_S;
        struct head_row *r = first;

        if (base != first->open.base)
            r = head_newest_row(p->h, b, series, base);
        if (r == NULL || !may_be_flushed(r) ||
            (r != first && !takes_with_span(p, r)))
            continue;
        r->immutable = true;
        bytes += sizeof *r + open_row_held(&r->open);
        rows[(*len)++] = (struct head_flushing){
            .v = head_view(r),
            .metric = key_get_uint(series->tsuid, layout->metric_width),
            .span = span,
            .is_encoded = r->encoded,
            .is_unflushed = series->is_unflushed,
        };
    }
    return bytes;
}

/* Only a pass marks rows immutable, and while it goes on rows are dropped by it
 * alone: one that was seen stays. */
size_t
head_pass_next(struct head_pass *p, struct head_flushing *rows)
{
    struct head_bucket *b = &p->h->buckets[p->bucket];
    size_t have = atomic_load(&p->h->bytes), len = 0;

    lock_take(&b->lock);
    for (; p->at != NULL && len < HEAD_PASS_ROWS; p->at = p->at->younger) {
        size_t size = 0;

        if (p->left-- == 0 || (p->keep != 0 && have <= p->keep)) {
            p->at = NULL;
            break;
        }
        if (may_be_flushed(p->at) && takes(p, p->at))
            size = mark_span(p, b, p->at, rows, &len);
        have -= size < have ? size : have;
    }
    /* What is immutable will be dropped. */
    while (p->at != NULL && p->at->immutable)
        p->at = p->at->younger;
    lock_drop(&b->lock);
    return len;
}

void
head_pass_done(struct head_pass *p, const struct head_flushing *rows,
               size_t len)
{
    struct head_bucket *b = &p->h->buckets[p->bucket];

    lock_take(&b->lock);
    for (size_t i = 0; i < len; i++) {
        struct head_row *r = rows[i].v.row;

        r->series->is_unflushed = false;
        if (rows[i].is_written)
            head_drop_row(p->h, b, r);
        else
            r->immutable = false;
    }
    lock_drop(&b->lock);
}

bool
head_bucket_is_empty(struct head *h, unsigned bucket)
{
    struct head_bucket *b = &h->buckets[bucket];
    bool empty;

    lock_take(&b->lock);
    empty = b->rows_len == 0;
    lock_drop(&b->lock);
    return empty;
}

void
head_drop_rows(struct head *h, unsigned bucket)
{
    struct head_bucket *b = &h->buckets[bucket];

    lock_take(&b->lock);
    while (b->youngest != NULL)
        head_drop_row(h, b, b->youngest);
    lock_drop(&b->lock);
}

/* A bucket's records are appended in the order in which its rows are made, so
 * the oldest row's segment is not behind that of any record of a row. */
uint64_t
head_oldest_segment(struct head *h, uint64_t newest)
{
    for (size_t i = 0; i < h->buckets_len; i++) {
        struct head_bucket *b = &h->buckets[i];

        lock_take(&b->lock);
        if (b->oldest != NULL && b->oldest->segment < newest)
            newest = b->oldest->segment;
        lock_drop(&b->lock);
    }
    return newest;
}
