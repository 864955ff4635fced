/*
 * The series that a query names by their TSUIDs, in hexadecimal.
 *
 * Threads: any; this is a function of its arguments.
 * Fails:   ST_INVALID for what is no TSUID, and for series of several metrics;
 *          ST_LIMIT past the arena.
 */
#ifndef QUERY_PLAN_TSUIDS_H
#define QUERY_PLAN_TSUIDS_H

#include "base/arena.h"
#include "base/error.h"
#include "query/model/query.h"
#include "storage/row/key.h"

/* Those of 'sq' in ascending order, each once, with the kind of the rollups
 * that are read.  Those of a length that no series has are left out: OpenTSDB
 * looks for them, and finds none. */
MUST_CHECK enum status parse_tsuids(const struct sub_query *sq,
                                    const struct key_layout *layout,
                                    struct arena *a, struct slice **out,
                                    size_t *out_len, struct error *e);

#endif
