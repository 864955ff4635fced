/* Each inner loop beside its twin for any processor, and what is expected. */
#include "storage/block/block_priv.h"

#include <math.h>

#include "tests/harness.h"

#define MOST 400

static const struct block_loops *
loops_of(int i)
{
    return i == 0 ? &block_loops_plain : block_loops();
}

/* Sparse ones and dense ones. */
static uint8_t
random_byte(uint64_t *state)
{
    uint64_t r = harness_random(state);

    return (uint8_t)(r % 8 == 0 ? 0 : r >> 8 & r >> (16 + r % 3 * 8));
}

static struct ones
ones_by_bits(const uint8_t *p, size_t size, uint64_t *out, size_t len)
{
    struct ones o = { 0, 0, 0 };

    for (size_t bit = 0; bit < size * 8 && o.found < len; bit++)
        if (p[bit / 8] >> bit % 8 & 1) {
            o.seen |= out[o.found++] = bit - o.end;
            o.end = bit + 1;
        }
    return o;
}

START_TEST(ones_are_found)
{
    uint64_t state = harness_seed(1), want[MOST], got[MOST];
    uint8_t bytes[MOST];

    for (int run = 0; run < harness_rounds(2000); run++) {
        size_t size = harness_random(&state) % MOST;
        size_t len = harness_random(&state) % MOST;
        struct ones a, b;

        for (size_t i = 0; i < size; i++)
            bytes[i] = run % 16 == 0 ? 0xff : random_byte(&state);
        a = ones_by_bits(bytes, size, want, len);
        b = loops_of(_i)->ones(bytes, size, got, len);
        ck_assert_uint_eq(a.found, b.found);
        ck_assert_uint_eq(a.end, b.end);
        ck_assert_uint_eq(a.seen, b.seen);
        ck_assert_mem_eq(want, got, a.found * sizeof *want);
    }
}
END_TEST

static uint64_t
bits_at(const uint8_t *p, size_t at, unsigned width)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < width; i++)
        v |= (uint64_t)(p[(at + i) / 8] >> (at + i) % 8 & 1) << i;
    return v;
}

/* As many as can be loaded eight bytes at a time, and none behind them. */
START_TEST(numbers_go_below)
{
    uint64_t state = harness_seed(2), out[MOST], was[MOST];
    uint8_t bytes[MOST * 7];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)harness_random(&state);
    for (int run = 0; run < harness_rounds(40); run++)
        for (unsigned width = 1; width <= 56; width++) {
            size_t len = harness_random(&state) % MOST;
            size_t size = harness_random(&state) % sizeof bytes, n;

            for (size_t i = 0; i < MOST; i++)
                out[i] = was[i] = harness_random(&state) % 100;
            n = loops_of(_i)->below(bytes, size, out, len, width);
            ck_assert_uint_le(n, len);
            ck_assert(n == len || n * width / 8 + 8 > size);
            for (size_t i = 0; i < n; i++)
                ck_assert_uint_eq(out[i], was[i] << width |
                                              bits_at(bytes, i * width, width));
            ck_assert_mem_eq(out + n, was + n, (MOST - n) * sizeof *out);
        }
}
END_TEST

START_TEST(steps_are_added)
{
    uint64_t state = harness_seed(3), v[MOST], want[MOST];

    for (int run = 0; run < harness_rounds(2000); run++) {
        size_t len = 1 + harness_random(&state) % (MOST - 1);
        size_t skip = run % 2 == 0 ? 0 : harness_random(&state) % len;
        uint64_t reference = harness_random(&state) >> run % 64;
        bool folded = harness_random(&state) % 2 == 0;

        for (size_t i = 0; i < MOST; i++)
            v[i] = want[i] = harness_random(&state) >> run % 64;
        for (size_t i = 1; i < len; i++)
            want[i] = want[i - 1] + reference +
                      (folded ? (uint64_t)varint_unzigzag(want[i]) : want[i]);
        loops_of(_i)->sum(v, len, skip, reference, folded);
        ck_assert_mem_eq(v + skip, want + skip, (MOST - skip) * sizeof *v);
    }
}
END_TEST

/* One by one, as block_decimal_value() does it; a number too large is seen
 * wherever it stands. */
START_TEST(decimals_are_divided)
{
    static const int64_t edges[] = { 0, 1, -1, DECIMAL_MAX, -DECIMAL_MAX };
    uint64_t state = harness_seed(4);

    for (int run = 0; run < harness_rounds(2000); run++) {
        union number v[40], want[40];
        size_t len = harness_random(&state) % 40, bad;
        unsigned scale = (unsigned)run % (DECIMAL_MAX_SCALE + 1);

        for (size_t i = 0; i < 40; i++) {
            int64_t m = (int64_t)harness_random(&state) >> (13 + run % 50);

            v[i].i = i % 7 == 0 ? edges[run % 5] : m;
            want[i] = v[i];
            if (i < len)
                want[i].d = block_decimal_value(v[i].i, scale);
        }
        ck_assert(loops_of(_i)->divide(v, len, pow(10, scale)));
        ck_assert_mem_eq(v, want, sizeof v);
        if (len == 0)
            continue;
        bad = harness_random(&state) % len;
        for (size_t i = 0; i < len; i++)
            v[i].i = edges[i % 5];
        v[bad].i =
            run % 2 == 0 ? DECIMAL_MAX + 1 + run : -DECIMAL_MAX - 1 - run;
        ck_assert(!loops_of(_i)->divide(v, len, 1));
    }
}
END_TEST

TEST_MAIN("block_loops", TIMES(ones_are_found, 2), TIMES(numbers_go_below, 2),
          TIMES(steps_are_added, 2), TIMES(decimals_are_divided, 2))
