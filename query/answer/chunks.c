#include "query/answer/chunks.h"

#include <stdlib.h>

#include "base/mem.h"

/* A group's text without its points, roughly. */
#define GROUP_BYTES ((size_t)240)
/* So many bytes are written before they are counted. */
#define BYTES_UNCOUNTED ((size_t)32 << 10)

struct chunk {
    struct buf text;
    size_t counted; /* bytes of it that all know of */
    size_t points, groups;
};

struct chunks_sub {
    struct chunk *chunks;
    size_t rows_len, chunk_len;
};

bool
chunks_init(struct chunks *p, size_t subs_len)
{
    p->subs = mem_try_array(subs_len, sizeof *p->subs);
    p->subs_len = p->subs == NULL ? 0 : subs_len;
    return p->subs != NULL;
}

static void
forget(struct chunks *p, struct chunks_sub *s)
{
    for (size_t i = 0; i < s->rows_len; i++) {
        (void)atomic_fetch_sub(&p->bytes, s->chunks[i].counted);
        buf_fini(&s->chunks[i].text);
    }
    free(s->chunks);
    *s = (struct chunks_sub){ 0 };
}

void
chunks_fini(struct chunks *p)
{
    for (size_t i = 0; i < p->subs_len; i++)
        forget(p, &p->subs[i]);
    free(p->subs);
    p->subs = NULL;
    p->subs_len = 0;
}

static void
count_bytes(struct chunks *p, struct chunk *chunk)
{
    size_t more = chunk->text.size - chunk->counted;

    chunk->counted = chunk->text.size;
    if (atomic_fetch_add(&p->bytes, more) + more > p->max_bytes)
        atomic_store(&p->failed, true);
}

bool
chunks_begin(struct chunks *p, size_t sub, size_t groups_len, size_t chunk_len)
{
    struct chunks_sub *s = &p->subs[sub];
    size_t len = (groups_len + chunk_len - 1) / chunk_len;

    forget(p, s);
    s->chunk_len = chunk_len;
    s->chunks = mem_try_array(len + 1, sizeof *s->chunks);
    if (s->chunks == NULL)
        return false;
    s->rows_len = len;
    for (size_t i = 0; i < s->rows_len; i++)
        buf_init_within(&s->chunks[i].text, p->max_bytes, p->budget);
    return true;
}

void
chunks_end(struct chunks *p, size_t sub)
{
    struct chunks_sub *s = &p->subs[sub];

    for (size_t i = 0; i < s->rows_len; i++)
        count_bytes(p, &s->chunks[i]);
}

struct slice
chunks_put(struct chunks *p, size_t sub, size_t i, const struct result_group *g,
           struct slice tags)
{
    struct chunks_sub *s = &p->subs[sub];
    struct chunk *chunk = &s->chunks[i / s->chunk_len];
    struct chunks_tags t = { .known = tags };
    size_t room = GROUP_BYTES * s->chunk_len;

    if (atomic_load_explicit(&p->failed, memory_order_relaxed))
        return (struct slice){ NULL, 0 };
    if (chunk->text.size == 0 && room < p->max_bytes)
        (void)buf_reserve(&chunk->text, room);
    chunk->points += p->write(p->ctx, &chunk->text, g, &t);
    chunk->groups++;
    if (chunk->text.failed) {
        if (chunk->text.fault != BUF_TOO_LARGE)
            atomic_store(&p->no_room, true);
        atomic_store(&p->failed, true);
        return (struct slice){ NULL, 0 };
    }
    if (chunk->text.size - chunk->counted > BYTES_UNCOUNTED)
        count_bytes(p, chunk);
    return slice_of(chunk->text.data + t.from, t.size);
}

struct chunks_total
chunks_total(const struct chunks *p)
{
    struct chunks_total t = { 0, 0 };

    for (size_t i = 0; i < p->subs_len; i++)
        for (size_t k = 0; k < p->subs[i].rows_len; k++) {
            t.points += p->subs[i].chunks[k].points;
            t.groups += p->subs[i].chunks[k].groups;
        }
    return t;
}

void
chunks_each(struct chunks *p, void (*f)(void *ctx, struct buf *chunk),
            void *ctx)
{
    for (size_t i = 0; i < p->subs_len; i++)
        for (size_t k = 0; k < p->subs[i].rows_len; k++)
            if (p->subs[i].chunks[k].text.size > 0)
                f(ctx, &p->subs[i].chunks[k].text);
}
