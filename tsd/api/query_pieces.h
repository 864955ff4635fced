/*
 * A large answer in pieces, each some groups, which the engine's threads write
 * at the same time; they are joined in the order of the groups.
 *
 * Owns:    the pieces, until they are given to a reply.
 * Threads: one at a time.
 */
#ifndef TSD_API_QUERY_PIECES_H
#define TSD_API_QUERY_PIECES_H

#include "base/buf.h"
#include "query/engine.h"
#include "tsd/api/query_json.h"

struct query_pieces_of {
    struct engine *engine;
    const struct query *q;
    const struct query_result *result;
    const struct notes *globals;
    struct uid_table *uids;
    size_t max_bytes; /* of all pieces */
};

struct query_pieces {
    struct buf *list;
    size_t len;
    size_t points; /* written */
    bool failed;   /* more than 'max_bytes', or no memory */
};

/* False: the answer is not worth it, and nothing was done.  The groups must
 * have no annotations of their own. */
bool query_pieces_write(const struct query_pieces_of *of,
                        struct query_pieces *out);
void query_pieces_fini(struct query_pieces *p);

#endif
