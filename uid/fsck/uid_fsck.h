/* Looks at what is in a store's tables: every key, every value, and what one
 * table says of another.  And repairs it.
 *
 *     names      each has its id, each id its name; no counter is behind
 *     series     known ids, in order; tag-key sets and their counts
 *     rows       the salt, hour and tags of the key; a series in the directory;
 *                a block that can be read, with the block summary of its points
 *     weeks      what their rows say; one for each series that has rows
 *     others     histograms, annotations, metadata, trees, kinds of rollups
 *
 * A series of which a name was deleted is in order, unless c->finds_orphans is
 * set.
 *
 * Each table is read once, in order; series once more if tag-key sets have no
 * entry.
 *
 * Bounds:  some 20 bytes for each series, at most 320 MB (then each further
 *          row asks the directory); 20 for each name; 100 for each tag-key set.
 * Threads: owner.  No other thread writes to the store meanwhile, and nothing
 *          is open in its head: store_flush() comes before. */
#pragma once

#include "storage/fsck/fsck.h"
#include "storage/store/store.h"

struct check_counts {
    uint64_t names, series, tagk_sets, rows, points, histograms, notes, others,
        weeks;
};

/* What is wrong goes to c->say().  With c->aside it is repaired, through the
 * WAL: what is missing is put there, what cannot be used goes to the file
 * "entries" in that folder, "KEY VALUE" in hexadecimal, a line each. */
MUST_CHECK enum status check_tables(struct store *s, struct check *c,
                                    struct check_counts *out, struct error *e);
/* The UID table alone. */
MUST_CHECK enum status check_uids(struct store *s, struct check *c,
                                  struct check_counts *out, struct error *e);
