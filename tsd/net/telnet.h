/*
 * The telnet side: lines from sockets to commands.
 *
 * Each of N threads has an epoll of its own, and a connection stays with its
 * thread.  A turn reads a bounded chunk from every connection that has
 * something, puts its points into the store as one batch and, where there is
 * something to be said, commits once for all of them before that is sent:
 *
 *     recv -> lines -> put ... -> store -> commit -> replies, closes
 *                  `-> other commands
 *
 * So the reply to any command, or our close after the client's FIN, says that
 * every put before it on that connection is in the WAL.  Points without one
 * are gathered for 50 ms, or 256 K of them: in a pool an append is dear.
 *
 * A bad line never closes a connection.  While the store is busy, nothing is
 * read from those who put.  A client that does not read its error lines loses
 * them (CNT_ERR_BLOCKED).  A line that is too long is answered once and
 * skipped.
 *
 * With 'login', a line that needs more than an unknown client may do is
 * answered AUTH_FAIL, as is a bad "auth"; a good one is answered AUTH_SUCCESS,
 * and holds until the connection ends, or 'renew' says otherwise.
 *
 * The input of a client that begins with a capital letter is discarded, as
 * OpenTSDB takes such a client for one of HTTP.
 *
 * Owns:    the sockets that it was given.
 * Bounds:  a connection: line_bytes + 64 KB in, output_bytes and one reply out;
 *          all connections: total_bytes, and a few KB for each, so that an
 *          ordinary client works while others have exhausted it;
 *          a loop, where others own buckets: some 256 K points on their way.
 * Threads: any.  Commands run on a thread of telnet's, so they must be quick.
 */
#pragma once

#include <sys/socket.h>

#include "tsd/auth/auth.h"
#include "tsd/put/put.h"
#include "web/http.h"

struct telnet; /* opaque */

#define TELNET_MAX_WORDS 256

/* A command as it came; lent until the command returns. */
struct telnet_call {
    struct slice words[TELNET_MAX_WORDS]; /* UTF-8; [0] is the command */
    size_t words_len;
    const struct sockaddr *peer;
    struct buf *out; /* append the reply here, newline included */
    bool close;      /* set it to hang up after the reply */
    uint64_t lsn;    /* set it to what must be committed before the reply */
};

typedef void telnet_serve(void *ctx, struct telnet_call *call);

/* 'serve' NULL: one of those that are built in, "put", "help", "exit", "auth".
 * What is not in the table is an unknown command; "help" names them in its
 * order. */
struct telnet_route {
    const char *name;
    telnet_serve *serve;
    void *ctx;
    unsigned requires; /* of enum http_right */
    bool unlisted;     /* "help" does not name it */
};

/* "auth WORD" (a token: no name) or "auth NAME PASSWORD": sets '*who' where it
 * is good.  Without a secret: sets it to what an anonymous client is.  Called
 * on a thread of telnet's; where the answer is AUTH_SLOW once more with
 * 'may_block', by http_later: until then no line behind it is run. */
typedef enum auth_verdict telnet_login(void *ctx, const struct sockaddr *peer,
                                       struct slice name, struct slice secret,
                                       bool may_block,
                                       struct auth_identity *who);

/* Called before anything that a client says is looked at: what was true when it
 * logged in may have changed. */
typedef void telnet_renew(void *ctx, struct auth_identity *who);

struct telnet_options {
    const struct telnet_route *routes; /* must outlive the telnet */
    size_t routes_len;
    struct put_path *put; /* NULL: there is no "put" among the routes */
    unsigned threads;     /* 0: 2 */
    size_t line_bytes;    /* 0: 64 KB */
    size_t output_bytes;  /* 0: 64 KB */
    size_t total_bytes;   /* of all connections: parts of lines, and answers
                             that were not read; 0: 64 MB */
    unsigned idle_ms;     /* 0: idle connections are kept */
    bool silent;          /* no error lines for puts */
    telnet_login *login;  /* NULL: all clients may do all */
    telnet_renew *renew;  /* NULL, without a login: what is true stays so */
    http_later *later;    /* for a 'login' that says AUTH_SLOW */
    void *login_ctx;      /* of all three */
    void (*closed)(void *ctx); /* called when a connection ends */
    void *closed_ctx;
};

MUST_CHECK enum status telnet_start(const struct telnet_options *o,
                                    struct telnet **out, struct error *e);

/* Takes over a connected, non-blocking socket.  On failure the socket is
 * closed, and closed() is not called. */
MUST_CHECK enum status telnet_adopt_socket(struct telnet *t, int fd,
                                           const struct sockaddr *peer,
                                           socklen_t peer_size,
                                           struct error *e);

/* Reads what has arrived, stores and commits it, sends the replies, for at most
 * 'drain_ms', and closes. */
void telnet_stop(struct telnet **t, unsigned drain_ms);
