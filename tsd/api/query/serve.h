/* What /api/query and /api/query/exp do with a parsed query: it is listed among
 * the running ones, run, counted and logged; what fails becomes the reply.
 *
 * Threads: any; each request has its own. */
#pragma once

#include "query/engine/engine.h"
#include "tsd/api/api.h"

struct serving {
    const struct api *a;
    const struct http_request *r;
    struct http_reply *out;
    struct query_entry *entry; /* while it runs */
    struct query_result result;
    size_t points; /* answered; rows of an expression */
};

/* Counts the failed query and replies; returns the HTTP status.  An unknown
 * name is the client's fault here: 400, not 404. */
unsigned serve_reject(struct http_reply *out, const struct parse_error *e);

/* Calls 'run', which runs and answers the query.  'query' is its JSON, which
 * ends here. */
void serve_query(struct serving *s, struct buf *query,
                 enum status (*run)(void *ctx, struct parse_error *e),
                 void *ctx);

/* What each endpoint parses queries with. */
struct parse_options serve_options(const struct api *a);

/* Reads the query of the URI's parameters. */
MUST_CHECK enum status serve_parse_uri(const struct api *a,
                                       const struct http_request *r,
                                       struct query *q, struct parse_error *e);

/* engine_run() into s->result, until the client hangs up or the query is
 * stopped; 'chunks' may be NULL. */
MUST_CHECK enum status serve_run(struct serving *s, const struct query *q,
                                 struct chunks *chunks, struct parse_error *e);

/* ST_LIMIT when the body is larger than an answer may be, ST_BUSY when there
 * was no memory for it. */
MUST_CHECK enum status serve_check_size(const struct serving *s,
                                        struct error *e);
