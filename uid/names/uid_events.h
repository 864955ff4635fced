/* What the other daemons over a shared engine must have heard before a change
 * is acknowledged: the names that lost their ids, the series that came.
 *
 *     writer:  engine -> own memory -> send() -> acknowledge
 *     others:  uid_events_hear() (uid/meta/record.h) -> acknowledge
 *
 * Whoever did not hear, because it was cut off, drops all that it has in
 * memory before it answers again: uid_events_missed().  So do all when a daemon
 * has died, which may have written, and sent nothing; until then, for a minute,
 * others announce again what they find.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"

struct uid_table;

#define UID_EVENT_BYTES (64u << 10) /* of a payload, about */

enum uid_event {
    UID_EVENT_NAMES = 'n',
    UID_EVENT_SERIES = 's',
    UID_EVENT_ANNOTATED = 'a',
    UID_EVENT_PURGE = 'p'
};

struct uid_events {
    void *ctx;
    /* Returns when all the others have heard or will drop their memory; the
     * sender may hear its own.  If 'answers' is not NULL, collects in it the
     * answers of all daemons, this one too, each with its size before it, and
     * fails if one of them did not answer.  No lock of uid/ is held meanwhile,
     * save those of an exclusive part. */
    enum status (*send)(void *ctx, enum uid_event kind, struct slice payload,
                        struct buf *answers, struct error *e);
};

/* Before others use the table; '*events' outlives it.  Where there are none, no
 * other process has the engine. */
void uid_set_events(struct uid_table *u, const struct uid_events *events);

/* As struct uid_events says.  ST_INVALID if answers are wanted and this process
 * has not joined the others. */
MUST_CHECK enum status uid_announce(struct uid_table *u, enum uid_event kind,
                                    struct slice payload, struct buf *answers,
                                    struct error *e);

/* A payload of UID_EVENT_NAMES.  ST_CORRUPT: some of it was taken. */
MUST_CHECK enum status uid_hear_names(struct uid_table *u, struct slice payload,
                                      struct error *e);
