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
