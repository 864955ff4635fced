/* Some daemons over one engine, in one process: each has a store, a table of
 * names, a directory and records of its own.  A test links shared_LIBS. */
#pragma once

#include "tests/storage/kv/kv_shared.h"
#include "tests/uid/fixture.h"
#include "uid/meta/record.h"
#include "uid/names/uid_events.h"

enum { DAEMONS = 3 };

struct daemons {
    struct fixture d[DAEMONS];
    struct uid_events events;
    bool deaf[DAEMONS];     /* hears nothing, and is not waited for */
    bool silent[DAEMONS];   /* hears, and gives no answer */
    bool cut;               /* what is sent fails, and is heard by none */
    _Atomic unsigned sent;  /* events */
    _Atomic size_t largest; /* payload */
};

/* As a pool does it: all hear, the sender too, before it goes on. */
static inline enum status
daemons_ask(void *ctx, enum uid_event kind, struct slice payload,
            struct buf *answers, struct error *e)
{
    struct daemons *all = ctx;
    struct buf answer = BUF_INIT;
    enum status st = ST_OK;
    size_t largest = atomic_load(&all->largest);

    if (all->cut)
        return error_set(e, ST_TIMEOUT, "others were not told");
    atomic_fetch_add(&all->sent, 1);
    while (payload.size > largest &&
           !atomic_compare_exchange_weak(&all->largest, &largest, payload.size))
        ;
    for (int i = 0; i < DAEMONS && st == ST_OK; i++) {
        if (all->deaf[i])
            continue;
        buf_clear(&answer);
        st = uid_events_hear(all->d[i].records, kind, payload, &answer, e);
        if (answers != NULL && !all->silent[i])
            buf_put_sized(answers, buf_slice(&answer));
        if (answers != NULL && all->silent[i])
            st = error_set(e, ST_BUSY, "daemon %d does not answer", i);
    }
    buf_fini(&answer);
    return st;
}

static inline void
daemons_missed(struct daemons *all, int i)
{
    uid_events_missed(all->d[i].records);
}

static inline void
daemons_open(struct daemons *all)
{
    *all = (struct daemons){ .events = { all, daemons_ask } };
    for (int i = 0; i < DAEMONS; i++)
        all->d[i] = fixture_new(layout_default);
    for (int i = 0; i < DAEMONS; i++)
        uid_set_events(all->d[i].uids, &all->events);
}

static inline void
daemons_close(struct daemons *all)
{
    for (int i = 0; i < DAEMONS; i++)
        fixture_free(&all->d[i]);
}

static inline struct kv *
daemons_kv(const struct daemons *all)
{
    return store_kv(all->d[0].store);
}
