/* Reads a week. */
#include "storage/week/week_priv.h"

/* -- columns --------------------------------------------------------------- */

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
get_four(struct codec *x, struct week_values *v, size_t len)
{
    get_values(x, v->first, len);
    get_values(x, v->last, len);
    get_values(x, v->min, len);
    get_values(x, v->max, len);
}

static void
of_whole(struct codec *x, union number *v, size_t len)
{
    if (are_decimals(&x->f))
        x->c->failed |= !block_decimal_values(v, len, x->f.scale);
}

static void
four_of_whole(struct codec *x, struct week_values *v, size_t len)
{
    of_whole(x, v->first, len);
    of_whole(x, v->last, len);
    of_whole(x, v->min, len);
    of_whole(x, v->max, len);
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

/* -- days ------------------------------------------------------------------ */

static void
get_day_values(struct codec *x, struct week *w)
{
    struct week_values v;
    size_t len = x->days;

    get_four(x, &v, len);
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
    four_of_whole(x, &v, len);
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

/* -- hours ----------------------------------------------------------------- */

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
    get_four(x, v, x->hours);
    if (x->c->failed)
        return;
    if (!x->f.plain)
        hours_of_steps(v, x->hours);
    four_of_whole(x, v, x->hours);
    spread(x, v->first);
    spread(x, v->last);
    spread(x, v->min);
    spread(x, v->max);
}

/* -- together -------------------------------------------------------------- */

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
