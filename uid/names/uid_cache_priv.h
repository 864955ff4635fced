/* The cache of the UID table: names to ids, and ids to names.
 *
 *     direction -> shard (own lock) -> generation -> records
 *
 * Each direction is first in, first out, half of it at a time.  A record and
 * its place in a table take some twenty bytes more than the name:
 *
 *     <kind:1> <id:varint> <name size:varint> <name>
 *
 * Bounds:  'entries' records a direction, and 64 bytes each on average: many
 *          long names leave room for fewer.  Names past 1,000 bytes are not
 *          kept.
 * Threads: any.  Locks are leaves. */
#pragma once

#include "base/buf.h"
#include "uid/names/uid.h"

struct uid_cache; /* opaque */

struct uid_cache *uid_cache_new(size_t entries);
void uid_cache_free(struct uid_cache **c);

bool uid_cache_find_id(struct uid_cache *c, enum uid_kind kind,
                       struct slice name, uint64_t *id);
/* Appends the name to 'out'. */
bool uid_cache_find_name(struct uid_cache *c, enum uid_kind kind, uint64_t id,
                         struct buf *out);
/* The names of many, in the arena; NULL data for those that it has not.  False
 * past the arena's cap.  Quick where ids that follow each other are near. */
bool uid_cache_find_names(struct uid_cache *c, enum uid_kind kind,
                          const uint64_t *ids, size_t len, struct arena *a,
                          struct slice *names);

/* Whoever adds what it read from the store takes the epoch before it reads;
 * uid_cache_add() does nothing when something was forgotten in between. */
uint64_t uid_cache_epoch(const struct uid_cache *c);
void uid_cache_add(struct uid_cache *c, enum uid_kind kind, struct slice name,
                   uint64_t id, uint64_t epoch);

/* Removes a pair from both directions: after the store has changed. */
void uid_cache_forget(struct uid_cache *c, enum uid_kind kind,
                      struct slice name, uint64_t id);
void uid_cache_clear(struct uid_cache *c);
/* Drops all records, which are still right: the epoch stays. */
void uid_cache_shrink(struct uid_cache *c);

/* Records of this kind, both directions together. */
size_t uid_cache_len(struct uid_cache *c, enum uid_kind kind);
