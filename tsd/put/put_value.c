/* The exact rules matter more than they seem: a value that one server takes and
 * the next rejects makes a client's batch fail for ever. */
#include "tsd/put/put_value.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>

#include "base/text/java.h"
#include "base/text/number.h"

static bool
fail(struct buf *why, const char *before, struct slice s, const char *after)
{
    if (why != NULL) {
        buf_put_str(why, before);
        buf_put_slice(why, s);
        buf_put_str(why, after);
    }
    return false;
}

static bool
fail_char(struct buf *why, struct slice s, size_t at)
{
    size_t n = 1;

    if (why == NULL)
        return false;
    while (at + n < s.size && (s.data[at + n] & 0xc0) == 0x80)
        n++;
    buf_put_str(why, "Invalid character '");
    buf_put(why, s.data + at, n);
    return fail(why, "' in ", s, "");
}

bool
put_parse_long(struct slice s, int64_t *out, struct buf *why)
{
    bool minus = s.size > 0 && s.data[0] == '-';
    size_t i = s.size > 0 && (minus || s.data[0] == '+'), chars = 0;
    uint64_t v = 0;

    if (s.size == 0)
        return fail(why, "Empty string", s, "");
    if (i == 1 && s.size == 1)
        return fail(why, "Just a sign, no value: ", s, "");
    for (size_t k = 0; s.size > 19 + i && k < s.size; k++)
        chars += (s.data[k] & 0xc0) != 0x80; /* not a UTF-8 continuation byte */
    if (chars > 19 + i)
        return fail(why, "Value too long: ", s, "");
    for (; i < s.size; i++) {
        unsigned d = (unsigned)s.data[i] - '0';

        if (d > 9)
            return fail_char(why, s, i);
        v = v * 10 + d; /* 19 digits fit */
    }
    if (v > (uint64_t)INT64_MAX + minus)
        return fail(why, "Overflow in ", s, "");
    *out = minus ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

static bool
is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* [+-] 0x hex . hex p [+-] digits, which strtod() must take to its end. */
static bool
parse_hex_double(struct slice s, double *out)
{
    size_t sign = s.size > 0 && (s.data[0] == '+' || s.data[0] == '-');
    char text[128], *end;

    if (s.size == sign || s.size >= sizeof text || s.data[sign] != '0' ||
        (memchr(s.data, 'p', s.size) == NULL &&
         memchr(s.data, 'P', s.size) == NULL))
        return false;
    memcpy(text, s.data, s.size);
    text[s.size] = '\0';
    *out = strtod(text, &end);
    return end == text + s.size;
}

bool
put_parse_double(struct slice s, double *out, struct buf *why)
{
    struct slice bare = java_trim(s);
    size_t i, points = 0;

    s = bare;
    if (s.size > 1 && strchr("fFdD", s.data[s.size - 1]) != NULL)
        bare.size--;
    if (number_parse_double(s, out) || number_parse_double(bare, out) ||
        parse_hex_double(bare, out))
        return true;
    if (s.size == 0)
        return fail(why, "empty String", s, "");
    /* Two points before anything else is wrong have a message of their own. */
    i = s.data[0] == '+' || s.data[0] == '-';
    for (; i < s.size && (s.data[i] == '.' || is_digit(s.data[i])); i++)
        points += s.data[i] == '.';
    if (points >= 2)
        return fail(why, "multiple points", slice_str(""), "");
    return fail(why, "For input string: \"", s, "\"");
}

bool
put_may_skip_blanks(struct slice line, size_t value_at)
{
    struct slice word = { NULL, 0 };

    /* Nearly all lines have nothing to skip. */
    if (line.size == 0 ||
        (line.data[0] != ' ' && memmem(line.data, line.size, "  ", 2) == NULL))
        return false;
    for (size_t i = 0; i <= value_at; i++) {
        line = slice_skip(line, ' ');
        word = slice_cut(&line, ' ');
    }
    return word.size > 0 && memchr(word.data, '=', word.size) == NULL;
}

bool
put_parse_time(struct slice s, int64_t *out, struct buf *why)
{
    uint8_t text[64];
    size_t size = 0;

    if (memchr(s.data, '.', s.size) == NULL)
        return put_parse_long(s, out, why);
    if (number_parse_seconds(s, out))
        /* A smaller number of milliseconds would be read as seconds. */
        return *out > PUT_MAX_SECONDS ||
               fail(why, "Invalid time: ", s,
                    ". Times before 1970-02-19T17:02:48 have no fraction");
    /* OpenTSDB leaves the point out, and its sentences show such numbers.
     * Where that makes ten digits of it they are seconds; milliseconds would be
     * in 1970. */
    for (size_t i = 0; i < s.size && size < sizeof text; i++)
        if (s.data[i] != '.')
            text[size++] = s.data[i];
    if (!put_parse_long(slice_of(text, size), out, why))
        return false;
    return *out <= PUT_MAX_SECONDS || *out > POINT_MAX_TS_MS ||
           fail(why, "Invalid time: ", s,
                ". A fraction of a second has 1 to 3 digits");
}

bool
put_take_plain_value(const uint8_t **at, const uint8_t *end, struct point *out)
{
    static const double powers[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                     1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14 };
    const uint8_t *p = *at, *from, *point;
    bool minus = p < end && *p == '-';
    int64_t v = 0;

    p += minus;
    for (from = p; p < end && is_digit(*p) && p - from < 18; p++)
        v = v * 10 + (*p - '0');
    if (p == from || (p < end && is_digit(*p)))
        return false;
    if (p == end || *p != '.') {
        out->v.i = minus ? -v : v;
        out->is_float = false;
        *at = p;
        return true;
    }
    point = p++;
    for (; p < end && is_digit(*p) && p - from < 16; p++)
        v = v * 10 + (*p - '0');
    if (p - point < 2 || p - from > 16 || (p < end && is_digit(*p)))
        return false;
    /* Both are exact, so one division rounds right. */
    out->v.d = (double)v / powers[p - point - 1];
    out->v.d = minus ? -out->v.d : out->v.d;
    out->is_float = true;
    *at = p;
    return true;
}

bool
put_parse_value(struct slice s, struct point *out, struct buf *why)
{
    const uint8_t *at = s.data;

    if (s.size > 0 && put_take_plain_value(&at, s.data + s.size, out) &&
        at == s.data + s.size)
        return true;
    out->is_float = false;
    for (size_t i = 0; i < s.size; i++)
        out->is_float |= s.data[i] == '.' || (s.data[i] | 0x20) == 'e';
    return out->is_float ? put_parse_double(s, &out->v.d, why)
                         : put_parse_long(s, &out->v.i, why);
}

bool
put_value_is_finite(const struct point *p)
{
    return !p->is_float || isfinite(p->v.d);
}

bool
put_time_to_ms(int64_t time, int64_t *ms)
{
    *ms = time <= PUT_MAX_SECONDS ? time * 1000 : time;
    return *ms <= POINT_MAX_TS_MS;
}

void
put_bytes_print(struct buf *out, struct slice bytes)
{
    buf_put_u8(out, '[');
    for (size_t i = 0; i < bytes.size; i++)
        buf_printf(out, "%s%d", i == 0 ? "" : ", ", (int8_t)bytes.data[i]);
    buf_put_u8(out, ']');
}

unsigned
put_value_cell(const struct point *p, bool narrow, uint8_t out[8])
{
    int64_t v = p->v.i;
    float f = p->is_float ? (float)p->v.d : 0;
    unsigned width = v == (int8_t)v    ? 1
                     : v == (int16_t)v ? 2
                     : v == (int32_t)v ? 4
                                       : 8;
    uint64_t bits;
    uint32_t narrow_bits;

    memcpy(&bits, &p->v, sizeof bits);
    if (p->is_float) {
        width = narrow && (double)f == p->v.d ? 4 : 8;
        memcpy(&narrow_bits, &f, sizeof narrow_bits);
        bits = width == 4 ? narrow_bits : bits;
    }
    bits = htobe64(bits << 8 * (8 - width));
    memcpy(out, &bits, 8);
    return width;
}

void
put_value_print(struct buf *out, const struct point *p, bool narrow)
{
    uint8_t cell[8];
    unsigned width = put_value_cell(p, narrow, cell);

    put_bytes_print(out, slice_of(cell, width));
    buf_printf(out, "/%u", (p->is_float ? 8 : 0) + width - 1);
}
