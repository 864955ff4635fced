#include "base/text/json_clean.h"

#include "base/text/digit.h"
#include "base/utf8.h"

#define ESCAPE_SIZE 6 /* \uXXXX */
#define MORE_BYTES  ((size_t)1 << 20)

/* The code unit of an escape; -1: none is at the front. */
static int
take_unit(struct slice s)
{
    int unit = 0;

    if (s.size < ESCAPE_SIZE || s.data[0] != '\\' || s.data[1] != 'u')
        return -1;
    for (size_t i = 2; i < ESCAPE_SIZE; i++) {
        int d = digit_hex(s.data[i]);

        if (d < 0)
            return -1;
        unit = unit << 4 | d;
    }
    return unit;
}

static bool
is_high(int unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool
is_low(int unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

/* How many bytes the escape at the front, of a text in quotes, has: with its
 * second half, but of half a pair '*bad' is set. */
static size_t
escape_size(struct slice s, bool *bad)
{
    int unit = take_unit(s);

    *bad = false;
    if (is_high(unit) &&
        is_low(take_unit(slice_of(s.data + ESCAPE_SIZE, s.size - ESCAPE_SIZE))))
        return 2 * ESCAPE_SIZE;
    *bad = is_high(unit) || is_low(unit);
    if (unit >= 0)
        return ESCAPE_SIZE;
    /* What is no ASCII behind it is looked at by itself. */
    return s.size > 1 && s.data[1] < 0x80 ? 2 : 1;
}

bool
json_clean(struct slice text, struct buf *out)
{
    bool in_text = false;
    size_t from = 0, n; /* what is behind 'from' is not copied yet */

    for (size_t i = 0; i < text.size; i += n) {
        struct slice rest = slice_of(text.data + i, text.size - i);
        uint8_t c = text.data[i];
        bool bad = false;

        n = 1;
        if (c == '"') {
            in_text = !in_text;
        } else if (c == '\\' && in_text) {
            n = escape_size(rest, &bad);
        } else if (c >= 0x80) {
            size_t len = utf8_length(rest.data, rest.size, &n);

            bad = len == 0;
            n = bad ? n : len;
        }
        if (!bad)
            continue;
        buf_put(out, text.data + from, i - from);
        utf8_put(out, UTF8_BAD);
        from = i + n;
        if (out->failed || out->size > from + MORE_BYTES)
            return false;
    }
    buf_put(out, text.data + from, from == 0 ? 0 : text.size - from);
    return from > 0 && !out->failed;
}
