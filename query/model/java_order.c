/* See query/model/java_order.h. */
#include "config.h"

#include "query/model/java_order.h"

#include "base/text/java.h"
#include "base/obj.h"

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
        uint32_t bucket = java_map_hash(names[order[i]]) & mask;
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
        if ((java_map_hash(names[picked[i]]) & mask) <
            (java_map_hash(names[first]) & mask))
            first = picked[i];
    return first;
}
