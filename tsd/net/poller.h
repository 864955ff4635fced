/*
 * A thread that waits for events of many sockets, and can be woken: what the
 * loops of telnet and of TLS have in common.
 *
 * Owns:    its descriptors, not the sockets that are added.
 * Threads: poller_wake() from any; the rest from its owner.
 */
#ifndef TSD_NET_POLLER_H
#define TSD_NET_POLLER_H

#include <pthread.h>

#include "base/error.h"

struct poller {
    int epoll, wake; /* -1: not there */
    pthread_t thread;
};

/* The event of a wake-up carries data of 0: poller_heard() takes it. */
#define POLLER_INIT             \
    {                           \
        .epoll = -1, .wake = -1 \
    }

/* Runs 'f' in a thread.  ST_IO; poller_fini() also then. */
MUST_CHECK enum status poller_start(struct poller *p, void *(*f)(void *arg),
                                    void *arg, struct error *e);
void poller_wake(struct poller *p);
void poller_heard(struct poller *p);

/* Waits for the thread's end: 'f' must know that it is to stop. */
void poller_join(struct poller *p);
void poller_fini(struct poller *p);

#endif
