/* See base/text/java.h. */
#include "config.h"

#include "base/text/java.h"

#include <math.h>

#include "base/text/number.h"
#include "base/utf8.h"

struct slice
java_trim(struct slice s)
{
    while (s.size > 0 && s.data[0] <= ' ')
        s = slice_of(s.data + 1, s.size - 1);
    while (s.size > 0 && s.data[s.size - 1] <= ' ')
        s.size--;
    return s;
}

/* Over units of UTF-16. */
uint32_t
java_hash(struct slice s)
{
    uint32_t h = 0;

    while (s.size > 0) {
        uint32_t c = utf8_take(&s);

        if (c > 0xffff) {
            h = h * 31 + (0xd800 + ((c - 0x10000) >> 10));
            c = 0xdc00 + ((c - 0x10000) & 0x3ff);
        }
        h = h * 31 + c;
    }
    return h;
}

uint32_t
java_map_hash(struct slice s)
{
    uint32_t h = java_hash(s);

    return h ^ h >> 16;
}

int64_t
java_long(double d)
{
    if (isnan(d))
        return 0;
    if (fabs(d) >= 0x1p63)
        return d < 0 ? INT64_MIN : INT64_MAX;
    return (int64_t)d;
}

bool
java_parse_double(struct slice s, double *out)
{
    s = java_trim(s);
    if (slice_eq_str(s, "NaN"))
        *out = NAN;
    else if (slice_eq_str(s, "Infinity") || slice_eq_str(s, "+Infinity"))
        *out = INFINITY;
    else if (slice_eq_str(s, "-Infinity"))
        *out = -INFINITY;
    else {
        if (s.size > 1 && memchr("fFdD", s.data[s.size - 1], 4) != NULL)
            s.size--;
        return number_parse_double(s, out);
    }
    return true;
}
