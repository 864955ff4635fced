/* A row whose hours are one block, of which a scan wants some. */
#include "storage/store/store_scan_priv.h"

/* Of a block at equal distances that begins and ends so, its points between two
 * times. */
static struct block_part
part_of_even(const struct spacing *s, const struct summary *of, int64_t from_ms,
             int64_t to_ms)
{
    int64_t skip = 0, last = of->count - 1;

    if (from_ms > of->first_ms)
        skip = (from_ms - of->first_ms - 1) / s->step_ms + 1;
    if (to_ms < of->last_ms)
        last = (to_ms - of->first_ms) / s->step_ms;
    if (skip > last)
        return (struct block_part){ .count = 0 };
    return (struct block_part){
        .count = (uint32_t)(last - skip + 1),
        .of = of->count,
        .first_ms = of->first_ms + skip * s->step_ms,
        .last_ms = of->first_ms + last * s->step_ms,
    };
}

static enum status
part_of_uneven(struct store_scan *scan, int64_t from_ms, int64_t to_ms,
               struct block_part *out)
{
    struct points *p = &scan->scratch;
    size_t from = 0, to;
    enum status status;

    points_clear(p);
    status = block_decode(scan->block, scan->block_base, p, &scan->error);
    while (from < p->len && p->ts_ms[from] < from_ms)
        from++;
    for (to = from; to < p->len && p->ts_ms[to] <= to_ms;)
        to++;
    *out = (struct block_part){ .count = (uint32_t)(to - from),
                                .of = (uint32_t)p->len };
    if (to > from) {
        out->first_ms = p->ts_ms[from];
        out->last_ms = p->ts_ms[to - 1];
    }
    return status;
}

bool
store_scan_has_part(struct store_scan *scan)
{
    int64_t from_ms = (int64_t)scan->from_base * 1000;
    int64_t to_ms = ((int64_t)scan->to_base + HOUR_S) * 1000 - 1;
    struct spacing spacing;
    struct summary s;
    enum status status;

    scan->part = (struct block_part){ .count = 0 };
    if (scan->from_base <= scan->span &&
        scan->to_base - scan->span >= scan->hours.block_s - HOUR_S)
        return true;
    status = block_spacing(scan->block, scan->block_base, &spacing, &s,
                           &scan->error);
    if (status != ST_OK)
        (void)store_row_error(scan->tsuid, scan->span, status, &scan->error);
    if (status != ST_OK || s.first_ms > to_ms || s.last_ms < from_ms)
        return false;
    if (s.first_ms >= from_ms && s.last_ms <= to_ms)
        return true;
    if (spacing.even)
        scan->part = part_of_even(&spacing, &s, from_ms, to_ms);
    else
        status = part_of_uneven(scan, from_ms, to_ms, &scan->part);
    if (status != ST_OK)
        (void)store_row_error(scan->tsuid, scan->span, status, &scan->error);
    return status == ST_OK && scan->part.count > 0;
}
