/* The points of a row that a scan lent: its block, and what is over it. */
#include "storage/head/open_row.h"
#include "storage/scan/store_row.h"

static enum status
unpack_copy(const struct open_copy *c, struct points *out, struct error *e)
{
    struct spacing spacing = c->spacing;
    size_t from = out->len;

    if (c->is_block)
        return block_decode(c->bytes, c->base, out, e);
    if (c->is_end
            ? !open_row_unpack_end(c->bytes, c->count, c->last, out, &spacing)
            : !open_row_unpack(c->bytes, c->count, c->base, out))
        return error_no_memory(e);
    if (!c->is_end)
        return ST_OK;
    for (size_t i = from; i < out->len; i++) {
        out->ts_ms[i] =
            c->spacing.first_ms + (int64_t)(i - from) * c->spacing.step_ms;
        out->is_float[i] = c->spacing.is_float;
    }
    return ST_OK;
}

static void
keep(void *items, size_t size, size_t from, const struct block_part *part)
{
    uint8_t *to = (uint8_t *)items + from * size;

    memmove(to, to + part->skip * size, part->count * size);
}

/* Of a part of the block only the points that are wanted stay; where they are
 * even 's' has their times. */
static enum status
unpack_block(const struct store_row *row, struct value_range wanted,
             struct points *out, struct spacing *s, struct error *e)
{
    const struct block_part *part = &row->part;
    size_t from = out->len;
    enum status status;

    if (part->count > 0) {
        if (wanted.end > part->count)
            wanted.end = part->count;
        wanted.from += part->skip;
        wanted.end += part->skip;
    }
    status = block_decode_spaced(row->block, row->base, wanted, out, s, e);
    if (status != ST_OK || part->count == 0)
        return status;
    keep(out->v, sizeof *out->v, from, part);
    if (s != NULL && s->even) {
        s->first_ms = part->first_ms;
        s->step_ms = part->count == 1 ? 0 : s->step_ms;
    } else {
        keep(out->ts_ms, sizeof *out->ts_ms, from, part);
        keep(out->is_float, sizeof *out->is_float, from, part);
    }
    out->len = from + part->count;
    return ST_OK;
}

enum status
store_row_points(const struct store_row *row, struct points *out,
                 struct error *e)
{
    struct points stored = { .budget = out->budget };
    struct points all = { .budget = out->budget }, open;
    size_t from = out->len;
    enum status status = ST_OK;
    bool good = true;

    if (row->open_len == 0)
        return unpack_block(row, ALL_VALUES, out, NULL, e);
    for (size_t i = 0; i < row->open_len && status == ST_OK; i++)
        status = unpack_copy(&row->open[i], out, e);
    if (status != ST_OK)
        return status;
    open = (struct points){ .ts_ms = out->ts_ms + from,
                            .v = out->v + from,
                            .is_float = out->is_float + from,
                            .len = out->len - from };
    good = points_sort_unique(&open);
    out->len = from + (good ? open.len : 0);
    if (good && row->block.size > 0) {
        status = unpack_block(row, ALL_VALUES, &stored, NULL, e);
        good = status != ST_OK || points_merge(&stored, &open, &all);
        out->len = from;
        good = good && points_append(out, &all);
        points_fini(&stored);
        points_fini(&all);
    }
    return good ? status : error_no_memory(e);
}

enum status
store_row_spaced(const struct store_row *row, struct value_range wanted,
                 struct points *out, struct spacing *s, struct error *e)
{
    const struct open_copy *c = row->open;

    if (row->open_len == 0)
        return unpack_block(row, wanted, out, s, e);
    if (row->block.size == 0 && row->open_len == 1 && !c->is_block) {
        *s = c->spacing;
        if (c->is_end
                ? open_row_unpack_end(c->bytes, c->count, c->last, out, s)
                : open_row_unpack_even(c->bytes, c->count, c->base, out, s))
            return ST_OK;
    }
    *s = (struct spacing){ .even = false };
    return store_row_points(row, out, e);
}

enum status
store_row_summary(const struct store_row *row, struct summary *out, bool *known,
                  struct error *e)
{
    *known = row->part.count == 0;
    if (row->open_len == 0 && *known)
        return block_summary(row->block, row->base, out, e);
    *known = row->block.size == 0 && row->open_len == 1 &&
             row->open->summary != NULL;
    if (*known)
        *out = *row->open->summary;
    return ST_OK;
}
