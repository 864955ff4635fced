/* Where a tool finds its store: --data, --store or --server, else $HALITE_DATA,
 * $HALITE_STORE or $HALITE_SERVER, else the setting halite.store.
 *
 * Threads: any. */
#pragma once

#include "storage/place/format.h"
#include "tsd/config/settings.h"
#include "tsd/tool/tool_args.h"

struct tool_place {
    const char *store;  /* lent by args, environment or settings */
    const char *server; /* "localhost:4242", or NULL: 'store' it is */
};

/* ST_INVALID when two are named at one place. */
MUST_CHECK enum status tool_place_find(const struct tool_args *a,
                                       const struct settings *s,
                                       struct tool_place *out, struct error *e);

/* Writes the address of the server that has the folder open, or "" if none has.
 * Waits for another tool, and for a server that starts; ST_BUSY: the process
 * that has it open is no server. */
MUST_CHECK enum status tool_place_server(const char *dir,
                                         char address[FORMAT_NOTE_MAX],
                                         struct error *e);

/* The zone of absolute dates in words: tsd.core.timezone, else $TZ, else the
 * machine's, else UTC. */
const char *tool_zone_name(const struct settings *s);
