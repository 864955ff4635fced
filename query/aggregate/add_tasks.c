/* The series of one stretch, added with the threads of a pool.  A task unpacks
 * the packed columns of a chunk of series; then chunks that are unpacked are
 * added, in the order of the series, by the task that ends the next one.  So no
 * task waits, and at worst all are unpacked before the first is added. */
#include <stdlib.h>
#include <string.h>

#include "base/process/lock.h"
#include "query/aggregate/arithmetic.h"
#include "query/aggregate/interpolate_priv.h"

#define CHUNK_VALUES  16384 /* that a chunk unpacks: as a cache holds them */
#define CHUNKS_LEAST  8
#define WORTH_THREADS 32768 /* for so much work others are woken */

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

/* -- tasks ----------------------------------------------------------------- */

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
aggregation_wants_threads(const struct aggregation *m)
{
    size_t points = 0, work = 0;

    if (m->spec->pool == NULL)
        return false;
    for (size_t i = 0; i < m->len; i++) {
        const struct column *c = &m->cursors[i].c;
        const struct packed_hour *h = column_is_packed(c) ? c->hours : NULL;

        for (; h != NULL; h = h->next) {
            points += h->unpacked;
            work += work_of(h);
        }
    }
    return work >= WORTH_THREADS && work >= points / 2;
}

enum status
aggregation_add_all(struct aggregation *m, const int64_t *ms, size_t len,
                    bool doubles, struct error *e)
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
