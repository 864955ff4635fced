/* /api/query/gexp beside /api/query: what it adds to the parsing of a request,
 * and to its results.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "query/exp/gexp.h"
#include "tsd/api/api.h"

/* Parameters of the URI, and of a body of JSON those of its members: exp, m,
 * start, end, timezone, and the flags of /api/query. The query has the metrics
 * of 'm' first, then those of the expressions. */
MUST_CHECK enum status api_gexp_parse(const struct http_request *r,
                                      const struct parse_options *o,
                                      struct arena *a, struct gexp *g,
                                      struct query *q, struct parse_error *e);
