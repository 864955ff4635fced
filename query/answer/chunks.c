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

static enum status
too_large(size_t max_bytes, struct error *e)
{
    return error_set(e, ST_LIMIT,
                     "The answer is larger than %zu bytes. Please ask for less "
                     "time, fewer series or coarser points.",
                     max_bytes);
}

enum status
chunks_check_text(const struct buf *text, size_t max_bytes, struct error *e)
{
    if (!text->failed)
        return ST_OK;
    if (text->fault == BUF_TOO_LARGE)
        return too_large(max_bytes, e);
    return error_set(e, ST_BUSY,
                     "Too many answers wait to be read: the memory for the "
                     "answers of all requests is used up "
                     "(halite.answers.bytes)");
}

/* Counts what was added to the chunk since it was last counted. */
static enum status
count_bytes(struct chunks *p, struct chunk *chunk, struct error *e)
{
    size_t more = chunk->text.size - chunk->counted;

    chunk->counted = chunk->text.size;
    return atomic_fetch_add(&p->bytes, more) + more > p->max_bytes
               ? too_large(p->max_bytes, e)
               : ST_OK;
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

enum status
chunks_end(struct chunks *p, size_t sub, struct error *e)
{
    struct chunks_sub *s = &p->subs[sub];
    enum status status = ST_OK;

    for (size_t i = 0; i < s->rows_len && status == ST_OK; i++)
        status = count_bytes(p, &s->chunks[i], e);
    return status;
}

enum status
chunks_put(struct chunks *p, size_t sub, size_t i, const struct result_group *g,
           struct slice *tags, struct error *e)
{
    struct chunks_sub *s = &p->subs[sub];
    struct chunk *chunk = &s->chunks[i / s->chunk_len];
    struct chunks_tags t = { .known = *tags };
    size_t room = GROUP_BYTES * s->chunk_len, points = 0;
    enum status status;

    if (chunk->text.size == 0 && room < p->max_bytes)
        (void)buf_reserve(&chunk->text, room);
    status = p->write(p->ctx, &chunk->text, g, &t, &points, e);
    if (status == ST_OK)
        status = chunks_check_text(&chunk->text, p->max_bytes, e);
    if (status == ST_OK &&
        (chunk->text.size - chunk->counted > BYTES_UNCOUNTED))
        status = count_bytes(p, chunk, e);
    chunk->points += points;
    chunk->groups++;
    *tags = slice_of(chunk->text.data + t.from, t.size);
    return status;
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
