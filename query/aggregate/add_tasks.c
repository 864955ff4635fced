/* The series of one stretch, added with the threads of a pool: to the bit what
 * one thread makes of them.
 *
 * Where the order is of no matter, each task adds some of the series to an
 * accumulator of its own, and these are merged in the end.
 *
 * Else a task unpacks the packed columns of a chunk of series; then chunks that
 * are unpacked are added, in the order of the series, by the task that ends the
 * next one.  So no task waits.  Chunks are run CHUNKS_MOST at a time: so many
 * are unpacked at worst before the first of them is added. */
#include <stdlib.h>
#include <string.h>

#include "base/process/lock.h"
#include "query/aggregate/arithmetic.h"
#include "query/aggregate/interpolate_priv.h"

#define PARTIALS     12
#define CHUNK_VALUES 16384 /* that a chunk unpacks: as a cache holds them */
#define CHUNKS_LEAST 8
#define CHUNKS_MOST  64
#define WORTH_UNPACK 32768  /* for so much work others are woken */
#define WORTH_ADD    262144 /* points */

/* -- in any order ---------------------------------------------------------- */

struct partial {
    struct aggregation m; /* some cursors, and an accumulator of its own */
    struct points scratch;
    enum status status;
    struct error error;
};

struct partials {
    const int64_t *ms;
    size_t len;
    struct partial all[PARTIALS];
};

/* Integers, of which the sum may overflow: it does so in any order. */
static bool
any_order_will_do(const struct aggregation *m, bool doubles)
{
    enum aggregator_kind k = m->spec->aggregator->kind;

    return !doubles && (k == KIND_SUM || k == KIND_AVG || k == KIND_MIN ||
                        k == KIND_MAX || k == KIND_COUNT);
}

static void
add_partial(void *ctx, size_t i)
{
    struct partials *p = ctx;
    struct partial *t = &p->all[i];

    accumulator_begin(&t->m.acc, false, p->len);
    t->m.scratch = &t->scratch;
    for (size_t k = 0; k < t->m.len && t->status == ST_OK; k++) {
        aggregation_fetch_ahead(&t->m, k);
        t->status = aggregation_add(&t->m, &t->m.cursors[k], p->ms, p->len,
                                    false, &t->error);
    }
    points_fini(&t->scratch);
}

static bool
make_partial(const struct aggregation *m, size_t len, size_t i,
             struct partial *t)
{
    size_t from = i * m->len / PARTIALS;

    t->m = *m;
    t->m.cursors += from;
    t->m.len = (i + 1) * m->len / PARTIALS - from;
    t->m.values = column_array(m->arena, len, sizeof *t->m.values);
    return t->m.values != NULL &&
           accumulator_init(&t->m.acc, m->spec->aggregator, t->m.len, len,
                            m->arena);
}

/* False: there is no room. */
static bool
add_partials(struct aggregation *m, const int64_t *ms, size_t len,
             enum status *st, struct error *e)
{
    struct partials p = { .ms = ms, .len = len };

    for (size_t i = 0; i < PARTIALS; i++)
        if (!make_partial(m, len, i, &p.all[i]))
            return false;
    pool_run(m->spec->pool, PARTIALS, add_partial, &p);
    for (size_t i = 0; i < PARTIALS && *st == ST_OK; i++) {
        const struct partial *t = &p.all[i];

        if (t->status != ST_OK)
            *st = error_set(e, t->status, "%s", t->error.text);
        else
            accumulator_merge(&m->acc, &t->m.acc);
    }
    return true;
}

/* -- in the order of the series -------------------------------------------- */

struct chunk {
    union number *values;
    enum status status;
    struct error error;
    bool is_unpacked; /* GUARDED_BY(lock) */
};

struct adding {
    struct aggregation *m; /* cursors: the task's that has their chunk */
    const int64_t *ms;
    size_t len;
    bool doubles;
    size_t chunk_len; /* series */
    size_t first;     /* chunk of those that run now */
    size_t chunks_len;
    struct chunk chunks[CHUNKS_MOST];
    struct lock lock;
    size_t next GUARDED_BY(lock); /* to be added */
    bool is_adding GUARDED_BY(lock);
    /* With the rest of 'm' that task's which is adding: */
    enum status status;
    struct error *error;
};

/* The cursors of a chunk. */
static struct aggregation
cursors_of(const struct adding *p, size_t i)
{
    struct aggregation some = *p->m;
    size_t from = (p->first + i) * p->chunk_len, rest = p->m->len - from;

    some.cursors += from;
    some.len = rest < p->chunk_len ? rest : p->chunk_len;
    return some;
}

static enum status
unpack_chunk(const struct adding *p, size_t i, struct chunk *out)
{
    struct aggregation some = cursors_of(p, i);
    struct points scratch = { 0 };
    size_t points = 1;
    union number *room;
    enum status st = ST_OK;

    for (size_t k = 0; k < some.len; k++)
        points +=
            column_is_packed(&some.cursors[k].c) ? some.cursors[k].c.len : 0;
    room = out->values = malloc(points * sizeof *room);
    if (room == NULL)
        return error_no_memory(&out->error);
    for (size_t k = 0; k < some.len && st == ST_OK; k++) {
        struct column *c = &some.cursors[k].c;
        const union number *v;

        aggregation_fetch_ahead(&some, k);
        if (!column_is_packed(c))
            continue;
        st = aggregation_values(some.spec, c, &scratch, &v, &out->error);
        if (st != ST_OK)
            break;
        memcpy(room, v, c->len * sizeof *v);
        c->v = room;
        room += c->len;
    }
    points_fini(&scratch);
    return st;
}

static void
add_chunk(struct adding *p, size_t i)
{
    struct aggregation some = cursors_of(p, i);
    struct chunk *c = &p->chunks[i];

    if (p->status == ST_OK && c->status != ST_OK)
        p->status = error_set(p->error, c->status, "%s", c->error.text);
    for (size_t k = 0; k < some.len; k++) {
        struct series_cursor *cur = &some.cursors[k];

        if (p->status == ST_OK)
            p->status =
                aggregation_add(p->m, cur, p->ms, p->len, p->doubles, p->error);
        if (cur->c.hours != NULL)
            cur->c.v = NULL;
    }
    free(c->values);
}

static void
run_chunk(void *ctx, size_t i)
{
    struct adding *p = ctx;

    p->chunks[i].status = unpack_chunk(p, i, &p->chunks[i]);
    lock_take(&p->lock);
    p->chunks[i].is_unpacked = true;
    if (!p->is_adding) {
        p->is_adding = true;
        while (p->next < p->chunks_len && p->chunks[p->next].is_unpacked) {
            size_t next = p->next++;

            lock_drop(&p->lock);
            add_chunk(p, next);
            lock_take(&p->lock);
        }
        p->is_adding = false;
    }
    lock_drop(&p->lock);
}

/* False: there is no memory. */
static bool
add_chunks(struct aggregation *m, const int64_t *ms, size_t len, bool doubles,
           enum status *st, struct error *e)
{
    struct adding *p = calloc(1, sizeof *p);
    size_t longest = 1, chunks;

    if (p == NULL)
        return false;
    for (size_t i = 0; i < m->len; i++)
        if (column_is_packed(&m->cursors[i].c) && m->cursors[i].c.len > longest)
            longest = m->cursors[i].c.len;
    *p = (struct adding){
        .m = m, .ms = ms, .len = len, .doubles = doubles, .error = e
    };
    p->chunk_len = CHUNK_VALUES / longest;
    if (p->chunk_len > m->len / CHUNKS_LEAST)
        p->chunk_len = m->len / CHUNKS_LEAST;
    if (p->chunk_len == 0)
        p->chunk_len = 1;
    chunks = (m->len + p->chunk_len - 1) / p->chunk_len;
    lock_init(&p->lock);
    for (; p->first < chunks && p->status == ST_OK; p->first += CHUNKS_MOST) {
        size_t rest = chunks - p->first;

        p->chunks_len = rest < CHUNKS_MOST ? rest : CHUNKS_MOST;
        p->next = 0;
        memset(p->chunks, 0, sizeof p->chunks);
        pool_run(m->spec->pool, p->chunks_len, run_chunk, p);
    }
    lock_fini(&p->lock);
    *st = p->status;
    free(p);
    return true;
}

/* -- all ------------------------------------------------------------------- */

/* Points of open rows that are doubles, or have one byte each, are unpacked in
 * less time than they take from one processor to another. */
static size_t
work_of(const struct packed_hour *h)
{
    size_t bytes = 0;

    if (h->row.open_len == 0)
        return h->unpacked;
    if (h->spacing.is_float)
        return 0;
    for (size_t i = 0; i < h->row.open_len; i++)
        bytes += h->row.open[i].bytes.size;
    return bytes > h->unpacked ? bytes - h->unpacked : 0;
}

static bool
wants_threads(const struct aggregation *m, bool doubles)
{
    size_t points = 0, work = 0, most = m->len * m->timestamps.len;

    if (m->spec->pool == NULL || m->len < PARTIALS)
        return false;
    if (any_order_will_do(m, doubles) && most >= WORTH_ADD)
        return true;
    for (size_t i = 0; i < m->len; i++) {
        const struct column *c = &m->cursors[i].c;
        const struct packed_hour *h = column_is_packed(c) ? c->hours : NULL;

        for (; h != NULL; h = h->next) {
            points += h->unpacked;
            work += work_of(h);
        }
    }
    return work >= WORTH_UNPACK && work >= points / 2;
}

bool
aggregation_add_threads(struct aggregation *m, const int64_t *ms, size_t len,
                        bool doubles, enum status *st, struct error *e)
{
    *st = ST_OK;
    if (len < m->timestamps.len || !wants_threads(m, doubles))
        return false;
    return any_order_will_do(m, doubles)
               ? add_partials(m, ms, len, st, e)
               : add_chunks(m, ms, len, doubles, st, e);
}
