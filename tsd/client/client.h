/* A client of a server's HTTP API, by HTTP or HTTPS: what each command that
 * talks to a server has in common.
 *
 *     open -> get or post ... -> close
 *
 * Owns:    one connection, which is kept from request to request.
 * Bounds:  an answer has CLIENT_ANSWER_MAX bytes, or what its buffer says.
 * Threads: owner; a thread each has one of its own (client_dup).
 * Fails:   ST_IO: no answer, a 5xx, or libcurl is not installed; ST_INVALID:
 *          bad options, or the server rejects the request; ST_NOT_FOUND,
 *          ST_LIMIT, ST_BUSY: it answers 404, 413, 503; ST_LIMIT: the answer
 *          is longer.  What a server answers is the text, as far as it says
 *          why. */
#pragma once

#include "base/buf.h"

#define CLIENT_ANSWER_MAX ((size_t)64 << 20)

struct client_options {
    const char *address; /* "host:4242", "http://..", "https://.."; an address
                            for all ("0.0.0.0:4242") means this machine */
    const char *token_file; /* its first line: a token, or NAME:PASSWORD; NULL:
                               $HALITE_TOKEN, or none */
    const char *cacert;     /* PEM; NULL: the system's authorities */
    unsigned stall_s;       /* without a byte before it fails; 0: for ever */
    bool foreign; /* not our server: gets no token, only the name and password
                     of its URL; the environment's proxies are asked; answers
                     may be packed */
};

struct client; /* opaque */

MUST_CHECK enum status client_open(const struct client_options *o,
                                   struct client **out, struct error *e);
void client_close(struct client **c);

/* Another connection to the same server, with the same options. */
struct client *client_dup(const struct client *c);

/* "https://host:4243". */
const char *client_base(const struct client *c);

/* GET of "/api/...", POST of a body of that type.  '*answer' is what came, also
 * with an error. */
MUST_CHECK enum status client_get(struct client *c, const char *path,
                                  struct buf *answer, struct error *e);
MUST_CHECK enum status client_post(struct client *c, const char *path,
                                   const char *type, struct slice body,
                                   struct buf *answer, struct error *e);
