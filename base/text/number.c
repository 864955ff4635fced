#include "base/text/number.h"

#include <locale.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text/decimal.h"
#include "base/text/number_priv.h"
#include "base/mem.h"

bool
number_parse_u64(struct slice s, uint64_t *out)
{
    uint64_t v = 0;

    if (s.size == 0)
        return false;
    for (size_t i = 0; i < s.size; i++) {
        unsigned d = (unsigned)s.data[i] - '0';

        if (d > 9 || __builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)d, &v))
            return false;
    }
    *out = v;
    return true;
}

bool
number_parse_i64(struct slice s, int64_t *out)
{
    bool negative = s.size > 0 && s.data[0] == '-';
    uint64_t v;

    if (s.size > 0 && (s.data[0] == '-' || s.data[0] == '+')) {
        s.data++;
        s.size--;
    }
    if (!number_parse_u64(s, &v) || v > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

bool
number_parse_seconds(struct slice s, int64_t *ms)
{
    struct slice seconds = slice_cut(&s, '.');
    uint64_t whole, fraction;

    if (seconds.size > 10 || s.size > 3 || !number_parse_u64(seconds, &whole) ||
        !number_parse_u64(s, &fraction))
        return false;
    for (size_t i = s.size; i < 3; i++)
        fraction *= 10;
    *ms = (int64_t)(whole * 1000 + fraction);
    return true;
}

static size_t
skip_digits(struct slice s, size_t i)
{
    while (i < s.size && s.data[i] >= '0' && s.data[i] <= '9')
        i++;
    return i;
}

static bool
is_double(struct slice s)
{
    size_t i = s.size > 0 && (s.data[0] == '-' || s.data[0] == '+');
    size_t from = i, digits;

    i = skip_digits(s, i);
    digits = i - from;
    if (i < s.size && s.data[i] == '.') {
        from = ++i;
        i = skip_digits(s, i);
        digits += i - from;
    }
    if (digits > 0 && i < s.size && (s.data[i] | 0x20) == 'e') {
        i++;
        i += i < s.size && (s.data[i] == '-' || s.data[i] == '+');
        from = i;
        i = skip_digits(s, i);
        digits = i - from;
    }
    return digits > 0 && i == s.size;
}

bool
number_parse_double(struct slice s, double *out)
{
    char small[64], *text = small;

    if (!is_double(s))
        return false;
    if (s.size >= sizeof small && (text = mem_try(s.size + 1)) == NULL)
        return false;
    memcpy(text, s.data, s.size);
    text[s.size] = '\0';
    /* The program never calls setlocale(): the point is a point. */
    *out = strtod(text, NULL);
    if (text != small)
        free(text);
    return true;
}

/* May write 20 bytes, however many digits there are. */
static size_t
format_u64(uint64_t v, char *out)
{
    char tmp[40];
    size_t at = 20;

    if (v < 1000000)
        return decimal_put_short(out, (unsigned)v);
    for (; v >= 10000; v /= 10000) {
        at -= 4;
        decimal_put_four(tmp + at, (unsigned)(v % 10000));
    }
    at -= 4;
    decimal_put_four(tmp + at, (unsigned)v);
    while (tmp[at] == '0')
        at++;
    /* Of a fixed size, so that it is two moves and no call. */
    memcpy(out, tmp + at, 20);
    return 20 - at;
}

size_t
number_format_i64(int64_t v, char *out)
{
    if (v >= 0)
        return format_u64((uint64_t)v, out);
    out[0] = '-';
    return 1 + format_u64(0 - (uint64_t)v, out + 1);
}

static size_t
trim(const char *digits, size_t n)
{
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

/* The shortest decimal digits d1d2...dn with v = 0.d1d2...dn * 10^exponent. */
static size_t
shortest_digits(double v, char *digits, int *exponent)
{
    char text[40];
    size_t n = 0;
    int precision = v < DBL_MIN ? 2 : 15; /* Java writes two at least */
    uint64_t m;

    if (v < 1e15 && (double)(uint64_t)v == v) {
        n = format_u64((uint64_t)v, digits);
        *exponent = (int)n;
        return trim(digits, n);
    }
    if (number_shortest(v, &m, exponent)) {
        n = format_u64(m, digits);
        *exponent += (int)n;
        return trim(digits, n);
    }
    do
        (void)snprintf(text, sizeof text, "%.*e", precision - 1, v);
    while (strtod(text, NULL) != v && precision++ < 17);
    *exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10) + 1;
    for (const char *p = text; *p != 'e'; p++)
        if (*p != '.')
            digits[n++] = *p;
    return trim(digits, n);
}

/* Less than a thousand either way, and no byte more than needed. */
static size_t
format_exponent(int v, char *out)
{
    char text[24];
    size_t n = number_format_i64(v, text);

    for (size_t i = 0; i < n; i++)
        out[i] = text[i];
    return n;
}

/* 0.d1d2...dn * 10^exponent with a point and no exponent.  The digits have room
 * for 24, so that copies are of a fixed size, moves and no calls. */
static size_t
format_plain(const char *digits, size_t n, int exponent, char *out)
{
    char *p = out;

    if (exponent <= 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = exponent; i < 0; i++)
            *p++ = '0';
        memcpy(p, digits, 20);
        return (size_t)(p - out) + n;
    }
    memcpy(p, digits, 8);
    for (size_t i = n; i < (size_t)exponent; i++)
        p[i] = '0';
    p += exponent;
    *p++ = '.';
    if (n <= (size_t)exponent) {
        *p++ = '0';
        return (size_t)(p - out);
    }
    memcpy(p, digits + exponent, 16);
    return (size_t)(p - out) + n - (size_t)exponent;
}

/* i / 10,000, less than 10 million; may write 20 bytes. */
static size_t
format_ten_thousandths(uint64_t i, char *out)
{
    unsigned rest = (unsigned)(i % 10000);
    size_t n = format_u64(i / 10000, out);

    out[n++] = '.';
    decimal_put_four(out + n, rest);
    return n + (rest % 10 != 0     ? 4
                : rest % 100 != 0  ? 3
                : rest % 1000 != 0 ? 2
                                   : 1);
}

size_t
number_format_double(double v, char *out)
{
    char digits[24] = { 0 };
    char *p = out;
    size_t n;
    int exponent;

    if (isnan(v)) {
        memcpy(out, "NaN", 3);
        return 3;
    }
    if (signbit(v)) {
        *p++ = '-';
        v = -v;
    }
    if (isinf(v)) {
        memcpy(p, "Infinity", 8);
        return (size_t)(p - out) + 8;
    }
    if (v == 0) {
        memcpy(p, "0.0", 3);
        return (size_t)(p - out) + 3;
    }
    /* Mostly there are four decimals or less.  Of decimals with 15 digits or
     * less each is another double, so this one is the shortest. */
    if (v >= 1e-3 && v < 1e7) {
        uint64_t i = (uint64_t)(v * 1e4 + 0.5);

        if ((double)i / 1e4 == v)
            return (size_t)(p - out) + format_ten_thousandths(i, p);
    }
    n = shortest_digits(v, digits, &exponent);
    if (v >= 1e-3 && v < 1e7)
        return (size_t)(p - out) + format_plain(digits, n, exponent, p);
    *p++ = digits[0];
    *p++ = '.';
    if (n == 1) {
        *p++ = '0';
    } else {
        memcpy(p, digits + 1, n - 1);
        p += n - 1;
    }
    *p++ = 'E';
    return (size_t)(p - out) + format_exponent(exponent - 1, p);
}

size_t
number_format_float(float v, char *out)
{
    char digits[32];

    if (isnan(v) || isinf(v))
        return number_format_double((double)v, out);
    for (int precision = 1; precision <= 9; precision++) {
        (void)snprintf(digits, sizeof digits, "%.*g", precision, (double)v);
        if (strtof(digits, NULL) == v)
            break;
    }
    return number_format_double(strtod(digits, NULL), out);
}
