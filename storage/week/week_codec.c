/* Bytes of a week (docs/FORMAT.md, "Weeks"):
 *
 *     <version:1> <flags:1> [<scale:1>] <days> <hours> <crc:4>
 *
 * in columns, each as integers or, where they are no decimals, as doubles.
 * Sums of decimals were added one by one, as doubles: they are written as the
 * nearest decimal, and their distance from it. */
#include <math.h>

#include "base/obj.h"
#include "storage/block/bits.h"
#include "storage/block/block_columns.h"
#include "storage/week/week.h"

#define WEEK_VERSION 2
#define ALL_HOURS    0xffffffu

enum week_flag {
    WEEK_INT = 1,
    WEEK_PLAIN = 2, /* doubles as they are */
    WEEK_UNFIT = 4,
    /* Beside the others: enum row_state; neither is WEEK_ROWS_DROPPED. */
    WEEK_FLAG_KEPT = 8,
    WEEK_FLAG_LATE = WEEK_LATE_BIT,
};

static uint8_t
week_rows_flag(enum row_state rows)
{
    return rows == WEEK_ROWS_KEPT   ? WEEK_FLAG_KEPT
           : rows == WEEK_ROWS_LATE ? WEEK_FLAG_LATE
                                    : 0;
}

/* Values are integers, decimals of a scale, or plain doubles. */
struct form {
    bool is_int, plain;
    unsigned scale;
};

/* What is written or read, one column after the other. */
struct codec {
    struct buf *out;  /* writing */
    struct cursor *c; /* reading */
    struct form f;
    /* Days and hours that have points, ascending. */
    size_t days, hours;
    uint8_t day[WEEK_DAYS], hour[WEEK_HOURS];
    int64_t column[WEEK_HOURS];
    uint64_t guess[WEEK_HOURS]; /* of sums */
    uint64_t scratch[WEEK_HOURS];
};

/* Without columns: they are large, and written before they are read. */
static void
codec_init(struct codec *x, struct buf *out, struct cursor *c)
{
    x->out = out;
    x->c = c;
    x->f = (struct form){ .scale = 0 };
    x->days = x->hours = 0;
}

static bool
are_decimals(const struct form *f)
{
    return !f->is_int && !f->plain;
}

/* -- sums ------------------------------------------------------------------ */

static int64_t
plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t
minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
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

/* What a sum would be if each of 'count' values were 'mean'. */
static uint64_t
guess(uint32_t count, int64_t mean)
{
    return (uint64_t)count * (uint64_t)mean;
}

static int64_t
middle(int64_t a, int64_t b)
{
    return plus(a, minus(b, a) / 2);
}

/* The mean of the day's values: an hour's are near it. */
static int64_t
day_mean(const struct form *f, const struct summary *s)
{
    int64_t sum = s->sum.i;

    if (!f->is_int && (f->plain || !sum_decimal(s->sum.d, f->scale, &sum)))
        return 0;
    return sum / (int64_t)s->count;
}

/* -- writing: columns ------------------------------------------------------ */

/* Values: whole numbers (to_whole), or doubles as they are. */
static void
put_values(struct codec *x, const union number *v, size_t len)
{
    if (x->f.plain)
        block_floats_encode((const uint64_t *)v, len, x->out);
    else
        block_column_encode((const int64_t *)v, len, x->scratch, x->out);
}

static void
to_whole(const struct form *f, union number *v, size_t len)
{
    for (size_t i = 0; are_decimals(f) && i < len; i++)
        (void)block_decimal_of(v[i].d, f->scale, &v[i].i);
}

static bool
is_suited(const struct summary *s, unsigned scale)
{
    int64_t m;

    return s->count == 0 || (sum_decimal(s->sum.d, scale, &m) &&
                             block_decimal_of(s->first.d, scale, &m) &&
                             block_decimal_of(s->last.d, scale, &m) &&
                             block_decimal_of(s->min.d, scale, &m) &&
                             block_decimal_of(s->max.d, scale, &m));
}

static bool
suits(const struct week *w, unsigned scale)
{
    for (size_t i = 0; i < WEEK_DAYS; i++)
        if (!is_suited(&w->day[i], scale))
            return false;
    for (size_t i = 0; i < WEEK_HOURS; i++) {
        struct summary hour = week_hour(w, i);

        if (!is_suited(&hour, scale))
            return false;
    }
    return true;
}

/* 'len' of them: the decimal, less what was guessed; and distances. */
static void
put_sums(struct codec *x, const union number *sum, size_t len)
{
    int64_t whole[WEEK_HOURS];

    if (x->f.plain) {
        put_values(x, sum, len);
        return;
    }
    for (size_t i = 0; i < len; i++) {
        whole[i] = sum[i].i;
        if (!x->f.is_int)
            (void)sum_decimal(sum[i].d, x->f.scale, &whole[i]);
        x->column[i] = minus(whole[i], (int64_t)x->guess[i]);
    }
    block_column_encode(x->column, len, x->scratch, x->out);
    if (x->f.is_int)
        return;
    for (size_t i = 0; i < len; i++)
        x->column[i] =
            (int64_t)(double_bits(sum[i].d) -
                      double_bits(block_decimal_value(whole[i], x->f.scale)));
    block_column_encode(x->column, len, x->scratch, x->out);
}

/* -- writing: days --------------------------------------------------------- */

static void
put_days(struct codec *x, const struct week *w)
{
    struct week_values v;
    union number *four[] = { v.first, v.last, v.min, v.max };
    uint8_t bits = 0;

    for (unsigned i = 0; i < WEEK_DAYS; i++)
        if (w->day[i].count > 0) {
            bits |= (uint8_t)(1u << i);
            x->day[x->days++] = (uint8_t)i;
        }
    buf_put_u8(x->out, bits);
    for (size_t i = 0; i < x->days; i++)
        x->column[i] = w->day[x->day[i]].count;
    block_column_encode(x->column, x->days, x->scratch, x->out);
    for (size_t i = 0; i < x->days; i++)
        x->column[i] = w->day[x->day[i]].first_ms - week_day_ms(w, x->day[i]);
    block_column_encode(x->column, x->days, x->scratch, x->out);
    for (size_t i = 0; i < x->days; i++)
        x->column[i] =
            week_day_ms(w, x->day[i] + 1u) - w->day[x->day[i]].last_ms;
    block_column_encode(x->column, x->days, x->scratch, x->out);
    for (size_t i = 0; i < x->days; i++)
        week_values_set(&v, i, &w->day[x->day[i]]);
    for (size_t k = 0; k < 4; k++)
        to_whole(&x->f, four[k], x->days);
    for (size_t i = 0; i < x->days && !x->f.plain; i++) {
        x->guess[i] =
            guess(w->day[x->day[i]].count, middle(v.min[i].i, v.max[i].i));
        v.last[i].i = minus(v.last[i].i, v.first[i].i);
        v.min[i].i = minus(v.first[i].i, v.min[i].i);
        v.max[i].i = minus(v.max[i].i, v.first[i].i);
    }
    for (size_t k = 0; k < 4; k++)
        put_values(x, four[k], x->days);
    put_sums(x, v.sum, x->days);
}

/* -- writing: hours -------------------------------------------------------- */

/* An hour begins near where the one before ended, and goes little beyond its
 * first and last. */
static void
hours_to_steps(struct week_values *v, size_t len)
{
    for (size_t i = len; i-- > 0;) {
        int64_t first = v->first[i].i, last = v->last[i].i;
        int64_t low = last < first ? last : first;

        v->min[i].i = minus(low, v->min[i].i);
        v->max[i].i = minus(v->max[i].i, last < first ? first : last);
        v->last[i].i = minus(last, first);
        v->first[i].i = minus(first, i > 0 ? v->last[i - 1].i : 0);
    }
}

static void
put_hours(struct codec *x, const struct week *w)
{
    struct week_values v;
    union number *four[] = { v.first, v.last, v.min, v.max };
    size_t len = 0;

    for (size_t i = 0; i < x->days; i++) {
        int64_t mean = day_mean(&x->f, &w->day[x->day[i]]);

        x->column[i] = 0;
        for (unsigned h = 0; h < DAY_HOURS; h++) {
            unsigned at = x->day[i] * DAY_HOURS + h;
            struct summary hour = week_hour(w, at);

            if (hour.count == 0)
                continue;
            x->column[i] |= INT64_C(1) << h;
            x->guess[len] = guess(hour.count, mean);
            week_values_set(&v, len, &hour);
            x->hour[len++] = (uint8_t)at;
        }
    }
    block_column_encode(x->column, x->days, x->scratch, x->out);
    for (size_t i = 0; i < len; i++)
        x->column[i] = w->count[x->hour[i]];
    block_column_encode(x->column, len, x->scratch, x->out);
    put_sums(x, v.sum, len);
    for (size_t k = 0; k < 4; k++)
        to_whole(&x->f, four[k], len);
    if (!x->f.plain)
        hours_to_steps(&v, len);
    for (size_t k = 0; k < 4; k++)
        put_values(x, four[k], len);
}

void
week_encode(const struct week *w, struct buf *out)
{
    struct codec x;
    size_t start = out->size;

    codec_init(&x, out, NULL);
    buf_put_u8(out, WEEK_VERSION);
    if (w->unfit) {
        buf_put_u8(out, WEEK_UNFIT);
    } else {
        x.f.is_int = w->all_int;
        while (!x.f.is_int && x.f.scale <= DECIMAL_MAX_SCALE &&
               !suits(w, x.f.scale))
            x.f.scale++;
        x.f.plain = x.f.scale > DECIMAL_MAX_SCALE;
        buf_put_u8(out, (uint8_t)((x.f.is_int ? WEEK_INT : 0) |
                                  (x.f.plain ? WEEK_PLAIN : 0) |
                                  week_rows_flag(w->rows)));
        if (are_decimals(&x.f))
            buf_put_u8(out, (uint8_t)x.f.scale);
        put_days(&x, w);
        put_hours(&x, w);
    }
    if (!out->failed)
        buf_put_u32(
            out,
            block_crc(slice_of(out->data + start, out->size - start), w->base));
}

void
week_set_rows(struct buf *entry, uint32_t base, enum row_state rows)
{
    const uint8_t all = WEEK_FLAG_KEPT | WEEK_FLAG_LATE;

    INSIST(entry->size >= 2 + BLOCK_CRC_SIZE);
    entry->data[1] = (uint8_t)((entry->data[1] & ~all) | week_rows_flag(rows));
    entry->size -= BLOCK_CRC_SIZE;
    buf_put_u32(entry, block_crc(buf_slice(entry), base));
}

/* -- reading: columns ------------------------------------------------------ */

/* A column of numbers from 'least' to 'most'. */
static void
get_bounded(struct codec *x, size_t len, int64_t least, int64_t most)
{
    bool bad = false;

    block_column_decode(x->c, x->column, len);
    for (size_t i = 0; i < len && !x->c->failed; i++)
        bad |= x->column[i] < least || x->column[i] > most;
    x->c->failed |= bad;
}

static void
get_values(struct codec *x, union number *v, size_t len)
{
    if (x->f.plain)
        block_floats_decode(x->c, (uint64_t *)v, len);
    else
        block_column_decode(x->c, (int64_t *)v, len);
}

static void
of_whole(struct codec *x, union number *v, size_t len)
{
    if (are_decimals(&x->f))
        x->c->failed |= !block_decimal_values(v, len, x->f.scale);
}

static void
get_sums(struct codec *x, union number *sum, size_t len)
{
    get_values(x, sum, len);
    if (x->f.plain || x->c->failed)
        return;
    for (size_t i = 0; i < len; i++)
        sum[i].i = plus(sum[i].i, (int64_t)x->guess[i]);
    if (x->f.is_int)
        return;
    of_whole(x, sum, len);
    block_column_decode(x->c, x->column, len);
    for (size_t i = 0; i < len && !x->c->failed; i++)
        sum[i].i = plus(sum[i].i, x->column[i]);
}

/* -- reading: days --------------------------------------------------------- */

static void
get_day_values(struct codec *x, struct week *w)
{
    struct week_values v;
    union number *four[] = { v.first, v.last, v.min, v.max };
    size_t len = x->days;

    for (size_t k = 0; k < 4; k++)
        get_values(x, four[k], len);
    if (x->c->failed)
        return;
    for (size_t i = 0; i < len && !x->f.plain; i++) {
        v.last[i].i = plus(v.first[i].i, v.last[i].i);
        v.min[i].i = minus(v.first[i].i, v.min[i].i);
        v.max[i].i = plus(v.first[i].i, v.max[i].i);
        x->guess[i] =
            guess(w->day[x->day[i]].count, middle(v.min[i].i, v.max[i].i));
    }
    get_sums(x, v.sum, len);
    for (size_t k = 0; k < 4; k++)
        of_whole(x, four[k], len);
    for (size_t i = 0; i < len && !x->c->failed; i++) {
        struct summary *s = &w->day[x->day[i]];

        s->all_int = x->f.is_int;
        s->first = v.first[i];
        s->last = v.last[i];
        s->min = v.min[i];
        s->max = v.max[i];
        s->sum = v.sum[i];
    }
}

static void
get_days(struct codec *x, struct week *w)
{
    uint8_t bits = cursor_u8(x->c);

    x->c->failed |= bits == 0 || bits >> WEEK_DAYS != 0;
    for (unsigned i = 0; i < WEEK_DAYS && !x->c->failed; i++)
        if (bits >> i & 1)
            x->day[x->days++] = (uint8_t)i;
    get_bounded(x, x->days, 1, DAY_MS);
    for (size_t i = 0; i < x->days && !x->c->failed; i++)
        w->day[x->day[i]].count = (uint32_t)x->column[i];
    get_bounded(x, x->days, 0, DAY_MS - 1);
    for (size_t i = 0; i < x->days && !x->c->failed; i++)
        w->day[x->day[i]].first_ms = week_day_ms(w, x->day[i]) + x->column[i];
    get_bounded(x, x->days, 1, DAY_MS);
    for (size_t i = 0; i < x->days && !x->c->failed; i++) {
        struct summary *s = &w->day[x->day[i]];

        s->last_ms = week_day_ms(w, x->day[i] + 1u) - x->column[i];
        x->c->failed = s->last_ms < s->first_ms;
    }
    if (!x->c->failed)
        get_day_values(x, w);
}

/* -- reading: hours -------------------------------------------------------- */

static void
hours_of_steps(struct week_values *v, size_t len)
{
    int64_t last = 0;

    for (size_t i = 0; i < len; i++) {
        int64_t first = plus(v->first[i].i, last);

        last = plus(v->last[i].i, first);
        v->first[i].i = first;
        v->last[i].i = last;
        v->min[i].i = minus(last < first ? last : first, v->min[i].i);
        v->max[i].i = plus(last < first ? first : last, v->max[i].i);
    }
}

/* Values lie one after the other: moves each to its hour. */
static void
spread(const struct codec *x, union number *v)
{
    for (size_t i = x->hours; x->hours < WEEK_HOURS && i-- > 0;)
        v[x->hour[i]] = v[i];
}

static void
get_hours(struct codec *x, struct week *w, enum week_hours wanted)
{
    struct week_values *v = &w->hour;
    union number *four[] = { v->first, v->last, v->min, v->max };
    size_t at = 0;

    /* Which hours have points. */
    get_bounded(x, x->days, 1, ALL_HOURS);
    for (size_t i = 0; i < x->days && !x->c->failed; i++)
        for (unsigned bits = (unsigned)x->column[i]; bits != 0;
             bits &= bits - 1)
            x->hour[x->hours++] = (uint8_t)(x->day[i] * DAY_HOURS +
                                            (unsigned)__builtin_ctz(bits));
    if (x->c->failed)
        return;
    /* How many, which make those of the day, and what follows for the sums. */
    get_bounded(x, x->hours, 1, BLOCK_MAX_POINTS);
    for (size_t i = 0; i < x->days && !x->c->failed; i++) {
        const struct summary *day = &w->day[x->day[i]];
        int64_t mean = day_mean(&x->f, day);
        uint64_t count = 0;

        for (; at < x->hours && x->hour[at] / DAY_HOURS == x->day[i]; at++) {
            uint32_t n = (uint32_t)x->column[at];

            w->count[x->hour[at]] = n;
            x->guess[at] = guess(n, mean);
            count += n;
        }
        x->c->failed = count != day->count;
    }
    if (x->c->failed)
        return;
    w->hours = wanted;
    get_sums(x, v->sum, x->hours);
    spread(x, v->sum);
    if (wanted != HOURS_ALL || x->c->failed)
        return;
    for (size_t k = 0; k < 4; k++)
        get_values(x, four[k], x->hours);
    if (x->c->failed)
        return;
    if (!x->f.plain)
        hours_of_steps(v, x->hours);
    for (size_t k = 0; k < 4; k++) {
        of_whole(x, four[k], x->hours);
        spread(x, four[k]);
    }
}

static void
get_week(struct cursor *c, enum week_hours hours, struct week *w)
{
    struct codec x;
    uint8_t version = cursor_u8(c), flags = cursor_u8(c);

    w->unfit = flags == WEEK_UNFIT;
    c->failed |= version != WEEK_VERSION || (w->unfit && cursor_left(c) > 0);
    if (w->unfit)
        return;
    codec_init(&x, NULL, c);
    w->rows = (flags & WEEK_FLAG_KEPT) != 0   ? WEEK_ROWS_KEPT
              : (flags & WEEK_FLAG_LATE) != 0 ? WEEK_ROWS_LATE
                                              : WEEK_ROWS_DROPPED;
    flags = (uint8_t)(flags ^ week_rows_flag(w->rows));
    x.f.is_int = flags == WEEK_INT;
    x.f.plain = flags == WEEK_PLAIN;
    c->failed |= flags != 0 && !x.f.is_int && !x.f.plain;
    if (flags == 0)
        x.f.scale = cursor_u8(c);
    c->failed |= x.f.scale > DECIMAL_MAX_SCALE;
    if (c->failed)
        return;
    w->all_int = x.f.is_int;
    get_days(&x, w);
    if (!c->failed && hours != HOURS_NONE)
        get_hours(&x, w, hours);
    c->failed |= hours == HOURS_ALL && cursor_left(c) > 0;
}

enum status
week_decode(struct slice bytes, uint32_t base, enum week_hours hours,
            struct week *out, struct error *e)
{
    struct cursor c;

    out->base = base;
    out->unfit = out->all_int = false;
    out->rows = WEEK_ROWS_DROPPED;
    out->hours = HOURS_NONE;
    memset(out->day, 0, sizeof out->day);
    memset(out->count, 0, sizeof out->count);
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

bool
week_answers(struct slice entry, uint32_t base)
{
    struct week w;

    return entry.size > 0 &&
           week_decode(entry, base, HOURS_NONE, &w, NULL) == ST_OK && !w.unfit;
}

bool
week_is_unfit(struct slice entry, uint32_t base)
{
    struct week w;

    return week_decode(entry, base, HOURS_NONE, &w, NULL) == ST_OK && w.unfit;
}
