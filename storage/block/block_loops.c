/* The inner loops of decoding.  Each is written once and compiled twice: for
 * every processor, and for those that have AVX2, with four numbers at a time
 * where 'vectors', a constant, says so. */
#include "storage/block/block_priv.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define LANES         4

typedef uint64_t lanes __attribute__((vector_size(8 * LANES)));
typedef double doubles __attribute__((vector_size(8 * LANES)));

/* Takes the lowest one off the word, which begins at the bit 'from'. */
static ALWAYS_INLINE void
take_one(struct ones *o, uint64_t *word, uint64_t from, uint64_t *out)
{
    uint64_t one = from + (unsigned)__builtin_ctzll(*word);

    *word &= *word - 1;
    o->seen |= out[o->found++] = one - o->end;
    o->end = one + 1;
}

/* How many ones a word has is known before they are taken: a loop that asks
 * each time whether there are more is mispredicted once a word. */
static ALWAYS_INLINE struct ones
find_ones(const uint8_t *p, size_t size, uint64_t *out, size_t len)
{
    struct ones o = { 0, 0, 0 };
    size_t at = 0;

    for (; len - o.found >= 64 && size - at >= 8; at += 8) {
        uint64_t word = bits_load(p + at);
        int n = __builtin_popcountll(word);

        for (; n >= 4; n -= 4) {
            take_one(&o, &word, at * 8, out);
            take_one(&o, &word, at * 8, out);
            take_one(&o, &word, at * 8, out);
            take_one(&o, &word, at * 8, out);
        }
        for (; n > 0; n--)
            take_one(&o, &word, at * 8, out);
    }
    for (; o.found < len && at < size; at += 8) {
        uint64_t word;
        uint64_t v = 0;

        /* The eight bytes from 'at' on, or what is left of them and zeros. */
        if (size - at >= 8) {
            word = bits_load(p + at);
        } else {
            for (size_t i = 0; at + i < size; i++)
                v |= (uint64_t)p[at + i] << 8 * i;
            word = v;
        }
        while (word != 0 && o.found < len)
            take_one(&o, &word, at * 8, out);
    }
    return o;
}

/* Four numbers of up to 14 bits are in any eight bytes that their first one
 * begins in. */
static ALWAYS_INLINE size_t
put_below(const uint8_t *p, size_t size, uint64_t *out, size_t len,
          unsigned width, bool vectors)
{
    const uint64_t mask = bits_mask(width);
    const lanes shifts = { 0, width, 2 * width, 3 * width };
    size_t i = 0, at = 0;

    if (vectors && width <= 14)
        for (; len - i >= LANES && at / 8 + 8 <= size;
             i += LANES, at += LANES * width) {
            uint64_t word = bits_load(p + at / 8) >> at % 8;
            lanes low = { word, word, word, word }, high;

            memcpy(&high, out + i, sizeof high);
            high = high << width | (low >> shifts & mask);
            memcpy(out + i, &high, sizeof high);
        }
    for (; i < len && at / 8 + 8 <= size; i++, at += width)
        out[i] = out[i] << width | (bits_load(p + at / 8) >> at % 8 & mask);
    return i;
}

/* Steps that are not wanted are only added up; of others each lane gets what is
 * in those before it, first in pairs, then in fours. */
static ALWAYS_INLINE void
sum_steps(uint64_t *v, size_t len, size_t skip, uint64_t reference, bool folded,
          bool vectors)
{
    const lanes zero = { 0 }, references = { reference, 2 * reference,
                                             3 * reference, 4 * reference };
    lanes last = { v[0] }, x;
    size_t i = 1;

    for (; vectors && skip >= i + LANES; i += LANES) {
        memcpy(&x, v + i, sizeof x);
        last += (folded ? x >> 1 ^ -(x & 1) : x) + reference;
    }
    v[i - 1] = last[0] + last[1] + last[2] + last[3];
    last = zero + v[i - 1];
    for (; vectors && len - i >= LANES; i += LANES) {
        memcpy(&x, v + i, sizeof x);
        x = folded ? x >> 1 ^ -(x & 1) : x;
        x += __builtin_shufflevector(x, zero, 4, 0, 4, 2);
        x += __builtin_shufflevector(x, zero, 4, 4, 1, 1);
        x += references + last;
        last = __builtin_shufflevector(x, x, 3, 3, 3, 3);
        memcpy(v + i, &x, sizeof x);
    }
    for (; i < len; i++)
        v[i] = v[i - 1] + reference +
               (folded ? (uint64_t)varint_unzigzag(v[i]) : v[i]);
}

/* Processors cannot make doubles of 64-bit integers by the vector; but an
 * integer m up to 2^51, added to the bits of DECIMAL_NEAREST, is the double
 * DECIMAL_NEAREST + m.  One is too large if, moved up by 2^51, it is beyond
 * 2^52: of 2^52 itself the shift takes one off. */
static ALWAYS_INLINE void
divide_lanes(void *v, size_t len, double power, lanes *seen)
{
    lanes m = { 0 }, up;
    doubles d;

    memcpy(&m, v, len * sizeof(double));
    up = m + (uint64_t)DECIMAL_MAX;
    *seen |= up - (up >> 52);
    d = ((doubles)(m + double_bits(DECIMAL_NEAREST)) - DECIMAL_NEAREST) / power;
    memcpy(v, &d, len * sizeof(double));
}

static ALWAYS_INLINE bool
divide(union number *v, size_t len, double power)
{
    lanes seen = { 0 };
    size_t i = 0;

    for (; len - i >= LANES; i += LANES)
        divide_lanes(&v[i], LANES, power, &seen);
    if (i < len)
        divide_lanes(&v[i], len - i, power, &seen);
    return (seen[0] | seen[1] | seen[2] | seen[3]) >> 52 == 0;
}

/* -- by what the processor can --------------------------------------------- */

static struct ones
find_ones_plain(const uint8_t *p, size_t size, uint64_t *out, size_t len)
{
    return find_ones(p, size, out, len);
}

static size_t
put_below_plain(const uint8_t *p, size_t size, uint64_t *out, size_t len,
                unsigned width)
{
    return put_below(p, size, out, len, width, false);
}

static void
sum_steps_plain(uint64_t *v, size_t len, size_t skip, uint64_t reference,
                bool folded)
{
    if (folded)
        sum_steps(v, len, skip, reference, true, false);
    else
        sum_steps(v, len, skip, reference, false, false);
}

static bool
divide_plain(union number *v, size_t len, double power)
{
    return divide(v, len, power);
}

const struct block_loops block_loops_plain = { find_ones_plain, put_below_plain,
                                               sum_steps_plain, divide_plain };

BLOCK_AVX2 static struct ones
find_ones_avx2(const uint8_t *p, size_t size, uint64_t *out, size_t len)
{
    return find_ones(p, size, out, len);
}

BLOCK_AVX2 static size_t
put_below_avx2(const uint8_t *p, size_t size, uint64_t *out, size_t len,
               unsigned width)
{
    return put_below(p, size, out, len, width, true);
}

BLOCK_AVX2 static void
sum_steps_avx2(uint64_t *v, size_t len, size_t skip, uint64_t reference,
               bool folded)
{
    if (folded)
        sum_steps(v, len, skip, reference, true, true);
    else
        sum_steps(v, len, skip, reference, false, true);
}

BLOCK_AVX2 static bool
divide_avx2(union number *v, size_t len, double power)
{
    return divide(v, len, power);
}

static const struct block_loops loops_avx2 = { find_ones_avx2, put_below_avx2,
                                               sum_steps_avx2, divide_avx2 };

bool
block_has_avx2(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
    return false;
#endif
}

const struct block_loops *
block_loops(void)
{
    return block_has_avx2() ? &loops_avx2 : &block_loops_plain;
}
