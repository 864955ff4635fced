/* Bytes of a week:
 *
 *     <version:1> <flags:1> [<scale:1>] <days> <hours> <crc:4>
 *
 * in columns, each as integers or, where they are no decimals, as doubles.
 * Sums of decimals were added one by one, as doubles: they are written as the
 * nearest decimal, and their distance from it. */
#include "storage/block/week.h"

#include <math.h>

#include "base/crc32c.h"
#include "storage/block/block_priv.h"

#define WEEK_VERSION 2
#define WEEK_OF_SUMS 1 /* version: hours have count and sum alone */
#define ALL_HOURS    0xffffffu

enum week_flag {
    WEEK_INT = 1,
    WEEK_PLAIN = 2, /* doubles as they are */
    WEEK_UNFIT = 4,
};

/* -- columns --------------------------------------------------------------- */

/* What is written and read, one column after the other. */
struct columns {
    struct buf *out;  /* writing */
    struct cursor *c; /* reading */
    int64_t v[WEEK_HOURS];
    uint64_t scratch[WEEK_HOURS];
};

static void
put_column(struct columns *x, size_t len)
{
    struct ints_known known = { x->v[0], x->v[0] };

    for (size_t i = 1; i < len; i++)
        known.min = x->v[i] < known.min ? x->v[i] : known.min;
    buf_put_zigzag(x->out, known.first);
    buf_put_varint(x->out, (uint64_t)known.first - (uint64_t)known.min);
    block_ints_encode(x->v, len, known, x->scratch, x->out);
}

static void
get_column(struct columns *x, size_t len)
{
    struct ints_known known;

    known.first = cursor_zigzag(x->c);
    known.min = (int64_t)((uint64_t)known.first - cursor_varint(x->c));
    if (!x->c->failed)
        block_ints_decode(x->c, x->v, len, known);
}

static void
put_doubles(struct columns *x, size_t len)
{
    memcpy(x->scratch, x->v, len * sizeof *x->v);
    block_floats_encode(x->scratch, len, x->out);
}

static void
get_doubles(struct columns *x, size_t len)
{
    block_floats_decode(x->c, x->scratch, len);
    if (!x->c->failed)
        memcpy(x->v, x->scratch, len * sizeof *x->v);
}

/* -- the numbers of days and hours ----------------------------------------- */

/* Values are integers, decimals of a scale, or plain doubles. */
struct form {
    bool is_int, plain;
    unsigned scale;
};

static int64_t
to_whole(const struct form *f, union number v)
{
    int64_t m = 0;

    if (f->is_int || f->plain)
        return v.i;
    (void)block_decimal_of(v.d, f->scale, &m);
    return m;
}

static union number
of_whole(const struct form *f, int64_t m, bool *bad)
{
    if (f->is_int || f->plain)
        return (union number){ .i = m };
    if (m > DECIMAL_MAX || m < -DECIMAL_MAX) {
        *bad = true;
        return (union number){ .i = 0 };
    }
    return (union number){ .d = block_decimal_value(m, f->scale) };
}

/* The nearest decimal to a sum, which is not one itself. */
static bool
sum_decimal(double sum, unsigned scale, int64_t *m)
{
    double scaled = sum / block_decimal_value(1, scale);

    if (!(fabs(scaled) < (double)DECIMAL_MAX))
        return false;
    *m = (int64_t)nearbyint(scaled);
    return true;
}

static uint64_t
distance_of(double sum, int64_t m, unsigned scale)
{
    return double_bits(sum) - double_bits(block_decimal_value(m, scale));
}

static bool
is_suited(const struct week_hour *h, unsigned scale, bool sum_alone)
{
    int64_t m;

    return h->count == 0 ||
           (sum_decimal(h->sum.d, scale, &m) &&
            (sum_alone || (block_decimal_of(h->first.d, scale, &m) &&
                           block_decimal_of(h->last.d, scale, &m) &&
                           block_decimal_of(h->min.d, scale, &m) &&
                           block_decimal_of(h->max.d, scale, &m))));
}

static bool
suits(const struct week *w, unsigned scale)
{
    for (size_t i = 0; i < WEEK_DAYS; i++) {
        struct week_hour day = week_hour_of(&w->day[i]);

        if (!is_suited(&day, scale, false))
            return false;
    }
    for (size_t i = 0; i < WEEK_HOURS; i++)
        if (!is_suited(&w->hour[i], scale, w->hours != HOURS_ALL))
            return false;
    return true;
}

static struct form
form_of(const struct week *w)
{
    struct form f = { .is_int = w->all_int };

    if (f.is_int)
        return f;
    while (f.scale <= DECIMAL_MAX_SCALE && !suits(w, f.scale))
        f.scale++;
    f.plain = f.scale > DECIMAL_MAX_SCALE;
    return f;
}

/* What a sum would be if each of 'count' values were 'mean'. */
static uint64_t
guess(uint32_t count, int64_t mean)
{
    return (uint64_t)count * (uint64_t)mean;
}

static int64_t
middle(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a +
                     (uint64_t)(((int64_t)((uint64_t)b - (uint64_t)a)) / 2));
}

/* -- values ---------------------------------------------------------------- */

/* Of some days, or some hours: whole numbers, or doubles' bits. */
struct values {
    int64_t first[WEEK_HOURS], last[WEEK_HOURS];
    int64_t min[WEEK_HOURS], max[WEEK_HOURS];
    union number sum[WEEK_HOURS];
    int64_t whole[WEEK_HOURS];  /* the sum, or the decimal nearest to it */
    uint64_t guess[WEEK_HOURS]; /* of that */
};

/* But for what is guessed. */
static void
take_values(struct values *v, size_t i, const struct form *f,
            const struct week_hour *h)
{
    v->first[i] = to_whole(f, h->first);
    v->last[i] = to_whole(f, h->last);
    v->min[i] = to_whole(f, h->min);
    v->max[i] = to_whole(f, h->max);
    v->sum[i] = h->sum;
    v->whole[i] = f->is_int ? h->sum.i : 0;
    if (!f->is_int && !f->plain)
        (void)sum_decimal(h->sum.d, f->scale, &v->whole[i]);
}

/* Without the sum. */
static void
give_values(const struct values *v, size_t i, const struct form *f,
            struct week_hour *h, bool *bad)
{
    h->first = of_whole(f, v->first[i], bad);
    h->last = of_whole(f, v->last[i], bad);
    h->min = of_whole(f, v->min[i], bad);
    h->max = of_whole(f, v->max[i], bad);
}

/* Sums, 'len' of them: the decimal, less what was guessed; and distances. */
static void
put_sums(struct columns *x, const struct form *f, const struct values *v,
         size_t len)
{
    if (f->plain) {
        memcpy(x->v, v->sum, len * sizeof *x->v);
        put_doubles(x, len);
        return;
    }
    for (size_t i = 0; i < len; i++)
        x->v[i] = (int64_t)((uint64_t)v->whole[i] - v->guess[i]);
    put_column(x, len);
    if (f->is_int)
        return;
    for (size_t i = 0; i < len; i++)
        x->v[i] = (int64_t)distance_of(v->sum[i].d, v->whole[i], f->scale);
    put_column(x, len);
}

static void
get_sums(struct columns *x, const struct form *f, struct values *v, size_t len)
{
    bool bad = false;

    if (f->plain) {
        get_doubles(x, len);
        memcpy(v->sum, x->v, len * sizeof *x->v);
        return;
    }
    get_column(x, len);
    for (size_t i = 0; i < len && !x->c->failed; i++)
        v->sum[i] =
            of_whole(f, (int64_t)((uint64_t)x->v[i] + v->guess[i]), &bad);
    x->c->failed |= bad;
    if (f->is_int || x->c->failed)
        return;
    get_column(x, len);
    for (size_t i = 0; i < len && !x->c->failed; i++)
        v->sum[i].d =
            double_of_bits(double_bits(v->sum[i].d) + (uint64_t)x->v[i]);
}

static void
put_four(struct columns *x, const struct form *f, const struct values *v,
         size_t len)
{
    const int64_t *all[] = { v->first, v->last, v->min, v->max };

    for (size_t k = 0; k < 4; k++) {
        memcpy(x->v, all[k], len * sizeof *x->v);
        if (f->plain)
            put_doubles(x, len);
        else
            put_column(x, len);
    }
}

static void
get_four(struct columns *x, const struct form *f, struct values *v, size_t len)
{
    int64_t *all[] = { v->first, v->last, v->min, v->max };

    for (size_t k = 0; k < 4 && !x->c->failed; k++) {
        if (f->plain)
            get_doubles(x, len);
        else
            get_column(x, len);
        memcpy(all[k], x->v, len * sizeof *x->v);
    }
}

static inline int64_t
plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t
minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* -- days ------------------------------------------------------------------ */

struct days {
    size_t len;
    uint8_t at[WEEK_DAYS];
    struct columns x;
    struct values values;
    struct form f;
};

static int64_t
day_start(const struct week *w, unsigned day)
{
    return ((int64_t)w->base + (int64_t)day * DAY_S) * 1000;
}

/* A column of what a day has. */
#define FOR_DAYS(d, i) for (size_t i = 0; i < (d)->len; i++)

static void
put_day_values(struct days *d, const struct week *w)
{
    struct values *v = &d->values;

    FOR_DAYS(d, i)
    {
        struct week_hour day = week_hour_of(&w->day[d->at[i]]);

        take_values(v, i, &d->f, &day);
        v->guess[i] = guess(day.count, middle(v->min[i], v->max[i]));
    }
    for (size_t i = 0; i < d->len && !d->f.plain; i++) {
        v->last[i] = minus(v->last[i], v->first[i]);
        v->min[i] = minus(v->first[i], v->min[i]);
        v->max[i] = minus(v->max[i], v->first[i]);
    }
    put_four(&d->x, &d->f, v, d->len);
    put_sums(&d->x, &d->f, v, d->len);
}

static void
get_day_values(struct days *d, struct week *w)
{
    struct columns *x = &d->x;
    struct values *v = &d->values;
    bool bad = false;

    get_four(x, &d->f, v, d->len);
    if (x->c->failed)
        return;
    for (size_t i = 0; i < d->len && !d->f.plain; i++) {
        v->last[i] = plus(v->first[i], v->last[i]);
        v->min[i] = minus(v->first[i], v->min[i]);
        v->max[i] = plus(v->first[i], v->max[i]);
    }
    FOR_DAYS(d, i)
    v->guess[i] = guess(w->day[d->at[i]].count, middle(v->min[i], v->max[i]));
    get_sums(x, &d->f, v, d->len);
    for (size_t i = 0; i < d->len && !x->c->failed; i++) {
        struct summary *s = &w->day[d->at[i]];
        struct week_hour day;

        give_values(v, i, &d->f, &day, &bad);
        s->all_int = d->f.is_int;
        s->first = day.first;
        s->last = day.last;
        s->min = day.min;
        s->max = day.max;
        s->sum = v->sum[i];
    }
    x->c->failed |= bad;
}

static void
put_days(struct days *d, const struct week *w)
{
    struct columns *x = &d->x;
    uint8_t bits = 0;

    FOR_DAYS(d, i)
    bits |= (uint8_t)(1u << d->at[i]);
    buf_put_u8(x->out, bits);
    FOR_DAYS(d, i)
    x->v[i] = w->day[d->at[i]].count;
    put_column(x, d->len);
    FOR_DAYS(d, i)
    x->v[i] = w->day[d->at[i]].first_ms - day_start(w, d->at[i]);
    put_column(x, d->len);
    FOR_DAYS(d, i)
    x->v[i] = day_start(w, d->at[i] + 1u) - w->day[d->at[i]].last_ms;
    put_column(x, d->len);
    put_day_values(d, w);
}

static void
get_days(struct days *d, struct week *w)
{
    struct columns *x = &d->x;
    uint8_t bits = cursor_u8(x->c);
    bool bad = bits == 0 || bits >> WEEK_DAYS != 0;

    for (unsigned i = 0; i < WEEK_DAYS && !bad; i++)
        if (bits >> i & 1)
            d->at[d->len++] = (uint8_t)i;
    if (!bad)
        get_column(x, d->len);
    FOR_DAYS(d, i)
    {
        bad |= x->v[i] <= 0 || x->v[i] > DAY_MS;
        w->day[d->at[i]].count = (uint32_t)x->v[i];
    }
    if (!bad)
        get_column(x, d->len);
    FOR_DAYS(d, i)
    {
        bad |= x->v[i] < 0 || x->v[i] >= DAY_MS;
        w->day[d->at[i]].first_ms =
            day_start(w, d->at[i]) + (bad ? 0 : x->v[i]);
    }
    if (!bad)
        get_column(x, d->len);
    FOR_DAYS(d, i)
    {
        struct summary *s = &w->day[d->at[i]];

        bad |= x->v[i] <= 0 || x->v[i] > DAY_MS;
        s->last_ms = day_start(w, d->at[i] + 1u) - (bad ? 1 : x->v[i]);
        bad |= s->last_ms < s->first_ms;
    }
    x->c->failed |= bad;
    if (!x->c->failed)
        get_day_values(d, w);
}

/* -- hours ----------------------------------------------------------------- */

/* The mean of the day's values: an hour's are near it. */
static int64_t
day_mean(const struct form *f, const struct summary *s)
{
    int64_t sum = s->sum.i;

    if (!f->is_int && (f->plain || !sum_decimal(s->sum.d, f->scale, &sum)))
        return 0;
    return s->count == 0 ? 0 : sum / (int64_t)s->count;
}

/* An hour begins near where the one before ended, and goes little beyond its
 * first and last. */
static void
hours_to_steps(struct values *v, size_t len)
{
    for (size_t i = len; i-- > 0;) {
        bool falls = v->last[i] < v->first[i];

        v->min[i] = minus(falls ? v->last[i] : v->first[i], v->min[i]);
        v->max[i] = minus(v->max[i], falls ? v->first[i] : v->last[i]);
        v->last[i] = minus(v->last[i], v->first[i]);
        v->first[i] = minus(v->first[i], i > 0 ? v->last[i - 1] : 0);
    }
}

static void
hours_of_steps(struct values *v, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        v->first[i] = plus(v->first[i], i > 0 ? v->last[i - 1] : 0);
        v->last[i] = plus(v->last[i], v->first[i]);
        if (v->last[i] < v->first[i]) {
            v->min[i] = minus(v->last[i], v->min[i]);
            v->max[i] = plus(v->first[i], v->max[i]);
        } else {
            v->min[i] = minus(v->first[i], v->min[i]);
            v->max[i] = plus(v->last[i], v->max[i]);
        }
    }
}

static void
put_hours(struct days *d, const struct week *w)
{
    struct columns *x = &d->x;
    struct values *v = &d->values;
    size_t len = 0;

    FOR_DAYS(d, i)
    {
        x->v[i] = 0;
        for (unsigned h = 0; h < DAY_HOURS; h++)
            if (w->hour[d->at[i] * DAY_HOURS + h].count > 0)
                x->v[i] |= INT64_C(1) << h;
    }
    put_column(x, d->len);
    FOR_DAYS(d, i)
    {
        int64_t mean = day_mean(&d->f, &w->day[d->at[i]]);

        for (unsigned h = 0; h < DAY_HOURS; h++) {
            const struct week_hour *hour = &w->hour[d->at[i] * DAY_HOURS + h];

            if (hour->count == 0)
                continue;
            x->v[len] = hour->count;
            take_values(v, len, &d->f, hour);
            v->guess[len++] = guess(hour->count, mean);
        }
    }
    put_column(x, len);
    put_sums(x, &d->f, v, len);
    if (w->hours != HOURS_ALL)
        return;
    if (!d->f.plain)
        hours_to_steps(v, len);
    put_four(x, &d->f, v, len);
}

static void
get_hour_values(struct days *d, struct week_hour *const *hours, size_t len)
{
    struct values *v = &d->values;
    bool bad = false;

    get_four(&d->x, &d->f, v, len);
    if (!d->x.c->failed && !d->f.plain)
        hours_of_steps(v, len);
    for (size_t i = 0; i < len && !d->x.c->failed; i++)
        give_values(v, i, &d->f, hours[i], &bad);
    d->x.c->failed |= bad;
}

static void
get_hours(struct days *d, struct week *w, enum week_hours wanted)
{
    struct columns *x = &d->x;
    struct week_hour *hours[WEEK_HOURS];
    struct values *v = &d->values;
    uint64_t counts[WEEK_DAYS] = { 0 };
    size_t len = 0;

    get_column(x, d->len);
    FOR_DAYS(d, i)
    {
        x->c->failed |= x->v[i] <= 0 || x->v[i] > ALL_HOURS;
        for (unsigned h = 0; h < DAY_HOURS && !x->c->failed; h++)
            if (x->v[i] >> h & 1)
                hours[len++] = &w->hour[d->at[i] * DAY_HOURS + h];
    }
    if (!x->c->failed)
        get_column(x, len);
    for (size_t i = 0; i < len && !x->c->failed; i++) {
        size_t day = (size_t)(hours[i] - w->hour) / DAY_HOURS;

        x->c->failed = x->v[i] <= 0 || x->v[i] > BLOCK_MAX_POINTS;
        hours[i]->count = (uint32_t)x->v[i];
        counts[day] += hours[i]->count;
        v->guess[i] = guess(hours[i]->count, day_mean(&d->f, &w->day[day]));
    }
    FOR_DAYS(d, i)
    x->c->failed |= counts[d->at[i]] != w->day[d->at[i]].count;
    if (x->c->failed)
        return;
    get_sums(x, &d->f, v, len);
    for (size_t i = 0; i < len && !x->c->failed; i++)
        hours[i]->sum = v->sum[i];
    if (wanted == HOURS_ALL && !x->c->failed)
        get_hour_values(d, hours, len);
    w->hours = wanted;
}

/* -- together -------------------------------------------------------------- */

void
week_encode(const struct week *w, struct buf *out)
{
    struct days d = { .x = { .out = out } };
    size_t start = out->size;

    buf_put_u8(out, w->hours == HOURS_ALL ? WEEK_VERSION : WEEK_OF_SUMS);
    if (w->unfit) {
        buf_put_u8(out, WEEK_UNFIT);
    } else {
        d.f = form_of(w);
        buf_put_u8(out,
                   (d.f.is_int ? WEEK_INT : 0) | (d.f.plain ? WEEK_PLAIN : 0));
        if (!d.f.is_int && !d.f.plain)
            buf_put_u8(out, (uint8_t)d.f.scale);
        for (unsigned i = 0; i < WEEK_DAYS; i++)
            if (w->day[i].count > 0)
                d.at[d.len++] = (uint8_t)i;
        put_days(&d, w);
        put_hours(&d, w);
    }
    if (!out->failed)
        buf_put_u32(
            out,
            block_crc(slice_of(out->data + start, out->size - start), w->base));
}

static void
get_week(struct cursor *c, enum week_hours hours, struct week *w)
{
    struct days d = { .x = { .c = c } };
    uint8_t version = cursor_u8(c), flags = cursor_u8(c);

    c->failed |= version != WEEK_VERSION && version != WEEK_OF_SUMS;
    if (flags == WEEK_UNFIT) {
        w->unfit = true;
        w->hours = version == WEEK_OF_SUMS ? HOURS_SUMS : HOURS_ALL;
        c->failed |= cursor_left(c) > 0;
        return;
    }
    d.f.is_int = flags == WEEK_INT;
    d.f.plain = flags == WEEK_PLAIN;
    c->failed |= flags != 0 && !d.f.is_int && !d.f.plain;
    if (flags == 0)
        d.f.scale = cursor_u8(c);
    c->failed |= d.f.scale > DECIMAL_MAX_SCALE;
    if (c->failed)
        return;
    w->all_int = d.f.is_int;
    get_days(&d, w);
    if (version == WEEK_OF_SUMS && hours == HOURS_ALL)
        hours = HOURS_SUMS;
    if (!c->failed && hours != HOURS_NONE)
        get_hours(&d, w, hours);
    c->failed |=
        hours + (version == WEEK_OF_SUMS) >= HOURS_ALL && cursor_left(c) > 0;
}

enum status
week_decode(struct slice bytes, uint32_t base, enum week_hours hours,
            struct week *out, struct error *e)
{
    struct cursor c;

    *out = (struct week){ .base = base };
    if (bytes.size < 2 + BLOCK_CRC_SIZE)
        return error_set(e, ST_CORRUPT, "week: %zu bytes are too few",
                         bytes.size);
    bytes.size -= BLOCK_CRC_SIZE;
    c = cursor_of(slice_of(bytes.data + bytes.size, BLOCK_CRC_SIZE));
    if (cursor_u32(&c) != block_crc(bytes, base))
        return error_set(e, ST_CORRUPT, "week: checksum mismatch");
    c = cursor_of(bytes);
    get_week(&c, hours, out);
    return c.failed ? error_set(e, ST_CORRUPT, "week: invalid summaries")
                    : ST_OK;
}
