/* What a MANIFEST says: its entries are edits of one version after the other,
 * a version being the tables and logs that the database is made of.
 *
 * Owns:    what it read.
 * Threads: owner. */
#pragma once

#include "base/buf.h"
#include "base/slice.h"

struct level_table {
    uint64_t number;
    uint64_t size; /* bytes */
};

struct level_version {
    uint64_t log;     /* those before it are in tables */
    uint64_t earlier; /* but for this one; 0: none */
    struct level_table *tables;
    size_t len, cap;
};

/* All the edits of a MANIFEST. */
struct level_history {
    struct level_version now;
    struct level_version before; /* the last edit */
    struct buf last;
};

/* False when it is no edit. */
bool level_history_add(struct level_history *h, struct slice edit);
void level_history_fini(struct level_history *h);

/* Is the log needed to open the database? */
bool level_version_needs(const struct level_version *v, uint64_t log);

/* Did the last edit come before the names of its tables?  LevelDB writes an
 * edit, makes the folder's names durable, and then the edit; so power may fail
 * where an edit is there, and a table that it names is not.  Nothing was
 * deleted then of what the version before is made of: true when all that is
 * there, and could be read in place of the new one. */
bool level_history_is_ahead(const struct level_history *h, const char *dir);

/* Forgets the last edit. */
void level_history_back(struct level_history *h);

/* The beginning of a MANIFEST of our own: what its first edit says of a
 * database all of whose logs are to be replayed.  Files made later have numbers
 * from 'next_file' on, writes those behind 'newest'. */
void level_edit_start(struct buf *edit, uint64_t next_file, uint64_t newest);

/* Adds a table at level 0; its keys at both ends with their numbers. */
void level_edit_table(struct buf *edit, const struct level_table *t,
                      struct slice first, struct slice last);
