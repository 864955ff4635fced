/* The text cache: the bytes of a metric and of its tags, as a client wrote
 * them, to a series.  A hit spares parsing, validating and resolving; several
 * spellings of one series are several entries.
 *
 * Bounds:  'max_entries' and 'max_bytes' (heap of entries, texts and tables).
 *          A full cache is emptied: the series that are still sent come back at
 *          the price of one parsed point each.
 * Threads: any.  A batch of look-ups takes the lock once, shared. */
#pragma once

#include "storage/store/store.h"

struct put_cache; /* opaque */

/* Different kinds never meet, even when their bytes are equal. */
enum put_kind { PUT_TELNET, PUT_JSON };

struct put_key {
    const uint8_t *metric, *tags;
    uint32_t metric_size, tags_size;
    uint8_t kind;
};

/* Which entry a caller found last: agents send their series in the order of the
 * round before, so each entry remembers who followed it. */
struct put_guess {
    uint32_t last; /* its number + 1; 0: none */
};

/* 0 entries: 2 million; 0 bytes: 256 MB. */
struct put_cache *put_cache_new(size_t max_entries, size_t max_bytes);
void put_cache_free(struct put_cache **c);

/* refs[i] becomes the series of keys[i], or SERIES_REF_NONE.  'guess' is one
 * caller's own, { 0 } at first; it changes how long this takes, never what is
 * found. */
void put_cache_find(struct put_cache *c, const struct put_key *keys, size_t len,
                    series_ref *refs, struct put_guess *guess);

/* Clears change it: take it before a look-up whose answer is to be added. */
uint64_t put_cache_epoch(const struct put_cache *c);

/* Enters or replaces; no-op when the cache was cleared since the epoch, for
 * then the answer may be of a name that was deleted. */
void put_cache_add(struct put_cache *c, const struct put_key *key,
                   series_ref ref, uint64_t epoch);

void put_cache_clear(struct put_cache *c);
