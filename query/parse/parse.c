/* Texts and numbers as the parsers of queries need them.  See
 * query/parse/parse_priv.h. */
#include "query/parse/parse_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text/number.h"

enum status
parse_split(struct slice text, char separator, struct arena *a,
            struct slice **parts, size_t *len, struct error *e)
{
    enum status st = text_split(text, separator, a, parts, len, e);

    if (st == ST_OK && *len > 1)
        while (*len > 0 && (*parts)[*len - 1].size == 0)
            (*len)--;
    return st;
}

enum status
parse_long(struct slice text, int64_t *out, struct error *why)
{
    size_t sign = text.size > 0 && (text.data[0] == '+' || text.data[0] == '-');

    if (text.size == 0)
        return error_set(why, ST_INVALID, "Empty string");
    if (sign == 1 && text.size == 1)
        return error_set(why, ST_INVALID, "Just a sign, no value: %.*s",
                         SLICE_ARG(text));
    if (text.size - sign > 19)
        return error_set(why, ST_INVALID, "Value too long: %.*s",
                         SLICE_ARG(text));
    for (size_t i = sign; i < text.size; i++) {
        size_t end = i + 1;

        if (text.data[i] >= '0' && text.data[i] <= '9')
            continue;
        /* The character may have several bytes. */
        while (end < text.size && end < i + 4 &&
               (text.data[end] & 0xc0) == 0x80)
            end++;
        return error_set(why, ST_INVALID, "Invalid character '%.*s' in %.*s",
                         (int)(end - i), (const char *)text.data + i,
                         SLICE_ARG(text));
    }
    if (!number_parse_i64(text, out))
        return error_set(why, ST_INVALID, "Overflow in %.*s", SLICE_ARG(text));
    return ST_OK;
}

bool
parse_float(struct slice text, double *out)
{
    double v;
    char digits[32];
    int precision = 1;

    if (!number_parse_double(text, &v) || isinf((float)v))
        return false;
    do
        (void)snprintf(digits, sizeof digits, "%.*g", precision, (float)v);
    while (strtof(digits, NULL) != (float)v && ++precision <= 9);
    *out = strtod(digits, NULL);
    return true;
}

bool
parse_starts(struct slice text, const char *prefix)
{
    struct slice p = slice_str(prefix);

    return text.size >= p.size &&
           slice_eq_nocase(slice_of(text.data, p.size), p);
}

size_t
parse_find(struct slice text, char c)
{
    const uint8_t *at = text.size == 0 ? NULL : memchr(text.data, c, text.size);

    return at == NULL ? text.size : (size_t)(at - text.data);
}

struct slice
parse_rollup_usage(struct slice text)
{
    static const char *const usages[][2] = {
        { "rollup_raw", "ROLLUP_RAW" },
        { "rollup_nofallback", "ROLLUP_NOFALLBACK" },
        { "rollup_fallback", "ROLLUP_FALLBACK" },
        { "rollup_fallback_raw", "ROLLUP_FALLBACK_RAW" },
    };

    for (size_t i = 0; i < sizeof usages / sizeof usages[0]; i++)
        if (slice_eq_nocase(text, slice_str(usages[i][0])))
            return slice_str(usages[i][1]);
    return slice_str("ROLLUP_NOFALLBACK");
}

static int
compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void
parse_sort_doubles(double *v, size_t len)
{
    qsort(v, len, sizeof *v, compare_doubles);
}
