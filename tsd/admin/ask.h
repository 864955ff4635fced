/* One HTTP request to a daemon, for the program's own commands.
 *
 * Threads: any; it blocks until the answer is there.
 * Fails:   ST_IO when no server answers. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct ask {
    /* "127.0.0.1:4242"; an address for all ("0.0.0.0", "[::]") means this
     * machine. */
    const char *address;
    const char *path;
    const char *token;   /* NULL: none */
    struct slice body;   /* JSON; empty: none */
    unsigned timeout_ms; /* of each call to the network; 0: none */
};

/* '*body' gets the answer's bytes. */
MUST_CHECK enum status ask_post(const struct ask *a, unsigned *status,
                                struct buf *body, struct error *e);

/* What an error's answer says: its "message", as it stands there. */
#define ASK_MESSAGE_SIZE 400
void ask_message(struct buf *body, char out[ASK_MESSAGE_SIZE]);

/* A file's first line; without a file, HALITE_TOKEN of the environment.  NULL:
 * none; to be free()d. */
char *ask_token(const char *file);
