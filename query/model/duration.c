#include "query/model/duration.h"

#include "base/text/number.h"

enum status
parse_duration(struct slice text, int64_t *out_ms, struct error *e)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = { { 's', 1 },          { 'm', 60 },        { 'h', 3600 },
                  { 'd', 86400 },      { 'w', 7 * 86400 }, { 'n', 30 * 86400 },
                  { 'y', 365 * 86400 } };
    size_t digits = 0;
    int64_t n, ms = 0;
    uint8_t last;

    if (text.size == 0)
        return error_set(e, ST_INVALID, "Cannot parse null or empty duration");
    while (digits < text.size && text.data[digits] >= '0' &&
           text.data[digits] <= '9')
        digits++;
    if (digits == text.size)
        return error_set(e, ST_INVALID,
                         "Invalid duration, must have an integer and unit: "
                         "%.*s",
                         SLICE_ARG(text));
    if (!number_parse_i64(slice_of(text.data, digits), &n))
        return error_set(e, ST_INVALID, "Invalid duration (number): %.*s",
                         SLICE_ARG(text));
    if (n <= 0)
        return error_set(e, ST_INVALID, "Zero or negative duration: %.*s",
                         SLICE_ARG(text));
    last = text.data[text.size - 1];
    if ((last | 0x20) == 's' && text.data[text.size - 2] == 'm') {
        *out_ms = n;
        return ST_OK;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if ((last | 0x20) == units[i].unit)
            ms = units[i].seconds * 1000;
    if (ms == 0)
        return error_set(e, ST_INVALID, "Invalid duration (suffix): %.*s",
                         SLICE_ARG(text));
    if (__builtin_mul_overflow(n, ms, out_ms))
        return error_set(e, ST_INVALID,
                         "Duration must be < Long.MAX_VALUE ms: %.*s",
                         SLICE_ARG(text));
    return ST_OK;
}
