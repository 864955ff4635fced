/* Encodes all open rows of a store's head whose hours are over, at once: what
 * the flusher does after a delay. */
#pragma once

#include "storage/store/store_priv.h"

static inline size_t
encode_all(struct store *s)
{
    const struct encode_rule rule = {
        .now_s = store_now_s(),
        .wall_s = clock_now_ms(s->options.clock) / 1000,
    };
    size_t hours = 0;

    lock_take(&s->flush_lock);
    for (unsigned i = 0; i < s->layout.salt_buckets; i++)
        hours += head_encode(s->head, i, &rule);
    lock_drop(&s->flush_lock);
    return hours;
}
