/* The names of one kind in byte order, one at a time.
 *
 * Owns:    a cursor of the engine; it must be closed before the table.
 * Threads: owner.
 * Fails:   ST_IO, ST_CORRUPT at uid_names_close(); until then it just ends. */
#pragma once

#include "uid/names/uid.h"

struct uid_names; /* opaque */

/* Those that start with 'prefix'. */
struct uid_names *uid_names_open(struct uid_table *u, enum uid_kind kind,
                                 struct slice prefix);
/* False at the end.  The name is lent until the next step. */
bool uid_names_next(struct uid_names *n, struct slice *name, uint64_t *id);
MUST_CHECK enum status uid_names_close(struct uid_names **n, struct error *e);
