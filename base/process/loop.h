/* A thread that waits for events of many sockets, with the list of connections
 * that live in it.  A turn is
 *
 *     begin() -> event() for each event -> end() -> tick(), at most every
 *     tick_ms -> what loop_end() was called for is freed
 *
 * Owns:    its thread and descriptors, and a connection's memory from
 *          loop_end() on; never the sockets.
 * Threads: loop_add(), loop_wake(): any.  loop_start() and loop_stop(): the
 *          owner.  The rest: the loop's own thread, in its calls.
 * Fails:   ST_IO. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/process/lock.h"
#include "base/process/thread.h"

/* The first member of a connection, which was allocated by itself. */
struct loop_conn {
    struct loop_conn *next, *prev; /* 'next' is older */
    struct loop_conn *next_dead;
    bool dead; /* loop_end() was called: events on their way are not for it */
};

/* A socket as epoll knows it. */
struct watch {
    int fd;
    uint32_t events; /* watched; 0: not in epoll */
    uint64_t data;   /* what event() is told */
};

struct loop_calls {
    void (*begin)(void *ctx); /* each but event() may be NULL */
    /* 'data' is that of the watch; 0: loop_wake() was called. */
    void (*event)(void *ctx, uint64_t data, uint32_t events);
    void (*end)(void *ctx);
    void (*tick)(void *ctx, int64_t now_us);
    void (*stop)(void *ctx); /* the last one, on the loop's thread */
    /* Goes on at a stop while there are connections, until stop_us. */
    bool lingers;
};

struct loop {
    int epoll, wake_fd; /* -1: not there */
    struct thread thread;
    const struct loop_calls *calls;
    void *ctx;
    unsigned tick_ms;
    unsigned wait_ms; /* for an event, as calls set it; 0: tick_ms */
    atomic_bool stopping;
    int64_t stop_us; /* set before 'stopping' */
    struct lock lock;
    struct loop_conn *youngest GUARDED_BY(lock);
    struct loop_conn *oldest GUARDED_BY(lock);
    struct loop_conn *dead; /* the thread's */
};

/* loop_fini() also when it fails. */
MUST_CHECK enum status loop_init(struct loop *l, const struct loop_calls *calls,
                                 void *ctx, unsigned tick_ms, struct error *e);
MUST_CHECK enum status loop_start(struct loop *l, struct error *e);
void loop_wake(struct loop *l);
/* loop_stop() is loop_ask_to_stop(), which does not wait, and loop_join(). */
void loop_ask_to_stop(struct loop *l, unsigned linger_ms);
void loop_join(struct loop *l);
void loop_stop(struct loop *l);
void loop_fini(struct loop *l);

/* Watches a socket of 'c', which comes into the list, for 'events', which are
 * not 0.  False: no memory for it, errno says so, and 'c' is still the
 * caller's. */
MUST_CHECK bool loop_add(struct loop *l, struct loop_conn *c, struct watch *w,
                         uint32_t events);
/* Watches for 'events'; 0: for none at all.  After a failure, which is in the
 * log, w->events are what they were: another call tries again. */
void loop_watch(struct loop *l, struct watch *w, uint32_t events);
/* Takes a connection out of the list; its memory is freed at the turn's end,
 * its sockets must be unwatched and closed. */
void loop_end(struct loop *l, struct loop_conn *c);
/* Closes a socket so that the other side reads what was said: unread bytes
 * would turn the close into a reset, which may overtake it. */
void loop_close(int fd);
/* The one that came before 'c', NULL: the youngest.  NULL at the list's end. */
struct loop_conn *loop_next(struct loop *l, const struct loop_conn *c);
struct loop_conn *loop_oldest(struct loop *l);
