/*
 * Columns of signed integers: <way:1> [<reference zigzag>] <numbers>, all
 * arithmetic modulo 2^64, so that nothing overflows.
 *
 *     offset   v[i] - min                            len numbers
 *     steps    zigzag(v[i] - v[i-1] - reference)     len - 1, from v[1] on
 *     climb    v[i] - v[i-1] - reference             len - 1; the smallest step
 *     line     zigzag(v[i] - v[0] - i x reference)   len - 1
 *
 * The first value, and 'min', are known from elsewhere.
 */
#include "config.h"

#include "storage/block_priv.h"

#include "base/obj.h"

#define SHORT 32 /* so few that all ways are tried */

enum way { WAY_OFFSET, WAY_STEPS, WAY_CLIMB, WAY_LINE, WAY_LEN };

struct choice {
    enum way way;
    uint64_t reference;
    struct numbers_plan plan;
};

/* What the differences between neighbours are like. */
struct steps {
    uint64_t usual; /* more than half of them are it; else the mean */
    bool is_usual;
    int64_t min, max;
};

static inline uint64_t
step_at(const int64_t *v, size_t i)
{
    return (uint64_t)v[i] - (uint64_t)v[i - 1];
}

/* One pass of voting finds what can be the majority, a second one counts. */
static struct steps
look_at_steps(const int64_t *v, size_t len)
{
    struct steps s = { .min = INT64_MAX, .max = INT64_MIN };
    size_t votes = 0, count = 0;

    for (size_t i = 1; i < len; i++) {
        if (votes == 0)
            s.usual = step_at(v, i);
        votes += step_at(v, i) == s.usual ? 1 : SIZE_MAX;
    }
    for (size_t i = 1; i < len; i++) {
        int64_t step = (int64_t)step_at(v, i);

        count += (uint64_t)step == s.usual;
        s.min = step < s.min ? step : s.min;
        s.max = step > s.max ? step : s.max;
    }
    s.is_usual = count * 2 > len - 1;
    if (!s.is_usual)
        s.usual = (uint64_t)((int64_t)((uint64_t)v[len - 1] - (uint64_t)v[0]) /
                             (int64_t)(len - 1));
    return s;
}

/* Most steps lie close above the smallest: no need of signs then. */
static bool
is_climb(const struct steps *s)
{
    uint64_t below = s->usual - (uint64_t)s->min;
    uint64_t above = (uint64_t)s->max - s->usual;

    return below < above / 3;
}

static uint64_t
varint_bits(uint64_t v)
{
    uint64_t bits = 8;

    for (; v >= 0x80; v >>= 7)
        bits += 8;
    return bits;
}

/* How many numbers stand for 'len' integers. */
static size_t
numbers_len(enum way way, size_t len)
{
    return way == WAY_OFFSET ? len : len - 1;
}

static void
transform(enum way way, const int64_t *v, size_t len, uint64_t reference,
          int64_t min, uint64_t *u)
{
    switch (way) {
    case WAY_OFFSET:
        for (size_t i = 0; i < len; i++)
            u[i] = (uint64_t)v[i] - (uint64_t)min;
        break;
    case WAY_STEPS:
        for (size_t i = 1; i < len; i++)
            u[i - 1] = zigzag((uint64_t)v[i] - (uint64_t)v[i - 1] - reference);
        break;
    case WAY_CLIMB:
        for (size_t i = 1; i < len; i++)
            u[i - 1] = (uint64_t)v[i] - (uint64_t)v[i - 1] - reference;
        break;
    case WAY_LINE:
        for (size_t i = 1; i < len; i++)
            u[i - 1] = zigzag((uint64_t)v[i] - (uint64_t)v[0] - i * reference);
        break;
    case WAY_LEN:
        INSIST(way != WAY_LEN);
    }
}

static void
try(const int64_t *v, size_t len, int64_t min, enum way way, uint64_t reference,
    uint64_t *scratch, struct choice *best)
{
    struct numbers_plan plan;

    transform(way, v, len, reference, min, scratch);
    plan = block_numbers_plan(scratch, numbers_len(way, len));
    if (way != WAY_OFFSET)
        plan.bits += varint_bits(zigzag(reference));
    if (plan.bits < best->plan.bits)
        *best = (struct choice){ way, reference, plan };
}

/* Only ways that can be good are tried: it is most of the work of encoding. */
static struct choice
choose(const int64_t *v, size_t len, struct ints_known known, uint64_t *scratch)
{
    struct choice best = { WAY_OFFSET, 0, { NUMBERS_EQUAL, 0, UINT64_MAX } };
    struct steps steps;

    try(v, len, known.min, WAY_OFFSET, 0, scratch, &best);
    if (len == 1)
        return best;
    steps = look_at_steps(v, len);
    if (is_climb(&steps) || len < SHORT)
        try(v, len, known.min, WAY_CLIMB, (uint64_t)steps.min, scratch, &best);
    if (!is_climb(&steps) || steps.is_usual || len < SHORT)
        try(v, len, known.min, WAY_STEPS, steps.usual, scratch, &best);
    if (steps.min >= 0 && known.min == known.first)
        try(v, len, known.min, WAY_LINE, steps.usual, scratch, &best);
    return best;
}

void
block_ints_encode(const int64_t *v, size_t len, struct ints_known known,
                  uint64_t *scratch, struct buf *out)
{
    struct choice chosen;

    INSIST(len > 0 && v[0] == known.first);
    chosen = choose(v, len, known, scratch);
    buf_put_u8(out, (uint8_t)chosen.way);
    if (chosen.way != WAY_OFFSET)
        buf_put_zigzag(out, (int64_t)chosen.reference);
    transform(chosen.way, v, len, chosen.reference, known.min, scratch);
    block_numbers_encode(scratch, numbers_len(chosen.way, len), chosen.plan,
                         out);
}

/* The numbers lie where the integers are to be, from the second on. */
static void
sum_steps(uint64_t *v, size_t len, uint64_t reference, bool folded)
{
    uint64_t last = v[0];

    if (folded) {
        for (size_t i = 1; i < len; i++)
            v[i] = last += unzigzag(v[i]) + reference;
    } else {
        for (size_t i = 1; i < len; i++)
            v[i] = last += v[i] + reference;
    }
}

void
block_ints_decode(struct cursor *c, int64_t *out, size_t len,
                  struct ints_known known)
{
    uint64_t *u = (uint64_t *)out;
    uint8_t way = cursor_u8(c);
    uint64_t reference = 0;

    if (way >= WAY_LEN)
        c->failed = true;
    if (way != WAY_OFFSET)
        reference = (uint64_t)cursor_zigzag(c);
    if (c->failed)
        return;
    if (way == WAY_OFFSET) {
        block_numbers_decode(c, u, len);
        for (size_t i = 0; i < len && !c->failed; i++)
            u[i] += (uint64_t)known.min;
        return;
    }
    block_numbers_decode(c, u + 1, len - 1);
    if (c->failed)
        return;
    u[0] = (uint64_t)known.first;
    if (way == WAY_LINE) {
        for (size_t i = 1; i < len; i++)
            u[i] = unzigzag(u[i]) + u[0] + i * reference;
    } else {
        sum_steps(u, len, reference, way == WAY_STEPS);
    }
}
