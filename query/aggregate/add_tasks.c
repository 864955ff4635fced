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
    struct accumulator acc;
    union number *values; /* as the aggregation's */
    enum status status;
    struct error error;
};

struct partials {
    const struct aggregation *of;
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
    struct aggregation m = *p->of;
    struct points scratch = { 0 };
    size_t from = i * m.len / PARTIALS;

    m.len = (i + 1) * m.len / PARTIALS - from;
    m.cursors += from;
    m.acc = t->acc;
    m.values = t->values;
    m.scratch = &scratch;
    accumulator_begin(&m.acc, false, p->len);
    t->status = ST_OK;
    for (size_t k = 0; k < m.len && t->status == ST_OK; k++) {
        aggregation_fetch_ahead(&m, k);
        t->status = aggregation_unpack_and_add(&m, &m.cursors[k], p->ms, p->len,
                                               false, &t->error);
    }
    t->acc = m.acc;
    points_fini(&scratch);
}

/* Once for all stretches; NULL: there is no room. */
static struct partials *
make_partials(const struct aggregation *m)
{
    struct partials *p = arena_array(m->arena, 1, sizeof *p);

    for (size_t i = 0; p != NULL && i < PARTIALS; i++) {
        struct partial *t = &p->all[i];

        t->values = column_array(m->arena, m->acc.cap, sizeof *t->values);
        if (t->values == NULL ||
            !accumulator_init(&t->acc, m->spec->aggregator, m->len, m->acc.cap,
                              m->arena))
            return NULL;
    }
    return p;
}

/* False: there is no room. */
static bool
add_partials(struct aggregation *m, const int64_t *ms, size_t len,
             enum status *st, struct error *e)
{
    struct partials *p;

    if (m->partials == NULL)
        m->partials = make_partials(m);
    p = m->partials;
    if (p == NULL)
        return false;
    p->of = m;
    p->ms = ms;
    p->len = len;
    pool_run(m->spec->pool, PARTIALS, add_partial, p);
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
    int64_t last_ms = p->ms[p->len - 1];
    struct points scratch = { 0 };
    union number *room;
    size_t wanted = 1;
    enum status st = ST_OK;

    for (size_t k = 0; k < some.len; k++)
        wanted += aggregation_wanted(&some.cursors[k], last_ms);
    room = out->values = malloc(wanted * sizeof *room);
    if (room == NULL)
        return error_no_memory(&out->error);
    for (size_t k = 0; k < some.len && st == ST_OK; k++) {
        struct series_cursor *cur = &some.cursors[k];
        const union number *v;

        aggregation_fetch_ahead(&some, k);
        wanted = aggregation_wanted(cur, last_ms);
        if (wanted == 0)
            continue;
        st = aggregation_values(some.spec, &cur->c, wanted, &scratch, &v,
                                &out->error);
        if (st != ST_OK)
            break;
        memcpy(room, v, wanted * sizeof *v);
        cur->c.v = room;
        room += wanted;
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
            aggregation_add(p->m, cur, p->ms, p->len, p->doubles);
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
    for (size_t i = 0; i < m->len; i++) {
        size_t wanted = aggregation_wanted(&m->cursors[i], ms[len - 1]);

        longest = wanted > longest ? wanted : longest;
    }
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
wants_threads(const struct aggregation *m, const int64_t *ms, size_t len,
              bool doubles)
{
    size_t points = 0, work = 0;

    if (m->spec->pool == NULL || m->len < PARTIALS)
        return false;
    if (any_order_will_do(m, doubles) && m->len * len >= WORTH_ADD)
        return true;
    for (size_t i = 0; i < m->len; i++) {
        struct series_cursor *cur = &m->cursors[i];
        size_t left = aggregation_wanted(cur, ms[len - 1]);
        const struct packed_hour *h = left > 0 ? cur->c.hours : NULL;

        for (left += cur->c.skip; h != NULL; h = h->next) {
            points += h->unpacked;
            work += work_of(h);
            if (left <= h->count)
                break;
            left -= h->count;
        }
    }
    return work >= WORTH_UNPACK && work >= points / 2;
}

bool
aggregation_add_threads(struct aggregation *m, const int64_t *ms, size_t len,
                        bool doubles, enum status *st, struct error *e)
{
    *st = ST_OK;
    if (!wants_threads(m, ms, len, doubles))
        return false;
    return any_order_will_do(m, doubles)
               ? add_partials(m, ms, len, st, e)
               : add_chunks(m, ms, len, doubles, st, e);
}
