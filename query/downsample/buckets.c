#include "query/downsample/buckets.h"

#include "query/downsample/ranges.h"

#define STARTS_MOST 65536

/* What 'count' of a unit last, or 0 when the calendar must be asked. */
static int64_t
fixed_length(const struct downsample *s)
{
    static const int64_t unit_ms[] = {
        [UNIT_MS] = 1,      [UNIT_S] = 1000, [UNIT_M] = 60000,
        [UNIT_H] = 3600000, [UNIT_Y] = 0,
    };

    if (s->all)
        return 0;
    if (!s->calendar)
        return s->interval_ms;
    return unit_ms[s->unit] * s->count;
}

int64_t
bucket_floor(const struct buckets *b, int64_t ms)
{
    const struct downsample *s = b->spec;

    if (s->calendar)
        return calendar_floor(s->zone, ms, s->count, s->unit);
    return ms - ms % b->length;
}

int64_t
bucket_step(const struct buckets *b, int64_t start, int by)
{
    const struct downsample *s = b->spec;

    if (b->length != 0)
        return start + by * b->length;
    return calendar_next(s->zone, start, by * s->count, s->unit);
}

/* There are zones in which a day does not pass. */
static int64_t
next_start(const struct buckets *b, int64_t start)
{
    int64_t next = bucket_step(b, start, 1);

    return next > start ? next : start + 1;
}

void
bucket_move(const struct buckets *b, struct bucket *at, int64_t ms)
{
    size_t i;

    if (ms < at->next)
        return;
    if (b->spec->all) {
        *at = (struct bucket){ b->start, b->to };
        return;
    }
    if (at->next == 0) {
        at->start = bucket_floor(b, ms);
        at->next = bucket_step(b, at->start, 1);
    } else if (b->length != 0) {
        at->start = at->next;
        if (ms - at->start >= b->length)
            at->start += (ms - at->start) / b->length * b->length;
        at->next = at->start + b->length;
    }
    if (ms < at->next)
        return;
    i = times_seek(b->starts, b->starts_len, at->next);
    while (ms >= at->next) {
        at->start = at->next;
        if (i + 1 < b->starts_len && b->starts[i] == at->start)
            at->next = b->starts[++i];
        else
            at->next = next_start(b, at->start);
    }
}

struct buckets
buckets_make(const struct downsample *spec, const struct window *w)
{
    struct buckets b = { .spec = spec,
                         .length = fixed_length(spec),
                         .to = INT64_MAX,
                         .most = SIZE_MAX };

    if (w == NULL)
        return b;
    if (spec->all) {
        b.start = w->start_ms;
        b.from = b.start > w->scan_start_ms ? b.start : w->scan_start_ms;
        b.to = w->end_ms;
        b.most = 1;
        return b;
    }
    b.from = bucket_floor(&b, w->scan_start_ms);
    if (b.from < w->scan_start_ms)
        b.from = bucket_step(&b, b.from, 1);
    b.most =
        (size_t)((w->scan_end_ms - w->scan_start_ms) / spec->interval_ms) + 2;
    return b;
}

void
buckets_list(struct buckets *b, struct arena *a)
{
    int64_t *starts;

    if (b->spec->all || b->most > STARTS_MOST)
        return;
    starts = arena_array(a, b->most, sizeof *starts);
    if (starts == NULL)
        return;
    starts[0] = b->from;
    for (size_t i = 1; i < b->most; i++)
        starts[i] = next_start(b, starts[i - 1]);
    b->starts = starts;
    b->starts_len = b->most;
}
