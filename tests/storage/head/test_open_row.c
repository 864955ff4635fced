/* Open rows give back what was appended, and know what their block would say
 * of it, asked once or again and again while points come. */
#include "storage/head/open_row.h"

#include <math.h>
#include <stdlib.h>

#include "tests/harness.h"

#define BASE    1356998400u
#define BASE_MS (INT64_C(1000) * BASE)

/* What a series is like: how far its times go on, and its values. */
enum values { WHOLE, LARGE, WIDE, DECIMAL, DOUBLE, ODD, MIXED, LATE_MIXED };

static const struct like {
    enum values values;
    size_t len;
    int64_t step_ms, jitter_ms;
} cases[] = {
    { WHOLE, 1, 1000, 0 },      { WHOLE, 2, 1000, 0 },
    { WHOLE, 360, 10000, 0 },   { WHOLE, 3600, 1000, 0 },
    { WHOLE, 300, 10000, 900 }, { LARGE, 360, 10000, 0 },
    { WIDE, 360, 10000, 0 },    { WIDE, 3000, 1000, 0 },
    { DECIMAL, 360, 10000, 0 }, { DECIMAL, 300, 10000, 500 },
    { DOUBLE, 360, 10000, 0 },  { ODD, 360, 10000, 0 },
    { MIXED, 360, 10000, 0 },   { LATE_MIXED, 360, 10000, 0 },
};

static struct point
any_point(const struct like *like, size_t i, uint64_t *random)
{
    static const double odd[] = { 0.0, -0.0, (double)NAN, (double)INFINITY,
                                  1e300 };
    uint64_t x = harness_random(random);
    int64_t jitter =
        like->jitter_ms == 0 ? 0 : (int64_t)(x >> 40) % like->jitter_ms;
    struct point p = {
        .ts_ms = BASE_MS + (int64_t)i * like->step_ms + jitter,
        .is_float = like->values >= DECIMAL && like->values <= ODD,
    };

    if (like->values == MIXED)
        p.is_float = x % 3 == 0;
    else if (like->values == LATE_MIXED)
        p.is_float = i > like->len / 2;
    if (!p.is_float)
        p.v.i = like->values == LARGE ? (int64_t)x
                : like->values == WIDE
                    ? (int64_t)x >> (x % 64) /* of any size */
                    : (int64_t)(x % 100) - 50;
    else if (like->values == ODD)
        p.v.d = odd[x % 5];
    else if (like->values == DOUBLE)
        p.v.d = (double)(int64_t)x / 3e10;
    else
        p.v.d = (double)(int64_t)(x % 20000) / 100;
    return p;
}

static void
append(struct open_row *r, struct points *all, struct point p)
{
    ck_assert(open_row_append(r, p) && points_add(all, p));
}

/* The points that were appended are in 'all', in the order of time. */
static void
check_summary(struct open_row *r, bool keep, const struct points *all)
{
    struct buf block = BUF_INIT;
    struct summary x = { 0 }, y = { 0 };
    struct error e;

    ck_assert(open_row_summary(r, keep, &x));
    block_encode(all, BASE, &block);
    ck_assert_int_eq(block_summary(buf_slice(&block), BASE, &y, &e), ST_OK);
    ck_assert_uint_eq(x.count, y.count);
    ck_assert_int_eq(x.first_ms, y.first_ms);
    ck_assert_int_eq(x.last_ms, y.last_ms);
    ck_assert_int_eq(x.all_int, y.all_int);
    /* The bits of doubles, too. */
    ck_assert_int_eq(x.sum.i, y.sum.i);
    ck_assert_int_eq(x.min.i, y.min.i);
    ck_assert_int_eq(x.max.i, y.max.i);
    ck_assert_int_eq(x.first.i, y.first.i);
    ck_assert_int_eq(x.last.i, y.last.i);
    buf_fini(&block);
}

/* Even where the block is, and then the same. */
static void
check_even(const struct open_row *r, const struct points *all)
{
    struct buf block = BUF_INIT;
    struct points p = { 0 }, q = { 0 };
    struct spacing x, y;
    struct error e;
    bool even = open_row_unpack_even(slice_of(r->bytes, r->size), r->count,
                                     BASE, &p, &x);

    block_encode(all, BASE, &block);
    ck_assert_int_eq(
        block_decode_spaced(buf_slice(&block), BASE, ALL_VALUES, &q, &y, &e),
        ST_OK);
    ck_assert_int_eq(even, y.even);
    ck_assert_uint_eq(p.len, even ? all->len : 0);
    if (even) {
        ck_assert_int_eq(x.is_float, y.is_float);
        ck_assert_int_eq(x.first_ms, y.first_ms);
        ck_assert_int_eq(x.step_ms, y.step_ms);
        ck_assert_uint_ge(x.greatest, y.greatest);
        ck_assert_uint_le(x.greatest, y.greatest + 240);
        ck_assert_mem_eq(p.v, all->v, all->len * sizeof *p.v);
    }
    points_fini(&p);
    points_fini(&q);
    buf_fini(&block);
}

/* From any point of an even row on, or a few before it. */
static void
check_ends(const struct open_row *r, const struct points *all)
{
    struct spacing s = open_row_spacing(r);
    struct points p = { 0 };
    union number last = all->v[all->len - 1];
    uint32_t furthest = 0;

    for (uint32_t i = 0; i < r->count && s.even; i += 1 + i / 7) {
        uint32_t from = i, at = open_row_seek(r, &from);

        ck_assert_uint_le(from, i);
        if (from == 0)
            continue;
        ck_assert_uint_lt(i - from, 24);
        furthest = i;
        points_clear(&p);
        ck_assert(open_row_unpack_end(slice_of(r->bytes + at, r->size - at),
                                      r->count - from, last, &p, &s));
        ck_assert_uint_eq(p.len, r->count - from);
        for (size_t k = 0; k < p.len && !s.is_float; k++)
            ck_assert_uint_le(magnitude(p.v[k].i), s.greatest);
        ck_assert_mem_eq(p.v, all->v + from, p.len * sizeof *p.v);
    }
    if (s.even && r->count > 300)
        ck_assert_uint_gt(furthest, 200);
    points_fini(&p);
}

static void
check_points(const struct open_row *r, const struct points *all)
{
    struct points out = { 0 };

    ck_assert(
        open_row_unpack(slice_of(r->bytes, r->size), r->count, BASE, &out));
    ck_assert_uint_eq(out.len, all->len);
    ck_assert_uint_eq(r->count, all->len);
    for (size_t i = 0; i < out.len; i++) {
        ck_assert_int_eq(out.ts_ms[i], all->ts_ms[i]);
        ck_assert_int_eq(out.v[i].i, all->v[i].i);
        ck_assert_int_eq(out.is_float[i], all->is_float[i]);
    }
    points_fini(&out);
}

START_TEST(summaries_are_those_of_blocks)
{
    const struct like *like = &cases[_i];
    uint64_t random = harness_seed((unsigned long)_i);

    for (int round = 0; round < 5; round++) {
        struct open_row r = { .base = BASE };
        struct points all = { 0 };
        uint32_t bare;

        for (size_t i = 0; i < like->len; i++) {
            append(&r, &all, any_point(like, i, &random));
            if (harness_random(&random) % 64 == 0)
                check_summary(&r, harness_random(&random) % 2 == 0, &all);
            if (harness_random(&random) % 64 == 0)
                check_ends(&r, &all);
        }
        bare = open_row_held(&r);
        check_summary(&r, false, &all);
        ck_assert_uint_eq(open_row_held(&r), bare);
        check_summary(&r, true, &all);
        check_even(&r, &all);
        check_ends(&r, &all);
        check_points(&r, &all);
        ck_assert_uint_ge(open_row_held(&r), r.size);
        points_fini(&all);
        open_row_fini(&r);
    }
}
END_TEST

/* One that comes late, or again, is the end of it. */
START_TEST(no_summary_of_disorder)
{
    uint64_t random = harness_seed((unsigned long)_i);

    for (int round = 0; round < 8; round++) {
        struct open_row r = { .base = BASE };
        struct points all = { 0 };
        const struct like *like = &cases[_i];
        size_t back = harness_random(&random) % like->len;
        struct points out = { 0 };
        struct spacing even;
        struct summary s;

        for (size_t i = 0; i < like->len; i++) {
            append(&r, &all, any_point(like, i, &random));
            if (harness_random(&random) % 64 == 0)
                check_summary(&r, true, &all);
        }
        append(&r, &all, points_at(&all, back));
        ck_assert(!open_row_summary(&r, true, &s));
        ck_assert(!open_row_unpack_even(slice_of(r.bytes, r.size), r.count,
                                        BASE, &out, &even));
        append(&r, &all, (struct point){ .ts_ms = BASE_MS + HOUR_MS - 1 });
        ck_assert(!open_row_summary(&r, true, &s));
        check_points(&r, &all);
        points_fini(&out);
        points_fini(&all);
        open_row_fini(&r);
    }
}
END_TEST

/* A row with a point or two, of which there are millions, keeps nothing. */
START_TEST(small_rows_keep_none)
{
    struct open_row r = { .base = BASE };
    struct summary s;

    ck_assert(!open_row_summary(&r, true, &s));
    for (int i = 0; i < 2; i++) {
        ck_assert(open_row_append(
            &r, (struct point){ .ts_ms = BASE_MS + i, .v.i = 42 }));
        ck_assert(open_row_summary(&r, true, &s));
        ck_assert_uint_eq(s.count, (uint32_t)i + 1);
        ck_assert_int_eq(s.sum.i, 42 * (i + 1));
        ck_assert_uint_eq(open_row_held(&r), r.cap);
    }
    open_row_fini(&r);
}
END_TEST

/* How many times a client sends, in which order, and in how many rounds. */
static const struct repeats {
    size_t times, rounds;
    bool shuffled;
} repeats[] = {
    { 1, 1000000, false }, /* one point again and again */
    { 3600, 200, false },  /* many hosts write each second, one by one .. */
    { 3600, 200, true },   /* .. or all at once */
    { 30000, 10, true },
    { 40000, 1, true }, /* late, but never again: all of them stay */
};

/* Compacts as the head does.  Points come between the beginning and the end of
 * one compaction in three of four cases. */
struct compacting {
    struct compaction c;
    bool goes_on;
    size_t left, runs; /* appends until it ends; compactions that ended */
};

static void
compact_now_and_then(struct compacting *x, struct open_row *r, size_t i)
{
    if (!x->goes_on && open_row_is_crowded(r)) {
        ck_assert(compaction_begin(&x->c, r));
        ck_assert(!open_row_is_crowded(r));
        ck_assert(compaction_sort(&x->c));
        x->goes_on = true;
        x->left = i % 4 * 50;
    }
    if (x->goes_on && x->left-- == 0) {
        ck_assert(compaction_end(&x->c, r));
        compaction_fini(&x->c);
        x->goes_on = false;
        x->runs++;
    }
}

/* A row is bounded by the times that it has, and the last value stays. */
START_TEST(repeated_points_are_compacted)
{
    const struct repeats *x = &repeats[_i];
    uint64_t random = harness_seed((unsigned long)_i);
    int64_t *last = calloc(x->times, sizeof *last);
    size_t most = 2 * (x->times > 16384 ? x->times : 16384) + 300;
    struct compacting compacting = { .goes_on = false };
    struct open_row r = { .base = BASE };
    struct points out = { 0 };

    for (size_t i = 0; i < x->times * x->rounds; i++) {
        size_t at = x->shuffled ? (i * 7919 + 1) % x->times : i % x->times;
        struct point p = { .ts_ms = BASE_MS + (int64_t)at * 90,
                           .v.i = (int64_t)(harness_random(&random) >> 48) };

        last[at] = p.v.i;
        ck_assert(open_row_append(&r, p));
        compact_now_and_then(&compacting, &r, i);
        ck_assert_uint_le(r.count, most);
    }
    ck_assert_uint_gt(compacting.runs, 0);
    compaction_fini(&compacting.c);
    ck_assert_uint_le(open_row_held(&r), 16 * most);
    ck_assert(open_row_unpack(slice_of(r.bytes, r.size), r.count, BASE, &out));
    ck_assert(points_sort_unique(&out));
    ck_assert_uint_eq(out.len, x->times);
    for (size_t i = 0; i < out.len; i++) {
        ck_assert_int_eq(out.ts_ms[i], BASE_MS + (int64_t)i * 90);
        ck_assert_int_eq(out.v[i].i, last[i]);
    }
    points_fini(&out);
    open_row_fini(&r);
    free(last);
}
END_TEST

/* A compaction whose row was flushed meanwhile changes nothing. */
START_TEST(another_row_is_not_replaced)
{
    struct open_row r = { .base = BASE }, other = { .base = BASE };
    struct compaction c;

    for (int i = 0; i < 20000; i++) {
        struct point p = { .ts_ms = BASE_MS + i % 1000, .v.i = i };

        ck_assert(open_row_append(&r, p));
        p.v.i = i + (i == 10000);
        ck_assert(open_row_append(&other, p));
    }
    ck_assert(compaction_begin(&c, &r) && compaction_sort(&c));
    ck_assert(!compaction_end(&c, &other));
    ck_assert_uint_eq(other.count, 20000);
    ck_assert(compaction_end(&c, &r));
    ck_assert_uint_eq(r.count, 1000);
    ck_assert(!compaction_end(&c, &r));
    compaction_fini(&c);
    open_row_fini(&r);
    open_row_fini(&other);
}
END_TEST

/* A double that leaves out more bytes than it has, from a peer; so many bytes
 * follow that a size of 255 is there. */
START_TEST(malformed_doubles_are_seen)
{
    uint8_t bytes[300] = { 0 };

    for (unsigned top = 0; top < 8; top++)
        for (unsigned bottom = 0; bottom < 8; bottom++) {
            unsigned n = top + bottom > 8 ? 0 : 8 - top - bottom;

            bytes[0] = (uint8_t)(2 | top << 2 | bottom << 5);
            ck_assert_int_eq(open_row_check(slice_of(bytes, 1 + n), 1),
                             top + bottom <= 8);
            ck_assert(!open_row_check(slice_of(bytes, 1 + 255), 1));
        }
}
END_TEST

TEST_MAIN("open_row", LOOP(summaries_are_those_of_blocks, cases),
          LOOP(no_summary_of_disorder, cases), TEST(small_rows_keep_none),
          TEST(malformed_doubles_are_seen), TEST(another_row_is_not_replaced),
          LOOP(repeated_points_are_compacted, repeats))
