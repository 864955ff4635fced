#include "query/answer/chunks.h"

#include <stdlib.h>

#include "base/mem.h"

/* A group's text without its points, roughly. */
#define GROUP_BYTES ((size_t)240)
/* So many bytes are written before they are counted. */
#define BYTES_UNCOUNTED ((size_t)32 << 10)

/* The text of a series' tags: where it is in its chunk. */
struct tag_text {
    struct slice pairs; /* the TSUID without its metric; empty: unknown */
    size_t from, size;
};

struct chunk {
    struct buf text;
    size_t counted; /* bytes of it that all know of */
    size_t points, groups;
};

struct chunks_sub {
    struct chunk *chunks;
    size_t rows_len, chunk_len;
    struct tag_text *known; /* of each group; NULL: never searched */
    size_t known_len;
    bool ascending; /* those that are known */
};

void
chunks_init(struct chunks *p, size_t subs_len)
{
    p->subs = mem_new_array(subs_len, sizeof *p->subs);
    p->subs_len = subs_len;
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

bool
chunks_wants_tags(const struct chunks *p, size_t sub)
{
    return sub == 0 && p->subs_len > 1;
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
chunks_begin(struct chunks *p, size_t sub, size_t groups_len, size_t chunk_len,
             struct arena *a)
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
        buf_init(&s->chunks[i].text, p->max_bytes);
    if (chunks_wants_tags(p, sub)) {
        s->known = arena_array(a, groups_len, sizeof *s->known);
        s->known_len = s->known == NULL ? 0 : groups_len;
        return s->known != NULL;
    }
    return true;
}

void
chunks_end(struct chunks *p, size_t sub)
{
    struct chunks_sub *s = &p->subs[sub];

    for (size_t i = 0; i < s->rows_len; i++)
        count_bytes(p, &s->chunks[i]);
    s->ascending = true;
    for (size_t i = 1; i < s->known_len && s->ascending; i++)
        s->ascending = slice_cmp(s->known[i - 1].pairs, s->known[i].pairs) <= 0;
}

static size_t
search(const struct chunks_sub *s, struct slice pairs)
{
    size_t lo = 0, hi = s->known_len;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (slice_cmp(s->known[mid].pairs, pairs) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct slice
chunks_find_tags(const struct chunks *p, size_t sub, struct slice tsuid,
                 size_t *expected)
{
    const struct chunks_sub *s = &p->subs[0];
    struct slice pairs =
        slice_of(tsuid.data + p->metric_width, tsuid.size - p->metric_width);
    size_t at = *expected;

    if (sub == 0 || s->known_len == 0)
        return (struct slice){ NULL, 0 };
    if (s->ascending &&
        (at >= s->known_len || !slice_eq(s->known[at].pairs, pairs)))
        at = search(s, pairs);
    if (at >= s->known_len || !slice_eq(s->known[at].pairs, pairs))
        return (struct slice){ NULL, 0 };
    *expected = at + 1;
    return slice_of(s->chunks[at / s->chunk_len].text.data + s->known[at].from,
                    s->known[at].size);
}

void
chunks_put(struct chunks *p, size_t sub, size_t i, const struct result_group *g,
           struct slice tsuid, struct slice tags)
{
    struct chunks_sub *s = &p->subs[sub];
    struct chunk *chunk = &s->chunks[i / s->chunk_len];
    struct chunks_tags t = { .known = tags };
    size_t room = GROUP_BYTES * s->chunk_len;

    if (atomic_load_explicit(&p->failed, memory_order_relaxed))
        return;
    if (chunk->text.size == 0 && room < p->max_bytes)
        (void)buf_reserve(&chunk->text, room);
    chunk->points += p->write(p->ctx, &chunk->text, g, &t);
    chunk->groups++;
    if (s->known != NULL && tsuid.size > p->metric_width)
        s->known[i] = (struct tag_text){ slice_of(tsuid.data + p->metric_width,
                                                  tsuid.size - p->metric_width),
                                         t.from, t.size };
    if (chunk->text.failed)
        atomic_store(&p->failed, true);
    if (chunk->text.size - chunk->counted > BYTES_UNCOUNTED)
        count_bytes(p, chunk);
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
