/* The series of one stretch, added by several workers: to the bit what one
 * thread makes of them.
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
#include "query/aggregate/interpolate_priv.h"
#include "base/mem.h"

#define PARTIALS     12
#define CHUNK_VALUES 16384 /* that a chunk unpacks: as a cache holds them */
#define CHUNK_SERIES 128   /* at most, so that threads end together */
#define CHUNKS_LEAST 8
#define CHUNKS_MOST  64
#define WORTH_UNPACK 32768  /* for so much work others are woken */
#define WORTH_ADD    262144 /* points, with what each series costs besides: */
#define SERIES_COST  40
#define LOOKED_AT    128 /* series, to tell how much work all are */

/* Cursors from .. end - 1. */
static struct aggregation
some_of(const struct aggregation *m, size_t from, size_t end)
{
    struct aggregation some = *m;

    some.cursors += from;
    some.len = (end < m->len ? end : m->len) - from;
    return some;
}

/* -- in any order ---------------------------------------------------------- */

struct partial {
    struct accumulator acc;
    union number *values; /* as the aggregation's */
    enum status status;
    struct error error;
};

struct partials {
    const struct aggregation *of;
    struct partial all[PARTIALS];
};

/* Integers, of which the sum may overflow: it does so in any order. */
static bool
any_order_will_do(const struct aggregation *m)
{
    const struct aggregator *a = m->spec->aggregator;

    return !m->acc.doubles && arithmetic_of(a)->any_order;
}

static void
add_partial(void *ctx, size_t i)
{
    struct partials *p = ctx;
    struct partial *t = &p->all[i];
    const struct aggregation *of = p->of;
    struct aggregation m =
        some_of(of, i * of->len / PARTIALS, (i + 1) * of->len / PARTIALS);
    struct points scratch = { .budget = arena_budget(of->spec->arena) };
    struct deadline deadline = *of->spec->deadline;

    m.acc = t->acc;
    m.values = t->values;
    m.scratch = &scratch;
    accumulator_begin(&m.acc, false, of->acc.len);
    t->status = ST_OK;
    for (size_t k = 0; k < m.len && t->status == ST_OK; k++) {
        aggregation_fetch_ahead(&m, k);
        t->status = aggregation_unpack_and_add(&m, &m.cursors[k], &t->error);
        if (t->status == ST_OK)
            t->status = deadline_tick(&deadline, of->acc.len, &t->error);
    }
    t->acc = m.acc;
    points_fini(&scratch);
}

/* Once for all stretches; NULL: there is no room. */
static struct partials *
make_partials(const struct aggregation *m)
{
    struct partials *p = arena_array(m->spec->arena, 1, sizeof *p);

    for (size_t i = 0; p != NULL && i < PARTIALS; i++) {
        struct partial *t = &p->all[i];

        t->values =
            arena_array_raw(m->spec->arena, m->acc.cap, sizeof *t->values);
        if (t->values == NULL ||
            !accumulator_init(&t->acc, m->spec->aggregator, m->len, m->acc.cap,
                              m->spec->arena))
            return NULL;
    }
    return p;
}

/* False: there is no room. */
static bool
add_partials(struct aggregation *m, enum status *st, struct error *e)
{
    struct partials *p;

    if (m->partials == NULL)
        m->partials = make_partials(m);
    p = m->partials;
    if (p == NULL)
        return false;
    p->of = m;
    workers_run(m->spec->workers, PARTIALS, add_partial, p);
    for (size_t i = 0; i < PARTIALS && *st == ST_OK; i++) {
        const struct partial *t = &p->all[i];

        if (t->status != ST_OK)
            *st = error_set(e, t->status, "%s", t->error.text);
        else
            accumulator_merge(&m->acc, &t->acc);
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
    size_t chunk_len;      /* series */
    size_t first;          /* chunk of those that run now */
    size_t chunks_len;
    struct chunk chunks[CHUNKS_MOST];
    struct lock lock;
    size_t next GUARDED_BY(lock); /* to be added */
    bool is_adding GUARDED_BY(lock);
    /* With the rest of 'm' that task's which is adding: */
    enum status status;
    struct error *error;
};

static struct aggregation
chunk_of(const struct adding *p, size_t i)
{
    size_t from = (p->first + i) * p->chunk_len;

    return some_of(p->m, from, from + p->chunk_len);
}

static enum status
unpack_chunk(const struct adding *p, size_t i, struct chunk *out)
{
    struct aggregation some = chunk_of(p, i);
    struct points scratch = { .budget = arena_budget(p->m->spec->arena) };
    union number *room;
    size_t wanted = 1;
    enum status st = ST_OK;

    for (size_t k = 0; k < some.len; k++)
        wanted += some.cursors[k].wanted;
    room = out->values = mem_try(wanted * sizeof *room);
    if (room == NULL)
        return error_no_memory(&out->error);
    for (size_t k = 0; k < some.len && st == ST_OK; k++) {
        struct series_cursor *cur = &some.cursors[k];
        const union number *v;

        aggregation_fetch_ahead(&some, k);
        if (cur->wanted == 0)
            continue;
        st = aggregation_values(some.spec, cur->c, cur->wanted, &scratch, &v,
                                &out->error);
        if (st != ST_OK)
            break;
        memcpy(room, v, cur->wanted * sizeof *v);
        cur->c->v = room;
        room += cur->wanted;
    }
    points_fini(&scratch);
    return st;
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
            struct aggregation some;
            struct chunk *c;

            lock_drop(&p->lock);
            some = chunk_of(p, next);
            c = &p->chunks[next];
            if (p->status == ST_OK && c->status != ST_OK)
                p->status = error_set(p->error, c->status, "%s", c->error.text);
            for (size_t k = 0; k < some.len; k++) {
                struct series_cursor *cur = &some.cursors[k];

                if (p->status == ST_OK) {
                    aggregation_add(p->m, cur);
                    p->status = deadline_tick(p->m->spec->deadline,
                                              p->m->acc.len, p->error);
                }
                if (cur->wanted > 0)
                    cur->c->v = NULL;
            }
            free(c->values);
            lock_take(&p->lock);
        }
        p->is_adding = false;
    }
    lock_drop(&p->lock);
}

/* False: there is no memory. */
static bool
add_chunks(struct aggregation *m, enum status *st, struct error *e)
{
    struct adding *p = mem_try_array(1, sizeof *p);
    size_t longest = 1, chunks;

    if (p == NULL)
        return false;
    for (size_t i = 0; i < m->len; i++)
        if (m->cursors[i].wanted > longest)
            longest = m->cursors[i].wanted;
    p->m = m;
    p->error = e;
    p->chunk_len = CHUNK_VALUES / longest;
    if (p->chunk_len > CHUNK_SERIES)
        p->chunk_len = CHUNK_SERIES;
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
        workers_run(m->spec->workers, p->chunks_len, run_chunk, p);
    }
    lock_fini(&p->lock);
    *st = p->status;
    free(p);
    return true;
}

/* -- all ------------------------------------------------------------------- */

/* Integers of open rows that have one byte each are unpacked in less time than
 * they take from one processor to another. */
static size_t
work_of(const struct packed_hour *h)
{
    size_t bytes = 0;

    if (h->open_len == 0 || h->is_float)
        return h->unpacked;
    for (size_t i = 0; i < h->open_len; i++)
        bytes += h->open[i].bytes.size;
    return bytes > h->unpacked ? bytes - h->unpacked : 0;
}

static bool
wants_threads(const struct aggregation *m)
{
    size_t points = 0, work = 0, step = m->len / LOOKED_AT + 1;

    if (m->spec->workers == NULL || m->len < PARTIALS)
        return false;
    if (any_order_will_do(m) &&
        m->len * (m->acc.len + SERIES_COST) >= WORTH_ADD)
        return true;
    for (size_t i = 0; i < m->len; i += step) {
        const struct series_cursor *cur = &m->cursors[i];
        const struct packed_hour *h = cur->c->hours;
        size_t end = cur->c->skip + cur->wanted;

        for (size_t n = 0; cur->wanted > 0 && n < end; h = h->next) {
            n += h->count;
            points += h->unpacked;
            work += work_of(h);
        }
    }
    return work * step >= WORTH_UNPACK && work >= points / 2;
}

bool
aggregation_add_threads(struct aggregation *m, enum status *st, struct error *e)
{
    *st = ST_OK;
    if (!wants_threads(m))
        return false;
    return any_order_will_do(m) ? add_partials(m, st, e) : add_chunks(m, st, e);
}
