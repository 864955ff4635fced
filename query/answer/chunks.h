/* The answer of a query as text: chunks that several threads write at the same
 * time, and which follow one another in the order of the groups.
 *
 * A group is written as soon as it is known, and forgotten; what stays of it is
 * its text.
 *
 * Owns:    the chunks, until they are taken.
 * Threads: chunks_put(): any, each chunk by one; else one at a time.
 * Fails:   ST_LIMIT, when the answer is larger than 'max_bytes'; ST_BUSY, when
 *          the budget, or the system, has no memory for it; and as 'write'
 *          does. */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "query/model/result.h"

/* The text of a group's tags, with their values and the aggregate tags: it
 * depends on nothing else. */
struct chunks_tags {
    struct slice known; /* in: what was written before; empty: nothing was */
    size_t from, size;  /* out: where it is in the buffer */
};

/* Appends a group's text, a comma first; '*points' is how many points it
 * shows.  When its tags are known, the group has none of its own. */
typedef enum status chunks_write(void *ctx, struct buf *b,
                                 const struct result_group *g,
                                 struct chunks_tags *tags, size_t *points,
                                 struct error *e);

struct chunks_sub; /* opaque */

struct chunks {
    chunks_write *write;
    void *ctx;
    size_t max_bytes;      /* of all chunks together */
    struct budget *budget; /* the chunks are charged to it; NULL: none */
    struct chunks_sub *subs;
    size_t subs_len;
    _Atomic size_t bytes; /* written; of what has not ended, most of it */
};

/* False: no memory. */
MUST_CHECK bool chunks_init(struct chunks *p, size_t subs_len);
void chunks_fini(struct chunks *p);

/* The groups of a sub-query come, 'chunk_len' in each chunk; those that came
 * before are forgotten; false: no memory. */
MUST_CHECK bool chunks_begin(struct chunks *p, size_t sub, size_t groups_len,
                             size_t chunk_len);
/* There are no more. */
MUST_CHECK enum status chunks_end(struct chunks *p, size_t sub,
                                  struct error *e);

/* Writes group 'i' of a sub-query, each chunk's in ascending order.  '*tags' is
 * the text of its tags if that is known, else empty; then it becomes this text,
 * which is located in the chunk and valid until the chunk's next group. */
MUST_CHECK enum status chunks_put(struct chunks *p, size_t sub, size_t i,
                                  const struct result_group *g,
                                  struct slice *tags, struct error *e);

/* ST_OK, or why 'text', a part of an answer of at most 'max_bytes', is not
 * complete. */
MUST_CHECK enum status chunks_check_text(const struct buf *text,
                                         size_t max_bytes, struct error *e);

/* How many were written. */
struct chunks_total {
    size_t points, groups;
};
struct chunks_total chunks_total(const struct chunks *p);

/* Calls f for each chunk with text, in order; f may take what is in it. */
void chunks_each(struct chunks *p, void (*f)(void *ctx, struct buf *chunk),
                 void *ctx);
