/* Memory of one request: many allocations, one release, a cap from the
 * configuration.  NULL means that the cap is reached: answer ST_LIMIT.
 *
 * Owns:    all that it handed out.
 * Threads: one at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/slice.h"

struct arena; /* opaque */

/* 'max_bytes' 0: no cap.  'budget' NULL: none; else NULL comes also when the
 * budget does not have the memory (base/budget.h). */
struct arena *arena_new(size_t max_bytes);
struct arena *arena_new_within(size_t max_bytes, struct budget *budget);
/* Makes an arena whose first 'free_bytes' do not count in the budget, so that
 * small requests work while large ones have exhausted it. */
struct arena *arena_new_after(size_t max_bytes, size_t free_bytes,
                              struct budget *budget);
/* Replaces the arena's budget: memory that the arena takes from now on counts
 * in 'budget'. */
void arena_set_budget(struct arena *a, struct budget *budget);
struct budget *arena_budget(const struct arena *a); /* NULL: none */
void arena_free(struct arena **a);

/* Aligned for any type, not zeroed; NULL past the cap. */
void *arena_alloc(struct arena *a, size_t size);
/* Zeroed array; NULL past the cap or when the product overflows. */
void *arena_array(struct arena *a, size_t len, size_t size);
/* The same, not zeroed: what is written once needs no zeros. */
void *arena_array_raw(struct arena *a, size_t len, size_t size);
/* Room for one more element behind 'len' of them: the array itself, or twice
 * as much, zeroed behind the copy.  NULL past the cap, and from
 * then on. */
void *arena_grow(struct arena *a, void *array, size_t len, size_t *cap,
                 size_t size);
/* A copy; NULL past the cap. */
void *arena_copy(struct arena *a, const void *from, size_t size);
/* A copy with a NUL behind it. */
char *arena_strdup(struct arena *a, struct slice s);
/* Puts a copy with a NUL behind it in the place of '*s'; false past the cap. */
bool arena_keep(struct arena *a, struct slice *s);
/* A copy of what was written into the buffer, which is freed; without data past
 * the cap, or when the buffer failed. */
struct slice arena_take(struct arena *a, struct buf *b);

/* Counts bytes that lie elsewhere for as long as this arena lives; false past
 * the cap. */
bool arena_charge(struct arena *a, size_t size);

/* Takes over all that '*from' handed out, which counts on in the budget of
 * '*from', and frees the rest of it.  False, and all stays as it was, when that
 * is more than the cap allows. */
bool arena_absorb(struct arena *a, struct arena **from);

/* Frees all that was handed out; keeps one chunk for reuse. */
void arena_reset(struct arena *a);
size_t arena_used(const struct arena *a);
/* What the cap leaves, at least 1; 0: there is none. */
size_t arena_left(const struct arena *a);
