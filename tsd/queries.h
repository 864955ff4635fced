/*
 * The queries under way, and the last ones that ended: /api/stats/query.
 *
 * Bounds:  QUERIES_COMPLETED ended ones; of each question QUERIES_TEXT bytes.
 * Threads: any.
 */
#ifndef TSD_QUERIES_H
#define TSD_QUERIES_H

#include "base/buf.h"
#include "base/slice.h"

#define QUERIES_COMPLETED 256
#define QUERIES_TEXT      ((size_t)16384)

struct queries;     /* opaque */
struct query_entry; /* one under way */

struct queries *queries_new(void);
void queries_free(struct queries **q);

/* 'question' is JSON; what is too long is kept as null.  'remote' is the
 * client's address. */
struct query_entry *queries_begin(struct queries *q, struct slice question,
                                  const char *remote, int64_t now_ms);

/* How it went: the HTTP status, and the error's text or NULL. */
void queries_end(struct queries *q, struct query_entry **entry,
                 unsigned http_status, const char *exception, size_t points,
                 int64_t now_ms);

/* {"running":[..],"completed":[..]} */
void queries_write(struct queries *q, struct buf *b);

#endif
