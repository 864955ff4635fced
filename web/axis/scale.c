#include "web/axis/scale.h"

#include <math.h>

#define FAR 1e300 /* sums and products of values nearer to 0 stay finite */

static double
clamp(double v, double lo, double hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* 1, 2, 2.5, 5 or 10 times a power of ten, not less than 'raw'. */
static double
round_step(double raw)
{
    static const double steps[] = { 1, 2, 2.5, 5 };
    double unit = pow(10, floor(log10(raw) + 1e-9));

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (steps[i] * unit >= raw * 0.999)
            return steps[i] * unit;
    return 10 * unit;
}

static void
add_log_tick(struct scale *s, double v)
{
    if (v >= s->lo * 0.999 && v <= s->hi * 1.001 &&
        s->ticks_len < SCALE_TICKS_MAX)
        s->ticks[s->ticks_len++] = v;
}

/* The ends that are not given are made to fit the values and each other. */
static void
choose_ends(struct scale *s, double lo, double hi, const struct scale_range *r)
{
    bool has_min = r->has_min && !(r->log && r->min <= 0);
    bool has_max = r->has_max && !(r->log && r->max <= 0);
    double room;

    if (lo > hi) {
        lo = r->log ? 1 : 0;
        hi = 10;
    } else if (!r->log && lo > 0 && lo < 0.5 * hi && !has_min) {
        lo = 0; /* worth showing when it is near */
    } else if (!r->log && hi < 0 && hi > 0.5 * lo && !has_max) {
        hi = 0;
    }
    s->lo = clamp(has_min ? r->min : lo, -FAR, FAR);
    s->hi = clamp(has_max ? r->max : hi, -FAR, FAR);
    if (r->log) {
        s->lo = clamp(s->lo, 1e-300, FAR);
        s->hi = clamp(s->hi, 1e-299, FAR);
    }
    /* A line that is flat stands in the middle, one beyond an end that is given
     * is not seen. */
    room = fmax(fabs(s->hi), fabs(s->lo));
    if (s->hi - s->lo > 1e-9 * room && s->hi - s->lo > 1e-290)
        return;
    room = room < 1e-280 ? 1 : 0.1 * room;
    if (!has_max)
        s->hi = (has_min ? s->lo : s->hi) + room;
    if (!has_min)
        s->lo = s->hi - (has_max ? room : 2 * room);
    if (r->log && s->lo <= 0)
        s->lo = s->hi / 10;
    if (has_min && has_max)
        s->hi = s->lo + room;
}

void
scale_make(struct scale *s, double lo, double hi, const struct scale_range *r,
           size_t want)
{
    struct scale_range given = *r;

    *s = (struct scale){ .log = r->log };
    if (r->log) { /* what has no place on it is not given */
        given.has_min = r->has_min && r->min > 0;
        given.has_max = r->has_max && r->max > 0;
    }
    choose_ends(s, lo, hi, &given);
    if (r->log) {
        int low, high, step;

        if (!given.has_min)
            s->lo = pow(10, floor(log10(s->lo) + 1e-9));
        if (!given.has_max)
            s->hi = pow(10, ceil(log10(s->hi) - 1e-9));
        if (!(s->hi > s->lo))
            s->hi = s->lo * 10;
        low = (int)floor(log10(s->lo) + 1e-9);
        high = (int)ceil(log10(s->hi) - 1e-9);
        step = (int)ceil((high - low) / (double)(want < 2 ? 2 : want));
        for (int k = low; k <= high; k += step > 0 ? step : 1) {
            add_log_tick(s, pow(10, k));
            if (high - low <= 2) {
                add_log_tick(s, 2 * pow(10, k));
                add_log_tick(s, 5 * pow(10, k));
            }
        }
        s->step = s->lo;
    } else {
        double first;

        s->step = round_step((s->hi - s->lo) / (double)(want < 2 ? 2 : want));
        if (!given.has_min)
            s->lo = floor(s->lo / s->step + 1e-9) * s->step;
        if (!given.has_max)
            s->hi = ceil(s->hi / s->step - 1e-9) * s->step;
        first = ceil(s->lo / s->step - 1e-9);
        for (size_t i = 0; i < SCALE_TICKS_MAX; i++) {
            double at = (first + (double)i) * s->step;

            if (at > s->hi + s->step * 1e-6)
                break;
            s->ticks[s->ticks_len++] = at;
        }
    }
}

double
scale_place(const struct scale *s, double v)
{
    double place =
        s->log ? (log10(v) - log10(s->lo)) / (log10(s->hi) - log10(s->lo))
               : (clamp(v, -FAR, FAR) - s->lo) / (s->hi - s->lo);

    return clamp(place, -1000, 1001);
}

bool
scale_has(const struct scale *s, double v)
{
    return isfinite(v) && !(s->log && v <= 0);
}
