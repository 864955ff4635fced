#include "base/text/java.h"

#include <math.h>

#include "base/text/number.h"
#include "base/obj.h"
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

/* The digits of Double.toString() of what is finite and positive: they are
 * 0.d1d2.. * 10^point.  Returns how many. */
static size_t
java_digits(double d, char digits[NUMBER_TEXT_MAX], int *point)
{
    char text[NUMBER_TEXT_MAX];
    size_t size = number_format_double(d, text), n = 0;
    int64_t exponent = 0;
    bool after = false;

    *point = 0;
    for (size_t i = 0; i < size && text[i] != 'E'; i++) {
        if (text[i] == '.') {
            after = true;
            continue;
        }
        *point += !after;
        digits[n++] = text[i];
    }
    for (size_t i = 0; i < size; i++)
        if (text[i] == 'E')
            INSIST(number_parse_i64(slice_of(text + i + 1, size - i - 1),
                                    &exponent));
    *point += (int)exponent;
    return n;
}

size_t
java_format_fixed(double d, char *out)
{
    enum { DECIMALS = 6 };
    char digits[NUMBER_TEXT_MAX], *p = out;
    int point, kept, least;
    size_t n, at;

    if (isnan(d) || isinf(d))
        return number_format_double(d, out);
    if (signbit(d))
        *p++ = '-';
    n = java_digits(fabs(d), digits, &point);
    kept = point + DECIMALS; /* digits; below 0 they are all too small */
    least = kept > DECIMALS ? kept : DECIMALS;
    /* A zero for the carry, then what is kept, behind zeros if it is less. */
    p[0] = '0';
    for (int i = 0; i < least; i++) {
        int digit = i - (least - kept);

        p[1 + i] = digit < 0 || digit >= (int)n ? '0' : digits[digit];
    }
    if (kept >= 0 && kept < (int)n && digits[kept] >= '5') {
        for (at = (size_t)least; p[at] == '9'; at--)
            p[at] = '0';
        p[at]++;
    }
    at = (size_t)least + 1;
    if (p[0] == '0' && least > DECIMALS)
        memmove(p, p + 1, --at);
    memmove(p + at - DECIMALS + 1, p + at - DECIMALS, DECIMALS);
    p[at - DECIMALS] = '.';
    return (size_t)(p - out) + at + 1;
}

static size_t
capacity_for(size_t initial, size_t len)
{
    size_t capacity = 1;

    while (capacity < initial)
        capacity *= 2;
    while (len > capacity * 3 / 4)
        capacity *= 2;
    return capacity;
}

void
java_order_hashed(uint32_t *hashes, size_t initial, size_t *order, size_t len)
{
    uint32_t mask = (uint32_t)capacity_for(initial, len) - 1;

    for (size_t i = 1; i < len; i++) {
        uint32_t hash = hashes[i];
        size_t moved = order[i], at = i;

        for (; at > 0 && (hashes[at - 1] & mask) > (hash & mask); at--) {
            order[at] = order[at - 1];
            hashes[at] = hashes[at - 1];
        }
        order[at] = moved;
        hashes[at] = hash;
    }
}

void
java_order(const struct slice *names, size_t initial, size_t *order, size_t len)
{
    uint32_t hashes[JAVA_ORDER_MAX];

    INSIST(len <= JAVA_ORDER_MAX);
    for (size_t i = 0; i < len; i++)
        hashes[i] = java_map_hash(names[order[i]]);
    java_order_hashed(hashes, initial, order, len);
}

/* Java makes the set large enough for all before it puts them. */
size_t
java_set_first(const struct slice *names, size_t names_len,
               const size_t *picked, size_t len)
{
    size_t wanted = names_len + names_len / 3 + 1;
    uint32_t mask =
        (uint32_t)capacity_for(
            wanted < JAVA_DEFAULT_SIZE ? JAVA_DEFAULT_SIZE : wanted, 0) -
        1;
    size_t first = picked[0];

    for (size_t i = 1; i < len; i++)
        if ((java_map_hash(names[picked[i]]) & mask) <
            (java_map_hash(names[first]) & mask))
            first = picked[i];
    return first;
}
