/* A taker of lines (tsd/transfer/import/import.h) that hands them to a server.
 *
 * Owns:    a connection.
 * Threads: one at a time.
 * Fails:   as client.h; ST_BUSY: cancelled.  While the server's store is
 *          busy it waits, and sends again what was not taken. */
#pragma once

#include "tsd/client/client.h"
#include "tsd/transfer/import/import.h"

struct import_rules {
    bool json;        /* the lines are records in JSON */
    bool create;      /* metrics that do not exist */
    bool stop_at_bad; /* see import_writer_stop_at_bad() */
};

void import_remote_open(const struct client *r,
                        const struct import_rules *rules, struct cancel cancel,
                        struct import_taker *out);
void import_remote_close(struct import_taker *taker);
