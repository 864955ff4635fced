/* Decodes blocks.  Columns are decoded where the points are to be, and become
 * points in place. */
#include "storage/block/block.h"

#include <stdlib.h>

#include "storage/block/block_priv.h"

static void
get_times(struct cursor *c, const struct block_header *h, int64_t *out)
{
    struct ints_known known = { (int64_t)h->first, (int64_t)h->first, 0 };
    int64_t first_ms = h->summary.first_ms, last_ms = h->summary.last_ms;
    int64_t base_ms = first_ms - known.first * block_unit_ms(h),
            unit = block_unit_ms(h);
    bool ascending = true;

    if (!(h->flags & FLAG_IRREGULAR)) {
        int64_t step =
            h->count == 1 ? 0 : (last_ms - first_ms) / (h->count - 1);

        for (uint32_t i = 0; i < h->count; i++)
            out[i] = first_ms + i * step;
        return;
    }
    block_ints_decode(c, out, h->count, known);
    if (c->failed)
        return;
    for (uint32_t i = 1; i < h->count; i++)
        ascending &= out[i - 1] < out[i];
    if (!ascending || out[0] != known.first ||
        out[h->count - 1] != known.first + (int64_t)h->span) {
        c->failed = true;
        return;
    }
    for (uint32_t i = 0; i < h->count; i++)
        out[i] = base_ms + out[i] * unit;
}

/* 'scratch' has room for as many numbers. */
static void
get_kinds(struct cursor *c, const struct block_header *h, uint64_t *scratch,
          uint8_t *out)
{
    uint64_t kind = 0, seen = 0;

    if (block_kinds(h) != KINDS_MIXED) {
        memset(out, block_kinds(h) == KINDS_FLOAT, h->count);
        return;
    }
    block_numbers_decode(c, scratch, h->count);
    for (uint32_t i = 0; i < h->count && !c->failed; i++) {
        kind ^= scratch[i];
        seen |= kind;
        out[i] = kind != 0;
    }
    if (seen > 1)
        c->failed = true;
}

/* Both columns are decoded behind each other, then put where they belong. */
static void
get_split(struct cursor *c, const struct block_header *h,
          const uint8_t *is_float, union number *out)
{
    size_t ints = 0, at[2];
    uint64_t *v = malloc(h->count * sizeof *v);

    if (v == NULL) {
        c->failed = c->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < h->count; i++)
        ints += !is_float[i];
    if (ints > 0)
        block_column_decode(c, (int64_t *)v, ints);
    if (!c->failed)
        block_floats_decode(c, v + ints, h->count - ints);
    at[0] = 0;
    at[1] = ints;
    for (uint32_t i = 0; i < h->count && !c->failed; i++)
        out[i].i = (int64_t)v[at[is_float[i]]++];
    free(v);
}

/* Reads over the exceptions when 'out' is NULL. */
static void
get_exceptions(struct cursor *c, uint32_t count, union number *out)
{
    uint64_t left = cursor_varint(c), at = 0;

    if (left == 0 || left > count)
        c->failed = true;
    for (; left > 0 && !c->failed; left--) {
        uint64_t gap = cursor_varint(c);
        uint64_t bits = cursor_u64(c);

        if (gap >= count - at) {
            c->failed = true;
            return;
        }
        at += gap;
        if (out != NULL)
            out[at].i = (int64_t)bits;
        at++;
    }
}

/* Makes numbers of decimals, and again integers of those that were. */
static void
divide(struct cursor *c, const struct block_header *h, struct value_range r,
       const uint8_t *is_float, union number *v)
{
    if (!block_decimal_values(v + r.from, r.end - r.from,
                              h->scale & SCALE_DIGITS)) {
        c->failed = true;
        return;
    }
    if (block_kinds(h) == KINDS_FLOAT)
        return;
    for (uint32_t i = 0; i < h->count; i++)
        if (!is_float[i])
            v[i].i = (int64_t)v[i].d;
}

static void
get_whole(struct cursor *c, const struct block_header *h, struct value_range r,
          const uint8_t *is_float, union number *out)
{
    struct cursor exceptions = *c;

    if (h->flags & FLAG_PLAIN) {
        get_exceptions(c, h->count, NULL);
        block_column_decode(c, (int64_t *)out, h->count);
    } else {
        struct ints_known known = { h->v_first, h->v_min, r.from };

        block_ints_decode(c, (int64_t *)out, h->count, known);
    }
    if (c->failed || block_kinds(h) == KINDS_INT)
        return;
    divide(c, h, r, is_float, out);
    if (!c->failed && (h->flags & FLAG_PLAIN))
        get_exceptions(&exceptions, h->count, out);
}

static void
get_values(struct cursor *c, const struct block_header *h, struct value_range r,
           const uint8_t *is_float, union number *out)
{
    if (h->flags & FLAG_CONSTANT) {
        for (uint32_t i = 0; i < h->count; i++)
            out[i] = h->summary.first;
    } else if (block_is_whole(h)) {
        get_whole(c, h, r, is_float, out);
    } else {
        get_split(c, h, is_float, out);
    }
}

static struct spacing
spacing_of(const struct block_header *h)
{
    const struct summary *syn = &h->summary;
    struct spacing s = { .even = (h->flags & FLAG_IRREGULAR) == 0 &&
                                 block_kinds(h) != KINDS_MIXED };

    if (!s.even)
        return s;
    s.is_float = block_kinds(h) == KINDS_FLOAT;
    s.first_ms = syn->first_ms;
    if (h->count > 1) /* a short division: see times_are_valid() */
        s.step_ms = (uint32_t)h->span / (h->count - 1) * block_unit_ms(h);
    if (syn->all_int) {
        uint64_t low = magnitude(syn->min.i), high = magnitude(syn->max.i);

        s.greatest = low > high ? low : high;
    }
    return s;
}

enum status
block_spacing(struct slice block, uint32_t base, struct spacing *s,
              struct summary *out, struct error *e)
{
    struct block_header h;
    struct cursor c;
    enum status st = block_header_get(block, base, &c, &h, e);

    if (st != ST_OK)
        return st;
    if (s != NULL)
        *s = spacing_of(&h);
    *out = h.summary;
    return ST_OK;
}

enum status
block_summary(struct slice block, uint32_t base, struct summary *out,
              struct error *e)
{
    return block_spacing(block, base, NULL, out, e);
}

static enum status
no_memory(const struct block_header *h, struct error *e)
{
    return error_set(e, ST_LIMIT, "block: no memory for %u points", h->count);
}

enum status
block_decode_spaced(struct slice block, uint32_t base,
                    struct value_range wanted, struct points *out,
                    struct spacing *s, struct error *e)
{
    struct block_header h;
    struct cursor c;
    bool even = false;
    enum status st = block_header_get(block, base, &c, &h, e);

    if (st != ST_OK)
        return st;
    if (!points_reserve(out, h.count))
        return no_memory(&h, e);
    if (s != NULL) {
        *s = spacing_of(&h);
        even = s->even;
    }
    if (!even || wanted.end > h.count)
        wanted.end = h.count;
    if (!even || wanted.from > wanted.end)
        wanted.from = 0;
    if (!even)
        get_times(&c, &h, out->ts_ms + out->len);
    /* Doubles that are no decimals are unpacked by their kinds. */
    if (!c.failed && (!even || !block_is_whole(&h)))
        get_kinds(&c, &h, (uint64_t *)(out->v + out->len),
                  out->is_float + out->len);
    if (!c.failed)
        get_values(&c, &h, wanted, out->is_float + out->len, out->v + out->len);
    if (c.no_memory)
        return no_memory(&h, e);
    if (c.failed || cursor_left(&c) != 0)
        return error_set(e, ST_CORRUPT,
                         "block: invalid columns (%u points, %zu bytes left)",
                         h.count, cursor_left(&c));
    out->len += h.count;
    return ST_OK;
}

enum status
block_decode(struct slice block, uint32_t base, struct points *out,
             struct error *e)
{
    return block_decode_spaced(block, base, ALL_VALUES, out, NULL, e);
}
