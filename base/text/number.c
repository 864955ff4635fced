/* See base/text/number.h. */
#include "config.h"

#include "base/text/number.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text/decimal.h"
#include "base/text/number_priv.h"

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

static const double powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

bool
number_parse_double(struct slice s, double *out)
{
    size_t i = 0, digits = 0;
    uint64_t mantissa = 0;
    int scale = 0, exponent = 0;
    bool negative = false, exact = true;
    char small[64], *text = small, *end;

    if (i < s.size && (s.data[i] == '-' || s.data[i] == '+'))
        negative = s.data[i++] == '-';
    for (bool point = false; i < s.size; i++) {
        uint8_t c = s.data[i];

        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        digits++;
        if (mantissa < (UINT64_C(1) << 53) / 10 - 1) {
            mantissa = mantissa * 10 + (uint64_t)(c - '0');
            scale -= point;
        } else {
            exact = false;
        }
    }
    if (digits == 0)
        return false;
    if (i < s.size && (s.data[i] == 'e' || s.data[i] == 'E')) {
        bool minus = false;
        size_t from;

        i++;
        if (i < s.size && (s.data[i] == '-' || s.data[i] == '+'))
            minus = s.data[i++] == '-';
        for (from = i; i < s.size && s.data[i] >= '0' && s.data[i] <= '9'; i++)
            if (exponent < 100000)
                exponent = exponent * 10 + (s.data[i] - '0');
        if (i == from)
            return false;
        if (minus)
            exponent = -exponent;
    }
    if (i != s.size)
        return false;
    scale += exponent;
    /* Both operands are exact, so one operation rounds correctly (Clinger). */
    if (exact && scale >= -22 && scale <= 22) {
        double v = (double)mantissa;

        v = scale < 0 ? v / powers[-scale] : v * powers[scale];
        *out = negative ? -v : v;
        return true;
    }
    if (s.size >= sizeof small) {
        text = malloc(s.size + 1);
        if (text == NULL)
            return false;
    }
    memcpy(text, s.data, s.size);
    text[s.size] = '\0';
    /* The program never calls setlocale(): the point is a point. */
    *out = strtod(text, &end);
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
    int precision = 15;
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
