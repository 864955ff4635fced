/* Adds up a week, and leaves some of it out; its bytes: week_codec.c. */
#include "storage/week/week.h"

#include <math.h>

#include "base/obj.h"
#include "storage/block/row_value.h"

void
week_init(struct week *w, uint32_t base)
{
    *w = (struct week){ .base = base, .all_int = true, .hours = HOURS_ALL };
}

bool
week_is_empty(const struct week *w)
{
    for (size_t i = 0; i < WEEK_DAYS; i++)
        if (w->day[i].count > 0)
            return false;
    return !w->unfit;
}

/* Can its integers be added in any order, as doubles too? */
static bool
is_exact(const struct summary *s)
{
    double low = fabs((double)s->min.i), high = fabs((double)s->max.i);

    return (low > high ? low : high) * (double)s->count <= EXACT_MAX;
}

static void
to_doubles(struct summary *s)
{
    s->all_int = false;
    s->sum.d = (double)s->sum.i;
    s->min.d = (double)s->min.i;
    s->max.d = (double)s->max.i;
    s->first.d = (double)s->first.i;
    s->last.d = (double)s->last.i;
}

static void
week_to_doubles(struct week *w)
{
    struct week_values *v = &w->hour;
    union number *columns[] = { v->sum, v->first, v->last, v->min, v->max };

    w->all_int = false;
    for (size_t i = 0; i < WEEK_DAYS; i++)
        if (w->day[i].count > 0)
            to_doubles(&w->day[i]);
    for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++)
        for (size_t i = 0; i < WEEK_HOURS; i++)
            if (w->count[i] > 0)
                columns[k][i].d = (double)columns[k][i].i;
}

/* An hour that is added: its points, or a block of them that is unpacked when
 * they are wanted. */
struct hour {
    struct summary summary;
    uint32_t base;
    struct slice block; /* empty: points are there */
    struct points *points;
};

/* All of a later hour but its sum of doubles. */
static void
extend_day(struct summary *day, const struct summary *s, bool all_int)
{
    day->count += s->count;
    day->last_ms = s->last_ms;
    day->last = s->last;
    if (all_int) {
        day->sum.i = (int64_t)((uint64_t)day->sum.i + (uint64_t)s->sum.i);
        day->min.i = s->min.i < day->min.i ? s->min.i : day->min.i;
        day->max.i = s->max.i > day->max.i ? s->max.i : day->max.i;
    } else {
        day->min.d = s->min.d < day->min.d ? s->min.d : day->min.d;
        day->max.d = s->max.d > day->max.d ? s->max.d : day->max.d;
    }
}

/* Doubles are added one by one, in the order of time. */
static enum status
add_to_day(struct week *w, struct summary *day, const struct hour *h,
           struct error *e)
{
    const struct points *p = h->points;
    enum status status = ST_OK;
    double sum;

    if (day->count == 0) {
        *day = h->summary;
        return ST_OK;
    }
    extend_day(day, &h->summary, w->all_int);
    if (w->all_int)
        return ST_OK;
    sum = day->sum.d;
    if (h->block.size > 0) {
        points_clear(h->points);
        status = block_decode(h->block, h->base, h->points, e);
    }
    for (size_t i = 0; status == ST_OK && i < p->len; i++)
        sum += p->is_float[i] ? p->v[i].d : (double)p->v[i].i;
    day->sum.d = sum;
    return status;
}

static bool
is_fit_day(const struct week *w, const struct summary *day)
{
    return w->all_int ? is_exact(day)
                      : isfinite(day->sum.d) && isfinite(day->min.d) &&
                            isfinite(day->max.d);
}

static enum status
add_hour(struct week *w, struct hour *h, struct error *e)
{
    unsigned hour = (h->base - w->base) / HOUR_S;
    struct summary *day = &w->day[hour / DAY_HOURS], *s = &h->summary;
    enum status status;

    if (w->unfit)
        return ST_OK;
    if (w->all_int && !s->all_int)
        week_to_doubles(w);
    if (s->all_int && !is_exact(s)) {
        w->unfit = true;
        return ST_OK;
    }
    if (!w->all_int && s->all_int)
        to_doubles(s);
    w->count[hour] = s->count;
    week_values_set(&w->hour, hour, s);
    status = add_to_day(w, day, h, e);
    w->unfit = !is_fit_day(w, day);
    return status;
}

enum status
week_add(struct week *w, struct slice block, uint32_t base,
         struct points *scratch, struct error *e)
{
    struct hour h = { .base = base, .block = block, .points = scratch };
    enum status status = block_summary(block, base, &h.summary, e);

    return status == ST_OK ? add_hour(w, &h, e) : status;
}

enum status
week_add_points(struct week *w, struct points *hour, struct error *e)
{
    struct hour h = { .summary = points_summary(hour),
                      .base = hour_base(hour->ts_ms[0]),
                      .points = hour };

    return add_hour(w, &h, e);
}

enum status
week_add_row(struct week *w, const struct row_of_parts *row, struct slice value,
             struct points *scratch, struct error *e)
{
    struct row_hours hours;
    struct buf part = BUF_INIT;
    struct slice block;
    uint32_t base;
    enum status status =
        row_hours_begin(row->layout, row->span, value, &hours, e);

    while (status == ST_OK && row_hours_next(&hours, &base, &block)) {
        if (row_hour_is_elsewhere(block))
            status = row_part_read(row, base, &part, &block, e);
        if (status != ST_OK || block.size == 0)
            continue;
        if (hours.block_s == HOUR_S) {
            status = week_add(w, block, base, scratch, e);
            continue;
        }
        /* One block of all hours of the row. */
        points_clear(scratch);
        status = block_decode(block, base, scratch, e);
        for (size_t at = 0; status == ST_OK && at < scratch->len;) {
            struct points points = points_of_hour(scratch, at);

            status =
                hour_base(points.ts_ms[0]) - w->base >= WEEK_S
                    ? error_set(e, ST_CORRUPT, "row: points behind its week")
                    : week_add_points(w, &points, e);
            at += points.len;
        }
    }
    buf_fini(&part);
    if (status == ST_OK)
        status = row_hours_end(&hours, e);
    if (status != ST_CORRUPT)
        return status;
    w->unfit = true;
    return ST_OK;
}

/* -- a part -----------------------------------------------------------------
 */

void
week_crop(struct week *w, int64_t from_ms, int64_t end_ms)
{
    INSIST(w->hours == HOURS_ALL);
    for (unsigned d = 0; d < WEEK_DAYS; d++) {
        struct summary was = w->day[d], *day = &w->day[d];

        if (was.count == 0 ||
            (week_day_ms(w, d) >= from_ms && week_day_ms(w, d + 1) <= end_ms))
            continue;
        *day = (struct summary){ .count = 0 };
        for (unsigned i = d * DAY_HOURS; i < (d + 1) * DAY_HOURS; i++) {
            int64_t hour_ms = week_day_ms(w, 0) + i * HOUR_MS;
            int64_t last_ms = hour_ms + HOUR_MS - 1;
            struct summary hour;

            if (hour_ms < from_ms || hour_ms >= end_ms)
                w->count[i] = 0;
            if (w->count[i] == 0)
                continue;
            /* Its times are not known, but for those of its day. */
            hour = week_hour(w, i);
            hour.first_ms = hour_ms > was.first_ms ? hour_ms : was.first_ms;
            hour.last_ms = last_ms < was.last_ms ? last_ms : was.last_ms;
            if (day->count == 0) {
                *day = hour;
                continue;
            }
            extend_day(day, &hour, w->all_int);
            if (!w->all_int)
                day->sum.d += hour.sum.d;
        }
    }
}

/* -- late hours ------------------------------------------------------------ */

/* Adds a day of other hours. */
static void
merge_day(struct summary *day, const struct summary *late, bool all_int)
{
    struct summary was = *day;

    if (late->count == 0)
        return;
    *day = *late;
    if (was.count == 0)
        return;
    extend_day(day, &was, all_int);
    if (!all_int)
        day->sum.d += was.sum.d;
    day->first_ms = late->first_ms;
    day->last_ms = late->last_ms;
    if (was.first_ms < late->first_ms) {
        day->first_ms = was.first_ms;
        day->first = was.first;
    }
    if (was.last_ms < late->last_ms)
        day->last = late->last;
    else
        day->last_ms = was.last_ms;
}

bool
week_merge(struct week *w, struct week *late)
{
    INSIST(w->hours == HOURS_ALL && late->hours == HOURS_ALL);
    if (w->unfit || late->unfit)
        return false;
    if (w->all_int && !late->all_int)
        week_to_doubles(w);
    if (!w->all_int && late->all_int)
        week_to_doubles(late);
    for (unsigned i = 0; i < WEEK_HOURS; i++) {
        struct summary hour = week_hour(late, i);

        INSIST(hour.count == 0 || w->count[i] == 0);
        if (hour.count == 0)
            continue;
        w->count[i] = hour.count;
        week_values_set(&w->hour, i, &hour);
    }
    for (unsigned d = 0; d < WEEK_DAYS; d++) {
        merge_day(&w->day[d], &late->day[d], w->all_int);
        if (w->day[d].count > 0 && !is_fit_day(w, &w->day[d]))
            return false;
    }
    return true;
}
