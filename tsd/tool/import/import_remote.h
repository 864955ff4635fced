/* A taker of lines (tsd/transfer/import/import.h) that hands them to a server.
 *
 * Owns:    a connection.
 * Threads: one at a time.
 * Fails:   as client.h; ST_BUSY: cancelled.  While the server's store is
 *          busy it waits, and sends again what was not taken. */
#pragma once

#include "tsd/client/client.h"
#include "tsd/transfer/import/import.h"

/* Which store the server has: for a journal. */
MUST_CHECK enum status import_remote_store(struct client *r,
                                           char out[IMPORT_STORE_MAX],
                                           struct error *e);

void import_remote_open(const struct client *r, bool json, bool create,
                        struct cancel cancel, struct import_taker *out);
void import_remote_close(struct import_taker *taker);
