/*
 * Operations that wait in memory for more of their kind: the last one of each
 * key, to be found by its key, and handed on in the order of the keys.
 *
 * LevelDB finds the place of a key in its table in memory by looking at some
 * twenty others, which lie anywhere; a key close to the one before finds most
 * of them in the CPU's caches.  New series come in no order of theirs, so it
 * pays to bring some thousands together first.
 *
 * Owns:    copies of keys and values.  What is lent dies with the next add.
 * Bounds:  the caller asks gather_is_full(), and drains it.
 * Threads: one at a time.
 */
#ifndef STORAGE_KV_LEVELDB_KV_GATHER_PRIV_H
#define STORAGE_KV_LEVELDB_KV_GATHER_PRIV_H

#include "base/slice.h"

struct kv_gather; /* opaque */

struct kv_gather *gather_new(void);
void gather_free(struct kv_gather **g);

/* Puts, or deletes when 'value' is NULL: over what there is of the key. */
void gather_add(struct kv_gather *g, struct slice key,
                const struct slice *value);

/* False when there is nothing of this key; '*value' has NULL as data where it
 * was deleted. */
bool gather_find(struct kv_gather *g, struct slice key, struct slice *value);

size_t gather_len(const struct kv_gather *g);
bool gather_is_full(const struct kv_gather *g);

/* Ascending by key; the order is all that changes. */
void gather_each(struct kv_gather *g,
                 void (*f)(void *ctx, struct slice key,
                           const struct slice *value),
                 void *ctx);
void gather_clear(struct kv_gather *g);

#endif
