/* LevelDB takes a folder whose listing failed for one that ends there.  At an
 * open it does not read the logs that it has not seen, and deletes them
 * afterwards.  So while a thread says that its
 * lists must be whole, a readdir() that fails is tried again until it works,
 * with a line in the log.
 *
 * Threads: any; each has its own say. */
#pragma once

void level_lists_begin(void);
void level_lists_end(void);
