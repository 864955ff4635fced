/* The database without a network: store, names, series, annotations and
 * metadata, query engine and put path, opened as the settings say.  The daemon
 * serves it; a command opens it for itself.
 *
 *     settings -> store -> ids, series, records -> engine, put path
 *
 * Owns:    all of these, which 'api' lends.
 * Threads: open and close: one at a time.  Its parts run threads of their own.
 * Fails:   with a sentence for the operator: a folder in use, a bad setting. */
#pragma once

#include "storage/place/format.h"
#include "tsd/api/api.h"
#include "tsd/pool.h"

struct database {
    struct api api;                /* frozen, but for members of the daemon's */
    struct rollups *rollups;       /* NULL: none are configured */
    struct uid_filter *uid_filter; /* NULL: all names may have ids */
    atomic_bool backup_busy;
    struct pool pool; /* where the store lies in one */
    /* Where a store on a file system that is read-only is opened; or NULL. */
    char *shadow;
    struct format_lock held; /* of the folder that it shadows */
};

/* '*d' is all zero before.  The settings must outlive it.  database_close() in
 * any case. */
MUST_CHECK enum status database_open(struct database *d,
                                     const struct settings *s, struct error *e);

/* Warns of each setting that was given, counts for a new store alone, and is
 * not what the store has. */
void database_warn_of_layout(const struct database *d);

/* Flushes and closes the store.  What was never opened is closed already. */
MUST_CHECK enum status database_close(struct database *d, struct error *e);
