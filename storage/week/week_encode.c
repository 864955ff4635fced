/* Writes a week. */
#include "storage/week/week_priv.h"

#include "base/obj.h"
#include "storage/block/bits.h"

/* -- columns --------------------------------------------------------------- */

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
put_four(struct codec *x, const struct week_values *v, size_t len)
{
    put_values(x, v->first, len);
    put_values(x, v->last, len);
    put_values(x, v->min, len);
    put_values(x, v->max, len);
}

/* -- decimals -------------------------------------------------------------- */

static void
to_whole(const struct form *f, union number *v, size_t len)
{
    for (size_t i = 0; are_decimals(f) && i < len; i++)
        (void)block_decimal_of(v[i].d, f->scale, &v[i].i);
}

static void
four_to_whole(const struct form *f, struct week_values *v, size_t len)
{
    to_whole(f, v->first, len);
    to_whole(f, v->last, len);
    to_whole(f, v->min, len);
    to_whole(f, v->max, len);
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

/* -- days ------------------------------------------------------------------ */

static void
put_day_values(struct codec *x, const struct week *w)
{
    struct week_values v;
    size_t len = x->days;

    FOR_DAYS(x, i)
    week_values_set(&v, i, &w->day[x->day[i]]);
    four_to_whole(&x->f, &v, len);
    for (size_t i = 0; i < len && !x->f.plain; i++) {
        x->guess[i] =
            guess(w->day[x->day[i]].count, middle(v.min[i].i, v.max[i].i));
        v.last[i].i = minus(v.last[i].i, v.first[i].i);
        v.min[i].i = minus(v.first[i].i, v.min[i].i);
        v.max[i].i = minus(v.max[i].i, v.first[i].i);
    }
    put_four(x, &v, len);
    put_sums(x, v.sum, len);
}

static void
put_days(struct codec *x, const struct week *w)
{
    uint8_t bits = 0;

    for (unsigned i = 0; i < WEEK_DAYS; i++)
        if (w->day[i].count > 0) {
            bits |= (uint8_t)(1u << i);
            x->day[x->days++] = (uint8_t)i;
        }
    buf_put_u8(x->out, bits);
    FOR_DAYS(x, i)
    x->column[i] = w->day[x->day[i]].count;
    block_column_encode(x->column, x->days, x->scratch, x->out);
    FOR_DAYS(x, i)
    x->column[i] = w->day[x->day[i]].first_ms - week_day_ms(w, x->day[i]);
    block_column_encode(x->column, x->days, x->scratch, x->out);
    FOR_DAYS(x, i)
    x->column[i] = week_day_ms(w, x->day[i] + 1u) - w->day[x->day[i]].last_ms;
    block_column_encode(x->column, x->days, x->scratch, x->out);
    put_day_values(x, w);
}

/* -- hours ----------------------------------------------------------------- */

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
    size_t len = 0;

    FOR_DAYS(x, i)
    {
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
    four_to_whole(&x->f, &v, len);
    if (!x->f.plain)
        hours_to_steps(&v, len);
    put_four(x, &v, len);
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
