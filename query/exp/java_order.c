/* See query/exp/java_order.h. */
#include "config.h"

#include "query/exp/java_order.h"

#include "base/obj.h"

/* One character of UTF-8, and how many bytes it has. */
static uint32_t
next_char(struct slice s, size_t at, size_t *size)
{
    uint8_t c = s.data[at];
    size_t n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    uint32_t u = n == 1 ? c : c & (0x7fU >> n);

    if (at + n > s.size)
        n = s.size - at;
    for (size_t i = 1; i < n; i++)
        u = u << 6 | (s.data[at + i] & 0x3f);
    *size = n;
    return u;
}

/* String.hashCode(), over units of UTF-16, spread as HashMap does. */
static uint32_t
java_hash(struct slice s)
{
    uint32_t h = 0;

    for (size_t at = 0, n; at < s.size; at += n) {
        uint32_t u = next_char(s, at, &n);

        if (u >= 0x10000) {
            h = h * 31 + (0xd800 + ((u - 0x10000) >> 10 & 0x3ff));
            u = 0xdc00 + (u & 0x3ff);
        }
        h = h * 31 + u;
    }
    return h ^ h >> 16;
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

/* Within a bucket they stay as they came; there are few. */
void
java_order(const struct slice *names, size_t initial, size_t *order, size_t len)
{
    uint32_t mask = (uint32_t)capacity_for(initial, len) - 1;
    uint32_t buckets[JAVA_ORDER_MAX];

    INSIST(len <= JAVA_ORDER_MAX);
    for (size_t i = 0; i < len; i++) {
        uint32_t bucket = java_hash(names[order[i]]) & mask;
        size_t moved = order[i], at = i;

        for (; at > 0 && buckets[at - 1] > bucket; at--) {
            order[at] = order[at - 1];
            buckets[at] = buckets[at - 1];
        }
        order[at] = moved;
        buckets[at] = bucket;
    }
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
        if ((java_hash(names[picked[i]]) & mask) <
            (java_hash(names[first]) & mask))
            first = picked[i];
    return first;
}
