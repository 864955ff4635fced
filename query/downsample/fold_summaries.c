/* Block summaries and weeks in the place of points. */
#include <math.h>

#include "query/downsample/fold_priv.h"

/* What is known of some points that follow each other, without having them. */
struct known {
    int64_t first_ms, last_ms;
    uint32_t count;
    bool all_int;
    union number values[SUMMARY_VALUES_MOST]; /* that the function takes */
    double greatest; /* of integers: none's magnitude is greater */
};

/* A value of a summary, or that of all hours of a week; the sum instead of
 * SUMMARY_NOTHING. */
#define VALUE_OF(x, value)                   \
    ((value) == SUMMARY_MIN     ? (x)->min   \
     : (value) == SUMMARY_MAX   ? (x)->max   \
     : (value) == SUMMARY_FIRST ? (x)->first \
     : (value) == SUMMARY_LAST  ? (x)->last  \
                                : (x)->sum)

static inline union number
double_of(bool all_int, union number v)
{
    return all_int ? (union number){ .d = (double)v.i } : v;
}

static double
greatest_of(const struct summary *row)
{
    double low = fabs((double)row->min.i), high = fabs((double)row->max.i);

    return low > high ? low : high;
}

/* May their sum be added?  'fresh': nothing was added before. */
static inline bool
sum_is_fit(const struct bucket_acc *s, const struct known *k, bool fresh,
           double *bound)
{
    if (!k->all_int) {
        *bound = INFINITY;
        return fresh;
    }
    *bound = (fresh ? 0 : s->bound) + k->greatest * (double)k->count;
    return *bound <= EXACT_MAX;
}

/* All of them lie in one bucket, and take part. */
static inline bool
lies_within(const struct buckets *b, const struct bucket_acc *s,
            const struct known *k)
{
    struct bucket at = s->bucket;

    if (k->first_ms < b->from || k->last_ms >= b->to)
        return false;
    bucket_move(b, &at, k->first_ms);
    return k->last_ms < at.next;
}

/* False: they must be unpacked; nothing has changed. */
static inline bool
acc_known(const struct fold *f, struct bucket_acc *s, const struct known *k,
          struct arena *a)
{
    const struct arithmetic *m = arithmetic_of(f->function);
    bool fresh = !s->filled || k->first_ms >= s->bucket.next;
    uint64_t count;
    double bound = 0;

    if (s->failed)
        return true;
    if (k->last_ms < f->buckets->from || k->first_ms >= f->buckets->to) {
        bucket_acc_note(s, k->first_ms, k->last_ms);
        return true;
    }
    if (!lies_within(f->buckets, s, k))
        return false;
    if (m->adds && !sum_is_fit(s, k, fresh, &bound) && !s->loose)
        return false;
    bucket_acc_note(s, k->first_ms, k->last_ms);
    bucket_acc_move(f, s, k->first_ms, a);
    count = s->count + k->count;
    bucket_acc_doubles(m, s, k->values, arithmetic_values(m));
    if (m->adds)
        s->bound = bound;
    s->count = count;
    s->filled |= k->count > 0;
    return true;
}

bool
bucket_acc_summary(const struct fold *f, struct bucket_acc *s,
                   const struct summary *row, struct arena *a)
{
    const struct arithmetic *m = arithmetic_of(f->function);
    struct known k = {
        .first_ms = row->first_ms,
        .last_ms = row->last_ms,
        .count = row->count,
        .all_int = row->all_int,
        .greatest = row->all_int ? greatest_of(row) : 0,
    };
    bool outside =
        row->last_ms < f->buckets->from || row->first_ms >= f->buckets->to;

    /* Where there is a NaN, the sum is one. */
    if (!s->failed && !outside && !row->all_int && isnan(row->sum.d))
        return false;
    for (size_t i = 0; i < SUMMARY_VALUES_MOST; i++)
        k.values[i] = double_of(row->all_int, VALUE_OF(row, m->values[i]));
    return acc_known(f, s, &k, a);
}

/* -- weeks ----------------------------------------------------------------- */

/* Adds the hours of a day one by one.  The times of their points are not known,
 * except for the first and the last point of the day, so points are assumed
 * from the first to the last ms of the hour.  If there are no rows
 * ('s->loose'), the last point is assumed a second before the end of the hour:
 * a query that ends at 23:59:59 then includes the last hour.  Returns false if
 * an hour could not be added; with 'all' it stops there, without it only that
 * hour is left out.
 */
static bool
add_hours(const struct fold *f, struct bucket_acc *s, const struct week *w,
          unsigned day, bool all, struct arena *a)
{
    bool good = true;
    const struct arithmetic *m = arithmetic_of(f->function);
    const union number *values[SUMMARY_VALUES_MOST];
    const struct summary *of = &w->day[day];
    int64_t from = week_day_ms(w, day);
    struct known k = { .all_int = w->all_int,
                       .greatest = w->all_int ? greatest_of(of) : 0 };

    for (size_t n = 0; n < SUMMARY_VALUES_MOST; n++)
        values[n] = VALUE_OF(&w->hour, m->values[n]) + day * DAY_HOURS;
    for (unsigned i = 0; i < DAY_HOURS && (good || !all);
         i++, from += HOUR_MS) {
        int64_t to = from + HOUR_MS - (s->loose ? 1000 : 1);

        k.count = w->count[day * DAY_HOURS + i];
        if (k.count == 0)
            continue;
        k.first_ms = from > of->first_ms ? from : of->first_ms;
        k.last_ms = to < of->last_ms ? to : of->last_ms;
        for (size_t n = 0; n < SUMMARY_VALUES_MOST; n++)
            k.values[n] = double_of(w->all_int, values[n][i]);
        if (!acc_known(f, s, &k, a))
            good = false;
    }
    return good;
}

/* -- buckets of an hour ---------------------------------------------------- */

/* Is each hour from this day on a bucket of its own?  Their sums are exact, or
 * the week would be unfit. */
static bool
are_buckets(const struct fold *f, const struct week *w, unsigned day)
{
    const struct buckets *b = f->buckets;

    return !b->spec->calendar && b->length == HOUR_MS &&
           w->hours != HOURS_NONE && week_day_ms(w, day) >= b->from;
}

/* Makes a bucket of each of 'n' hours, none of them without points. */
static void
hour_buckets(const struct fold *f, const struct week *w, unsigned hour,
             unsigned n, union number *out)
{
    const struct arithmetic *m = arithmetic_of(f->function);
    union number values[SUMMARY_VALUES_MOST][WEEK_HOURS];
    /* A function that needs one value has it in either number of its state. */
    bool two = arithmetic_values(m) == 2;

    for (size_t k = 0; k <= two; k++) {
        const union number *v = VALUE_OF(&w->hour, m->values[k]) + hour;

        for (unsigned i = 0; i < n; i++)
            values[k][i] = double_of(w->all_int, v[i]);
    }
    m->ends[true](w->count + hour, values[0], values[two], n, out);
}

/* -- all ------------------------------------------------------------------- */

bool
bucket_acc_week(const struct fold *f, struct bucket_acc *s,
                const struct week *w, unsigned day, unsigned day_end,
                bool loose, bool *left_out, struct arena *a)
{
    struct bucket_acc before = *s;

    if (are_buckets(f, w, day)) {
        unsigned end = day_end * DAY_HOURS, n;

        for (unsigned i = day; i < day_end; i++)
            if (w->day[i].count > 0)
                bucket_acc_note(s, w->day[i].first_ms, w->day[i].last_ms);
        bucket_acc_close(f, s, a);
        for (unsigned i = day * DAY_HOURS; i < end && !s->failed; i += n + 1) {
            int64_t at = week_day_ms(w, 0) + i * HOUR_MS;

            for (n = 0; i + n < end && w->count[i + n] > 0;)
                n++;
            if (n == 0 || !bucket_acc_room(f, s, at, n, a))
                continue;
            hour_buckets(f, w, i, n, s->v + s->len);
            s->len += n;
        }
        s->bucket = (struct bucket){ week_day_ms(w, day_end) - HOUR_MS,
                                     week_day_ms(w, day_end) };
        return true;
    }
    s->loose = loose;
    for (unsigned i = day; i < day_end; i++) {
        if (w->day[i].count == 0 || bucket_acc_summary(f, s, &w->day[i], a) ||
            (w->hours != HOURS_NONE && add_hours(f, s, w, i, !loose, a)))
            continue;
        if (!loose) {
            *s = before; /* arrays that have grown are copies */
            return false;
        }
        *left_out = true;
    }
    s->loose = false;
    return true;
}
