/* Marks by which a purge removes names from a UID table that several processes
 * use (kv_traits).
 *
 *     purge:   mark names -> find the ids that the series directory uses
 *                  -> remove the names that are still marked and not used
 *     others:  enter a series -> uid_keep_names() of its ids -> use the series
 *
 * So either the purge finds the series, or the other process finds the mark,
 * and takes it off or learns that the name is gone.  A mark takes the place of
 * the creation time in the entry of the name: it is a number from 1 to
 * UID_MARKS_END - 1, a time in the years before 1979.  A purge that was killed
 * leaves marks behind; they do no harm, and the next use of the name during a
 * purge, or the next purge, replaces them.
 *
 * Threads: any. */
#pragma once

#include "uid/names/uid.h"

/* Takes the marks off the names of these ids.  Sets gone[i] if id i has no
 * name, or lost it just now: then uid_drop_caches() is due before the name that
 * had it is looked up again. */
MUST_CHECK enum status uid_keep_names(struct uid_table *u, enum uid_kind kind,
                                      const uint64_t *ids, size_t len,
                                      bool *gone, struct error *e);

enum uid_marking_what {
    UID_MARK,
    UID_UNMARK, /* those with this mark; they were created now */
    UID_REMOVE, /* those with this mark; the id keeps its entry */
};

struct uid_marking {
    enum uid_marking_what what;
    enum uid_kind kind;
    uint32_t mark;
    struct uid_marked {
        struct slice name;
        uint64_t id;
        bool done; /* out: false if its entry is another one by now */
    } * names;
    size_t len;
};

/* Changes the entries of many names with two calls of the engine. */
MUST_CHECK enum status uid_mark_names(struct uid_table *u,
                                      const struct uid_marking *m,
                                      struct error *e);
