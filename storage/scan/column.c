#include "storage/scan/column.h"

#include <string.h>

#include "base/obj.h"
#include "storage/head/open_row.h"

size_t
column_seek(const struct column *c, int64_t ms)
{
    return c->ts_ms != NULL ? times_seek(c->ts_ms, c->len, ms)
                            : even_seek(c->first_ms, c->step_ms, c->len, ms);
}

struct value_range
column_window_range(const struct column_window *w, int64_t first_ms,
                    int64_t step_ms, size_t len)
{
    struct value_range r = { even_seek(first_ms, step_ms, len, w->from_ms),
                             even_seek(first_ms, step_ms, len, w->to_ms + 1) };

    for (size_t i = 0; i < w->around; i++) {
        int64_t before = first_ms + ((int64_t)r.from - 1) * step_ms;
        int64_t behind = first_ms + (int64_t)r.end * step_ms;

        if (r.from > 0)
            r.from = even_seek(first_ms, step_ms, len,
                               before - before % w->bucket_ms);
        if (r.end < len)
            r.end = even_seek(first_ms, step_ms, len,
                              behind - behind % w->bucket_ms + w->bucket_ms);
    }
    return r;
}

/* -- hours ----------------------------------------------------------------- */

/* What is known of an hour without unpacking it. */
struct hour_traits {
    struct spacing spacing;
    struct point_times times;
    uint32_t count, unpacked; /* see struct packed_hour */
    uint32_t read;            /* points, with those that the scan left out */
};

static enum status
describe_block(struct hour_traits *h, struct slice block, uint32_t base,
               const struct block_part *part, struct error *e)
{
    struct summary s;
    enum status status = block_spacing(block, base, &h->spacing, &s, e);

    if (status != ST_OK)
        return status;
    h->unpacked += s.count;
    if (part != NULL && part->count > 0) {
        s.count = part->count;
        s.first_ms = h->spacing.first_ms = part->first_ms;
        s.last_ms = part->last_ms;
        if (part->count == 1)
            h->spacing.step_ms = 0;
    }
    h->count += s.count;
    h->read += s.count;
    point_times_widen(&h->times, s.first_ms, s.last_ms);
    return ST_OK;
}

static enum status
describe(const struct store_row *row, struct hour_traits *h, struct error *e)
{
    enum status status = ST_OK;

    *h = (struct hour_traits){ .times = POINT_TIMES_NONE };
    if (row->block.size > 0)
        status = describe_block(h, row->block, row->base, &row->part, e);
    for (size_t i = 0; i < row->open_len && status == ST_OK; i++) {
        const struct open_copy *c = &row->open[i];
        const struct spacing *s = &c->spacing;

        if (c->is_block) {
            status = describe_block(h, c->bytes, c->base, NULL, e);
            continue;
        }
        h->count += c->count;
        h->unpacked += c->count;
        h->read += c->row_count;
        h->spacing = *s;
        if (s->even)
            point_times_widen(&h->times, s->first_ms,
                              s->first_ms +
                                  (int64_t)(c->count - 1) * s->step_ms);
        else
            open_row_describe(c->bytes, c->base, &h->spacing, &h->times);
    }
    if ((row->block.size > 0) + row->open_len > 1)
        h->spacing.even = false;
    return status;
}

static void
column_append(struct column *c, struct packed_hour *hour,
              const struct hour_traits *h)
{
    if (c->hours == NULL) {
        c->hours = hour;
        c->all_int = !h->spacing.is_float;
        c->uneven = !h->spacing.even;
        c->first_ms = h->times.oldest_ms;
        c->step_ms = h->spacing.step_ms;
    } else {
        int64_t gap = h->times.oldest_ms - c->last_ms;

        c->newest->next = hour;
        /* Unless it has the column's next points, at its step. */
        if (!h->spacing.even || h->spacing.is_float == c->all_int || gap <= 0 ||
            (c->len > 1 && c->step_ms != gap) ||
            (h->count > 1 && h->spacing.step_ms != gap))
            c->uneven = true;
        c->step_ms = gap;
    }
    c->newest = hour;
    c->len += h->count;
    c->last_ms = h->times.newest_ms;
}

enum status
column_add_row(struct column *c, const struct store_row *row, struct arena *a,
               uint32_t *read, struct error *e)
{
    struct packed_hour *hour = arena_alloc(a, sizeof *hour);
    const struct block_part *part = NULL;
    const uint8_t *block = NULL;
    struct hour_traits h;
    enum status status;

    if (row->block.size > 0)
        block = arena_copy(a, row->block.data, row->block.size);
    if (row->part.count > 0)
        part = arena_copy(a, &row->part, sizeof *part);
    if (hour == NULL || (row->block.size > 0 && block == NULL) ||
        (row->part.count > 0 && part == NULL))
        return error_no_memory(e);
    status = describe(row, &h, e);
    if (status != ST_OK)
        return key_row_error(row->tsuid, row->base, status, e);
    *hour = (struct packed_hour){
        .open = row->open,
        .tsuid = row->tsuid.data,
        .block = block,
        .part = part,
        .block_size = (uint32_t)row->block.size,
        .open_len = (uint32_t)row->open_len,
        .base = row->base,
        .count = h.count,
        .unpacked = h.unpacked,
        .tsuid_size = (uint16_t)row->tsuid.size,
        .is_float = h.spacing.is_float,
    };
    *read = h.read;
    column_append(c, hour, &h);
    return ST_OK;
}

struct column
column_part(const struct column *c, size_t from, size_t len)
{
    struct column part = *c;

    INSIST(len > 0 && from + len <= c->len);
    part.first_ms = column_time(c, from);
    part.last_ms = column_time(c, from + len - 1);
    part.len = len;
    from += c->skip;
    while (from >= part.hours->count) {
        from -= part.hours->count;
        part.hours = part.hours->next;
    }
    part.skip = (uint32_t)from;
    return part;
}

void
column_crop(struct column *c, const struct column_window *w)
{
    struct value_range wanted;

    if (c->uneven || c->len == 0)
        return;
    wanted = column_window_range(w, c->first_ms, c->step_ms, c->len);
    *c = column_part(c, wanted.from, wanted.end - wanted.from);
    c->newest = c->hours;
    for (size_t n = c->hours->count; n < c->skip + c->len;
         n += c->newest->count)
        c->newest = c->newest->next;
    c->newest->next = NULL;
}

/* -- points ---------------------------------------------------------------- */

/* The values of as many hours as have them, or the points of all. */
static enum status
unpack_hours(const struct column *c, struct points *out, struct error *e)
{
    enum status status = ST_OK;

    points_clear(out);
    for (const struct packed_hour *h = c->hours; h != NULL && status == ST_OK;
         h = h->next) {
        struct value_range wanted = { out->len < c->skip ? c->skip - out->len
                                                         : 0,
                                      c->skip + c->len - out->len };
        struct store_row row = {
            .tsuid = slice_of(h->tsuid, h->tsuid_size),
            .base = h->base,
            .block = slice_of(h->block, h->block_size),
            .open = h->open,
            .open_len = h->open_len,
        };
        struct spacing spacing;

        if (!c->uneven && out->len >= c->skip + c->len)
            break;
        if (h->part != NULL)
            row.part = *h->part;
        status = c->uneven ? store_row_points(&row, out, e)
                           : store_row_spaced(&row, wanted, out, &spacing, e);
        if (status != ST_OK)
            status = key_row_error(row.tsuid, row.base, status, e);
    }
    return status;
}

enum status
column_values(const struct column *c, struct points *scratch, union number **v,
              struct error *e)
{
    enum status status = unpack_hours(c, scratch, e);

    if (status != ST_OK)
        return status;
    INSIST(scratch->len >= c->skip + c->len);
    *v = scratch->v + c->skip;
    return ST_OK;
}

enum status
column_unpack(const struct column *c, struct points *scratch,
              struct column *out, struct error *e)
{
    size_t at = c->uneven ? 0 : c->skip;
    enum status status;

    *out = *c;
    if (!column_is_packed(c))
        return ST_OK;
    status = unpack_hours(c, scratch, e);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < c->len && !c->uneven; i++)
        scratch->ts_ms[at + i] = column_time(c, i);
    if (!c->uneven)
        memset(scratch->is_float + at, !c->all_int, c->len);
    *out = (struct column){ .ts_ms = scratch->ts_ms + at,
                            .v = scratch->v + at,
                            .is_float = scratch->is_float + at,
                            .len = c->uneven ? scratch->len : c->len };
    return ST_OK;
}
