/* Series of which a name was deleted ('uid delete').  Their points are where
 * they were, but answers leave them out, since they cannot be called by a name;
 * the other series of the metric are answered.
 *
 *     nameless_find() -> nameless_has() for each series
 *
 * Owns:    nothing; the ids are in the arena.
 * Threads: frozen once found. */
#pragma once

#include "uid/names/uid.h"

struct nameless {
    bool any; /* mostly not, and then nameless_has() costs one test */
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
