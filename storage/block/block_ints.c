/* Columns of signed integers: <predictor:1> [<reference zigzag>] <numbers>, all
 * arithmetic modulo 2^64, so that nothing overflows.
 *
 *     offset   v[i] - min                            len numbers
 *     steps    zigzag(v[i] - v[i-1] - reference)     len - 1, from v[1] on
 *     climb    v[i] - v[i-1] - reference             len - 1; the smallest step
 *     same     as steps, with the reference 0, which is not written
 *     0x40 + t the same, its numbers coded by the table t, without low bits;
 *              the byte in front of the numbers, and the table's, are saved
 *
 * The first value, and 'min', are known from elsewhere. */
#include "storage/block/block_priv.h"

#include "base/obj.h"

#define SHORT 32 /* so few that all predictors are tried */

enum predictor {
    PREDICT_OFFSET,
    PREDICT_STEPS,
    PREDICT_CLIMB,
    /* as they are written, only: */
    WRITTEN_SAME,
    WRITTEN_CODED = 0x40,
};

struct choice {
    enum predictor predictor;
    uint64_t reference;
    struct numbers_plan plan;
    enum predictor last; /* that was tried: its numbers are in 'scratch' */
};

/* What the differences between neighbours are like. */
struct steps {
    uint64_t usual; /* more than half of them are it; else the mean */
    bool is_usual;
    int64_t min, max;
    uint64_t travel; /* twice all of them, added up without their signs */
    int64_t top;     /* the largest value */
};

static inline uint64_t
step_at(const int64_t *v, size_t i)
{
    return (uint64_t)v[i] - (uint64_t)v[i - 1];
}

/* Most steps lie close above the smallest: no need of signs then. */
static bool
is_climb(const struct steps *s)
{
    uint64_t below = s->usual - (uint64_t)s->min;
    uint64_t above = (uint64_t)s->max - s->usual;

    return below < above / 3;
}

/* Where the values wander far in short steps, their distance to the smallest is
 * no way to write them. */
static bool
may_be_offset(const struct steps *s, size_t len, int64_t min)
{
    return len < SHORT || s->is_usual ||
           s->travel / len > ((uint64_t)s->top - (uint64_t)min) / 8;
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
numbers_len(enum predictor predictor, size_t len)
{
    return predictor == PREDICT_OFFSET ? len : len - 1;
}

static void
transform(enum predictor predictor, const int64_t *v, size_t len,
          uint64_t reference, int64_t min, uint64_t *u)
{
    for (size_t i = 0; predictor == PREDICT_OFFSET && i < len; i++)
        u[i] = (uint64_t)v[i] - (uint64_t)min;
    for (size_t i = 1; predictor == PREDICT_STEPS && i < len; i++)
        u[i - 1] = varint_zigzag((int64_t)(step_at(v, i) - reference));
    for (size_t i = 1; predictor == PREDICT_CLIMB && i < len; i++)
        u[i - 1] = step_at(v, i) - reference;
}

static void
try(const int64_t *v, size_t len, int64_t min, enum predictor predictor,
    uint64_t reference, uint64_t *scratch, struct choice *best)
{
    struct numbers_plan plan;

    transform(predictor, v, len, reference, min, scratch);
    plan = block_numbers_plan(scratch, numbers_len(predictor, len));
    if (predictor != PREDICT_OFFSET)
        plan.bits += varint_bits(varint_zigzag((int64_t)reference));
    if (plan.bits < best->plan.bits)
        *best = (struct choice){ predictor, reference, plan, predictor };
    best->last = predictor;
}

/* Only predictors that can be good are tried: it is most of the work of
 * encoding. */
static struct choice
choose(const int64_t *v, size_t len, struct ints_known known, uint64_t *scratch)
{
    struct choice best = {
        PREDICT_OFFSET, 0, { NUMBERS_EQUAL, 0, UINT64_MAX, 0 }, PREDICT_OFFSET
    };
    struct steps steps = { 0 };

    if (len > 1) {
        struct steps s = { .min = INT64_MAX, .max = INT64_MIN, .top = v[0] };
        size_t votes = 0, count = 0;

        /* One pass of voting finds what can be the majority, a second one
         * counts. */
        for (size_t i = 1; i < len; i++) {
            uint64_t step = step_at(v, i);

            s.usual = votes == 0 ? step : s.usual;
            votes += step == s.usual ? 1 : SIZE_MAX;
            s.min = (int64_t)step < s.min ? (int64_t)step : s.min;
            s.max = (int64_t)step > s.max ? (int64_t)step : s.max;
            s.travel += varint_zigzag((int64_t)step);
            s.top = v[i] > s.top ? v[i] : s.top;
        }
        for (size_t i = 1; i < len && votes > 0; i++)
            count += step_at(v, i) == s.usual;
        s.is_usual = count * 2 > len - 1;
        if (!s.is_usual) {
            int64_t mean = (int64_t)((uint64_t)v[len - 1] - (uint64_t)v[0]) /
                           (int64_t)(len - 1);
            uint64_t width = (uint64_t)s.max - (uint64_t)s.min;

            /* The mean step, but 0 where it is lost among the others. */
            s.usual = varint_zigzag(mean) < width / 16 ? 0 : (uint64_t)mean;
        }
        steps = s;
    }
    if (len == 1 || may_be_offset(&steps, len, known.min))
        try(v, len, known.min, PREDICT_OFFSET, 0, scratch, &best);
    if (len == 1)
        return best;
    if (is_climb(&steps) || len < SHORT)
        try(v, len, known.min, PREDICT_CLIMB, (uint64_t)steps.min, scratch,
            &best);
    if (!is_climb(&steps) || steps.is_usual || len < SHORT)
        try(v, len, known.min, PREDICT_STEPS, steps.usual, scratch, &best);
    return best;
}

void
block_ints_encode(const int64_t *v, size_t len, struct ints_known known,
                  uint64_t *scratch, struct buf *out)
{
    struct choice chosen;
    struct numbers_plan plan;
    size_t n;

    INSIST(len > 0 && v[0] == known.first);
    chosen = choose(v, len, known, scratch);
    n = numbers_len(chosen.predictor, len);
    if (chosen.last != chosen.predictor)
        transform(chosen.predictor, v, len, chosen.reference, known.min,
                  scratch);
    plan = block_numbers_best(scratch, n, chosen.plan);
    if (chosen.predictor == PREDICT_STEPS && chosen.reference == 0) {
        if (plan.codec == NUMBERS_CODED && plan.parameter == 0) {
            buf_put_u8(out, (uint8_t)(WRITTEN_CODED | plan.table));
            block_coded_encode(scratch, n, plan, out);
            return;
        }
        buf_put_u8(out, WRITTEN_SAME);
    } else {
        buf_put_u8(out, (uint8_t)chosen.predictor);
        if (chosen.predictor != PREDICT_OFFSET)
            buf_put_zigzag(out, (int64_t)chosen.reference);
    }
    block_numbers_encode(scratch, n, plan, out);
}

void
block_ints_decode(struct cursor *c, int64_t *out, size_t len,
                  struct ints_known known)
{
    uint64_t *u = (uint64_t *)out;
    uint8_t predictor = cursor_u8(c);
    uint64_t reference = 0;

    if (predictor > WRITTEN_SAME && (predictor & 0xf0) != WRITTEN_CODED)
        c->failed = true;
    if (predictor == PREDICT_STEPS || predictor == PREDICT_CLIMB)
        reference = (uint64_t)cursor_zigzag(c);
    if (c->failed)
        return;
    if (predictor == PREDICT_OFFSET) {
        block_numbers_decode(c, u, len);
        for (size_t i = 0; i < len && !c->failed; i++)
            u[i] += (uint64_t)known.min;
        return;
    }
    if (predictor >= WRITTEN_CODED) {
        u[0] = (uint64_t)known.first;
        block_coded_decode_steps(c, u + 1, len - 1, predictor & 15, u[0]);
        return;
    }
    block_numbers_decode(c, u + 1, len - 1);
    if (c->failed)
        return;
    u[0] = (uint64_t)known.first;
    block_loops()->sum(u, len, known.skip, reference,
                       predictor != PREDICT_CLIMB);
}

void
block_column_encode(const int64_t *v, size_t len, uint64_t *scratch,
                    struct buf *out)
{
    struct ints_known known = { .first = v[0], .min = v[0] };

    for (size_t i = 1; i < len; i++)
        known.min = v[i] < known.min ? v[i] : known.min;
    buf_put_zigzag(out, known.first);
    buf_put_varint(out, (uint64_t)known.first - (uint64_t)known.min);
    block_ints_encode(v, len, known, scratch, out);
}

void
block_column_decode(struct cursor *c, int64_t *out, size_t len)
{
    struct ints_known known = { 0 };

    known.first = cursor_zigzag(c);
    known.min = (int64_t)((uint64_t)known.first - cursor_varint(c));
    if (!c->failed)
        block_ints_decode(c, out, len, known);
}
