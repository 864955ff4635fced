/* The annotations of the series of a group.
 *
 * Threads: any; a function of its arguments. */
#pragma once

#include "query/model/result.h"
#include "tsd/api/api.h"
#include "uid/meta/annotation.h"

/* Those of the rows that the query touched, be they in the range or not.  None
 * with "no_annotations", nor where rollups or pre-aggregates were read.  'gap'
 * is the answer's, at first all zero. */
MUST_CHECK enum status
group_notes_read(const struct api *a, const struct query *q,
                 const struct result_group *g, struct annotation_gap *gap,
                 struct arena *arena, struct annotation **out, size_t *len,
                 struct error *e);

/* Has a series of the group, which is not computed, notes in the hours that
 * were read? */
bool group_notes_expected(const struct result_group *g);
