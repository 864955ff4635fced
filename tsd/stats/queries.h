/* The queries under way, and the last ones that ended: /api/stats/query.
 *
 * Equal queries of one client that ended equally are one entry, counted.  The
 * slowest of the last hour are kept beside the last ones: those of each ten
 * minutes.
 *
 * Bounds:  QUERIES_COMPLETED ended ones, QUERIES_SLOWEST of each ten minutes;
 * of each query and its headers QUERIES_TEXT bytes. Threads: any. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/process/latency.h"
#include "query/engine/engine.h"
#include "query/parse/parse.h"

#define QUERIES_COMPLETED 256
#define QUERIES_SLOWEST   16
#define QUERIES_TEXT      ((size_t)16384)

struct queries;     /* opaque */
struct query_entry; /* one under way */

/* With 'once' an address may not run the same query twice at a time. */
struct queries *queries_new(bool once);
void queries_free(struct queries **q);

struct queries_ask {
    struct slice query;   /* JSON; what is too long is kept as null */
    struct slice headers; /* members of a JSON object, the same */
    const char *remote;   /* the client's "address:port" */
};

/* NULL, with ST_INVALID and OpenTSDB's text, when it may not run now. */
struct query_entry *queries_begin(struct queries *q,
                                  const struct queries_ask *ask, int64_t now_ms,
                                  struct error *e);

/* What its sub-queries cost; before queries_end(). */
void queries_add_costs(struct query_entry *entry,
                       const struct result_stats *stats, size_t len);

/* How it went: the HTTP status, and the error's text or NULL. */
void queries_end(struct queries *q, struct query_entry **entry,
                 unsigned http_status, const char *exception, size_t points,
                 int64_t now_ms);

/* Of those that ended, whichever way. */
const struct latency *queries_latency(const struct queries *q);

/* Asks the one with that id to end; false when none runs. */
bool queries_stop(struct queries *q, uint64_t id);
/* Was that asked?  Any thread, while it runs. */
bool query_is_stopped(const struct query_entry *entry);

/* How many are under way. */
size_t queries_running(struct queries *q);

/* {"running":[..],"completed":[..]} */
void queries_write(struct queries *q, struct buf *b);
/* {"running":[..],"slowest":[..]}: of the last hour, the slowest first. */
void queries_write_slowest(struct queries *q, int64_t now_ms, struct buf *b);
