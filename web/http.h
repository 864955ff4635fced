/* An HTTP server over libmicrohttpd, for endpoints that answer whole bodies: it
 * reads the request (gzip and deflate undone, limits kept), finds the route,
 * and sends the reply (gzip where the client takes it, CORS, jsonp, HEAD).  It
 * does not listen: sockets are given to it.  It has never heard of a metric.
 *
 *     given socket -> head -> route -> body -> serve() -> reply -> next request
 *
 * What libmicrohttpd leaves open is done here: rejecting ambiguous requests
 * (two Content-Lengths, Content-Length with Transfer-Encoding, folded or spaced
 * header names), time limits for head and body, noticing that a client closed
 * its connection while its request is served, one memory budget for all bodies,
 * one for all replies.
 *
 * Owns:    the sockets that it was given.  A request and a reply live until
 *          serve() returns; slices of a request are lent for as long.
 * Threads: struct http_server: any.  serve() runs on a thread of the server's
 *          (inline routes: that of the connection, so they must be quick), or
 *          of its worker pool. */
#pragma once

#include <sys/socket.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"

enum http_method {
    HTTP_GET = 1,
    HTTP_POST = 2,
    HTTP_PUT = 4,
    HTTP_DELETE = 8,
    HTTP_HEAD = 16, /* if a route takes it: served as GET, no body sent */
    HTTP_OPTIONS = 32,
    HTTP_OTHER = 64,
    /* Of a route: "?method_override=" counts on GET, as OpenTSDB has it for
     * query, search, annotation, uid and tree alone. */
    HTTP_OVERRIDE = 128,
    /* The route limits its own time, so 'read_ms' does not apply. */
    HTTP_KEEPS_TIME = 256,
};

/* What a client may do.  What is more than reading changes something, and is
 * rejected when it is cross-site. */
enum http_right {
    HTTP_READS = 1,
    HTTP_WRITES = 2,
    HTTP_ADMIN = 4,
    HTTP_ALL_RIGHTS = 7,
};

struct http_server;
struct http_request;
struct http_reply;

struct http_param {
    struct slice name, value; /* decoded */
};

typedef void http_serve(void *ctx, const struct http_request *r,
                        struct http_reply *out);

/* What it made to find out, in '*kept', is http_kept() of the request when it
 * is served: at once if this is true, or by a worker.  All of it is in the
 * request's arena. */
typedef bool http_is_quick(void *ctx, const struct http_request *r,
                           void **kept);

/* A path is compared after lower-casing and without "/api/v1" -> "/api": its
 * first two segments under /api ("/api/query", also for "/api/query/exp"), its
 * first elsewhere ("/q"); "/" is the home page, "/s" serves below "/s/". The
 * longest route wins, so "/api/query/last" may be a route of its own. */
struct http_route {
    const char *path;
    unsigned methods; /* of enum http_method; others get OpenTSDB's 405 */
    bool worker;      /* may block or take long: not on a connection thread */
    http_serve *serve;
    void *ctx;
    /* Of enum http_right, what a request needs: a GET or HEAD, a DELETE, any
     * other.  0: nothing, not even a name. */
    unsigned get_requires, delete_requires, requires;
    /* Of a worker's route, or NULL: will this one surely be quick?  Then it is
     * served at once while no other request is there, which would have to wait
     * for it; and not for a second or more after one that was not quick. */
    http_is_quick *quick;
};

enum http_verdict {
    HTTP_ALLOWED,
    HTTP_DENIED, /* the reply is made */
    HTTP_SLOW,   /* to decide takes long: call again with 'may_block' */
};

/* Called for each request that needs a right, before its body is read, on the
 * thread of the connection; where the answer is HTTP_SLOW once more with
 * 'may_block', by http_later.  Sets '*rights' to what the client has. */
typedef enum http_verdict http_allow(void *ctx, const struct http_request *r,
                                     unsigned required, bool may_block,
                                     unsigned *rights, struct http_reply *out);

/* Called for each request that is answered with an error (http_reply_error()
 * and its kin), unless the endpoint called http_reply_reported(): for logs and
 * counters. 'why' is the message of the answer, with its details. Called by the
 * thread that made the answer, before it is sent. */
typedef void http_failed(void *ctx, const struct http_request *r,
                         unsigned status, const char *why);

/* Calls 'run' on a thread that may block; false when too many wait for it. */
typedef bool http_later(void *ctx, void (*run)(void *arg), void *arg);

struct http_options {
    const struct http_route *routes;
    size_t routes_len;
    unsigned threads;         /* connection threads; 0: 2 */
    unsigned workers;         /* that one client may have; 0: 4 */
    size_t workers_queue;     /* its requests that wait, then 503; 0: 1024 */
    size_t body_bytes;        /* one body, decompressed too; 0: 32 MB */
    size_t bodies_bytes;      /* all together, past it 503; 0: 256 MB */
    size_t answers_bytes;     /* of all replies, from their first byte until
                                 they are sent, past it 503; 0: 256 MB */
    size_t reply_bytes;       /* of one reply, past it 413; 0: 128 MB */
    size_t arena_bytes;       /* of one request; 0: 256 MB */
    struct budget *arenas;    /* of the arenas of all requests that do not
                                 write, except for what small requests need;
                                 NULL: no limit */
    size_t head_bytes;        /* 0: 32 KB */
    unsigned head_ms;         /* to send a whole head; 0: 30 s */
    unsigned body_ms;         /* to send a whole body; 0: 120 s */
    unsigned idle_ms;         /* keep-alive; 0: 300 s */
    unsigned read_ms;         /* to serve a request that reads, past it 413; 0:
                                 no limit */
    bool chunked;             /* take chunked bodies */
    const char *cors_domains; /* "", "*", or a list, comma-separated */
    const char *cors_headers;
    const char *hosts; /* names that Host may have, comma-separated; NULL:
                          any.  Addresses and localhost always may. */
    bool no_jsonp;     /* reject "?jsonp=" */
    bool no_local;     /* clients of this machine are as all others */
    bool allow_cross_site_writes; /* cross-site requests may change something */
    bool show_stack_trace;        /* put a "trace" into errors */
    http_allow *allow;            /* NULL: all clients may do all */
    http_later *later;            /* for an 'allow' that says HTTP_SLOW */
    void *allow_ctx;              /* of both */
    http_failed *failed;          /* NULL: failures are not reported */
    void *failed_ctx;
    void (*closed)(void *ctx); /* called when a connection ends */
    void *closed_ctx;
};

/* Are these fit for the options of the same names?  http_server_start() asks
 * this too; who makes something for the server first asks before that.
 * ST_INVALID. */
MUST_CHECK enum status http_cors_check(const char *domains, const char *headers,
                                       struct error *e);

MUST_CHECK enum status http_server_start(const struct http_options *o,
                                         struct http_server **out,
                                         struct error *e);
/* Takes over a connected, non-blocking socket, whose first bytes are still
 * unread.  The peer's address is copied.  On failure the socket is closed, and
 * closed() is not called.  Counting connections is the caller's: there is no
 * limit here. */
MUST_CHECK enum status http_server_adopt_socket(struct http_server *s, int fd,
                                                const struct sockaddr *peer,
                                                socklen_t peer_size,
                                                struct error *e);
/* Finishes the requests under way, for at most 'drain_ms'; then
 * http_is_cancelled() is true for those that are left, and they are waited for.
 * Closes all connections.  No socket may be given meanwhile. */
void http_server_stop(struct http_server **s, unsigned drain_ms);

/* Of requests, from their first line to their reply. */
const struct latency *http_server_latency(struct http_server *s);

/* -- the request ----------------------------------------------------------- */

/* After method_override, where the route takes that; GET for a HEAD. */
enum http_method http_method(const struct http_request *r);
/* Did method_override change it?  Then it came as a GET. */
bool http_is_overridden(const struct http_request *r);
/* Lower-cased, its escapes as they are, without version: "/api/query/exp". */
const char *http_path(const struct http_request *r);
/* As it came, with its query string. */
const char *http_url(const struct http_request *r);
bool http_is_api(const struct http_request *r);
/* Does an endpoint exist for its path? */
bool http_has_route(const struct http_request *r);
/* Without a byte order mark. */
struct slice http_body(const struct http_request *r);
const struct http_param *http_params(const struct http_request *r, size_t *len);
/* The last one of that name wins; false when there is none. */
bool http_param(const struct http_request *r, const char *name,
                struct slice *out);
bool http_has_param(const struct http_request *r, const char *name);
/* NULL when absent. Names ignore case. */
const char *http_header(const struct http_request *r, const char *name);
/* Calls 'f' with each header, as it came.  Names and values have a NUL behind
 * them, and may hold some. */
void http_each_header(const struct http_request *r,
                      void (*f)(void *ctx, struct slice name,
                                struct slice value),
                      void *ctx);
/* "127.0.0.1:4711" */
const char *http_peer(const struct http_request *r);
/* Actions that not every request is trusted with. The rights of clients that
 * are known by name are checked apart from this. */
enum http_deed {
    /* Running tools, making backups and stopping the server. A client on this
     * machine may do so without credentials, unless 'no_local' is set, a proxy
     * forwarded the request, a page of another site made it (whatever the CORS
     * domains say), or Host is a name other than localhost and those of
     * 'hosts': a page whose name was pointed at this machine (DNS rebinding)
     * sends its own name. */
    HTTP_TO_ADMINISTER,
    /* Any change: not by a page of another site, unless the CORS domains name
     * its origin ('*' is no name) or 'allow_cross_site_writes' is set. */
    HTTP_TO_CHANGE,
    /* To read an answer as a script: not by a page of another site, unless its
     * origin is in the CORS domains. */
    HTTP_TO_RUN_SCRIPTS,
};
bool http_is_trusted(const struct http_request *r, enum http_deed deed);
/* 403 to a client that is not trusted to administer: with 'message', and with
 * 'details', which say what would let it in, or with the reason why a client of
 * this machine is not trusted. */
void http_reply_not_local(struct http_reply *out, const char *message,
                          const char *details);
/* address_key() of the client. */
uint64_t http_peer_key(const struct http_request *r);
/* May it do what the route did not ask for? */
bool http_has_right(const struct http_request *r, enum http_right right);
/* The client closed its connection, the server stops, or the time of a request
 * that reads is over: stop working.  The reply to who was told so is replaced
 * by the reason, as it may have only a part of the answer. */
bool http_is_cancelled(const struct http_request *r);
/* Dies with the request. */
struct arena *http_arena(const struct http_request *r);
/* One more arena with the same limits, for what is dropped earlier. */
struct arena *http_arena_new(const struct http_request *r);
/* Charges what is made of this request's body, such as a JSON tree, to the
 * budget of all bodies, until the body is freed.  Trees may use three quarters
 * of that budget, those of one address half of it, so that there is room for
 * bodies of points.  Up to 64 KB of a request are free.  ST_BUSY: there is no
 * room now; ST_LIMIT: it will never fit. */
MUST_CHECK enum status http_body_charge(const struct http_request *r,
                                        size_t size, struct error *e);
/* NULL: nothing; see http_is_quick. */
void *http_kept(const struct http_request *r);

/* -- the reply: one of these, last call wins ------------------------------- */

/* A body for the caller to append to; empty at first. Replies start as 200 with
 * an empty body, under /api as "application/json; charset=UTF-8"; elsewhere the
 * type is guessed from the path's end and the body's first byte, as OpenTSDB
 * does ("application/json", "text/html; charset=UTF-8", "text/plain"). */
struct buf *http_reply_body(struct http_reply *out);
/* The budget of all replies.  The body is charged to it while it grows, and
 * whoever makes a large answer elsewhere charges it there as well. */
struct budget *http_reply_budget(struct http_reply *out);
/* Appends the bytes of '*chunk', which is empty afterwards, to the body without
 * copying them; http_reply_body() is what follows, empty again.  For who makes
 * a large answer chunk by chunk.  It counts in
 * http_reply_budget() from then on, if not before. */
void http_reply_append_owned(struct http_reply *out, struct buf *chunk);
void http_reply_status(struct http_reply *out, unsigned status);
void http_reply_type(struct http_reply *out, const char *content_type);
void http_reply_header(struct http_reply *out, const char *name,
                       const char *value);
/* The body is one gzip member: sent as it is, or inflated for a client that
 * does not take gzip. */
void http_reply_gzipped(struct http_reply *out);
/* Drops the body so far and answers {"error":{"code":..,"message":..,
 * "details":..}} (under /api), a page elsewhere, or {"err":..} with "?json".
 * 'details' may be NULL.  A page's 401..499 is 400, but for 404, 408, 413, 429:
 * so OpenTSDB has it. */
void http_reply_error(struct http_reply *out, unsigned status,
                      const char *message, const char *details);
/* Marks a reply whose failure was logged and counted already, so that the
 * 'failed' hook is not called for it. */
void http_reply_reported(struct http_reply *out);
/* Replies with the status and the text of 'e', as http_reply_error() does. */
void http_reply_failure(struct http_reply *out, const struct error *e);
/* 405 "Method not allowed" with OpenTSDB's details; every 405 carries Allow. */
void http_reply_bad_method(struct http_reply *out,
                           const struct http_request *r);
/* 404 "Endpoint not found". */
void http_reply_not_found(struct http_reply *out);
/* No body, as 204 and 304 need. */
void http_reply_empty(struct http_reply *out, unsigned status);
/* Close the connection after this reply. */
void http_reply_close(struct http_reply *out);
