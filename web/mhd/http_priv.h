/* The insides of the HTTP server: its parts, one file each.
 *
 *     mhd.c           libmicrohttpd: nothing else includes it
 *     http.c          start, stop, and the life of a request
 *     http_conn.c     connections by socket; the watchdog for slow clients
 *     http_target.c   the request target: path, version, parameters
 *     http_admit.c    the head: what is rejected before a body is read
 *     http_client.c   authentication and cross-site checks
 *     http_body.c     the body: budget, limits, gzip and deflate undone
 *     http_work.c     the pool that serves the routes which may block
 *     http_request.c  what an endpoint may ask a request
 *     http_reply.c    what an endpoint may say, and errors
 *     http_send.c     a reply made ready for the wire: jsonp, gzip, CORS
 *
 * A request is made when its first line was read and freed when its reply was
 * sent or its connection ended.  It has no state of its own: the state of its
 * connection says what is done with it.  http_conn_enter() changes the state,
 * and with it the time until which the client must have done its part:
 *
 *     CONN_NEW -> CONN_HEAD ------------> CONN_BODY -> CONN_WORK -> CONN_SEND
 *                  ^     `-> CONN_CHECK --^                            |
 *                  `------------------ CONN_IDLE <---------------------'
 *
 * A head that is rejected, or whose body is not read, goes from CONN_HEAD or
 * CONN_CHECK to CONN_SEND at once.  The watchdog (http_conn.c) moves any state
 * that has a time limit to CONN_CUT.
 *
 * Threads: a request belongs to the thread of its connection.  While
 * libmicrohttpd holds the connection suspended it belongs to a worker, in
 * CONN_WORK, or to the thread of http_later, in CONN_CHECK. */
#pragma once

#include <stdatomic.h>

#include "base/process/latency.h"
#include "base/process/log_throttle.h"
#include "base/process/loop.h"
#include "base/obj.h"
#include "web/http.h"

#define HTTP_SERVER_MAGIC  FOURCC('H', 'T', 'S', 'V')
#define HTTP_CONN_MAGIC    FOURCC('H', 'T', 'C', 'N')
#define HTTP_REQUEST_MAGIC FOURCC('H', 'T', 'R', 'Q')
#define HTTP_REPLY_MAGIC   FOURCC('H', 'T', 'R', 'P')

/* -- mhd.c: libmicrohttpd ------------------------------------------------- */

struct http_chunks;
struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;

MUST_CHECK enum status http_mhd_start(struct http_server *s, struct error *e);
void http_mhd_stop(struct http_server *s);
/* Hands a socket over; false: it is closed. */
bool http_mhd_adopt_socket(struct http_server *s, int fd,
                           const struct sockaddr *peer, socklen_t peer_size);
/* Nothing is called for a suspended connection.  After the resume the request
 * is its connection's thread's again. */
void http_mhd_suspend(struct http_request *r);
void http_mhd_resume(struct MHD_Connection *mhd);

/* Bytes of the head as it came. */
size_t http_mhd_head_bytes(const struct http_request *r);
/* No folded line, no nameless header, one kind of line ends, no NUL: where
 * libmicrohttpd does not reject these, the bytes between what it found are
 * checked.  'method' and 'version' lie where they were read. */
bool http_mhd_head_is_plain(const struct http_request *r, const char *method,
                            const char *version);

/* Takes the bytes of '*chunks'.  NULL: no memory. */
struct MHD_Response *http_mhd_response_new(struct http_chunks *chunks);
void http_mhd_response_free(struct MHD_Response *response);
bool http_mhd_add_header(struct MHD_Response *response, const char *name,
                         const char *value);
/* Queues the response; false: hang up. */
bool http_mhd_send(struct http_request *r);

/* -- http_target.c --------------------------------------------------------- */

struct http_target {
    const char *path; /* lower-cased, without the version */
    const char *key;  /* the route's name: "/api/query", "/q", "/" */
    const char *key2; /* with one segment more, under /api; or NULL */
    bool is_api;
    struct http_param *params;
    size_t params_len;
    /* What is wrong with it: 0, or an HTTP status and its texts. */
    unsigned fault;
    const char *message;
    const char *details;
};

/* Takes 'url' apart; faults are told in '*t'. */
void http_target_parse(struct arena *a, const char *url, struct http_target *t);

/* The route of a target, or NULL. */
const struct http_route *http_route_find(const struct http_route *routes,
                                         size_t routes_len,
                                         const struct http_target *t);

/* -- http_body.c ----------------------------------------------------------- */

enum http_coding { CODING_NONE, CODING_GZIP, CODING_DEFLATE, CODING_OTHER };

struct http_body {
    uint8_t *data;
    size_t size;
    size_t cap;
    uint64_t expected; /* Content-Length, or UINT64_MAX */
    uint64_t received; /* bytes that came, as they came */
    uint64_t dropped;  /* of them, after it was rejected */
    size_t charged;    /* for what is made of it */
    bool inflated;     /* 'data' is what came of it */
    enum http_coding coding;
    bool is_latin1; /* ISO-8859-1, to be made UTF-8 */
};

/* Takes the next chunk of the body.  A body that must be rejected leaves an
 * error reply; what follows is dropped.  False: enough dropped, hang up. */
bool http_body_take(struct http_request *r, struct slice chunk);
/* How much of a rejected body is read on and dropped, since a client which is
 * still writing would see a reset instead of the answer. */
uint64_t http_body_drop_max(const struct http_server *s);
/* 413: it is larger than a body may be. */
void http_reject_size(struct http_request *r);
/* The body is complete: undoes gzip and deflate, and makes UTF-8 of ISO-8859-1
 * where Content-Type names that.  It may take long. */
void http_body_decode(struct http_request *r);
void http_body_free(struct http_request *r);

/* -- http_reply.c ---------------------------------------------------------- */

struct http_header {
    struct http_header *next;
    const char *name;
    const char *value;
};

/* A reply this small is always sent: what libmicrohttpd holds for a connection
 * is ten times as much. */
#define ANSWER_FREE_BYTES ((size_t)4 << 10)

/* What a body begins with, in order. */
struct http_chunks {
    struct buf *list;
    size_t len, cap;
    size_t size; /* bytes of all */
};

struct http_reply {
    uint32_t magic;
    struct http_request *request;
    unsigned status;
    const char *type;          /* NULL: the default of the path */
    struct http_chunks chunks; /* the body: these first, */
    struct buf body;           /* and this behind them */
    struct http_header *headers;
    bool empty;
    bool gzipped; /* the body is */
    bool close;
    bool plain_page; /* an error outside of /api, whatever the path */
    char why[256];   /* of an error that is still to be reported, or "" */
};

/* Reports the error that the request is answered with, if it is not reported
 * yet; see http_options.failed. */
void http_report_failure(struct http_request *r);
/* Answers the request with an error; 'details' may be NULL. */
void http_reject(struct http_request *r, unsigned status, const char *message,
                 const char *details);
void http_reply_fini(struct http_reply *out);
/* Puts '*b' at 'at' among the chunks; '*b' is empty afterwards.  False: there
 * is no memory, and nothing changed. */
bool http_chunks_put(struct http_chunks *p, size_t at, struct buf *b);
void http_chunks_free(struct http_chunks *p);

/* -- http_conn.c ----------------------------------------------------------- */

/* What a connection and its request are doing; see the top of this file. */
enum conn_state {
    CONN_NEW,   /* given, not yet known to libmicrohttpd */
    CONN_HEAD,  /* its head is coming */
    CONN_CHECK, /* who the client is, is being found out */
    CONN_BODY,  /* its body is coming */
    CONN_WORK,  /* being served; the endpoint keeps its own time */
    CONN_SEND,  /* the reply is going out */
    CONN_IDLE,  /* between requests */
    CONN_CUT,   /* the watchdog hung up */
};
#define CONN_STATES (CONN_CUT + 1)

struct http_conn {
    uint32_t magic;
    int fd;
    struct http_server *server;
    struct http_request *request; /* its thread's: the one under way */
    bool loopback;
    char peer[64];
    uint64_t address;        /* the peer's: IPv4, or the net of IPv6 */
    _Atomic uint64_t state;  /* enum conn_state, and the deadline above it */
    atomic_bool peer_closed; /* the client closed its side, or reset */
    uint64_t id;             /* tells connections of one socket number apart */
    uint64_t last_check, acked; /* the watchdog's */
};

struct conns {
    struct lock lock;
    struct http_conn **by_fd GUARDED_BY(lock);
    size_t len GUARDED_BY(lock);
    uint64_t serial GUARDED_BY(lock);
    struct loop loop; /* the watchdog's */
};

MUST_CHECK enum status http_conns_start(struct http_server *s, struct error *e);
void http_conns_stop(struct http_server *s);
/* Ends what is left, after libmicrohttpd has stopped. */
void http_conns_fini(struct http_server *s);
struct http_conn *http_conn_new(struct http_server *s, int fd,
                                const struct sockaddr *peer);
struct http_conn *http_conn_find(struct http_server *s, int fd);
/* Forgets the connection; 'tell' calls the server's closed(). */
void http_conn_end(struct http_conn **c, bool tell);
/* Enters 'state', whose time limit begins now; false when the watchdog was
 * faster. */
bool http_conn_enter(struct http_conn *c, enum conn_state state);
enum conn_state http_conn_state(struct http_conn *c);

/* -- http_work.c ----------------------------------------------------------- */

#define WORK_HASHES 256

struct work_client; /* an address, see http_work.c */
struct work_thread;

struct work {
    struct lock lock;
    struct cond settled; /* for stop: none pending */
    struct work_client *clients[WORK_HASHES] GUARDED_BY(lock);
    struct work_client *first GUARDED_BY(lock); /* whose turn it is */
    struct work_client *last GUARDED_BY(lock);
    size_t pending GUARDED_BY(lock); /* admitted, not yet resumed */
    bool closed GUARDED_BY(lock);
    bool stop GUARDED_BY(lock);
    struct work_thread *idle GUARDED_BY(lock); /* the last one to be */
    struct work_thread *threads;
    unsigned threads_len;
};

MUST_CHECK enum status http_work_start(struct http_server *s, struct error *e);
/* Room for one more of this client?  If so the caller suspends the connection
 * and pushes. */
bool http_work_admit(struct http_server *s, uint64_t address);
void http_work_push(struct http_request *r);
/* Admits no more, answers what waits, returns when no request is away. */
void http_work_close(struct http_server *s);
void http_work_stop(struct http_server *s);

/* -- http.c, http_admit.c, http_send.c ------------------------------------- */

/* Why the head of a request is rejected. */
enum head_fault {
    HEAD_FINE,
    HEAD_TARGET,
    HEAD_METHOD,
    HEAD_NAME,
    HEAD_VALUE,
    HEAD_RAW,
    HEAD_LENGTHS,
    HEAD_CODINGS,
    HEAD_HOSTS,
    HEAD_CODING,
    HEAD_BOTH,
    HEAD_1_0,
    HEAD_SIZE,
    HEAD_OTHER_HOST,
    HEAD_MALFORMED, /* by libmicrohttpd */
};
#define HEAD_FAULTS (HEAD_MALFORMED + 1)

/* Counts a rejected head, and logs the first of a kind with its client. */
void http_head_rejected(struct http_server *s, const char *peer,
                        enum head_fault fault);

/* The parts of the budgets that one address may use, so that there is room for
 * others while it exhausts its part.  Addresses with the same hash share one.
 */
#define HTTP_SHARES 256

struct http_share {
    struct budget answers, bodies, derived, arenas;
};

struct http_share *http_share_of(const struct http_request *r);

struct http_server {
    uint32_t magic;
    struct http_options o; /* defaults filled in */
    struct http_route *routes;
    struct MHD_Daemon *daemon;
    struct conns conns;
    struct work work;
    struct lock lock;               /* for 'quiet' alone */
    struct cond quiet;              /* one of the next three came to 0 */
    atomic_size_t active;           /* requests whose first line was read */
    atomic_size_t fresh;            /* sockets given, not yet CONN_HEAD */
    atomic_size_t checking;         /* requests in CONN_CHECK */
    _Atomic int64_t quick_again_us; /* until then none of a worker's is quick */
    atomic_bool stopping;           /* replies close their connections */
    atomic_bool aborting;           /* http_is_cancelled() is true for all */
    struct budget derived; /* JSON trees, which count in 'bodies' too */
    struct budget bodies;  /* bodies, trees, arenas of writes */
    struct budget answers; /* bytes of replies that are not yet sent */
    struct http_share shares[HTTP_SHARES]; /* of these budgets and 'o.arenas' */
    struct latency latency; /* of requests, from first line to reply */
    struct log_throttle heads[HEAD_FAULTS];
    struct log_throttle slow[CONN_STATES]; /* connections that were cut */
};

struct http_request {
    uint32_t magic;
    struct http_server *server;
    struct http_conn *conn;
    struct MHD_Connection *mhd;
    struct arena *arena;
    const char *url;         /* as it came */
    const char *method_text; /* as it came */
    bool is_1_0;
    enum http_method method;
    bool overridden;
    struct http_target target;
    const struct http_route *route;
    struct http_body body;
    struct http_reply reply;
    bool answered;     /* the reply is made; a body is only dropped */
    bool undecided;    /* its client's rights: http_check_client() */
    bool ready;        /* 'response' is made */
    bool cors_ok;      /* the origin may read the reply */
    bool may_compress; /* the reply, for clients that take that */
    unsigned rights;
    void *kept; /* the route's, made to find out if this is quick */
    const char *jsonp;
    struct MHD_Response *response;
    size_t response_size;
    size_t answer_bytes;       /* what it holds of the budget for replies */
    struct http_request *next; /* in the queue of work */
    int64_t start_us, end_us;  /* monotonic; end_us 0: it may take any time */
    atomic_bool cut;           /* it was told to end before it was done */
    unsigned long failures;    /* mem_failures() at the start */
};

/* Checks the head and finds the route; a rejection leaves a reply and sets
 * 'answered'.  'method' and 'version' lie where they were read.  False: reject
 * at once, without reading further. */
bool http_admit(struct http_request *r, const char *method,
                const char *version);
/* May this client do what its request's route and method need?  If not, there
 * is an answer. */
void http_admit_client(struct http_request *r);
/* The rights that the request's route wants for its method. */
unsigned http_rights_required(const struct http_request *r);
/* How 'origin' ("http://host:port") is in the CORS domains. */
enum http_cors { CORS_NONE, CORS_NAMED, CORS_ANY };
enum http_cors http_origin_is_allowed(const struct http_server *s,
                                      struct slice origin);
/* Is Host a name that the server is known by?  A page whose name points at this
 * machine (DNS rebinding) sends its own. */
bool http_host_is_ours(const struct http_request *r);
/* Suspends the connection of an undecided request until they are known. */
void http_check_client(struct http_request *r);
/* http.c: one less of 'active', 'fresh' or 'checking'. */
void http_one_less(struct http_server *s, atomic_size_t *count);
/* A request whose first line was read: mhd.c calls these. */
struct http_request *http_request_new(struct http_conn *c,
                                      struct MHD_Connection *mhd,
                                      const char *url);
/* The head is there, a chunk of the body, its end (an empty chunk), or the
 * connection was resumed.  False: hang up. */
bool http_request_step(struct http_request *r, const char *method,
                       const char *version, struct slice chunk);
void http_request_free(struct http_request *r);
/* Shall the request's body be read?  Not if it is rejected already, the client
 * waits for our leave to send it, or it is too large to be dropped. */
bool http_is_read_on(const struct http_request *r);

/* Calls the route, unless the request is answered, and makes the response. */
void http_serve_now(struct http_request *r);

/* An arena of a request, charged to 'budget' beyond its first 64 KB. */
struct arena *http_arena_of(struct http_server *s, struct budget *budget);
/* The budget of this request's arenas, once its route is known: that of bodies
 * if the route writes, so that puts work while queries have exhausted theirs.
 */
struct budget *http_arena_budget(const struct http_request *r);

/* What Accept-Encoding asks for, of what we have. */
enum http_coding http_accepts(const char *accept_encoding);
