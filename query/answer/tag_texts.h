/* The texts of the tags of series, kept from one query to the next: who asks
 * for each host of a metric asks again soon, for this metric or another, and
 * names and text of its tags are a third of such an answer.
 *
 *     pairs of a TSUID (all behind its metric) -> text, as a writer made it
 *
 * First in, first out, half of it at a time.
 *
 * Bounds:  TAG_TEXTS_BYTES of pairs and texts, and a quarter of it more at most
 *          for where they are.
 * Threads: any.  The lock is a leaf.
 * Fails:   never: without memory a text is not kept. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"

#define TAG_TEXTS_BYTES ((size_t)16 << 20)

struct tag_texts; /* opaque */

struct tag_text {
    struct slice pairs; /* empty: neither found nor added */
    struct slice text;  /* empty: unknown */
    uint64_t hash;      /* tag_texts_find()'s */
};

struct tag_texts *tag_texts_new(size_t max_bytes);
void tag_texts_free(struct tag_texts **t);

/* Fills the texts that are known, in the arena.  'epoch' is uid_epoch(): texts
 * of another one may have names that have changed since, and are dropped. */
void tag_texts_find(struct tag_texts *t, uint64_t epoch, struct tag_text *list,
                    size_t len, struct arena *a);

/* Keeps texts that tag_texts_find() lacked.  'epoch' was read before the names
 * were.  'groups' is how many the query has: a text that is larger than its
 * share of the room is not kept, as the first ones would be dropped before the
 * last come. */
void tag_texts_add(struct tag_texts *t, uint64_t epoch,
                   const struct tag_text *list, size_t len, size_t groups);
