/*
 * Types that kv.h and the engines share.
 */
#ifndef STORAGE_KV_KV_TYPES_H
#define STORAGE_KV_KV_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv;
struct kv_batch;
struct kv_iter;

#define KV_PREFIX_MAX 16

struct kv_options {
    const char *dir; /* NULL: the memory engine */
    /* Make a new one where 'dir' is empty or absent (or its creation was cut
     * short).  A folder with anything else in it is opened if it is whole, and
     * rejected if not: nothing there is ever overwritten. */
    bool create;
    size_t write_buffer_bytes; /* 0: 32 MB */
    size_t cache_bytes;        /* 0: 32 MB */
    int max_open_files;        /* 0: 500 */
};

/* What a caller may want to know of an engine, but not which one it is. */
struct kv_traits {
    unsigned seek_price; /* of a seek, in steps from key to key */
    /* It stores keys compressed only where the values next to them are worth
     * it: zeros behind a short value make a row smaller. */
    bool wants_padding;
};

/* What this iterator did so far, for tests and for showStats. */
struct kv_iter_counts {
    uint64_t seeks;
    uint64_t steps;
    uint64_t bytes; /* keys and values that were looked at */
};

#endif
