/* See query/answer/chunks.h. */
#include "config.h"

#include "query/answer/chunks.h"

#include <stdlib.h>

#include "base/mem.h"

/* A group's text without its points, roughly. */
#define GROUP_BYTES ((size_t)240)
#define ROOM_MAX    ((size_t)1 << 20) /* that is made before it is needed */
/* So much is written before the others are told. */
#define BYTES_UNCOUNTED ((size_t)32 << 10)

/* The text of a series' tags: where it is in its row. */
struct known {
    struct slice pairs; /* the TSUID without its metric; empty: unknown */
    size_t from, size;
};

struct row {
    struct buf text;
    size_t counted; /* bytes of it that all know of */
    size_t points, groups;
};

struct chunks_sub {
    struct row *rows;
    size_t rows_len, in_row;
    struct known *known; /* of each group, in an arena; NULL: never searched */
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
        (void)atomic_fetch_sub(&p->bytes, s->rows[i].counted);
        buf_fini(&s->rows[i].text);
    }
    free(s->rows);
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
count_bytes(struct chunks *p, struct row *row)
{
    size_t more = row->text.size - row->counted;

    row->counted = row->text.size;
    if (atomic_fetch_add(&p->bytes, more) + more > p->max_bytes)
        atomic_store(&p->failed, true);
}

bool
chunks_begin(struct chunks *p, size_t sub, size_t groups_len, size_t in_row,
             struct arena *a)
{
    struct chunks_sub *s = &p->subs[sub];
    size_t len = (groups_len + in_row - 1) / in_row;

    forget(p, s);
    s->in_row = in_row;
    s->rows = calloc(len + 1, sizeof *s->rows);
    if (s->rows == NULL)
        return false;
    s->rows_len = len;
    for (size_t i = 0; i < s->rows_len; i++)
        buf_init(&s->rows[i].text, p->max_bytes);
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
        count_bytes(p, &s->rows[i]);
    s->ascending = true;
    for (size_t i = 1; i < s->known_len && s->ascending; i++)
        s->ascending = slice_cmp(s->known[i - 1].pairs, s->known[i].pairs) <= 0;
}

/* -- the tags of a series -------------------------------------------------- */

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
    return slice_of(s->rows[at / s->in_row].text.data + s->known[at].from,
                    s->known[at].size);
}

/* -- writing --------------------------------------------------------------- */

/* The first of a row: the others will take about as much. */
static void
make_room(const struct chunks *p, struct buf *b, size_t in_row)
{
    size_t room = (b->size + b->size / 8) * (in_row - 1);

    if (room > 0 && room <= ROOM_MAX && room <= p->max_bytes - b->size)
        (void)buf_reserve(b, room);
}

void
chunks_put(struct chunks *p, size_t sub, size_t i, const struct result_group *g,
           struct slice tsuid, struct slice tags)
{
    struct chunks_sub *s = &p->subs[sub];
    struct row *row = &s->rows[i / s->in_row];
    struct chunks_tags t = { .known = tags };
    bool first = row->text.size == 0;

    if (atomic_load_explicit(&p->failed, memory_order_relaxed))
        return;
    if (first)
        (void)buf_reserve(&row->text,
                          GROUP_BYTES < p->max_bytes ? GROUP_BYTES : 1);
    row->points += p->write(p->ctx, &row->text, g, &t);
    row->groups++;
    if (first)
        make_room(p, &row->text, s->in_row);
    if (s->known != NULL && tsuid.size > p->metric_width)
        s->known[i] = (struct known){ slice_of(tsuid.data + p->metric_width,
                                               tsuid.size - p->metric_width),
                                      t.from, t.size };
    if (row->text.failed)
        atomic_store(&p->failed, true);
    if (row->text.size - row->counted > BYTES_UNCOUNTED)
        count_bytes(p, row);
}

struct chunks_total
chunks_total(const struct chunks *p)
{
    struct chunks_total t = { 0, 0 };

    for (size_t i = 0; i < p->subs_len; i++)
        for (size_t k = 0; k < p->subs[i].rows_len; k++) {
            t.points += p->subs[i].rows[k].points;
            t.groups += p->subs[i].rows[k].groups;
        }
    return t;
}

void
chunks_each(struct chunks *p, void (*f)(void *ctx, struct buf *chunk),
            void *ctx)
{
    for (size_t i = 0; i < p->subs_len; i++)
        for (size_t k = 0; k < p->subs[i].rows_len; k++)
            if (p->subs[i].rows[k].text.size > 0)
                f(ctx, &p->subs[i].rows[k].text);
}
