/* Where the store lies, by the settings: halite.store; else halite.memory and
 * halite.data, which are older.
 *
 * Threads: any; what it lends is the settings'. */
#pragma once

#include "storage/place/place.h"
#include "tsd/config/settings.h"

MUST_CHECK enum status store_place_find(const struct settings *s,
                                        struct place *out, struct error *e);

/* The folder; NULL where the store lies elsewhere. */
const char *store_place_folder(const struct settings *s);
