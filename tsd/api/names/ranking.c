#include "tsd/api/names/ranking.h"

#include "web/json/json.h"

#define RANKING_DEFAULT 25

/* Names between two looks whether it is cancelled. */
#define NAMES_UNCHECKED 1024

struct ranking *
ranking_new(struct arena *a, struct slice part, int64_t max)
{
    struct ranking *r = arena_alloc(a, sizeof *r);

    if (r == NULL)
        return NULL;
    r->len = 0;
    r->by_added = false;
    r->max = max <= 0            ? RANKING_DEFAULT
             : max > RANKING_MAX ? RANKING_MAX
                                 : (size_t)max;
    r->part = part;
    r->arena = a;
    r->no_memory = false;
    return r;
}

static bool
contains(struct slice name, struct slice part)
{
    for (size_t i = 0; i + part.size <= name.size; i++)
        if (slice_eq_nocase(slice_of(name.data + i, part.size), part))
            return true;
    return false;
}

/* Negative: 'a' is better. */
static int
compare(const struct ranking *r, const struct ranked *a, const struct ranked *b)
{
    if (r->by_added && a->added != b->added)
        return a->added > b->added ? -1 : 1;
    if (a->series != b->series)
        return a->series > b->series ? -1 : 1;
    return slice_cmp(a->name, b->name);
}

void
ranking_add(struct ranking *r, struct slice name, uint64_t series,
            uint64_t added)
{
    struct ranked one = { name, series, added };
    size_t at = r->len;

    if (!contains(name, r->part))
        return;
    while (at > 0 && compare(r, &one, &r->top[at - 1]) < 0)
        at--;
    if (at == r->max)
        return;
    one.name.data = arena_copy(r->arena, name.data, name.size);
    if (one.name.data == NULL) {
        r->no_memory = true;
        return;
    }
    r->len += r->len < r->max;
    memmove(&r->top[at + 1], &r->top[at], (r->len - at - 1) * sizeof r->top[0]);
    r->top[at] = one;
}

enum status
ranking_add_ids(struct ranking *r, struct uid_table *u, enum uid_kind kind,
                const struct series_tallies *ids, struct cancel cancel,
                struct error *e)
{
    struct buf name = BUF_INIT;
    enum status st = ST_OK;

    for (size_t i = 0; i < ids->len && st == ST_OK && !r->no_memory; i++) {
        if (i % NAMES_UNCHECKED == 0 && cancel_asked(cancel))
            break;
        /* With so few series it does not get in, whatever its name is. */
        if (r->len == r->max && ids->all[i].series < r->top[r->len - 1].series)
            continue;
        buf_clear(&name);
        st = uid_name(u, kind, ids->all[i].id, &name, e);
        if (st == ST_OK)
            ranking_add(r, buf_slice(&name), ids->all[i].series, 0);
        else if (st == ST_NOT_FOUND) /* it was deleted meanwhile */
            st = ST_OK;
    }
    buf_fini(&name);
    return st == ST_OK && r->no_memory ? error_no_memory(e) : st;
}

void
ranking_write(const struct ranking *r, bool with_added, struct buf *b)
{
    buf_put_u8(b, '[');
    for (size_t i = 0; i < r->len; i++) {
        json_open(b, NULL, '{');
        json_put_member(b, "name", r->top[i].name);
        json_put_int(b, "series", (int64_t)r->top[i].series);
        if (with_added)
            json_put_int(b, "new", (int64_t)r->top[i].added);
        buf_put_u8(b, '}');
    }
    buf_put_u8(b, ']');
}
