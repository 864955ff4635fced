/* One HTTP request to a daemon, for the program's own commands.
 *
 * Threads: any; it blocks until the answer is there.
 * Fails:   ST_IO when no server answers. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

/* "127.0.0.1:4242"; an address for all ("0.0.0.0", "[::]") means this machine.
 * 'token' may be NULL.  '*body' gets the answer's bytes. */
MUST_CHECK enum status ask_post(const char *address, const char *path,
                                const char *token, unsigned *status,
                                struct buf *body, struct error *e);
