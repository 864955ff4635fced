/* The values of many rows, read at once: an engine far away takes as long for a
 * thousand keys as for one.
 *
 *     row_values_clear(&v);
 *     row_values_add(&v, key);              ...  for each
 *     st = row_values_read(&v, kv, e);
 *     st = row_values_get(&v, kv, i, &value, e);  ...  in any order
 *
 * Owns:    copies of the keys and values, until the next clear.
 * Threads: owner.
 * Bounds:  the caller adds at most row_values_room() keys.  Values that are
 * large together, or for which there is no memory, are read again one by one by
 * row_values_get(). */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"
#include "storage/kv/kv.h"

struct row_values {
    struct arena *arena;
    struct slice *keys, *values; /* without data: there is none */
    size_t len, cap;
    size_t bytes;    /* of the values */
    size_t room;     /* by the sizes that were read last; 0: none yet */
    bool failed;     /* there was no memory */
    bool one_by_one; /* damage is among them: each is read when it is asked for
                      */
    struct buf one;
};

void row_values_fini(struct row_values *v);

/* How many rows are to be read at once: fewer where they are large. */
size_t row_values_room(const struct row_values *v);

void row_values_clear(struct row_values *v);
void row_values_add(struct row_values *v, struct slice key);
/* ST_OK also when some are damaged. */
MUST_CHECK enum status row_values_read(struct row_values *v, struct kv *kv,
                                       struct error *e);
/* ST_NOT_FOUND; ST_CORRUPT, of this one.  The value is lent until the next
 * call. */
MUST_CHECK enum status row_values_get(struct row_values *v, struct kv *kv,
                                      size_t i, struct slice *value,
                                      struct error *e);
