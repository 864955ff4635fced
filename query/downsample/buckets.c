#include "query/downsample/buckets.h"

#define STARTS_MOST 65536

/* The length of all buckets between these times; 0 if lengths can differ. */
static int64_t
length_between(const struct downsample *s, int64_t first_ms, int64_t last_ms)
{
    if (s->all)
        return 0;
    if (!s->calendar)
        return s->interval_ms;
    return calendar_length(s->zone, first_ms, last_ms, s->count, s->unit);
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
bucket_next(const struct buckets *b, int64_t start)
{
    const struct downsample *s = b->spec;

    if (b->length != 0)
        return start + b->length;
    return calendar_next(s->zone, start, s->count, s->unit);
}

/* Looks up the bucket that contains 'ms' in the list; false: it is not listed.
 * The search starts where the bucket would be if all had the nominal length. */
static bool
find_listed(const struct buckets *b, int64_t ms, struct bucket *out)
{
    size_t i, last = b->starts_len - 1;

    if (b->starts_len < 2 || ms < b->starts[0] || ms >= b->starts[last])
        return false;
    i = (size_t)((ms - b->starts[0]) / b->spec->interval_ms);
    i = i < last ? i : last - 1;
    while (b->starts[i] > ms)
        i--;
    while (b->starts[i + 1] <= ms)
        i++;
    *out = (struct bucket){ b->starts[i], b->starts[i + 1] };
    return true;
}

void
bucket_move(const struct buckets *b, struct bucket *at, int64_t ms)
{
    if (ms < at->next)
        return;
    if (b->spec->all) {
        *at = (struct bucket){ b->start, b->to };
        return;
    }
    if (b->length != 0 && at->next != 0) {
        at->start = at->next;
        if (ms - at->start >= b->length)
            at->start += (ms - at->start) / b->length * b->length;
        at->next = at->start + b->length;
        return;
    }
    if (find_listed(b, ms, at))
        return;
    at->start = bucket_floor(b, ms);
    at->next = bucket_next(b, at->start);
}

int64_t
buckets_complete(const struct buckets *b, struct bucket at, int64_t ms)
{
    bucket_move(b, &at, ms);
    return at.next <= ms ? ms : at.start;
}

struct buckets
buckets_between(const struct downsample *spec, int64_t first_ms,
                int64_t last_ms)
{
    return (struct buckets){ .spec = spec,
                             .length = length_between(spec, first_ms, last_ms),
                             .to = INT64_MAX,
                             .most = SIZE_MAX };
}

/* With explicit tags an hour more is read than the window has. */
struct buckets
buckets_make(const struct downsample *spec, const struct window *w)
{
    struct buckets b =
        buckets_between(spec, w->scan_start_ms, w->scan_end_ms + HOUR_MS);

    if (spec->all) {
        b.start = w->start_ms;
        b.from = b.start > w->scan_start_ms ? b.start : w->scan_start_ms;
        b.to = w->end_ms;
        b.most = 1;
        return b;
    }
    b.from = bucket_floor(&b, w->scan_start_ms);
    if (b.from < w->scan_start_ms)
        b.from = bucket_next(&b, b.from);
    b.to = w->buckets_end_ms;
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
        starts[i] = bucket_next(b, starts[i - 1]);
    b->starts = starts;
    b->starts_len = b->most;
}
