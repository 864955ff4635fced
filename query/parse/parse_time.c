/* Times and durations, with the oddities of OpenTSDB's DateTime: dates are read
 * leniently, and ten digits or fewer are seconds. */
#include "query/parse/parse_priv.h"

#include "base/cursor.h"
#include "base/text/number.h"

#define YEAR_MAX 250000000 /* beyond, 64 bits of milliseconds overflow */

static size_t
digits_len(struct slice s)
{
    size_t n = 0;

    while (n < s.size && (s.data[n] >= '0' && s.data[n] <= '9'))
        n++;
    return n;
}

/* A member of a date: blanks before it do not count, what follows it does not
 * matter, and like Java's int it wraps. */
static int
read_member(struct cursor *c)
{
    struct slice rest;
    uint64_t v = 0;
    bool minus = false;
    size_t n;

    while (cursor_left(c) > 0 && (*c->at == ' ' || *c->at == '\t'))
        c->at++;
    if (cursor_left(c) > 0 && *c->at == '-') {
        minus = true;
        c->at++;
    }
    rest = slice_of(c->at, cursor_left(c));
    n = digits_len(rest);
    if (n == 0)
        c->failed = true;
    (void)number_parse_u64(slice_of(rest.data, n), &v);
    c->at += n;
    return (int32_t)(uint32_t)(minus ? 0 - v : v);
}

static enum status
parse_date(struct slice text, const struct timezone *zone,
           struct slice zone_name, int64_t *out_ms, struct error *e)
{
    struct cursor c = cursor_of(text);
    char middle = parse_find(text, '-') < text.size ? '-' : ' ';
    int m[6] = { 0 }; /* year, month, day, hour, minute, second */
    const char signs[6] = { '\0', '/', '/', middle, ':', ':' };
    size_t len;

    switch (text.size) {
    case 10:
        len = 3;
        break;
    case 16:
        len = 5;
        break;
    case 19:
        len = 6;
        break;
    default:
        return error_set(e, ST_INVALID, "Invalid absolute date: %.*s",
                         SLICE_ARG(text));
    }
    if (zone == NULL)
        return error_set(e, ST_INVALID, "Invalid timezone name: %.*s",
                         SLICE_ARG(zone_name));
    for (size_t i = 0; i < len && !c.failed; i++) {
        if (i > 0) {
            if (cursor_left(&c) == 0 || *c.at != (uint8_t)signs[i])
                c.failed = true;
            else
                c.at++;
        }
        if (!c.failed)
            m[i] = read_member(&c);
    }
    if (c.failed || m[0] > YEAR_MAX || m[0] < -YEAR_MAX)
        return error_set(e, ST_INVALID,
                         "Invalid date: %.*s. Unparseable date: \"%.*s\"",
                         SLICE_ARG(text), SLICE_ARG(text));
    *out_ms = timezone_utc_ms(zone, m[0], m[1], m[2], m[3], m[4], m[5], 0);
    return ST_OK;
}

enum status
parse_time_in(struct slice text, int64_t now_ms, const struct timezone *zone,
              struct slice zone_name, int64_t *out_ms, struct error *e)
{
    size_t digits = digits_len(text);
    struct duration ago;
    enum status st;
    struct error why;

    if (digits > 0 && digits + 2 == text.size &&
        slice_eq_str(slice_of(text.data + digits, 2), "ms"))
        return parse_long(slice_of(text.data, digits), out_ms, e);
    if (slice_eq_nocase(text, slice_str("now"))) {
        *out_ms = now_ms;
        return ST_OK;
    }
    if (text.size >= 4 &&
        slice_eq_nocase(slice_of(text.data + text.size - 4, 4),
                        slice_str("-ago"))) {
        st = parse_duration(slice_of(text.data, text.size - 4), &ago, e);
        if (st == ST_OK)
            *out_ms = now_ms - ago.ms;
        return st;
    }
    if (parse_find(text, '/') < text.size || parse_find(text, ':') < text.size)
        return parse_date(text, zone, zone_name, out_ms, e);
    if (parse_find(text, '.') < text.size) {
        if (number_parse_seconds(text, out_ms))
            return ST_OK;
        return error_set(e, ST_INVALID,
                         "Invalid time: %.*s. Millisecond timestamps must be "
                         "in the format <seconds>.<ms> where the milliseconds "
                         "are limited to 3 digits",
                         SLICE_ARG(text));
    }
    if (parse_long(text, out_ms, &why) != ST_OK)
        return error_set(e, ST_INVALID, "Invalid time: %.*s. %s",
                         SLICE_ARG(text), why.text);
    if (*out_ms < 0)
        return error_set(e, ST_INVALID,
                         "Invalid time: %.*s. Negative timestamps are not "
                         "supported.",
                         SLICE_ARG(text));
    if (text.size <= 10)
        *out_ms *= 1000;
    return ST_OK;
}

enum status
parse_time(struct slice text, int64_t now_ms, const struct timezone *zone,
           int64_t *out_ms, struct error *e)
{
    if (zone == NULL)
        zone = timezone_utc();
    return parse_time_in(text, now_ms, zone, slice_str(""), out_ms, e);
}
