/*
 * What the program says of itself: /api/version, /version, telnet's version.
 *
 * Threads: any; constants.
 */
#ifndef TSD_STATS_VERSION_H
#define TSD_STATS_VERSION_H

#include <stddef.h>

/* "halite 0.1.0 built at revision v0.1.0 (MINT)\nBuilt on ...\n" */
const char *version_text(void);

struct version_field {
    const char *name, *value;
};

/* The members of /api/version; NULL past the last. */
const struct version_field *version_field_at(size_t i);

#endif
