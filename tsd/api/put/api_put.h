/* POST /api/put: points as JSON, one object or an array of them; /api/rollup
 * and /api/histogram (tsd/api/api.h): the same with rollups and histograms.
 *
 *     204                   all stored (200 with ?summary or ?details)
 *     400 and a summary     some were rejected; the good ones are stored
 *     400 and an error      the body is no JSON; nothing is stored
 *     503                   the store stays too busy; sending again is safe;
 *                           or no codec of histograms is configured
 *
 * The answer goes out when the points are in the WAL; with ?sync, when they
 * are on the disk.
 *
 * Threads: any.  It may block: a worker's route, but mostly quick. */
#pragma once

#include "tsd/put/put.h"
#include "web/http.h"

/* A http_serve; 'ctx' is the struct put_path. */
void api_put_serve(void *ctx, const struct http_request *r,
                   struct http_reply *out);
bool api_put_is_quick(void *ctx, const struct http_request *r, void **kept);
void api_rollup_serve(void *ctx, const struct http_request *r,
                      struct http_reply *out);
