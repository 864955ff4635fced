/* Removes series that have nothing left in the store, and the names that only
 * these series had.
 *
 *     1. rows, weeks, quarantine, histograms, annotations are read to find the
 *        series that have something
 *     2. the other series are removed from the directory, together with their
 *        metadata and their counts
 *     3. names that no series has any more are removed from the UID table;
 *        their ids are not used again
 *
 * Where several processes share the engine, all of them take part: README.md.
 *
 * A series and its count are removed in one batch, so a kill leaves the
 * directory consistent.  Names of series that were removed before the kill
 * stay, unless a later purge has 'unused_names' set.
 *
 * Bounds:  about 20 bytes for each series that has something, and for each id.
 * Others may use the store meanwhile: series that get a point or are entered
 * after the purge began stay (uid/series/series_purge.h).
 *
 * Threads: owner; beside any others.
 * Fails:   ST_IO; ST_CORRUPT; ST_BUSY if it is cancelled, if another purge is
 *          running, or if a process that shares the engine does not answer;
 *          ST_INVALID if this process cannot ask the others. */
#pragma once

#include "base/cancel.h"
#include "uid/names/uid.h"
#include "uid/series/series.h"

struct purge {
    bool dry_run;
    bool unused_names; /* also removes names that no series ever had */
    /* Returns whether series of the metric may be removed.  NULL: all may. */
    bool (*takes)(void *ctx, uint64_t metric);
    /* Called for each series and name that is removed; or NULL. */
    void (*series)(void *ctx, struct slice tsuid);
    void (*name)(void *ctx, enum uid_kind kind, struct slice name, uint64_t id);
    void *ctx;
    struct cancel cancel;
    uint64_t looked_at, forgotten; /* out: series */
    uint64_t names[UID_KINDS];     /* out: forgotten */
};

MUST_CHECK enum status purge_run(struct purge *p, struct series_directory *d,
                                 struct store *s, struct uid_table *u,
                                 struct error *e);
