/* A series is nameless if the name of its metric, or of one of its tag keys or
 * values, was deleted ('uid delete').  Its points are still stored, but answers
 * leave it out, because it cannot be shown by name.
 *
 *     nameless_find() -> nameless_has() for each series
 *
 * Owns:    nothing; the ids are in the arena.
 * Threads: nameless_has() may be called by several at a time. */
#pragma once

#include "uid/names/uid.h"

struct nameless {
    bool any; /* was any name deleted? */
    const struct key_layout *layout;
    struct uid_deleted ids[UID_KINDS];
};

/* Takes the ids that are deleted now.  ST_LIMIT past the arena's cap. */
MUST_CHECK enum status nameless_find(struct uid_table *uids,
                                     const struct key_layout *layout,
                                     struct arena *a, struct nameless *out,
                                     struct error *e);
/* Was the metric's name deleted, or that of a tag key or value? */
bool nameless_has(const struct nameless *n, struct slice tsuid);
