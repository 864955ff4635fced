/*
 * Which backup is under way: one at a time.
 *
 * Threads: any.
 */
#ifndef TSD_ADMIN_BACKUPS_H
#define TSD_ADMIN_BACKUPS_H

#include <stdbool.h>

struct backups; /* opaque */

struct backups *backups_new(void);
void backups_free(struct backups **b);

/* False when there is one. */
bool backups_begin(struct backups *b);
void backups_end(struct backups *b);

#endif
