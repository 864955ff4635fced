/* The series of one stretch, added with the threads of a pool: to the bit what
 * one thread makes of them.
 *
 * Where the order is of no matter, each task adds some of the series, and these
 * sums are added in the end.
 *
 * Else a task unpacks the packed columns of a chunk of series; then chunks that
 * are unpacked are added, in the order of the series, by the task that ends the
 * next one.  So no task waits, and at worst all are unpacked before the first
 * is added. */
#include <stdlib.h>
#include <string.h>

#include "base/process/lock.h"
#include "query/aggregate/arithmetic.h"
#include "query/aggregate/interpolate_priv.h"

#define PARTIALS     12
#define CHUNK_VALUES 16384 /* that a chunk unpacks: as a cache holds them */
#define CHUNKS_LEAST 8
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

static enum status
add_partials(struct aggregation *m, const int64_t *ms, size_t len,
             struct error *e)
{
    struct partials p = { .ms = ms, .len = len };

    for (size_t i = 0; i < PARTIALS; i++)
        if (!make_partial(m, len, i, &p.all[i]))
            return error_no_memory(e);
    pool_run(m->spec->pool, PARTIALS, add_partial, &p);
    for (size_t i = 0; i < PARTIALS; i++) {
        const struct partial *t = &p.all[i];

        if (t->status != ST_OK)
            return error_set(e, t->status, "%s", t->error.text);
        accumulator_merge(&m->acc, &t->m.acc);
    }
    return ST_OK;
}

/* -- in the order of the series -------------------------------------------- */

struct chunk {
    union number *values;
    enum status status;
    struct error error;
    bool is_unpacked;
};

struct adding {
    struct aggregation *m;
    const int64_t *ms;
    size_t len;
    bool doubles;
    size_t longest;   /* points of a column */
    size_t chunk_len; /* series */
    struct lock lock;
    struct chunk *chunks; /* 'is_unpacked' GUARDED_BY(lock) */
    size_t chunks_len;
    size_t next GUARDED_BY(lock);    /* to be added */
    bool is_adding GUARDED_BY(lock); /* a task, which has the next two */
    enum status status;
    struct error *error;
};

static size_t
chunk_end(const struct adding *p, size_t i)
{
    size_t end = (i + 1) * p->chunk_len;

    return end < p->m->len ? end : p->m->len;
}

static enum status
unpack_chunk(const struct adding *p, size_t i, struct chunk *out)
{
    struct points scratch = { 0 };
    enum status st = ST_OK;
    union number *room;

    out->values = malloc(p->chunk_len * p->longest * sizeof *out->values);
    if (out->values == NULL)
        return error_no_memory(&out->error);
    room = out->values;
    for (size_t k = i * p->chunk_len; k < chunk_end(p, i) && st == ST_OK; k++) {
        struct column *c = &p->m->cursors[k].c;
        const union number *v;

        aggregation_fetch_ahead(p->m, k);
        if (!column_is_packed(c))
            continue;
        st = aggregation_values(p->m->spec, c, &scratch, &v, &out->error);
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
    struct chunk *c = &p->chunks[i];

    if (p->status == ST_OK && c->status != ST_OK)
        p->status = error_set(p->error, c->status, "%s", c->error.text);
    for (size_t k = i * p->chunk_len; k < chunk_end(p, i); k++) {
        struct series_cursor *cur = &p->m->cursors[k];

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

static enum status
add_chunks(struct aggregation *m, const int64_t *ms, size_t len, bool doubles,
           struct error *e)
{
    struct adding p = { .m = m,
                        .ms = ms,
                        .len = len,
                        .doubles = doubles,
                        .longest = 1,
                        .error = e };

    for (size_t i = 0; i < m->len; i++)
        if (m->cursors[i].c.len > p.longest)
            p.longest = m->cursors[i].c.len;
    p.chunk_len = CHUNK_VALUES / p.longest;
    if (p.chunk_len > m->len / CHUNKS_LEAST)
        p.chunk_len = m->len / CHUNKS_LEAST;
    if (p.chunk_len == 0)
        p.chunk_len = 1;
    p.chunks_len = (m->len + p.chunk_len - 1) / p.chunk_len;
    p.chunks = calloc(p.chunks_len, sizeof *p.chunks);
    if (p.chunks == NULL)
        return error_no_memory(e);
    lock_init(&p.lock);
    pool_run(m->spec->pool, p.chunks_len, run_chunk, &p);
    lock_fini(&p.lock);
    free(p.chunks);
    return p.status;
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

bool
aggregation_wants_threads(const struct aggregation *m, bool doubles)
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

enum status
aggregation_add_all(struct aggregation *m, const int64_t *ms, size_t len,
                    bool doubles, struct error *e)
{
    return any_order_will_do(m, doubles) ? add_partials(m, ms, len, e)
                                         : add_chunks(m, ms, len, doubles, e);
}
