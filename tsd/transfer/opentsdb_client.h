/* A client of the HTTP API of OpenTSDB, or of a server like it.
 *
 * Owns:    one connection, kept from request to request.
 * Bounds:  an answer has CLIENT_ANSWER_MAX bytes.
 * Threads: owner.
 * Fails:   ST_LIMIT: the answer is longer; ST_NOT_FOUND: the server says 404;
 *          ST_INVALID: it rejects the request, with its message; ST_IO. */
#pragma once

#include "base/error.h"
#include "base/slice.h"

#define CLIENT_ANSWER_MAX ((size_t)32 << 20)

/* The one whose answer is handed over also where it is a 400. */
#define CLIENT_ASSIGN "/api/uid/assign"

struct json_t;
struct opentsdb_client; /* opaque */

/* "http://host:4242", a name and a password may be in it. */
MUST_CHECK enum status opentsdb_client_open(const char *url,
                                            struct opentsdb_client **out,
                                            struct error *e);
void opentsdb_client_close(struct opentsdb_client **c);

/* GET of "/api/...", or POST of '*body'.  '*out' is to json_decref(). */
MUST_CHECK enum status opentsdb_client_ask(struct opentsdb_client *c,
                                           const char *path,
                                           const struct slice *body,
                                           struct json_t **out,
                                           struct error *e);

/* Appends "%2F" for what a URI does not take as it is. */
struct buf;
void opentsdb_client_escape(struct buf *out, struct slice text);
