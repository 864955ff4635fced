/* The points of a graph as a table (RFC 4180): a line for each time at which a
 * series has a point, a column for each series.
 *
 *     timestamp,time,"sys.load{host=a}","sys.load{host=b}"
 *     1356998400,2013-01-01 01:00:00,0.5,
 *
 * Threads: any; a function of its arguments. */
#pragma once

#include "query/model/result.h"
#include "web/chart/chart.h"

/* 'c' has a series for each group.  Ends with the cap of '*b', or what the
 * chart's stop() says. */
MUST_CHECK enum status graph_csv_write(struct buf *b, const struct chart *c,
                                       const struct query_result *result,
                                       struct arena *a, struct error *e);
