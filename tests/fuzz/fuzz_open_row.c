/* Open rows: points come back as they were, in the order in which they were
 * appended, and the block summary is the one that their block has.  (Other
 * bytes than these are for open_row_check(): fuzz_owners.c.)
 *
 *     { <step:2> <kind> <8 bytes> }... */
#include "storage/head/open_row.h"

#include "base/cursor.h"
#include "base/obj.h"
#include "tests/fuzz/target.h"

#define BASE     1356998400u
#define MOST     512
#define ONE_SIZE 11

static struct point
take_point(struct cursor *c, int64_t *ms)
{
    struct point p;
    uint64_t bits;

    *ms = (*ms + cursor_u16(c) * 7) % HOUR_MS;
    p.ts_ms = BASE * INT64_C(1000) + *ms;
    p.is_float = cursor_u8(c) % 2 != 0;
    bits = cursor_u64(c);
    memcpy(&p.v, &bits, sizeof bits);
    return p;
}

static bool
is_ascending(const struct points *p)
{
    for (size_t i = 1; i < p->len; i++)
        if (p->ts_ms[i - 1] >= p->ts_ms[i])
            return false;
    return p->len > 0;
}

static void
check_summary(struct open_row *r, bool keep, const struct points *p)
{
    struct buf block = BUF_INIT;
    struct summary x, y;
    struct error e;
    bool known = open_row_summary(r, keep, &x);

    struct points a = { 0 }, b = { 0 };
    struct spacing v, w;
    bool even = open_row_unpack_even(slice_of(r->bytes, r->size), r->count,
                                     BASE, &a, &v);

    INSIST(known == is_ascending(p));
    INSIST(known || !even);
    if (!known) {
        points_fini(&a);
        return;
    }
    block_encode(p, BASE, &block);
    INSIST(block_decode_spaced(buf_slice(&block), BASE, ALL_VALUES, &b, &w,
                               &e) == ST_OK);
    INSIST(even == w.even && a.len == (even ? p->len : 0));
    if (even) {
        INSIST(v.is_float == w.is_float);
        for (size_t i = 0; i < p->len && !v.is_float; i++)
            INSIST(magnitude(p->v[i].i) <= v.greatest &&
                   magnitude(p->v[i].i) <= w.greatest);
        INSIST(v.first_ms == w.first_ms && v.step_ms == w.step_ms);
        INSIST(memcmp(a.v, p->v, p->len * sizeof *p->v) == 0);
    }
    points_fini(&a);
    points_fini(&b);
    INSIST(block_summary(buf_slice(&block), BASE, &y, &e) == ST_OK);
    INSIST(x.count == y.count && x.all_int == y.all_int);
    INSIST(x.first_ms == y.first_ms && x.last_ms == y.last_ms);
    INSIST(x.sum.i == y.sum.i && x.min.i == y.min.i && x.max.i == y.max.i);
    INSIST(x.first.i == y.first.i && x.last.i == y.last.i);
    buf_fini(&block);
}

/* The last points of an even row, from 'n' or a few before it on. */
static void
check_end(const struct open_row *r, uint32_t n, const struct points *all)
{
    struct spacing s = open_row_spacing(r);
    struct points p = { 0 };
    uint32_t at;

    if (!s.even)
        return;
    at = open_row_seek(r, &n);
    if (n == 0)
        return;
    INSIST(open_row_unpack_end(slice_of(r->bytes + at, r->size - at),
                               r->count - n, all->v[all->len - 1], &p, &s));
    INSIST(p.len == all->len - n);
    for (size_t i = 0; i < p.len && !s.is_float; i++)
        INSIST(magnitude(p.v[i].i) <= s.greatest);
    INSIST(memcmp(p.v, all->v + n, p.len * sizeof *p.v) == 0);
    points_fini(&p);
}

FUZZ_TARGET(data, size)
{
    struct cursor c = cursor_of(slice_of(data, size));
    struct open_row r = { .base = BASE };
    struct points out = { 0 };
    struct point all[MOST];
    size_t n = 0;
    int64_t ms = 0;

    while (cursor_left(&c) >= ONE_SIZE && n < MOST) {
        struct summary unused;

        all[n] = take_point(&c, &ms);
        INSIST(open_row_append(&r, all[n++]));
        if (n % 50 == 0) /* what it remembers then is carried on */
            (void)open_row_summary(&r, n % 100 == 0, &unused);
    }
    INSIST(r.count == n);
    INSIST(open_row_check(slice_of(r.bytes, r.size), r.count) == (n > 0));
    INSIST(open_row_unpack(slice_of(r.bytes, r.size), r.count, BASE, &out));
    INSIST(out.len == n);
    for (size_t i = 0; i < n; i++) {
        struct point p = points_at(&out, i);

        INSIST(p.ts_ms == all[i].ts_ms && p.is_float == all[i].is_float);
        INSIST(memcmp(&p.v, &all[i].v, sizeof p.v) == 0);
    }
    check_summary(&r, false, &out);
    check_summary(&r, true, &out);
    check_summary(&r, true, &out);
    for (uint32_t i = 1; i < n; i += 1 + i / 8)
        check_end(&r, i, &out);
    points_fini(&out);
    open_row_fini(&r);
    return 0;
}
