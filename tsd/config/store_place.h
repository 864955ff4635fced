/* Where the store is, by the setting halite.store.
 *
 * Threads: any; what it lends is the settings'. */
#pragma once

#include "storage/place/place.h"
#include "tsd/config/settings.h"

MUST_CHECK enum status store_place_find(const struct settings *s,
                                        struct place *out, struct error *e);

/* The folder; NULL where the store lies elsewhere. */
const char *store_place_folder(const struct settings *s);

/* Whom to trust of a pool's servers: the file of halite.cluster.ca; NULL: the
 * system's authorities. */
const char *store_place_authorities(const struct settings *s);
