/* A taker of lines (tsd/transfer/import.h) that hands them to a server.
 *
 * Owns:    a connection.
 * Threads: one at a time.
 * Fails:   as tool_remote.h. */
#pragma once

#include "tsd/tool/tool_remote.h"
#include "tsd/transfer/import.h"

/* Which store the server has: for a journal. */
MUST_CHECK enum status import_remote_store(struct tool_remote *r,
                                           char out[IMPORT_STORE_MAX],
                                           struct error *e);

void import_remote_open(const struct tool_remote *r, bool json, bool create,
                        struct import_taker *out);
void import_remote_close(struct import_taker *taker);
