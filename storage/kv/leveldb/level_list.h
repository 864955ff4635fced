/* LevelDB takes a folder whose listing failed for one that ends there.  At an
 * open it does not read the logs that it has not seen, and deletes them
 * afterwards.  So while a thread says that its lists must be whole, a list that
 * fails ends with a log that is not there: LevelDB then fails to read it, and
 * deletes nothing.
 *
 * Threads: any; each has its own say. */
#pragma once

#include "base/error.h"

void level_lists_begin(void);

/* ST_IO: one of them failed, whatever LevelDB says. */
MUST_CHECK enum status level_lists_end(const char *dir, struct error *e);
