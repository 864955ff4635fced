/* Damage in tables that are derived from others: the hourly values of weeks
 * from rows, tag-key sets and lists of series from the directory.  Who reads
 * them finds the same elsewhere, tells it here, and goes on.
 *
 * Threads: any. */
#pragma once

#include "storage/store/store.h"

/* Counts it, and logs it once a minute at most: what is damaged, why (NULL:
 * that is not known), and where the same is read instead. */
void store_note_damage(struct store *s, const char *object, const char *instead,
                       const struct error *why);
