/* Forgets series of which nothing is left, and the names that only they had.
 *
 *     rows, histograms, annotations, quarantine  ->  which series have some
 *     the directory    the others go, with their metadata and their counts
 *     the UID table    names that no series has any more go; their ids stay
 *                      used, with an empty name (uid_delete())
 *
 * Each series goes in one batch with its count, so a kill leaves the directory
 * whole; names of series that are forgotten already then stay, unless
 * 'unused_names' is set.
 *
 * Bounds:  some 20 bytes a series that has something, and each id.
 * Others may use the store meanwhile: what is put or entered since it began
 * stays (uid/series/series_purge.h).
 *
 * Threads: owner; beside any others.
 * Fails:   ST_IO, ST_CORRUPT; ST_INVALID where the engine is shared; ST_BUSY
 *          when it is cancelled, or another one is under way. */
#pragma once

#include "base/cancel.h"
#include "uid/names/uid.h"
#include "uid/series/series.h"

struct purge {
    bool dry_run;
    bool unused_names; /* also those that no series had */
    /* Asked for each metric that has a series; NULL: all of them. */
    bool (*takes)(void *ctx, uint64_t metric);
    /* What goes; or NULL. */
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
