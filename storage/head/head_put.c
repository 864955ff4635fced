/* Points into open rows, and how fast: what follows is as it is for the sake of
 * batches of many series, none of which is near. */
#include "storage/head/head_priv.h"

#define PREFETCHED 64 /* points whose rows are fetched at a time */

struct slice
head_log_tsuid(const struct head_log_id *id)
{
    const char *at = (const char *)id - offsetof(struct head_series, log);

    return head_tsuid((const struct head_series *)(const void *)at);
}

/* What an append needs of it: one line, or two. */
static inline void
fetch_row(const struct head_row *r)
{
    __builtin_prefetch(r, 1);
    __builtin_prefetch((const uint8_t *)&r->series - 1, 1);
}

static inline void
fetch_end(const struct head_row *r)
{
    if (r != NULL)
        __builtin_prefetch(r->open.bytes + r->open.size, 1);
}

/* Some points of a put, and what is known of each. */
struct fetched {
    size_t len;
    struct series_point *points[PREFETCHED];
    struct head_series *series[PREFETCHED]; /* what has the index, or NULL */
    struct head_row *rows[PREFETCHED];      /* NULL: to be looked for */
};

/* The rows of points that do not go to their series' newest row: the index
 * has them. */
static inline __attribute__((always_inline)) void
fetch_others(const struct head *h, const struct head_bucket *b,
             const uint32_t *bases, const uint8_t *others, size_t len,
             struct fetched *x) REQUIRES(b->lock)
{
    for (size_t i = 0; i < len; i++) {
        size_t at = others[i];

        x->rows[at] = head_newest_row(h, b, x->series[at], bases[at]);
        if (x->rows[at] != NULL)
            fetch_row(x->rows[at]);
    }
    for (size_t i = 0; i < len; i++)
        fetch_end(x->rows[others[i]]);
}

/* Between a reference and the end of its open row lie five lines of memory,
 * each named by the one before.  So each pass asks for one of them for all
 * points, and the next finds it there.  Always inline: gcc takes a function
 * that only fetches for one without effects, and leaves out its calls. */
static inline __attribute__((always_inline)) void
fetch_rows(const struct head *h, const struct head_bucket *b,
           const struct head_put *p, size_t from, struct fetched *x)
    REQUIRES(b->lock)
{
    uint32_t bases[PREFETCHED];
    uint8_t others[PREFETCHED];
    size_t others_len = 0;

    x->len = p->len - from < PREFETCHED ? p->len - from : PREFETCHED;
    for (size_t i = 0; i < x->len; i++) {
        x->points[i] = &p->points[p->order[from + i]];
        if ((uint32_t)x->points[i]->series < b->series_len)
            __builtin_prefetch(&b->series[(uint32_t)x->points[i]->series]);
    }
    for (size_t i = 0; i < x->len; i++) {
        uint32_t index = (uint32_t)x->points[i]->series;
        struct head_series *s = index < b->series_len ? b->series[index] : NULL;

        x->series[i] = s;
        if (s != NULL)
            __builtin_prefetch(&s->tsuid_size, 1);
        __builtin_prefetch(s, 1);
    }
    for (size_t i = 0; i < x->len; i++) {
        x->rows[i] = x->series[i] == NULL ? NULL : x->series[i]->rows;
        if (x->rows[i] != NULL)
            fetch_row(x->rows[i]);
    }
    for (size_t i = 0; i < x->len; i++) {
        struct head_row *r = x->rows[i];

        if (r == NULL)
            continue;
        bases[i] = hour_base(x->points[i]->point.ts_ms);
        if (r->open.base == bases[i]) {
            fetch_end(r);
            continue;
        }
        x->rows[i] = NULL;
        if (r->next != NULL) {
            others[others_len++] = (uint8_t)i;
            __builtin_prefetch(
                &b->index[head_home(h, b, x->series[i]->index, bases[i])]);
        }
    }
    fetch_others(h, b, bases, others, others_len, x);
}

/* Sets its status and, if that is ST_OK, has put it into a row. */
static inline enum status
put_point(struct head *h, struct head_bucket *b, const struct head_put *p,
          struct series_point *x, struct head_series *series,
          struct head_row *row, struct error *e) REQUIRES(b->lock)
{
    x->status = head_check_point(x, series, e);
    if (x->status == ST_OK &&
        !head_append(h, b, series, row, x->point, p->segment, p->now_s))
        x->status = error_set(e, ST_BUSY, "no memory for a point");
    return x->status;
}

/* -- compaction ------------------------------------------------------------ */

/* The open row that points of this time are appended to, or NULL. */
static struct head_row *
open_row_for(const struct head *h, const struct head_bucket *b,
             const struct series_point *x) REQUIRES(b->lock)
{
    uint32_t index = (uint32_t)x->series;
    const struct head_series *s =
        index < b->series_len ? b->series[index] : NULL;
    uint32_t base = hour_base(x->point.ts_ms);
    struct head_row *r;

    if (s == NULL || s->generation != (x->series >> 32 & HEAD_GENERATION_MAX))
        return NULL;
    r = head_newest_row(h, b, s, base);
    return r == NULL || r->immutable || r->encoded || r->open.base != base
               ? NULL
               : r;
}

/* Sorts the row of 'x' while others use the bucket. */
static void
compact_row(struct head *h, struct head_bucket *b, const struct series_point *x)
{
    struct compaction c = { 0 };
    struct head_row *r;
    bool good;

    lock_take(&b->lock);
    r = open_row_for(h, b, x);
    good = r != NULL && open_row_is_crowded(&r->open) &&
           compaction_begin(&c, &r->open);
    lock_drop(&b->lock);
    if (good && compaction_sort(&c)) {
        lock_take(&b->lock);
        r = open_row_for(h, b, x);
        if (r != NULL) {
            size_t held = open_row_held(&r->open);
            uint32_t count = r->open.count;

            (void)compaction_end(&c, &r->open);
            atomic_fetch_add(&h->bytes, open_row_held(&r->open) - held);
            atomic_fetch_sub(&h->points, (size_t)count - r->open.count);
        }
        lock_drop(&b->lock);
    }
    compaction_fini(&c);
}

/* Writes to 'crowded' which points of the put went to crowded rows, and returns
 * how many. */
static size_t
find_crowded(const struct head *h, const struct head_bucket *b,
             const struct head_put *p, uint16_t *crowded) REQUIRES(b->lock)
{
    const struct head_row *last = NULL;
    size_t len = 0;

    for (size_t i = 0; i < p->len; i++) {
        const struct series_point *x = &p->points[p->order[i]];
        const struct head_row *r =
            x->status == ST_OK ? open_row_for(h, b, x) : NULL;

        if (r != NULL && r != last && open_row_is_crowded(&r->open))
            crowded[len++] = p->order[i];
        last = r;
    }
    return len;
}

/* -- a put ----------------------------------------------------------------- */

/* The points, and of each that was taken the id in the log. */
static enum status
put_all(struct head *h, struct head_bucket *b, const struct head_put *p,
        struct head_log_id **ids, size_t *taken, struct error *e)
    REQUIRES(b->lock)
{
    enum status first = ST_OK;
    struct fetched x;

    for (size_t from = 0; from < p->len; from += x.len) {
        fetch_rows(h, b, p, from, &x);
        for (size_t i = 0; i < x.len; i++) {
            enum status st = put_point(h, b, p, x.points[i], x.series[i],
                                       x.rows[i], first == ST_OK ? e : NULL);

            ids[from + i] = st == ST_OK ? &x.series[i]->log : NULL;
            *taken += st == ST_OK;
            first = first == ST_OK ? st : first;
        }
    }
    return first;
}

uint64_t
head_epoch(const struct head *h)
{
    return atomic_load(&h->epoch);
}

void
head_begin_epoch(struct head *h)
{
    (void)atomic_fetch_add(&h->epoch, 1);
    for (size_t i = 0; i < h->buckets_len; i++) {
        lock_take(&h->buckets[i].lock);
        lock_drop(&h->buckets[i].lock);
    }
}

enum status
head_put(struct head *h, const struct head_put *p, size_t *taken,
         struct error *e)
{
    struct head_bucket *b = &h->buckets[p->bucket];
    struct head_log_id *ids[HEAD_PUT_MAX];
    uint16_t crowded[HEAD_PUT_MAX];
    size_t len = 0, crowded_len = 0;
    enum status status, logged = ST_OK;

    INSIST(p->len <= HEAD_PUT_MAX);
    lock_take(&b->lock);
    *taken = 0;
    if (b->elsewhere && !p->is_replay) {
        lock_drop(&b->lock);
        return error_set(e, ST_MOVED, "salt bucket %u has another owner",
                         p->bucket);
    }
    if (p->epoch != 0 && p->epoch != atomic_load(&h->epoch)) {
        lock_drop(&b->lock);
        return ST_CONFLICT;
    }
    b->crowded = false;
    /* Before rows are compacted, which subtracts points. */
    atomic_fetch_add(&h->points, p->len);
    status = put_all(h, b, p, ids, &len, e);
    if (len < p->len)
        atomic_fetch_sub(&h->points, p->len - len);
    if (b->crowded)
        crowded_len = find_crowded(h, b, p, crowded);
    if (p->log != NULL && len > 0)
        logged = p->log(p->ctx, p, ids, e);
    /* Logged or not, the rows hold them; and no row of them is dropped before
     * the lock is. */
    if (logged != ST_OK) {
        len = 0;
        status = logged;
        for (size_t i = 0; i < p->len; i++)
            p->points[p->order[i]].status = logged;
    }
    lock_drop(&b->lock);
    for (size_t i = 0; i < crowded_len; i++)
        compact_row(h, b, &p->points[crowded[i]]);
    *taken = len;
    return status;
}
