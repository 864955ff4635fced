/* Encodes blocks: describes the points first (unit, kinds, scale, block
 * summary), then writes the header and the columns that are needed.
 *
 * Most doubles are decimals (block_floats.c): then values and block summary are
 * written as integers, and integers among them too. */
#include "storage/block/block.h"

#include <math.h>
#include <stdlib.h>

#include "base/obj.h"
#include "storage/block/block_priv.h"

struct work {
    const struct points *p;
    struct block_header h;
    int64_t *v;        /* integers or decimals */
    uint64_t *scratch; /* both of p->len */
};

/* -- the block summary ----------------------------------------------------- */

static double
as_double(const struct points *p, size_t i)
{
    return p->is_float[i] ? p->v[i].d : (double)p->v[i].i;
}

static void
summarize_floats(const struct points *p, struct summary *s)
{
    double min = as_double(p, 0), max = min, sum = 0;

    for (size_t i = 0; i < p->len; i++) {
        double d = as_double(p, i);

        if (d < min || isnan(min))
            min = d;
        if (d > max || isnan(max))
            max = d;
        sum += d;
    }
    s->sum.d = plain_nan(sum);
    s->min.d = min;
    s->max.d = max;
    s->first.d = as_double(p, 0);
    s->last.d = as_double(p, p->len - 1);
}

static void
summarize_ints(const int64_t *v, size_t len, struct summary *s)
{
    int64_t min = v[0], max = v[0];
    uint64_t sum = 0;

    for (size_t i = 0; i < len; i++) {
        min = v[i] < min ? v[i] : min;
        max = v[i] > max ? v[i] : max;
        sum += (uint64_t)v[i];
    }
    s->first.i = v[0];
    s->last.i = v[len - 1];
    s->min.i = min;
    s->max.i = max;
    s->sum.i = (int64_t)sum;
}

struct summary
points_summary(const struct points *p)
{
    struct summary s = { .count = (uint32_t)p->len,
                         .first_ms = p->ts_ms[0],
                         .last_ms = p->ts_ms[p->len - 1],
                         .all_int = memchr(p->is_float, 1, p->len) == NULL };

    if (s.all_int)
        summarize_ints((const int64_t *)p->v, p->len, &s);
    else
        summarize_floats(p, &s);
    return s;
}

/* -- encoding: what the block will be ------------------------------------- */

static void
check_input(const struct points *p, uint32_t base, unsigned hours)
{
    int64_t base_ms = (int64_t)base * 1000;
    bool ascending = true;

    INSIST(p->len >= 1 && p->len <= BLOCK_MAX_POINTS);
    INSIST(p->ts_ms[0] >= base_ms);
    INSIST(p->ts_ms[p->len - 1] < base_ms + hours * HOUR_MS);
    for (size_t i = 1; i < p->len; i++)
        ascending &= p->ts_ms[i - 1] < p->ts_ms[i];
    INSIST(ascending);
}

/* 'unit' is a constant: dividing by one is fast. */
static inline bool
all_divide(const struct points *p, bool irregular, int64_t unit)
{
    bool all = true;

    if (!irregular)
        return p->ts_ms[0] % unit == 0 &&
               (p->len == 1 || p->ts_ms[1] % unit == 0);
    for (size_t i = 0; i < p->len && all; i++)
        all = p->ts_ms[i] % unit == 0;
    return all;
}

static uint8_t
largest_unit(const struct points *p, bool irregular)
{
    if (all_divide(p, irregular, 1000))
        return 3;
    if (all_divide(p, irregular, 100))
        return 2;
    return all_divide(p, irregular, 10) ? 1 : 0;
}

static void
describe_kinds(struct work *w)
{
    const struct points *p = w->p;
    size_t floats = 0, same = 0;

    for (size_t i = 0; i < p->len; i++)
        floats += p->is_float[i] != 0;
    while (same < p->len && p->v[same].i == p->v[0].i)
        same++;
    if (floats > 0)
        w->h.flags |= floats == p->len ? KINDS_FLOAT : KINDS_MIXED;
    if (same == p->len && (floats == 0 || floats == p->len))
        w->h.flags |= FLAG_CONSTANT;
    w->h.summary.all_int = floats == 0;
}

/* One value as a decimal, if it is one. */
static bool
decimal_at(const struct points *p, size_t i, unsigned scale, int64_t *m)
{
    int64_t v = p->v[i].i;

    if (p->is_float[i])
        return block_decimal_of(p->v[i].d, scale, m);
    return v <= DECIMAL_MAX && v >= -DECIMAL_MAX &&
           block_decimal_of((double)v, scale, m);
}

/* Turns the values into decimals; exceptions repeat the one before, and are
 * marked.  False when there are too many. */
static bool
take_decimals(struct work *w, unsigned scale, size_t *exceptions)
{
    int64_t last = 0;

    *exceptions = 0;
    for (size_t i = 0; i < w->p->len; i++) {
        if (decimal_at(w->p, i, scale, &w->v[i])) {
            last = w->v[i];
            continue;
        }
        w->v[i] = last;
        if (++*exceptions > w->p->len / 8)
            return false;
    }
    return true;
}

/* The block summary of the column, '*s', from which the written one comes. */
static void
describe_whole(struct work *w, const int64_t *v, struct summary *s)
{
    struct block_header *h = &w->h;

    summarize_ints(v, w->p->len, s);
    h->v_first = s->first.i;
    h->v_last = s->last.i;
    h->v_min = s->min.i;
    h->v_max = s->max.i;
    h->v_sum = s->sum.i;
}

static void
describe_values(struct work *w)
{
    struct block_header *h = &w->h;
    struct summary whole;
    unsigned scale;
    size_t exceptions;

    if (block_kinds(h) == KINDS_INT) {
        memcpy(w->v, w->p->v, w->p->len * sizeof *w->v);
        describe_whole(w, (const int64_t *)w->p->v, &h->summary);
        return;
    }
    summarize_floats(w->p, &h->summary);
    h->scale = SCALE_NONE;
    if (block_decimal_scale(w->p, &scale) &&
        take_decimals(w, scale, &exceptions)) {
        h->scale = (uint8_t)scale;
        if (exceptions > 0)
            h->scale |= SCALE_EXCEPTIONS;
    }
    if (h->scale & SCALE_EXCEPTIONS)
        h->flags |= FLAG_PLAIN;
    else
        describe_whole(w, w->v, &whole);
}

/* -- encoding: the columns ------------------------------------------------ */

static inline void
to_units(const struct points *p, int64_t base_ms, int64_t unit, int64_t *out)
{
    for (size_t i = 0; i < p->len; i++)
        out[i] = (p->ts_ms[i] - base_ms) / unit;
}

static void
put_times(struct work *w, int64_t base_ms, struct buf *out)
{
    struct ints_known known = { .first = (int64_t)w->h.first,
                                .min = (int64_t)w->h.first };
    int64_t *units = malloc(w->p->len * sizeof *units);

    if (units == NULL) {
        out->failed = true;
        return;
    }
    if (block_unit_ms(&w->h) == 1000)
        to_units(w->p, base_ms, 1000, units);
    else if (block_unit_ms(&w->h) == 1)
        to_units(w->p, base_ms, 1, units);
    else
        to_units(w->p, base_ms, block_unit_ms(&w->h), units);
    block_ints_encode(units, w->p->len, known, w->scratch, out);
    free(units);
}

/* Integers and doubles each in a column of their own; either may be none. */
static void
put_split(struct work *w, struct buf *out)
{
    const struct points *p = w->p;
    size_t ints = 0, floats = 0;

    for (size_t i = 0; i < p->len; i++)
        if (!p->is_float[i])
            w->v[ints++] = p->v[i].i;
    if (ints > 0)
        block_column_encode(w->v, ints, w->scratch, out);
    for (size_t i = 0; i < p->len; i++)
        if (p->is_float[i])
            w->scratch[floats++] = (uint64_t)p->v[i].i;
    block_floats_encode(w->scratch, floats, out);
}

static void
put_values(struct work *w, struct buf *out)
{
    const struct block_header *h = &w->h;

    if (block_kinds(h) == KINDS_MIXED) {
        const struct points *p = w->p;
        uint8_t last = 0;

        for (size_t i = 0; i < p->len; i++) {
            uint8_t kind = p->is_float[i] != 0;

            w->scratch[i] = kind ^ last;
            last = kind;
        }
        block_numbers_encode(w->scratch, p->len,
                             block_numbers_plan(w->scratch, p->len), out);
    }
    if (!block_is_whole(h)) {
        put_split(w, out);
    } else if (h->flags & FLAG_PLAIN) {
        const struct points *p = w->p;
        unsigned scale = w->h.scale & SCALE_DIGITS;
        size_t count = 0, next = 0;
        int64_t m;

        for (size_t i = 0; i < p->len; i++)
            count += !decimal_at(p, i, scale, &m);
        buf_put_varint(out, count);
        for (size_t i = 0; i < p->len; i++) {
            if (decimal_at(p, i, scale, &m))
                continue;
            buf_put_varint(out, i - next);
            buf_put_u64(out, (uint64_t)p->v[i].i);
            next = i + 1;
        }
        block_column_encode(w->v, w->p->len, w->scratch, out);
    } else {
        struct ints_known known = { .first = h->v_first, .min = h->v_min };

        block_ints_encode(w->v, w->p->len, known, w->scratch, out);
    }
}

static void
encode_points(const struct points *p, uint32_t base, uint8_t version,
              uint8_t hours, struct buf *out)
{
    struct work w = {
        .p = p,
        .h = { .version = version, .hours = hours, .count = (uint32_t)p->len },
    };
    size_t start = out->size;
    int64_t base_ms, unit, step;
    bool irregular = false;

    w.v = malloc(p->len * sizeof *w.v);
    w.scratch = malloc(p->len * sizeof *w.scratch);
    if (w.v == NULL || w.scratch == NULL) {
        out->failed = true;
        goto out;
    }
    base_ms = (int64_t)base * 1000;
    step = p->len < 2 ? 0 : p->ts_ms[1] - p->ts_ms[0];
    for (size_t i = 1; i < p->len; i++)
        irregular |= p->ts_ms[i] - p->ts_ms[i - 1] != step;
    w.h.flags = largest_unit(p, irregular);
    unit = block_unit_ms(&w.h);
    w.h.first = (uint64_t)((p->ts_ms[0] - base_ms) / unit);
    w.h.span = (uint64_t)((p->ts_ms[p->len - 1] - p->ts_ms[0]) / unit);
    if (irregular)
        w.h.flags |= FLAG_IRREGULAR;
    w.h.summary.first_ms = p->ts_ms[0];
    w.h.summary.last_ms = p->ts_ms[p->len - 1];
    describe_kinds(&w);
    describe_values(&w);
    block_header_put(&w.h, out);
    if (w.h.flags & FLAG_IRREGULAR)
        put_times(&w, (int64_t)base * 1000, out);
    if (!(w.h.flags & FLAG_CONSTANT))
        put_values(&w, out);
    if (!out->failed)
        buf_put_u32(
            out,
            block_crc(slice_of(out->data + start, out->size - start), base));
out:
    free(w.v);
    free(w.scratch);
}

void
block_encode(const struct points *p, uint32_t base, struct buf *out)
{
    check_input(p, base, 1);
    encode_points(p, base, BLOCK_VERSION, 1, out);
}

void
block_encode_row(const struct points *p, uint32_t base, unsigned hours,
                 struct buf *out)
{
    check_input(p, base, hours);
    encode_points(p, base, BLOCK_OF_ROW, (uint8_t)hours, out);
}
