/* Events: what one process sends to all that have the same pool open, and waits
 * until they have heard it.  Numbers with a payload; what they mean is their
 * users' business.
 *
 *     events_open -> events_on, .. -> send, heard, ..      -> events_close
 *                            `-> broken -> watched again: EVENTS_MISSED
 *
 * What depends on events (a cache) asks events_are_heard() each time before it
 * relies on what it has, and drops it when EVENTS_MISSED comes.  From a broken
 * watch on until EVENTS_MISSED was delivered, events_are_heard() is false; so
 * it is where the cluster has not answered for longer than a sender waits.
 *
 * Threads: any; events_on() before what it is to hear can be sent.  Functions
 *          are called one at a time, on threads of librados or of this room:
 *          they must not wait for the cluster, nor for who does.
 * Fails:   as ceph_status() says. */
#pragma once

#include "storage/rados/ceph.h"

struct events; /* opaque */

/* Kind 0: events may have been missed. */
#define EVENTS_MISSED 0

/* What is written to 'answer' goes to a sender that asks (events_ask()); NULL
 * for EVENTS_MISSED. */
typedef void events_fn(void *ctx, unsigned kind, struct slice payload,
                       struct buf *answer);

/* 'timeout_ms', whole seconds: so long a sender waits for a listener that is
 * silent, and so long this one trusts a cluster that is. */
MUST_CHECK enum status events_open(struct ceph *c, unsigned timeout_ms,
                                   struct events **out, struct error *e);
/* No function is called afterwards. */
void events_close(struct events **ev);

/* Calls 'f' for each event of this kind and for EVENTS_MISSED; 16 at the most.
 */
void events_on(struct events *ev, unsigned kind, events_fn *f, void *ctx);

/* Have all events been heard that were sent until now, but for those whose
 * senders still wait?  Does not ask the cluster. */
bool events_are_heard(struct events *ev);

/* ST_OK: all who listen have heard it, this process too, or are known not to
 * rely on events any more.  ST_TIMEOUT: send it again. */
MUST_CHECK enum status events_send(struct ceph *c, unsigned timeout_ms,
                                   unsigned kind, struct slice payload,
                                   struct error *e);

/* Sends an event once and collects the answers of those who listen, each with
 * its size before it.  ST_TIMEOUT: some listener did not answer. */
MUST_CHECK enum status events_ask(struct ceph *c, unsigned timeout_ms,
                                  unsigned kind, struct slice payload,
                                  struct buf *answers, struct error *e);
