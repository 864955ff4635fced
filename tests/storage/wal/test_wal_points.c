/* The points of a record of the write-ahead log, written and read. */
#include "storage/wal/wal_points.h"

#include <float.h>
#include <math.h>

#include "tests/harness.h"

#define T0         INT64_C(1356998400000)
#define SERIES_MAX 40
#define LEN_MAX    500

static struct point
whole(int64_t ts_ms, int64_t v)
{
    return (struct point){ ts_ms, { .i = v }, false };
}

static struct point
real(int64_t ts_ms, double d)
{
    return (struct point){ ts_ms, { .d = d }, true };
}

static struct slice
no_tsuid(void)
{
    return slice_of(NULL, 0);
}

/* docs/FORMAT.md, "Points", to the byte. */
START_TEST(the_documented_bytes)
{
    static const uint8_t want[] = { 0x06, 0x96, 0x00, 0x00, 0x00, 0x80, 0x00,
                                    0x00, 0x00, 0x04, 0x00, 0x00, 0x20, 0xe0,
                                    0x07, 0xe0, 0x44, 0x1c, 0x2a, 0x65, 0x01,
                                    0x13, 0xb4, 0x20, 0x8a, 0x52, 0x96, 0xa0,
                                    0xff, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55,
                                    0xd5, 0x3f };
    struct wal_points_writer w = { .record = BUF_INIT };
    struct slice got;

    wal_points_begin(&w, 6);
    wal_points_add(&w, 0, slice_of("\0\0\1\0\0\1\0\0\1", 9),
                   &(struct point){ T0, { .i = 42 }, false });
    wal_points_add(&w, 0, no_tsuid(),
                   &(struct point){ T0 + 10000, { .i = 43 }, false });
    wal_points_add(&w, 0, no_tsuid(),
                   &(struct point){ T0 + 20000, { .d = 2.5 }, true });
    wal_points_add(&w, 0, no_tsuid(),
                   &(struct point){ T0 + 30500, { .d = 1.0 / 3 }, true });
    got = wal_points_end(&w);
    for (size_t i = 0; i < got.size; i++)
        ck_assert_msg(i < sizeof want && got.data[i] == want[i],
                      "byte %zu is %02x", i, got.data[i]);
    ck_assert_uint_eq(got.size, sizeof want);
    wal_points_fini(&w);
}
END_TEST

static int64_t
random_int(uint64_t *state, int64_t last)
{
    uint64_t dice = harness_random(state) % 8;

    if (dice < 5)
        return (int64_t)((uint64_t)last + harness_random(state) % 17 - 8);
    return (int64_t)(harness_random(state) >> harness_random(state) % 64);
}

static double
random_double(uint64_t *state)
{
    static const double odd[] = {
        0.0,   -0.0,    DBL_MAX, -DBL_MAX, DBL_MIN,     5e-324, 0.1, 1e15,
        -1e12, 1.5e300, 0.0005,  1e-3,     4503599.627, 1e22,   0.3,
    };
    uint64_t dice = harness_random(state) % 8, bits;
    double d;

    if (dice == 0)
        return odd[harness_random(state) % (sizeof odd / sizeof *odd)];
    if (dice < 5)
        return (double)(int64_t)(harness_random(state) % 200000 - 100000) / 100;
    do {
        bits = harness_random(state);
        memcpy(&d, &bits, sizeof d);
    } while (!isfinite(d));
    return d;
}

struct sent {
    unsigned series;
    struct point p;
};

/* Mostly the next series at the same time, as agents send. */
static struct sent
next_sent(uint64_t *state, const struct sent *last, unsigned series)
{
    uint64_t dice = harness_random(state) % 16;
    struct sent s = { .series = last->series % series + 1,
                      .p.ts_ms = last->p.ts_ms };

    if (dice == 0)
        s.series = (unsigned)(harness_random(state) % series) + 1;
    if (dice == 1 || s.series == 1)
        s.p.ts_ms += 10000;
    if (dice == 3)
        s.p.ts_ms += (int64_t)(harness_random(state) % 3000);
    if (dice == 2)
        s.p.ts_ms = T0 + (int64_t)(harness_random(state) % (3 * HOUR_MS));
    s.p.is_float = harness_random(state) % 4 == 0;
    if (s.p.is_float)
        s.p.v.d = random_double(state);
    else
        s.p.v.i = random_int(state, last->p.is_float ? 0 : last->p.v.i);
    return s;
}

START_TEST(what_was_written_is_read)
{
    static struct sent sent[LEN_MAX];
    uint64_t state = harness_seed(4711 + (unsigned long)_i);
    struct wal_points_writer w = { .record = BUF_INIT };
    struct wal_points_reader r;
    struct sent last = { 1, whole(T0, 0) };

    for (int round = 0; round < 200; round++) {
        size_t len = harness_random(&state) % LEN_MAX + 1;
        uint8_t tsuid[9] = { 0 };
        bool defines[LEN_MAX];

        wal_points_begin(&w, (unsigned)round);
        for (size_t i = 0; i < len; i++) {
            last = next_sent(&state, &last, SERIES_MAX);
            sent[i] = last;
            tsuid[8] = (uint8_t)last.series;
            defines[i] = harness_random(&state) % 16 == 0;
            wal_points_add(&w, last.series,
                           slice_of(tsuid, defines[i] ? sizeof tsuid : 0),
                           &last.p);
        }
        wal_points_read(&r, wal_points_end(&w));
        ck_assert(!w.record.failed);
        ck_assert_uint_eq(r.bucket, (unsigned)round);
        for (size_t i = 0; i < len; i++) {
            ck_assert(wal_points_next(&r));
            ck_assert_uint_eq(r.state.id, sent[i].series);
            ck_assert_uint_eq(r.tsuid.size, defines[i] ? 9 : 0);
            if (defines[i])
                ck_assert_uint_eq(r.tsuid.data[8], sent[i].series);
            ck_assert_int_eq(r.point.ts_ms, sent[i].p.ts_ms);
            ck_assert_int_eq(r.point.is_float, sent[i].p.is_float);
            ck_assert_int_eq(r.point.v.i, sent[i].p.v.i);
        }
        ck_assert(!wal_points_next(&r) && !r.c.failed);
    }
    wal_points_fini(&w);
}
END_TEST

/* A record that is cut anywhere has fewer points, or is malformed. */
/* As far from the mean as a value can be, when all before were near it. */
START_TEST(the_farthest_value_is_kept)
{
    static const int64_t values[] = {
        0, INT64_MIN, 0, INT64_MAX, -1, INT64_MAX
    };
    struct wal_points_writer w = { .record = BUF_INIT };
    struct wal_points_reader r;

    for (size_t k = 0; k + 1 < sizeof values / sizeof values[0]; k++) {
        wal_points_begin(&w, 1);
        for (int64_t i = 0; i < 200; i++) {
            struct point p = whole(T0 + i * 1000, values[i == 199 ? k + 1 : k]);

            wal_points_add(&w, 1, no_tsuid(), &p);
        }
        wal_points_read(&r, wal_points_end(&w));
        for (size_t i = 0; i < 200; i++) {
            ck_assert(wal_points_next(&r));
            ck_assert_int_eq(r.point.v.i, values[i == 199 ? k + 1 : k]);
        }
        ck_assert(!wal_points_next(&r));
        ck_assert(!r.c.failed);
    }
    wal_points_fini(&w);
}
END_TEST

START_TEST(cut_records_have_fewer_points)
{
    struct wal_points_writer w = { .record = BUF_INIT };
    struct slice record;

    wal_points_begin(&w, 1);
    for (uint32_t i = 0; i < 20; i++) {
        struct point p = i % 3 == 0 ? real(T0 + i, i / 7.0) : whole(T0, i);

        wal_points_add(&w, i, i == 0 ? slice_of("123456789", 9) : no_tsuid(),
                       &p);
    }
    record = wal_points_end(&w);
    for (size_t size = 0; size < record.size; size++) {
        struct wal_points_reader r;
        size_t n = 0;

        wal_points_read(&r, slice_of(record.data, size));
        while (wal_points_next(&r))
            n++;
        ck_assert_msg(n < 20, "%zu of %zu bytes", size, record.size);
    }
    wal_points_fini(&w);
}
END_TEST

/* A round of series with values up to 100: a byte each, and a beginning. */
START_TEST(a_round_is_small)
{
    uint64_t state = harness_seed(1);
    struct wal_points_writer w = { .record = BUF_INIT };

    wal_points_begin(&w, 1);
    for (uint32_t i = 0; i < 64; i++) {
        struct point p = whole(T0, (int64_t)(harness_random(&state) % 101));

        wal_points_add(&w, 1000 + i, no_tsuid(), &p);
    }
    ck_assert_uint_le(wal_points_end(&w).size, 64 + 12);
    wal_points_fini(&w);
}
END_TEST

/* Points of one series, a step apart: the same. */
START_TEST(a_series_with_a_step_is_small)
{
    struct wal_points_writer w = { .record = BUF_INIT };

    wal_points_begin(&w, 1);
    for (uint32_t i = 0; i < 64; i++) {
        struct point p = whole(T0 + i * INT64_C(60000), 50 + i % 3);

        wal_points_add(&w, 7, no_tsuid(), &p);
    }
    ck_assert_uint_le(wal_points_end(&w).size, 64);
    wal_points_fini(&w);
}
END_TEST

static const struct bad {
    const char *why;
    uint8_t bytes[8];
    size_t size;
} bads[] = {
    { "nothing", { 0 }, 0 },
    { "no points", { 1 }, 1 },
    { "a TSUID of no bytes", { 1, 0x02, 0, 0, 0, 0, 0, 0 }, 8 },
    { "a TSUID too long", { 1, 0xf2, 0xff, 0xff, 0xff }, 5 },
    { "a kind that is none", { 1, 0xc8, 0, 0, 0 }, 5 },
    { "more zeros than a code has", { 1, 0, 0, 0, 0, 0, 0, 0x80 }, 8 },
    { "zeros behind the last point", { 1, 0x10, 0, 0, 0, 0, 0, 0 }, 8 },
};

START_TEST(bad_records_are_malformed)
{
    struct wal_points_reader r;

    wal_points_read(&r, slice_of(bads[_i].bytes, bads[_i].size));
    while (wal_points_next(&r))
        ;
    ck_assert_msg(r.c.failed, "%s", bads[_i].why);
}
END_TEST

TEST_MAIN("wal_points", TEST(the_documented_bytes),
          TIMES(what_was_written_is_read, 4), TEST(the_farthest_value_is_kept),
          TEST(cut_records_have_fewer_points), TEST(a_round_is_small),
          TEST(a_series_with_a_step_is_small),
          LOOP(bad_records_are_malformed, bads))
