/* The annotations of the series of a group.
 *
 * Threads: any; a function of its arguments. */
#pragma once

#include "query/model/result.h"
#include "tsd/api/api.h"
#include "uid/meta/annotation.h"

/* Notes of one group, or of the whole query. */
struct notes {
    const struct annotation *list;
    size_t len;
    bool always; /* written even if there are none */
};

/* Returns false if the group has no notes: with "no_annotations", where rollups
 * or pre-aggregates were read, where it was computed from other groups, and
 * where none of its series has a note in the hours that were read. */
bool group_notes_wanted(const struct query *q, const struct result_group *g);

/* Reads the notes of a group that has some into 'arena': those in the hours
 * that the query read, also the ones outside of its range. */
MUST_CHECK enum status group_notes_read(const struct api *a,
                                        const struct query *q,
                                        const struct result_group *g,
                                        struct arena *arena, struct notes *out,
                                        struct error *e);
