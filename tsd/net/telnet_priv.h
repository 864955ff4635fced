/* Inside of telnet: a loop is a thread with its epoll; a connection lives in
 * one loop, and after telnet_adopt_socket() only that thread touches it.
 *
 *     reading --put while the store is busy--> waiting --stored--> reading
 *        |                                                            |
 *        `-- FIN, exit, failed commit --> closing -- all sent --> ended */
#pragma once

#include <stdatomic.h>

#include "base/process/log_throttle.h"
#include "base/process/loop.h"
#include "tsd/net/telnet.h"

#define TELNET_READ_BYTES ((size_t)1 << 20)

/* While the store is busy, and before a login, less is read: it may have to be
 * kept. */
#define TELNET_KEPT_BYTES ((size_t)64 << 10)

/* So much of a connection's input is kept without a charge to the budget. */
#define TELNET_FREE_BYTES ((size_t)1 << 10)
/* And so much of its output. */
#define TELNET_OUT_FREE_BYTES ((size_t)4 << 10)

/* One address may use three quarters of the budget, so that there is room for
 * others while it exhausts its part.  Addresses with the same hash share one.
 */
#define TELNET_SHARES 64

struct telnet_conn {
    struct loop_conn link;
    struct watch socket;
    struct sockaddr_storage peer;
    struct budget *budget; /* the share of its address */
    uint8_t *in;           /* read, but not run yet; NULL: nothing */
    size_t in_size;
    size_t in_charged; /* what of it counts in the budget */
    struct buf out;
    size_t out_old; /* of 'out', from turns before */
    struct auth_identity who;
    bool begun;                 /* its first line has come */
    bool skipping;              /* up to the end of a line that is too long */
    bool waiting;               /* for the store, or for its login */
    struct telnet_check *check; /* its login, being decided; or NULL */
    bool eof;                   /* nothing will come any more */
    bool closing;
    bool write_failed; /* only what it sent counts now */
    bool dirty;        /* in this turn */
    uint64_t put_in;   /* the loop's period when it last put; 0: never */
    struct telnet_conn *next_dirty, *next_waiting;
    int64_t active_us, deadline_us; /* deadline: to send the rest */
};

/* A login that another thread decides. */
struct telnet_check {
    struct telnet_check *next; /* of those decided */
    struct telnet_loop *loop;
    struct telnet_conn *conn;
    struct auth_identity who;
    enum auth_verdict verdict;
    size_t name_size; /* of the bytes behind it, the rest is the secret */
    size_t size;
    char text[];
};

struct telnet_loop {
    struct telnet *telnet;
    struct loop loop;
    struct lock lock;
    struct telnet_check *decided GUARDED_BY(lock);

    /* The rest is the thread's own. */
    struct put_batch *batch;
    struct telnet_conn *batch_conn; /* whose lines are in it */
    bool stalled;                   /* the batch waits for the store */
    uint64_t period;                /* one more with each commit; from 1 on */
    int64_t uncommitted_us;         /* since when points wait for one; or 0 */
    uint8_t *buf;                   /* where a chunk is read and run */
    uint8_t *held;                  /* the buffer that a stalled batch uses */
    struct telnet_conn *dirty;
    struct telnet_conn *waiting, **waiting_end;
    struct telnet_call *call;
    struct buf text;
    size_t lines; /* not counted yet */
};

struct telnet {
    uint32_t magic;
    struct telnet_options o;
    bool has_put;
    size_t buf_bytes;     /* of a loop's buffer */
    struct budget budget; /* total_bytes */
    struct budget shares[TELNET_SHARES];
    atomic_size_t freed; /* bytes freed since memory was given back */
    atomic_uint next;    /* the loop for the next connection */
    struct log_throttle slow, unknown, too_long, no_room, forbidden;
    unsigned loops_len;
    struct telnet_loop *loops;
};

/* Reads a chunk, at most 'max' bytes, and runs the lines in it. Returns how
 * much was read. */
size_t telnet_conn_read(struct telnet_loop *l, struct telnet_conn *c,
                        size_t max);

/* Waits, without reading, for the store. */
void telnet_conn_wait(struct telnet_loop *l, struct telnet_conn *c);

/* Frees what is kept of a connection. */
void telnet_conn_forget(struct telnet_loop *l, struct telnet_conn *c);

/* Runs what was read before. */
void telnet_conn_resume(struct telnet_loop *l, struct telnet_conn *c);

/* Answers the logins that were decided, and runs what is behind them. */
void telnet_end_checks(struct telnet_loop *l);

/* The connection is looked at once more at the end of the turn. */
void telnet_mark_dirty(struct telnet_loop *l, struct telnet_conn *c);

/* Stores the batch; false, and the loop is stalled, when the store is busy. */
bool telnet_flush(struct telnet_loop *l);

/* put_failed() of the loops' batches; 'ctx' is the loop. */
void telnet_put_failed(void *ctx, size_t id, enum put_fault fault,
                       struct slice why);
