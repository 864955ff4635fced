/*
 * The kinds of series beside points as they came: "3600i-sum" and the like, of
 * which each gets a number when the first of its series is entered
 * (docs/FORMAT.md, "Rollups").
 *
 *     <'p'> <name>   -> number (4 bytes), from 1 on
 *
 * Bounds:  KINDS_MAX; a configuration makes some tens.
 * Threads: any.  The lock is a leaf, but held across a WAL append when a
 *          kind is new.
 */
#ifndef UID_SERIES_ROLLUP_IDS_H
#define UID_SERIES_ROLLUP_IDS_H

#include "storage/store/store.h"

#define KINDS_MAX     4096
#define KIND_NAME_MAX 64

struct kinds; /* opaque */

MUST_CHECK enum status kinds_open(struct store *s, struct kinds **out,
                                  struct error *e);
void kinds_close(struct kinds **k);

/* As series_kind(). */
MUST_CHECK enum status kinds_get(struct kinds *k, const char *name, bool create,
                                 uint64_t *out, struct error *e);

#endif
