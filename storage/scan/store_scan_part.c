/* A row whose hours are one block, of which a scan wants some. */
#include "storage/scan/store_scan_priv.h"

/* The points from 'skip' to 'end' - 1; false: there are none. */
static bool
set_part(struct store_scan *scan, uint32_t of, size_t skip, size_t end)
{
    if (skip >= end)
        return false;
    scan->part = (struct block_part){ .count = (uint32_t)(end - skip),
                                      .skip = (uint32_t)skip,
                                      .of = of };
    return true;
}

static bool
take_even(struct store_scan *scan, const struct spacing *s, uint32_t count,
          int64_t from_ms, int64_t to_ms)
{
    size_t skip = even_seek(s->first_ms, s->step_ms, count, from_ms);
    size_t end = even_seek(s->first_ms, s->step_ms, count, to_ms + 1);

    if (!set_part(scan, count, skip, end))
        return false;
    scan->part.first_ms = s->first_ms + (int64_t)skip * s->step_ms;
    scan->part.last_ms = s->first_ms + (int64_t)(end - 1) * s->step_ms;
    return true;
}

static bool
take_uneven(struct store_scan *scan, int64_t from_ms, int64_t to_ms)
{
    struct points *p = &scan->scratch;
    size_t skip, end;

    points_clear(p);
    if (block_decode(scan->block, scan->span, p, &scan->error) != ST_OK)
        return false;
    skip = times_seek(p->ts_ms, p->len, from_ms);
    end = times_seek(p->ts_ms, p->len, to_ms + 1);
    if (!set_part(scan, (uint32_t)p->len, skip, end))
        return false;
    scan->part.first_ms = p->ts_ms[skip];
    scan->part.last_ms = p->ts_ms[end - 1];
    return true;
}

static bool
take_part(struct store_scan *scan)
{
    int64_t from_ms = (int64_t)scan->from_base * 1000;
    int64_t to_ms = ((int64_t)scan->to_base + HOUR_S) * 1000 - 1;
    struct spacing spacing;
    struct summary s;

    if (block_spacing(scan->block, scan->span, &spacing, &s, &scan->error) !=
            ST_OK ||
        s.first_ms > to_ms || s.last_ms < from_ms)
        return false;
    if (s.first_ms >= from_ms && s.last_ms <= to_ms)
        return true;
    return spacing.even ? take_even(scan, &spacing, s.count, from_ms, to_ms)
                        : take_uneven(scan, from_ms, to_ms);
}

bool
store_scan_has_part(struct store_scan *scan)
{
    bool has;

    scan->part = (struct block_part){ .count = 0 };
    if (scan->from_base <= scan->span &&
        scan->to_base - scan->span >= scan->hours.block_s - HOUR_S)
        return true;
    has = take_part(scan);
    if (scan->error.status != ST_OK)
        (void)key_row_error(scan->tsuid, scan->span, scan->error.status,
                            &scan->error);
    return has;
}
