/* The way from a tool to a server, by HTTP or HTTPS.
 *
 *     open -> run(words), or post(..) ... -> close
 *
 * Owns:    one connection, which is kept from call to call.
 * Threads: owner; a thread each has one of its own.
 * Fails:   ST_IO: no answer; ST_INVALID: bad options; else what the server
 *          answered, with its message. */
#pragma once

#include "tsd/tool/tool.h"

struct tool_remote_options {
    const char *address;    /* "host:4242", "http://..", "https://.." */
    const char *token_file; /* its first line: a token, or NAME:PASSWORD; NULL:
                               $HALITE_TOKEN, or none */
    const char *cacert;     /* PEM; NULL: the system's authorities */
};

struct tool_remote; /* opaque */

MUST_CHECK enum status tool_remote_open(const struct tool_remote_options *o,
                                        struct tool_remote **out,
                                        struct error *e);
void tool_remote_close(struct tool_remote **r);

/* Another connection to the same server, with the same credentials. */
struct tool_remote *tool_remote_dup(const struct tool_remote *r);

/* Runs the words there; what the tool prints goes to the sinks of 't' as it
 * comes.  Returns the exit status. */
int tool_remote_run(struct tool_remote *r, struct tool *t,
                    const char *const *words, size_t len,
                    const char *zone_name);

/* POST to "/api/...".  Where the answer is no 2xx, its message is the error.
 * 'type' is the body's. */
MUST_CHECK enum status tool_remote_post(struct tool_remote *r, const char *path,
                                        const char *type, struct slice body,
                                        struct buf *answer, struct error *e);
