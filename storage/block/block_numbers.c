/* Columns of unsigned numbers.
 *
 *     equal    <number varint>
 *     packed   len x width bits
 *     rice(k)  the high parts, without k low bits, in unary: so many zeros and
 *              a one; then the k low bits of each; then for each high part of
 *              RICE_ESCAPE: how much larger it is, as a varint
 *     coded(k) <table:1>, the high parts by that table; the low bits, and how
 *              much larger than the table's last symbol, as with rice
 *     sparse   <how many varint> <gaps: a column> <numbers - 1: a column>
 *
 * Unary and low bits lie apart because they are faster to read that way: the
 * ones are found word by word, the low bits at places that are known.  The
 * columns in a sparse one are of the other kinds: nothing nests deeper. */
#include "storage/block/block_priv.h"

#include <stdlib.h>

#include "storage/block/bits.h"
#include "storage/block/block_coded_priv.h"

#define RICE_ESCAPE    24u
#define CODED_AT_LEAST 16 /* numbers: for fewer it is not worth a look */
#define CODED_BELOW    5  /* bits each */

/* How many numbers have how many bits: enough to choose by. */
struct histogram {
    uint32_t len[65];
    unsigned max; /* the longest that occurs */
};

static inline unsigned
bit_length(uint64_t u)
{
    return u == 0 ? 0 : 64 - (unsigned)__builtin_clzll(u);
}

/* -- choosing ------------------------------------------------------------- */

static struct histogram
histogram_of(const uint64_t *u, size_t len)
{
    struct histogram h = { .max = 0 };

    for (size_t i = 0; i < len; i++) {
        unsigned b = bit_length(u[i]);

        h.len[b]++;
        h.max = b > h.max ? b : h.max;
    }
    return h;
}

/* Bits of one number of 'b' bits with parameter 'k', doubled; the high part is
 * taken for the middle of what it can be. */
static uint64_t
rice_cost2(unsigned b, unsigned k)
{
    unsigned over = b - k;

    if (b <= k)
        return 2 * (k + 1);
    if (over > 5)
        return 2 * (RICE_ESCAPE + 1 + k + (over + 6) / 7 * 8);
    return 2 * (k + 1) + 3 * (UINT64_C(1) << (over - 1)) - 1;
}

static bool
all_equal(const uint64_t *u, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if (u[i] != u[0])
            return false;
    return true;
}

static struct numbers_plan
plan_flat(const uint64_t *u, size_t len, const struct histogram *h)
{
    struct numbers_plan plan;
    struct numbers_plan best;
    uint64_t below = 0;
    unsigned middle = 0;

    if (len == 0 || (h->len[h->max] == len && all_equal(u, len)))
        return (struct numbers_plan){ NUMBERS_EQUAL, 0, 8 + 8 * (h->max / 7),
                                      0 };
    /* The best parameter lies around the length of the number in the middle. */
    best = (struct numbers_plan){ NUMBERS_RICE, 0, UINT64_MAX, 0 };
    while ((below += h->len[middle]) * 2 < len)
        middle++;
    for (unsigned k = middle < 3 ? 0 : middle - 3; k <= middle + 1; k++) {
        uint64_t bits;
        uint64_t cost2 = 0;

        for (unsigned b = 0; b <= h->max; b++)
            cost2 += h->len[b] * rice_cost2(b, k);
        bits = cost2 / 2;
        if (k < 64 && bits < best.bits) {
            best.parameter = k;
            best.bits = bits;
        }
    }
    plan = best;
    if (h->max * (uint64_t)len <= plan.bits)
        plan = (struct numbers_plan){ NUMBERS_PACKED, h->max - 1,
                                      h->max * (uint64_t)len, 0 };
    return plan;
}

struct numbers_plan
block_numbers_plan(const uint64_t *u, size_t len)
{
    const struct histogram h = histogram_of(u, len);
    struct numbers_plan plan = plan_flat(u, len, &h);
    uint64_t sparse;
    uint64_t others = len - h.len[0];
    uint64_t bits = 40;

    /* As if gaps and numbers were Rice-coded with a length that suits them. */
    if (others == 0 || others > len / 3) {
        sparse = UINT64_MAX;
    } else {
        bits += others * (bit_length(len / others) + 2);
        for (unsigned b = 1; b <= h.max; b++)
            bits += h.len[b] * (uint64_t)(b + 1);
        sparse = bits;
    }
    if (sparse < plan.bits)
        plan = (struct numbers_plan){ NUMBERS_SPARSE, 0, sparse, 0 };
    return plan;
}

/* Where the numbers are wide, most of a Rice code is bits that no code saves.
 */
struct numbers_plan
block_numbers_best(const uint64_t *u, size_t len, struct numbers_plan plan)
{
    struct numbers_plan coded;

    if (plan.codec != NUMBERS_RICE || len < CODED_AT_LEAST ||
        plan.bits > len * (uint64_t)CODED_BELOW)
        return plan;
    coded = coded_plan(u, len, plan.parameter);
    return coded.bits + coded.bits / 64 < plan.bits ? coded : plan;
}

/* -- writing -------------------------------------------------------------- */

/* The low 'width' (up to 14) bits of four. */
static inline uint64_t
four_of(const uint64_t *u, unsigned width)
{
    uint64_t mask = bits_mask(width);

    return (u[0] & mask) | (u[1] & mask) << width | (u[2] & mask) << 2 * width |
           (u[3] & mask) << 3 * width;
}

static void
put_packed(const uint64_t *u, size_t len, unsigned width, struct buf *out)
{
    struct bits_out o = bits_out_of(out);
    size_t i = 0;

    if (!bits_room(&o, len * width))
        return;
    if (width <= 14) /* four fit */
        for (; len - i >= 4; i += 4)
            bits_put(&o, four_of(u + i, width), 4 * width);
    for (; i < len; i++)
        bits_put_long(&o, u[i], width);
    bits_out_done(&o);
}

/* By how much the high parts reach beyond 'most'. */
static void
put_escapes(const uint64_t *u, size_t len, unsigned low, uint64_t most,
            struct buf *out)
{
    for (size_t i = 0; i < len; i++)
        if (u[i] >> low >= most)
            buf_put_varint(out, (u[i] >> low) - most);
}

static void
put_rice(const uint64_t *u, size_t len, unsigned k, struct buf *out)
{
    struct bits_out o = bits_out_of(out);
    bool escaped = false;

    for (size_t i = 0; i < len; i++) {
        uint64_t high = u[i] >> k;

        if (i % 256 == 0 && !bits_room(&o, 256 * (RICE_ESCAPE + 1)))
            return;
        escaped |= high >= RICE_ESCAPE;
        high = high < RICE_ESCAPE ? high : RICE_ESCAPE;
        bits_put(&o, UINT64_C(1) << high, (unsigned)high + 1);
    }
    bits_out_done(&o);
    if (k > 0)
        put_packed(u, len, k, out);
    if (escaped)
        put_escapes(u, len, k, RICE_ESCAPE, out);
}

void
block_coded_encode(const uint64_t *u, size_t len, struct numbers_plan plan,
                   struct buf *out)
{
    coded_put(u, len, plan.parameter, plan.table, out);
    if (plan.parameter > 0)
        put_packed(u, len, plan.parameter, out);
    put_escapes(u, len, plan.parameter, coded_last(plan.table), out);
}

static void
put_flat(const uint64_t *u, size_t len, struct numbers_plan plan,
         struct buf *out)
{
    buf_put_u8(out, (uint8_t)(plan.codec | plan.parameter));
    if (plan.codec == NUMBERS_EQUAL)
        buf_put_varint(out, len == 0 ? 0 : u[0]);
    else if (plan.codec == NUMBERS_PACKED)
        put_packed(u, len, plan.parameter + 1, out);
    else if (plan.codec == NUMBERS_CODED) {
        buf_put_u8(out, (uint8_t)plan.table);
        block_coded_encode(u, len, plan, out);
    } else
        put_rice(u, len, plan.parameter, out);
}

static void
put_planned(const uint64_t *u, size_t len, struct buf *out)
{
    const struct histogram h = histogram_of(u, len);

    put_flat(u, len, plan_flat(u, len, &h), out);
}

/* Moves what is not 0 to the front, less one, and how many zeros stood before
 * each into 'gaps'. */
static size_t
split_sparse(uint64_t *u, size_t len, uint64_t *gaps)
{
    size_t n = 0, last = 0;

    for (size_t i = 0; i < len; i++) {
        if (u[i] == 0)
            continue;
        gaps[n] = i - last;
        u[n++] = u[i] - 1;
        last = i + 1;
    }
    return n;
}

static void
put_sparse(uint64_t *u, size_t len, struct buf *out)
{
    uint64_t *gaps = malloc((len / 3 + 1) * sizeof *gaps);
    size_t n;

    if (gaps == NULL) {
        out->failed = true;
        return;
    }
    n = split_sparse(u, len, gaps);
    buf_put_u8(out, NUMBERS_SPARSE);
    buf_put_varint(out, n);
    put_planned(gaps, n, out);
    put_planned(u, n, out);
    free(gaps);
}

void
block_numbers_encode(uint64_t *u, size_t len, struct numbers_plan plan,
                     struct buf *out)
{
    if (plan.codec == NUMBERS_SPARSE)
        put_sparse(u, len, out);
    else
        put_flat(u, len, plan, out);
}

/* -- reading -------------------------------------------------------------- */

/* What is in 'out' moves up by 'width' bits, and the column goes below. */
static inline void
get_packed_below(struct cursor *c, uint64_t *out, size_t len, unsigned width)
{
    size_t i = 0, at;
    struct bits_in in;

    if (width <= 56)
        i = block_loops()->below(c->at, cursor_left(c), out, len, width);
    at = i * width;
    c->at += at / 8;
    in = bits_in_of(c);
    (void)bits_get_long(&in, at % 8);
    for (; i < len; i++)
        out[i] =
            (width == 64 ? 0 : out[i] << width) | bits_get_long(&in, width);
    bits_in_done(&in, c);
}

/* Distances between the ones; true when one of them is RICE_ESCAPE or more. */
static bool
get_unary(struct cursor *c, uint64_t *out, size_t len)
{
    struct ones ones = block_loops()->ones(c->at, cursor_left(c), out, len);

    if (ones.found < len) {
        c->failed = true;
        return false;
    }
    c->at += (ones.end + 7) / 8;
    /* The rest of the last byte is zero. */
    if (ones.end % 8 != 0 && c->at[-1] >> ones.end % 8 != 0)
        c->failed = true;
    return ones.seen >= RICE_ESCAPE;
}

static void
get_escapes(struct cursor *c, uint64_t *out, size_t len, unsigned k,
            uint64_t most)
{
    for (size_t i = 0; i < len; i++) {
        if (out[i] >> k > most)
            c->failed = true;
        else if (out[i] >> k == most)
            out[i] += cursor_varint(c) << k;
    }
}

/* Are there numbers to decode, by a table that there is? */
static bool
has_codes(struct cursor *c, size_t len, unsigned table)
{
    c->failed = c->failed || table >= CODED_TABLES;
    return !c->failed && len > 0;
}

void
block_coded_decode(struct cursor *c, uint64_t *out, size_t len, unsigned low,
                   unsigned table)
{
    bool escaped;

    if (!has_codes(c, len, table))
        return;
    escaped = coded_get(c, out, len, table);
    if (low > 0 && !c->failed)
        get_packed_below(c, out, len, low);
    if (escaped && !c->failed)
        get_escapes(c, out, len, low, coded_last(table));
}

void
block_coded_decode_steps(struct cursor *c, uint64_t *out, size_t len,
                         unsigned table, uint64_t start)
{
    bool escaped;

    if (!has_codes(c, len, table))
        return;
    escaped = coded_get_steps(c, out, len, table, start);
    if (escaped && !c->failed) {
        unsigned last = coded_last(table);
        uint64_t before = start, more = 0;

        /* Steps of the table's last symbol are longer. */
        for (size_t i = 0; i < len; i++) {
            uint64_t now = out[i];

            if (now - before == (uint64_t)varint_unzigzag(last))
                more += (uint64_t)varint_unzigzag(last + cursor_varint(c)) -
                        (uint64_t)varint_unzigzag(last);
            before = now;
            out[i] = now + more;
        }
    }
}

static void
get_rice(struct cursor *c, uint64_t *out, size_t len, unsigned k)
{
    bool escaped = get_unary(c, out, len);

    if (c->failed)
        return;
    if (k > 0)
        get_packed_below(c, out, len, k);
    if (escaped && !c->failed)
        get_escapes(c, out, len, k, RICE_ESCAPE);
}

/* Each number has at least 'bits' bits: do not loop over what is not there. */
static bool
can_hold(struct cursor *c, size_t len, unsigned bits)
{
    if (len > cursor_left(c) * 8 / bits)
        c->failed = true;
    return !c->failed;
}

static void
get_flat(struct cursor *c, uint8_t codec, uint64_t *out, size_t len)
{
    unsigned parameter = codec & (0xff & ~(unsigned)NUMBERS_MASK);
    uint64_t v;

    switch (codec & NUMBERS_MASK) {
    case NUMBERS_PACKED:
        if (can_hold(c, len, parameter + 1)) {
            memset(out, 0, len * sizeof *out);
            get_packed_below(c, out, len, parameter + 1);
        }
        break;
    case NUMBERS_RICE:
        if (can_hold(c, len, parameter + 1))
            get_rice(c, out, len, parameter);
        break;
    case NUMBERS_CODED:
        block_coded_decode(c, out, len, parameter, cursor_u8(c));
        break;
    default:
        if (codec != NUMBERS_EQUAL) {
            c->failed = true;
            break;
        }
        v = cursor_varint(c);
        for (size_t i = 0; i < len; i++)
            out[i] = v;
        break;
    }
}

/* 'out' is all zero; 'gaps' and 'others' have 'n' each. */
static void
merge_sparse(struct cursor *c, uint64_t *out, size_t len, const uint64_t *gaps,
             const uint64_t *others, size_t n)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        if (gaps[i] >= len - at) {
            c->failed = true;
            return;
        }
        at += (size_t)gaps[i];
        out[at++] = others[i] + 1;
        if (at == len && i + 1 < n) {
            c->failed = true;
            return;
        }
    }
}

static void
get_sparse(struct cursor *c, uint64_t *out, size_t len)
{
    uint64_t n = cursor_varint(c);
    uint64_t *chunks;

    memset(out, 0, len * sizeof *out);
    if (c->failed || n == 0 || n > len) {
        c->failed = true;
        return;
    }
    chunks = malloc((size_t)n * 2 * sizeof *chunks);
    if (chunks == NULL) {
        c->failed = c->no_memory = true;
        return;
    }
    get_flat(c, cursor_u8(c), chunks, (size_t)n);
    get_flat(c, cursor_u8(c), chunks + n, (size_t)n);
    if (!c->failed)
        merge_sparse(c, out, len, chunks, chunks + n, (size_t)n);
    free(chunks);
}

void
block_numbers_decode(struct cursor *c, uint64_t *out, size_t len)
{
    uint8_t codec = cursor_u8(c);

    if (c->failed)
        return;
    if (codec == NUMBERS_SPARSE)
        get_sparse(c, out, len);
    else
        get_flat(c, codec, out, len);
}
