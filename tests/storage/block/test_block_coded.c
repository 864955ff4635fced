#include "storage/block/block_coded_priv.h"

#include <math.h>

#include "base/crc32c.h"

#include "tests/harness.h"

/* Of all bytes of a table, as of the first release of the format: who changes
 * one can no longer read what was written. */
static const uint32_t sums[CODED_TABLES] = {
    0x84c05ad9u, 0x7dd11fe0u, 0x08b1e4f9u, 0x76c8d217u,
    0x1bfe41c3u, 0x143623fcu, 0xe253c3edu, 0x6be343d4u,
    0x19a98dd0u, 0x486c64a2u, 0x7daec0f1u, 0xa27c3441u,
    0x37edbc2cu, 0xcdeb0fbeu, 0xe1668937u, 0x81dff23au,
};

START_TEST(tables_never_change)
{
    const struct coded_tables *t = coded_table((unsigned)_i);

    uint8_t bytes[CODED_STATES][8] = { { 0 } };

    for (size_t i = 0; i < CODED_STATES; i++) {
        bytes[i][0] = t->bits[i] & 15;
        bytes[i][1] = t->symbol[i] | (t->bits[i] & CODED_FAR);
        bytes[i][4] = t->mask[i];
        bytes[i][5] = (uint8_t)t->step[i];
        bytes[i][7] = t->next[i];
    }
    ck_assert_uint_eq(crc32c(slice_of(bytes, sizeof bytes)), sums[_i]);
}
END_TEST

START_TEST(the_order_follows_from_states)
{
    const struct coded_tables *t = coded_table((unsigned)_i);
    size_t at = 0;

    for (unsigned s = 0; s < CODED_SYMBOLS; s++)
        for (unsigned state = 0; state < CODED_STATES; state++)
            if (t->symbol[state] == s)
                ck_assert_uint_eq(t->order[at++], CODED_STATES + state);
    ck_assert_uint_eq(at, CODED_STATES);
}
END_TEST

/* The sum over all states of what their symbols take is that of an ideal code,
 * but for rounding and the 8 bits of the last symbol. */
START_TEST(costs_are_those_of_the_counts)
{
    const struct coded_tables *t = coded_table((unsigned)_i);
    unsigned last = coded_last((unsigned)_i);

    ck_assert_uint_gt(coded_counts[_i][last], 0);
    for (unsigned s = 0; s < CODED_SYMBOLS; s++) {
        double p = coded_counts[_i][s < last ? s : last] / 256.0;

        ck_assert_double_eq_tol(t->costs[s] / 256.0 - (s < last ? 0 : 8),
                                -log2(p), 1.0 / 256);
        ck_assert_int_eq(coded_counts[_i][s] > 0, s <= last);
    }
}
END_TEST

static const uint64_t documented[] = { 0, 1, 0, 0, 2, 0, 1, 0, 12, 0 };

START_TEST(the_documented_numbers)
{
    static const uint8_t bytes[] = { 0x30, 0xde, 0x9d, 0x02, 0x01 };
    struct numbers_plan plan = { NUMBERS_CODED, 0, 0, 4 };
    struct buf b = BUF_INIT;
    struct cursor c = cursor_of(slice_of(bytes, sizeof bytes));
    uint64_t back[10];

    block_coded_encode(documented, 10, plan, &b);
    ck_assert_uint_eq(b.size, sizeof bytes);
    ck_assert_mem_eq(b.data, bytes, sizeof bytes);
    block_coded_decode(&c, back, 10, 0, 4);
    ck_assert(!c.failed && cursor_left(&c) == 0);
    ck_assert_mem_eq(back, documented, sizeof documented);
    buf_fini(&b);
}
END_TEST

/* Mostly as the table has it, some anything. */
static uint64_t
random_number(uint64_t *state, unsigned table, unsigned low)
{
    uint64_t r = harness_random(state);

    if (r % 64 == 0)
        return harness_random(state) >> (r >> 8) % 64;
    return (uint64_t)coded_table(table)->symbol[r >> 8 & 255] << low |
           (low == 0 ? 0 : harness_random(state) >> (64 - low));
}

START_TEST(numbers_come_back)
{
    enum { MOST = 300 };
    uint64_t state = harness_seed((unsigned long)_i);
    struct buf b = BUF_INIT;

    for (unsigned run = 0; run < (unsigned)harness_rounds(1500); run++) {
        uint64_t u[MOST], back[MOST];
        unsigned low = run < 64 ? run : (unsigned)(harness_random(&state) % 8);
        size_t len = run < 40 ? run : 1 + harness_random(&state) % MOST;
        struct numbers_plan plan = { NUMBERS_CODED, low, 0, (unsigned)_i };
        struct cursor c;

        for (size_t i = 0; i < len; i++)
            u[i] = random_number(&state, (unsigned)_i, low);
        if (len == 0)
            continue;
        buf_clear(&b);
        block_coded_encode(u, len, plan, &b);
        c = cursor_of(buf_slice(&b));
        block_coded_decode(&c, back, len, low, (unsigned)_i);
        if (c.failed || cursor_left(&c) != 0 ||
            memcmp(u, back, len * sizeof *u) != 0)
            ck_abort_msg("%zu numbers, %u low bits", len, low);
        c = cursor_of(slice_of(b.data, harness_random(&state) % b.size));
        block_coded_decode(&c, back, len, low, (unsigned)_i);
        if (!c.failed)
            ck_abort_msg("%zu numbers, cut", len);
    }
    buf_fini(&b);
}
END_TEST

/* Where steps lead to, one by one. */
static void
walk(const uint64_t *u, size_t len, uint64_t start, uint64_t *out)
{
    for (size_t i = 0; i < len; i++)
        out[i] = start += (uint64_t)varint_unzigzag(u[i]);
}

/* Numbers or steps, by this processor's instructions and by those that every
 * one has: the same, and the same is left. */
static void
check_twins(struct slice bytes, size_t len, unsigned table)
{
    uint64_t a[300], b[300];
    struct cursor x = cursor_of(bytes), y = x;

    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    ck_assert_int_eq(coded_get(&x, a, len, table),
                     coded_get_plain(&y, b, len, table));
    ck_assert_mem_eq(a, b, sizeof a);
    ck_assert(x.at == y.at && x.failed == y.failed);
    x = y = cursor_of(bytes);
    ck_assert_int_eq(coded_get_steps(&x, a, len, table, 7),
                     coded_get_steps_plain(&y, b, len, table, 7));
    ck_assert_mem_eq(a, b, sizeof a);
    ck_assert(x.at == y.at && x.failed == y.failed);
}

START_TEST(steps_come_back)
{
    enum { MOST = 300 };
    uint64_t state = harness_seed((unsigned long)_i);
    struct buf b = BUF_INIT;

    for (unsigned run = 0; run < (unsigned)harness_rounds(1000); run++) {
        uint64_t u[MOST], want[MOST], back[MOST];
        size_t len = run < 40 ? run + 1 : 1 + harness_random(&state) % MOST;
        uint64_t start = harness_random(&state);
        struct numbers_plan plan = { NUMBERS_CODED, 0, 0, (unsigned)_i };
        struct cursor c;

        for (size_t i = 0; i < len; i++)
            u[i] = random_number(&state, (unsigned)_i, 0);
        walk(u, len, start, want);
        buf_clear(&b);
        block_coded_encode(u, len, plan, &b);
        c = cursor_of(buf_slice(&b));
        block_coded_decode_steps(&c, back, len, (unsigned)_i, start);
        if (c.failed || cursor_left(&c) != 0 ||
            memcmp(want, back, len * sizeof *want) != 0)
            ck_abort_msg("%zu steps", len);
        check_twins(buf_slice(&b), len, (unsigned)_i);
        check_twins(slice_of(b.data, harness_random(&state) % b.size), len,
                    (unsigned)_i);
    }
    buf_fini(&b);
}
END_TEST

/* The costs are what is written, but for what fills the last byte. */
START_TEST(plans_say_what_is_written)
{
    enum { LEN = 400 };
    uint64_t state = harness_seed(5), u[LEN];
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < LEN; i++)
        u[i] = coded_table((unsigned)_i)->symbol[harness_random(&state) % 256];
    for (unsigned rice = 0; rice < 3; rice++) {
        struct numbers_plan plan = coded_plan(u, LEN, rice);

        buf_clear(&b);
        block_coded_encode(u, LEN, plan, &b);
        ck_assert_uint_le(b.size * 8, plan.bits + plan.bits / 50 + 24);
        ck_assert_uint_ge(b.size * 8 + plan.bits / 50 + 24, plan.bits);
    }
    buf_fini(&b);
}
END_TEST

START_TEST(rejects_tables_that_are_not)
{
    static const uint8_t zeros[64];
    struct cursor c = cursor_of(slice_of(zeros, sizeof zeros));
    uint64_t back[10];

    block_coded_decode(&c, back, 10, 0, CODED_TABLES);
    ck_assert(c.failed);
    c = cursor_of(slice_of(zeros, sizeof zeros));
    block_coded_decode_steps(&c, back, 10, CODED_TABLES, 0);
    ck_assert(c.failed);
}
END_TEST

TEST_MAIN("block_coded", TIMES(tables_never_change, CODED_TABLES),
          TIMES(the_order_follows_from_states, CODED_TABLES),
          TIMES(costs_are_those_of_the_counts, CODED_TABLES),
          TEST(the_documented_numbers), TIMES(numbers_come_back, CODED_TABLES),
          TIMES(steps_come_back, CODED_TABLES),
          TIMES(plans_say_what_is_written, CODED_TABLES),
          TEST(rejects_tables_that_are_not))
