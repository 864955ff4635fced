/* Types that kv.h and the engines share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"

struct kv;
struct kv_batch;
struct kv_iter;

#define KV_PREFIX_MAX 16
#define KV_NO_BUCKET  UINT32_MAX

/* Where keys are kept: an engine, by its name in kv_engines.c, and a text that
 * it alone understands.  LevelDB's is a folder; "memory" has none. */
struct kv_place {
    const char *engine;
    const char *at;
};
#define KV_LEVELDB(folder) ((struct kv_place){ "leveldb", (folder) })
#define KV_MEMORY          ((struct kv_place){ "memory", NULL })

struct key_layout;

struct kv_options {
    struct kv_place place;
    /* Where keys go, in an engine that keeps them by salt bucket and time; the
     * caller keeps it until the engine is closed.  Others do not look at it. */
    const struct key_layout *layout;
    unsigned window_hours; /* rows of so many in one object; 0: 24 */
    /* Make a new one where nothing is (or its creation was cut short).  A place
     * with anything else in it is opened if it is whole, and rejected if not:
     * nothing there is ever overwritten. */
    bool create;
    unsigned timeout_ms;       /* of a call, tries together; 0: 10 s */
    size_t write_buffer_bytes; /* 0: 32 MB */
    size_t cache_bytes;        /* 0: 32 MB */
};

/* What a caller may want to know of an engine, but not which one it is. */
struct kv_traits {
    unsigned seek_price; /* of a seek, in steps from key to key */
    /* Other processes write to the place, too: a swap is then real, and is
     * durable when it returns, as is a batch of no bucket. */
    bool shared;
    /* It stores keys compressed only where the values next to them are worth
     * it: zeros behind a short value make a row smaller. */
    bool wants_padding;
};

/* What a key must hold, before a guarded batch; NULL: it is absent. */
struct kv_expected {
    struct slice key;
    const struct slice *value;
};

/* One of kv_write_if_many(). */
struct kv_guarded {
    const struct kv_batch *batch;
    const struct kv_expected *expected;
    size_t len;
    enum status status; /* out: ST_OK, ST_CONFLICT, or a failure */
};

/* What kv_get_many() finds of keys[i]: NULL, it is absent.  The value is lent
 * for the call. */
typedef void kv_value_fn(void *ctx, size_t i, const struct slice *value);

/* What this iterator did so far, for tests and for showStats. */
struct kv_iter_counts {
    uint64_t seeks;
    uint64_t steps;
    uint64_t bytes; /* keys and values that were looked at */
};
