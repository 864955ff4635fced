#include "storage/block/block.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/obj.h"
#include "storage/block/block_priv.h"
#include "tests/harness.h"

#define BASE UINT32_C(1292148000)

/* -- data of many key layouts
 * -------------------------------------------------- */

static uint64_t
below(uint64_t *state, uint64_t limit)
{
    return harness_random(state) % limit;
}

static double
unit(uint64_t *state)
{
    return (double)(harness_random(state) >> 11) * 0x1p-53;
}

/* About normal: the sum of twelve, less six. */
static double
bell(uint64_t *state)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += unit(state);
    return sum;
}

static double
of_bits(uint64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof d);
    return d;
}

/* The time of the i-th point in ms of the hour, or beyond it: no more. */
typedef int64_t time_fn(uint64_t *state, int64_t last, size_t i);

static int64_t
every_10_s(uint64_t *state, int64_t last, size_t i)
{
    return (int64_t)i * 10000;
}

static int64_t
every_minute_later(uint64_t *state, int64_t last, size_t i)
{
    return 17000 + (int64_t)i * 60000;
}

static int64_t
jitter_ms(uint64_t *state, int64_t last, size_t i)
{
    return (int64_t)i * 10000 + (int64_t)below(state, 100);
}

static int64_t
jitter_s(uint64_t *state, int64_t last, size_t i)
{
    return ((int64_t)i * 15 + (int64_t)below(state, 2)) * 1000;
}

static int64_t
gaps(uint64_t *state, int64_t last, size_t i)
{
    return last + 10000 * (below(state, 30) == 0 ? 20 : 1);
}

static int64_t
bursts(uint64_t *state, int64_t last, size_t i)
{
    return last + 1 + (int64_t)(i % 20 == 0 ? below(state, 200000) : 0);
}

static int64_t
any_second(uint64_t *state, int64_t last, size_t i)
{
    return last + 1000 * (1 + (int64_t)below(state, 60));
}

static int64_t
any_ms(uint64_t *state, int64_t last, size_t i)
{
    return last + 1 + (int64_t)below(state, 500);
}

static int64_t
tenths(uint64_t *state, int64_t last, size_t i)
{
    return last + 100 * (1 + (int64_t)below(state, 5));
}

static int64_t
seconds_then_ms(uint64_t *state, int64_t last, size_t i)
{
    return i < 100 ? (int64_t)i * 1000 : last + 1 + (int64_t)below(state, 2);
}

static int64_t
only_the_last_ms(uint64_t *state, int64_t last, size_t i)
{
    return i == 0 ? HOUR_MS - 1 : HOUR_MS;
}

typedef struct point value_fn(uint64_t *state, struct point last, size_t i);

static struct point
of_int(int64_t v)
{
    return (struct point){ .v.i = v, .is_float = false };
}

static struct point
of_float(double d)
{
    return (struct point){ .v.d = d, .is_float = true };
}

static struct point
zero(uint64_t *state, struct point last, size_t i)
{
    return of_int(0);
}

static struct point
walk(uint64_t *state, struct point last, size_t i)
{
    return i == 0 ? of_int(50) : of_int(last.v.i + (int64_t)lrint(bell(state)));
}

static struct point
counter(uint64_t *state, struct point last, size_t i)
{
    return of_int((i == 0 ? 100000 : last.v.i) +
                  (int64_t)(-log(1 - unit(state)) * 500));
}

static struct point
counter_with_resets(uint64_t *state, struct point last, size_t i)
{
    return below(state, 100) == 0 ? of_int(0) : counter(state, last, i);
}

static struct point
uptime(uint64_t *state, struct point last, size_t i)
{
    return of_int(77777 + (int64_t)i * 10);
}

static struct point
mostly_flat(uint64_t *state, struct point last, size_t i)
{
    return i == 0 || below(state, 80) == 0
               ? of_int((int64_t)below(state, 1000000))
               : last;
}

static struct point
any_int(uint64_t *state, struct point last, size_t i)
{
    return of_int((int64_t)(harness_random(state) >> below(state, 64)));
}

static struct point
extreme_ints(uint64_t *state, struct point last, size_t i)
{
    static const int64_t v[] = { INT64_MIN, INT64_MAX, 0, -1, 1 };

    return of_int(v[below(state, 5)]);
}

static struct point
noise(uint64_t *state, struct point last, size_t i)
{
    return of_int(1000 + (int64_t)(20 * bell(state)));
}

static struct point
steps_of_power(uint64_t *state, struct point last, size_t i)
{
    return of_int((int64_t)(UINT64_C(1) << below(state, 64)));
}

static struct point
decimals(uint64_t *state, struct point last, size_t i)
{
    double d = i == 0 ? 50 : last.v.d + bell(state);

    return of_float(round(d * 100) / 100);
}

static struct point
decimal_constant(uint64_t *state, struct point last, size_t i)
{
    return of_float(0.1);
}

static struct point
odd_constant(uint64_t *state, struct point last, size_t i)
{
    return of_float(1.0 / 3);
}

static struct point
nan_constant(uint64_t *state, struct point last, size_t i)
{
    return of_float(of_bits(UINT64_C(0x7ff8000000001234)));
}

static struct point
sines(uint64_t *state, struct point last, size_t i)
{
    return of_float(100 * sin((double)i / 50));
}

static struct point
whole_doubles(uint64_t *state, struct point last, size_t i)
{
    return of_float((double)(int64_t)below(state, 1000000) * 1e6);
}

static struct point
fifteen_digits(uint64_t *state, struct point last, size_t i)
{
    return of_float((double)(int64_t)below(state, 1000000000000000) / 1e15);
}

static struct point
any_double(uint64_t *state, struct point last, size_t i)
{
    return of_float(of_bits(harness_random(state)));
}

static struct point
odd_doubles(uint64_t *state, struct point last, size_t i)
{
    static const uint64_t bits[] = {
        UINT64_C(0x8000000000000000), /* -0.0 */
        0,
        UINT64_C(0x7ff0000000000000), /* infinities */
        UINT64_C(0xfff0000000000000),
        UINT64_C(0x7ff8000000000001), /* NaNs, quiet and signalling */
        UINT64_C(0xfff4000000000007),
        1, /* denormals */
        UINT64_C(0x800fffffffffffff),
        UINT64_C(0x7fefffffffffffff), /* the largest */
        UINT64_C(0x0010000000000000), /* the smallest normal */
        UINT64_C(0x4340000000000000), /* 2^53 and its neighbours */
        UINT64_C(0x4340000000000001),
        UINT64_C(0x433fffffffffffff),
    };

    return of_float(of_bits(bits[below(state, sizeof bits / sizeof *bits)]));
}

static struct point
decimals_and_odd_ones(uint64_t *state, struct point last, size_t i)
{
    if (below(state, 40) == 0)
        return odd_doubles(state, last, i);
    return of_float((double)(int64_t)below(state, 10000) / 100);
}

static struct point
mixed_decimals(uint64_t *state, struct point last, size_t i)
{
    int64_t v = (int64_t)below(state, 10000) - 3000;

    return v % 100 == 0 || below(state, 10) == 0 ? of_int(v / 100)
                                                 : of_float((double)v / 100);
}

static struct point
mixed_anything(uint64_t *state, struct point last, size_t i)
{
    return below(state, 2) == 0 ? any_int(state, last, i)
                                : any_double(state, last, i);
}

static struct point
ints_then_floats(uint64_t *state, struct point last, size_t i)
{
    return i < 50 ? of_int((int64_t)i) : of_float(sqrt((double)i));
}

static struct point
one_float(uint64_t *state, struct point last, size_t i)
{
    return i == 3 ? of_float(M_PI) : any_int(state, last, i);
}

static struct point
mixed_with_huge_int(uint64_t *state, struct point last, size_t i)
{
    return i % 90 == 1 ? of_int(INT64_MIN + (int64_t)i)
                       : mixed_decimals(state, last, i);
}

#define NAMED(f) \
    {            \
#f, f    \
    }

static const struct {
    const char *name;
    time_fn *at;
} times[] = {
    NAMED(every_10_s),
    NAMED(every_minute_later),
    NAMED(jitter_ms),
    NAMED(jitter_s),
    NAMED(gaps),
    NAMED(bursts),
    NAMED(any_second),
    NAMED(any_ms),
    NAMED(tenths),
    NAMED(seconds_then_ms),
    NAMED(only_the_last_ms),
};

static const struct {
    const char *name;
    value_fn *of;
} values[] = {
    NAMED(zero),
    NAMED(walk),
    NAMED(counter),
    NAMED(counter_with_resets),
    NAMED(uptime),
    NAMED(mostly_flat),
    NAMED(any_int),
    NAMED(extreme_ints),
    NAMED(noise),
    NAMED(steps_of_power),
    NAMED(decimals),
    NAMED(decimal_constant),
    NAMED(odd_constant),
    NAMED(nan_constant),
    NAMED(sines),
    NAMED(whole_doubles),
    NAMED(fifteen_digits),
    NAMED(any_double),
    NAMED(odd_doubles),
    NAMED(decimals_and_odd_ones),
    NAMED(mixed_decimals),
    NAMED(mixed_anything),
    NAMED(ints_then_floats),
    NAMED(one_float),
    NAMED(mixed_with_huge_int),
};

#define TIMES_LEN  (sizeof times / sizeof times[0])
#define VALUES_LEN (sizeof values / sizeof values[0])

static void
generate(struct points *p, time_fn *at, value_fn *of, size_t max,
         uint64_t *state)
{
    struct point last = { 0 };

    points_clear(p);
    for (size_t i = 0; i < max; i++) {
        int64_t ms =
            at(state, i == 0 ? 0 : last.ts_ms - BASE * INT64_C(1000), i);

        if (ms >= HOUR_MS)
            return;
        last = of(state, last, i);
        last.ts_ms = BASE * INT64_C(1000) + ms;
        INSIST(points_add(p, last));
    }
}

/* -- what must hold ------------------------------------------------------- */

/* Check's macros write to a file each time: not once for every point. */
static void
expect_same(const struct points *a, const struct points *b, const char *name)
{
    ck_assert_msg(a->len == b->len, "%s: %zu points became %zu", name, a->len,
                  b->len);
    for (size_t i = 0; i < a->len; i++) {
        if (a->ts_ms[i] != b->ts_ms[i])
            ck_abort_msg("%s: time %zu", name, i);
        if ((a->is_float[i] != 0) != b->is_float[i])
            ck_abort_msg("%s: kind of %zu", name, i);
        if (memcmp(&a->v[i], &b->v[i], 8) != 0)
            ck_abort_msg("%s: value %zu", name, i);
    }
}

static bool
same_double(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static double
value_at(const struct points *p, size_t i)
{
    return p->is_float[i] ? p->v[i].d : (double)p->v[i].i;
}

static void
expect_int_summary(const struct points *p, const struct summary *s)
{
    int64_t min = INT64_MAX, max = INT64_MIN;
    uint64_t sum = 0;

    for (size_t i = 0; i < p->len; i++) {
        min = p->v[i].i < min ? p->v[i].i : min;
        max = p->v[i].i > max ? p->v[i].i : max;
        sum += (uint64_t)p->v[i].i;
    }
    ck_assert_int_eq(s->min.i, min);
    ck_assert_int_eq(s->max.i, max);
    ck_assert_int_eq(s->sum.i, (int64_t)sum);
    ck_assert_int_eq(s->first.i, p->v[0].i);
    ck_assert_int_eq(s->last.i, p->v[p->len - 1].i);
}

static void
expect_float_summary(const struct points *p, const struct summary *s,
                     const char *name)
{
    double min = NAN, max = NAN, sum = 0;

    for (size_t i = 0; i < p->len; i++) {
        double d = value_at(p, i);

        min = isnan(min) || d < min ? d : min;
        max = isnan(max) || d > max ? d : max;
        sum += d;
    }
    ck_assert_msg(same_double(s->min.d, min), "%s: min", name);
    ck_assert_msg(same_double(s->max.d, max), "%s: max", name);
    ck_assert_msg(isnan(sum) ? isnan(s->sum.d) : same_double(s->sum.d, sum),
                  "%s: sum %a became %a", name, sum, s->sum.d);
    ck_assert_msg(same_double(s->first.d, value_at(p, 0)), "%s: first", name);
    ck_assert_msg(same_double(s->last.d, value_at(p, p->len - 1)), "%s: last",
                  name);
}

static void
expect_summary(const struct points *p, struct slice block, const char *name)
{
    struct summary s;
    struct error e = { 0 };
    bool all_int = true;

    ck_assert_msg(block_summary(block, BASE, &s, &e) == ST_OK, "%s: %s", name,
                  e.text);
    for (size_t i = 0; i < p->len; i++)
        all_int &= !p->is_float[i];
    ck_assert_uint_eq(s.count, p->len);
    ck_assert_int_eq(s.first_ms, p->ts_ms[0]);
    ck_assert_int_eq(s.last_ms, p->ts_ms[p->len - 1]);
    ck_assert_int_eq(s.all_int, all_int);
    if (all_int)
        expect_int_summary(p, &s);
    else
        expect_float_summary(p, &s, name);
}

/* Of points that came with a spacing: their times and kinds. */
static void
fill_spaced(struct points *p, const struct spacing *s)
{
    for (size_t i = 0; i < p->len && s->even; i++) {
        p->ts_ms[i] = s->first_ms + (int64_t)i * s->step_ms;
        p->is_float[i] = s->is_float;
    }
}

/* Some of the values alone: those are the same. */
static void
expect_some(const struct points *p, struct slice block, const char *name)
{
    struct value_range r = { 0, p->len - p->len / 4 };
    struct points back = { 0 };
    struct spacing s;

    for (; r.from < p->len; r.from += 1 + p->len / 7, r.end += 2) {
        points_clear(&back);
        ck_assert(block_decode_spaced(block, BASE, r, &back, &s, NULL) ==
                  ST_OK);
        ck_assert_uint_eq(back.len, p->len);
        for (size_t i = r.from; i < r.end && i < p->len; i++)
            if (back.v[i].i != p->v[i].i)
                ck_abort_msg("%s: value %zu, wanted from %zu", name, i, r.from);
    }
    points_fini(&back);
}

/* By values alone, where they are enough. */
static void
expect_spaced(const struct points *p, struct slice block, const char *name)
{
    struct points back = { 0 };
    struct spacing s;

    ck_assert(block_decode_spaced(block, BASE, ALL_VALUES, &back, &s, NULL) ==
              ST_OK);
    fill_spaced(&back, &s);
    expect_same(p, &back, name);
    for (size_t i = 0; i < p->len && s.even && !s.is_float; i++)
        if (magnitude(p->v[i].i) > s.greatest)
            ck_abort_msg("%s: point %zu is farther from 0", name, i);
    points_fini(&back);
    expect_some(p, block, name);
}

static void
expect_round_trip(const struct points *p, const char *name)
{
    struct buf b = BUF_INIT;
    struct points back = { 0 };
    struct error e = { 0 };

    block_encode(p, BASE, &b);
    ck_assert(!b.failed);
    ck_assert_msg(block_decode(buf_slice(&b), BASE, &back, &e) == ST_OK,
                  "%s: %s", name, e.text);
    expect_same(p, &back, name);
    expect_summary(p, buf_slice(&b), name);
    expect_spaced(p, buf_slice(&b), name);
    points_fini(&back);
    buf_fini(&b);
}

START_TEST(round_trips)
{
    uint64_t state = harness_seed(1) + (uint64_t)_i;
    struct points p = { 0 };

    for (size_t t = 0; t < TIMES_LEN; t++) {
        for (int run = 0; run < 12; run++) {
            char name[120];
            size_t max = run < 4 ? (size_t)run + 1 : 1 + below(&state, 1500);

            (void)snprintf(name, sizeof name, "%s of %s, at most %zu",
                           values[_i].name, times[t].name, max);
            generate(&p, times[t].at, values[_i].of, max, &state);
            expect_round_trip(&p, name);
        }
    }
    points_fini(&p);
}
END_TEST

START_TEST(many_points)
{
    static value_fn *const of[] = { walk, decimals, any_double,
                                    mixed_decimals };
    uint64_t state = harness_seed(2);
    struct points p = { 0 };

    for (int64_t i = 0; i < 100000; i++) {
        struct point x = of[_i](
            &state, i == 0 ? (struct point){ 0 } : points_at(&p, (size_t)i - 1),
            (size_t)i);

        x.ts_ms = BASE * INT64_C(1000) + i * 36 + (int64_t)below(&state, 36);
        INSIST(points_add(&p, x));
    }
    expect_round_trip(&p, "100,000 points");
    points_fini(&p);
}
END_TEST

/* Both functions append, and a failure leaves what was there. */
START_TEST(appends)
{
    uint64_t state = harness_seed(3);
    struct points p = { 0 }, back = { 0 };
    struct buf b = BUF_INIT;

    generate(&p, every_10_s, walk, 100, &state);
    buf_put_str(&b, "before");
    block_encode(&p, BASE, &b);
    ck_assert(memcmp(b.data, "before", 6) == 0);
    ck_assert(points_add(&back, (struct point){ .ts_ms = 1, .v.i = 2 }));
    ck_assert_int_eq(
        block_decode(slice_of(b.data + 6, b.size - 6), BASE, &back, NULL),
        ST_OK);
    ck_assert_int_eq(
        block_decode(slice_of(b.data + 6, b.size - 7), BASE, &back, NULL),
        ST_CORRUPT);
    ck_assert_uint_eq(back.len, 101);
    ck_assert_int_eq(back.ts_ms[0], 1);
    ck_assert_int_eq(back.v[100].i, p.v[99].i);
    points_fini(&p);
    points_fini(&back);
    buf_fini(&b);
}
END_TEST

/* Each codec with each of its parameters, whether it suits the numbers or not.
 */
START_TEST(numbers_of_every_width)
{
    uint64_t state = harness_seed(8) + (uint64_t)_i, u[200], copy[200];
    uint64_t back[200];
    struct buf b = BUF_INIT;

    for (unsigned width = 1; width <= 64; width++) {
        struct numbers_plan plan = { _i % 2 ? NUMBERS_RICE : NUMBERS_PACKED,
                                     width - 1, 0, 0 };
        struct cursor c;

        for (size_t i = 0; i < 200; i++)
            copy[i] = u[i] = harness_random(&state) >> (64 - width) >>
                             (_i < 2 ? 0 : below(&state, 64));
        buf_clear(&b);
        block_numbers_encode(copy, 200, plan, &b);
        c = cursor_of(buf_slice(&b));
        block_numbers_decode(&c, back, 200);
        ck_assert_msg(!c.failed && cursor_left(&c) == 0, "width %u", width);
        ck_assert_msg(memcmp(u, back, sizeof u) == 0, "width %u", width);
    }
    buf_fini(&b);
}
END_TEST

/* -- damage --------------------------------------------------------------- */

static void
expect_rejected(struct slice block, const char *what, size_t at)
{
    struct points back = { 0 };
    struct summary s;
    struct error e = { 0 };

    if (block_decode(block, BASE, &back, &e) != ST_CORRUPT ||
        e.text[0] == '\0' || back.len != 0 ||
        block_summary(block, BASE, &s, &e) != ST_CORRUPT)
        ck_abort_msg("%s at %zu", what, at);
    points_fini(&back);
}

START_TEST(rejects_damage)
{
    uint64_t state = harness_seed(4);
    struct points p = { 0 };
    struct buf b = BUF_INIT;
    struct slice whole;

    generate(&p, times[(size_t)_i % TIMES_LEN].at, values[_i].of, 40, &state);
    block_encode(&p, BASE, &b);
    whole = buf_slice(&b);
    for (size_t size = 0; size < whole.size; size++)
        expect_rejected(slice_of(whole.data, size), "cut", size);
    for (size_t bit = 0; bit < whole.size * 8; bit++) {
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        expect_rejected(whole, "flipped bit", bit);
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    buf_put_u8(&b, 0);
    expect_rejected(buf_slice(&b), "longer", whole.size);
    points_fini(&p);
    buf_fini(&b);
}
END_TEST

START_TEST(belongs_to_its_row)
{
    uint64_t state = harness_seed(5);
    struct points p = { 0 }, back = { 0 };
    struct buf b = BUF_INIT;

    generate(&p, every_10_s, walk, 40, &state);
    block_encode(&p, BASE, &b);
    ck_assert_int_eq(block_decode(buf_slice(&b), BASE + 3600, &back, NULL),
                     ST_CORRUPT);
    points_fini(&p);
    points_fini(&back);
    buf_fini(&b);
}
END_TEST

/* Wrong bytes with a right CRC. */
static void
spoil(struct buf *b, uint64_t bytes, uint64_t *state)
{
    for (; bytes > 0; bytes--)
        b->data[1 + below(state, b->size - 1)] = (uint8_t)harness_random(state);
    b->size -= 4;
    buf_put_u32(b, block_crc(buf_slice(b), BASE));
}

/* Anything but a crash, and what is decoded keeps to the contract. */
START_TEST(survives_wrong_bytes)
{
    uint64_t state = harness_seed(6) + (uint64_t)_i;
    struct points p = { 0 }, back = { 0 };
    struct buf b = BUF_INIT;

    for (int run = 0; run < 600; run++) {
        if (run % 50 == 0)
            generate(&p, times[below(&state, TIMES_LEN)].at, values[_i].of,
                     1 + below(&state, 100), &state);
        buf_clear(&b);
        block_encode(&p, BASE, &b);
        spoil(&b, 1 + below(&state, 3), &state);
        points_clear(&back);
        if (block_decode(buf_slice(&b), BASE, &back, NULL) != ST_OK)
            continue;
        ck_assert_uint_ge(back.len, 1);
        for (size_t i = 1; i < back.len; i++)
            INSIST(back.ts_ms[i - 1] < back.ts_ms[i]);
        ck_assert_int_ge(back.ts_ms[0], BASE * INT64_C(1000));
        ck_assert_int_lt(back.ts_ms[back.len - 1],
                         BASE * INT64_C(1000) + HOUR_MS);
    }
    points_fini(&p);
    points_fini(&back);
    buf_fini(&b);
}
END_TEST

/* -- size ----------------------------------------------------------------- */

static const struct {
    const char *name;
    time_fn *at;
    value_fn *of;
    double most; /* bytes a point, everything included */
} sizes[] = {
    { "integer walk", every_10_s, walk, 0.37 },
    { "integer walk with jitter of 100 ms", jitter_ms, walk, 1.4 },
    { "integer walk with gaps", gaps, walk, 0.55 },
    { "constant", every_10_s, zero, 0.05 },
    { "uptime", every_10_s, uptime, 0.07 },
    { "mostly flat", every_10_s, mostly_flat, 0.2 },
    { "counter", every_10_s, counter, 1.4 },
    { "counter with resets", every_10_s, counter_with_resets, 1.7 },
    { "two decimals", every_10_s, decimals, 1.2 },
    { "two decimals, whole ones as integers", every_10_s, mixed_decimals, 2.2 },
    { "sine", every_10_s, sines, 7.5 },
    { "random doubles", every_10_s, any_double, 8.2 },
};

START_TEST(is_small)
{
    uint64_t state = harness_seed(7);
    struct points p = { 0 };
    struct buf b = BUF_INIT;
    size_t points = 0;
    double each;

    for (int run = 0; run < 50; run++) {
        generate(&p, sizes[_i].at, sizes[_i].of, 360, &state);
        block_encode(&p, BASE, &b);
        points += p.len;
    }
    each = (double)b.size / (double)points;
    (void)printf("%.3f bytes a point: %s\n", each, sizes[_i].name);
    ck_assert_msg(each <= sizes[_i].most, "%.3f bytes a point", each);
    points_fini(&p);
    buf_fini(&b);
}
END_TEST

TEST_MAIN("block", LOOP(round_trips, values), TIMES(many_points, 4),
          TEST(appends), TIMES(numbers_of_every_width, 4),
          LOOP(rejects_damage, values), TEST(belongs_to_its_row),
          LOOP(survives_wrong_bytes, values), LOOP(is_small, sizes))
