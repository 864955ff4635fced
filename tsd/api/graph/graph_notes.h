/* Annotations of a query's series, and the global ones, for a chart.
 *
 * Owns:    all lies in the arena.
 * Threads: any; a function of its arguments. */
#pragma once

#include "query/model/result.h"
#include "tsd/api/api.h"
#include "web/chart/chart.h"

/* Those that start within the query's range, by time, each once.  None with
 * "no_annotations"; global ones only with "global_annotations". */
MUST_CHECK enum status graph_notes_read(const struct api *a,
                                        const struct query *q,
                                        const struct query_result *result,
                                        struct arena *arena,
                                        struct chart *chart, struct error *e);
