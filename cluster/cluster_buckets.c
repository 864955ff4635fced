/* The thread that looks at members and bucket map: when it is told of a change,
 * and each second.  It claims, takes over, gives away, and tells the store's
 * hooks where the owners are. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/clock.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "cluster/assign.h"
#include "cluster/cluster_priv.h"
#include "storage/wal/rados/wal_rados.h"

#define LOOK_MS   1000
#define NOTIFY_MS 5000
#define GIVEN_MS  500 /* for one bucket that was given */

/* One look. */
struct look {
    struct cluster *c;
    enum cluster_state state;
    const char *self;
    unsigned buckets;
    struct members members;
    struct bucket_owner map[BUCKETS_MAX];
    bool changed; /* the map, by this look */
};

static bool
is_live(const struct look *l, const char *member)
{
    const struct member *m = members_find(&l->members, member);

    return m != NULL && m->live;
}

static bool
is_mine(const struct look *l, unsigned bucket)
{
    return strcmp(l->map[bucket].member, l->self) == 0;
}

/* Is this process to have the bucket? */
static bool
is_wanted(const struct look *l, unsigned bucket)
{
    const struct member *m = assign_bucket(&l->members, bucket);

    return l->state == CLUSTER_SERVING && m != NULL &&
           strcmp(m->name, l->self) == 0;
}

/* ST_CONFLICT: another one was faster, and the next look shows who. */
static enum status
change(struct look *l, unsigned bucket, const struct bucket_owner *now,
       struct error *e)
{
    enum status st =
        buckets_change(l->c->ceph, bucket, &l->map[bucket], now, e);

    if (st == ST_OK) {
        l->map[bucket] = *now;
        l->changed = true;
    }
    return st;
}

static struct bucket_owner
owner(const char *member, uint64_t epoch)
{
    struct bucket_owner o = { .epoch = epoch };

    (void)snprintf(o.member, sizeof o.member, "%s", member);
    return o;
}

static void
count(struct cluster *c, uint64_t *counter, uint64_t n)
{
    lock_take(&c->lock);
    *counter += n;
    lock_drop(&c->lock);
}

/* Requests for the bucket go to this member, if it lives and is another. */
static void
route(struct look *l, unsigned bucket, const struct member *m)
{
    bool any = m != NULL && m->live && m->address[0] != '\0' &&
               strcmp(m->name, l->self) != 0;

    remote_route(l->c->remote, bucket, any ? m->name : NULL,
                 any ? m->address : NULL);
}

/* -- what has no owner ----------------------------------------------------- */

/* Did its owner flush it before it ended? */
static bool
is_left(const struct look *l, unsigned bucket)
{
    const struct bucket_owner *o = &l->map[bucket];
    const struct member *m = members_find(&l->members, o->member);

    return o->from[0] == '\0' && m != NULL && !m->live &&
           strcmp(m->mode, MEMBER_ENDED) == 0;
}

/* -- what a dead member served --------------------------------------------- */

/* Whose WAL has the bucket's points: of a taker that died while it took, the
 * one before. */
static const char *
source_of(const struct bucket_owner *o)
{
    return o->from[0] != '\0' ? o->from : o->member;
}

static uint64_t
source_epoch(const struct bucket_owner *o)
{
    return o->from[0] != '\0' ? o->from_epoch : o->epoch;
}

/* Is the bucket one that this process is to take from this member's WAL?  One
 * that it began to take itself is. */
static bool
is_to_take(const struct look *l, unsigned bucket, const char *source)
{
    const struct bucket_owner *o = &l->map[bucket];

    if (o->epoch == 0 || strcmp(source_of(o), source) != 0)
        return false;
    if (is_mine(l, bucket))
        return o->from[0] != '\0';
    return !is_live(l, o->member) && is_wanted(l, bucket);
}

static enum status
fence(struct look *l, const char *member, struct error *e)
{
    enum status st = lease_fence(l->c->lease, member, e);

    /* What is not there was taken over, and forgotten. */
    return st == ST_NOT_FOUND ? ST_OK : st;
}

static enum status
take_claimed(struct look *l, const char *source,
             const struct bucket_claim *claims, size_t len, struct error *e)
{
    const struct wal_options o = {
        .medium = wal_rados_dead(l->c->ceph, source),
        .read_only = true,
    };
    struct wal *dead = NULL;
    enum status st = wal_open(&o, &dead, e);

    if (st == ST_OK)
        st = store_buckets_take(l->c->store, claims, len, dead, e);
    if (wal_close(&dead, NULL) != ST_OK && st == ST_OK)
        log_debug("cluster", "the WAL of %s closed badly", source);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        struct bucket_owner now = owner(l->self, claims[i].epoch);

        st = change(l, claims[i].bucket, &now, e);
        if (st == ST_OK)
            store_bucket_serve(l->c->store, claims[i].bucket);
    }
    return st;
}

/* All that is to be taken from the WAL of one member. */
static enum status
take_from(struct look *l, const char *source, struct error *e)
{
    struct bucket_claim claims[BUCKETS_MAX];
    int64_t from_us = clock_monotonic_us();
    size_t len = 0;
    enum status st = fence(l, source, e);

    for (unsigned i = 0; i < l->buckets && st == ST_OK; i++) {
        if (!is_to_take(l, i, source))
            continue;
        if (!is_mine(l, i))
            st = fence(l, l->map[i].member, e);
        if (st == ST_OK) {
            struct bucket_claim *out = &claims[len];
            struct bucket_owner seen = l->map[i], now;

            *out = (struct bucket_claim){ .bucket = i,
                                          .from_epoch = source_epoch(&seen),
                                          .epoch = seen.epoch };
            if (is_mine(l, i)) {
                st = ST_OK;
            } else {
                now = owner(l->self, seen.epoch + 1);
                now.from_epoch = source_epoch(&seen);
                (void)snprintf(now.from, sizeof now.from, "%s",
                               source_of(&seen));
                out->epoch = now.epoch;
                st = change(l, i, &now, e);
            }
        }
        len += st == ST_OK;
        if (st == ST_CONFLICT)
            st = ST_OK;
    }
    if (st == ST_OK && len > 0)
        st = take_claimed(l, source, claims, len, e);
    if (st == ST_OK && len > 0) {
        log_warn("cluster",
                 "took %zu salt buckets over from member %s, which is dead, "
                 "in %" PRId64 " ms",
                 len, source, (clock_monotonic_us() - from_us) / 1000);
        count(l->c, &l->c->view.taken, len);
        count(l->c, &l->c->view.takeovers, 1);
    }
    return st;
}

/* The first failure of several things that do not depend on each other. */
static enum status
first_failure(enum status st, enum status next, const struct error *why,
              struct error *e)
{
    return st == ST_OK && next != ST_OK ? error_set(e, next, "%s", why->text)
                                        : st;
}

/* One WAL that cannot be read keeps those of others from nothing. */
static enum status
take_dead(struct look *l, struct error *e)
{
    bool tried[BUCKETS_MAX] = { false };
    enum status st = ST_OK;

    for (unsigned i = 0; i < l->buckets; i++) {
        char source[MEMBER_NAME_SIZE];
        struct error why;

        (void)snprintf(source, sizeof source, "%s", source_of(&l->map[i]));
        if (tried[i] || !is_to_take(l, i, source))
            continue;
        for (unsigned k = i; k < l->buckets; k++)
            tried[k] |= strcmp(source_of(&l->map[k]), source) == 0;
        st = first_failure(st, take_from(l, source, &why), &why, e);
    }
    return st;
}

/* -- what others are to serve ---------------------------------------------- */

static enum status
give_away(struct look *l, struct error *e)
{
    enum status st = ST_OK;
    bool told = true;

    for (unsigned i = 0; i < l->buckets && st == ST_OK; i++) {
        const struct member *m = assign_bucket(&l->members, i);
        struct bucket_owner now;

        if (!is_mine(l, i) || !store_bucket_is_local(l->c->store, i) ||
            m == NULL || strcmp(m->name, l->self) == 0)
            continue;
        /* To another command when this one ends, whichever began first: the
         * clocks of their machines may differ. */
        if (l->state == CLUSTER_SERVING && strcmp(m->mode, "rw") != 0)
            continue;
        now = owner(m->name, l->map[i].epoch + 1);
        st = store_bucket_give(l->c->store, i, e);
        if (st == ST_OK)
            st = change(l, i, &now, e);
        if (st != ST_OK)
            continue;
        count(l->c, &l->c->view.given, 1);
        /* Each at once: its next owner begins while others are flushed.  It
         * looks each second anyway; a member that is silent is waited for
         * once. */
        route(l, i, m);
        if (told && events_send(l->c->ceph, GIVEN_MS, EVENT_OWNERS,
                                slice_str(""), NULL) == ST_OK)
            l->changed = false;
        else
            told = false;
    }
    return st;
}

/* Whoever leaves as the last one keeps its buckets, with nothing in its WAL. */
static enum status
close_last(struct look *l, struct error *e)
{
    enum status st = ST_OK;

    for (unsigned i = 0; i < l->buckets && st == ST_OK; i++)
        if (store_bucket_is_local(l->c->store, i) &&
            assign_bucket(&l->members, i) == NULL)
            st = store_bucket_give(l->c->store, i, e);
    return st;
}

/* -- looking --------------------------------------------------------------- */

static void
set_routes(struct look *l)
{
    for (unsigned i = 0; i < l->buckets; i++)
        route(l, i, members_find(&l->members, l->map[i].member));
}

/* What dead members left, when nothing needs it. */
static enum status
forget_dead(struct look *l, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < l->members.len && st == ST_OK; i++) {
        const struct member *m = &l->members.list[i];

        if (m->live || strcmp(m->name, l->self) == 0 ||
            buckets_name(l->map, m->name))
            continue;
        st = lease_forget(l->c->lease, m->name, e);
        if (st == ST_BUSY)
            st = ST_OK;
    }
    return st;
}

/* Members that lived when they were looked at the last time. */
static void
tell_of_dead(struct look *l)
{
    struct cluster *c = l->c;
    bool any = false;

    lock_take(&c->lock);
    for (size_t i = 0; i < c->view.members.len && !any; i++)
        any = c->view.members.list[i].live &&
              !is_live(l, c->view.members.list[i].name);
    lock_drop(&c->lock);
    if (any && l->state == CLUSTER_SERVING)
        l->c->options.died(l->c->options.ctx);
}

static enum status
act(struct look *l, struct error *e)
{
    struct error why = { 0 };
    enum status st = ST_OK;

    if (!lease_is_good(l->c->lease))
        return error_set(e, ST_BUSY, "the lease is not good");
    if (l->state == CLUSTER_SERVING) {
        struct bucket_claim claims[BUCKETS_MAX];
        size_t len = 0;

        /* Buckets that were given to this process, or left, or that never had
         * an owner: nothing of them is anywhere but in the engine. */
        st = ST_OK;
        for (unsigned i = 0; i < l->buckets && st == ST_OK; i++) {
            struct bucket_owner now = owner(l->self, l->map[i].epoch + 1);

            if ((l->map[i].epoch == 0 || is_left(l, i)) && is_wanted(l, i))
                st = change(l, i, &now, e);
            if (st == ST_CONFLICT)
                st = ST_OK;
            if (st == ST_OK && is_mine(l, i) && l->map[i].from[0] == '\0' &&
                !store_bucket_is_local(l->c->store, i))
                claims[len++] =
                    (struct bucket_claim){ .bucket = i,
                                           .epoch = l->map[i].epoch };
        }
        if (st == ST_OK && len > 0)
            st = store_buckets_take(l->c->store, claims, len, NULL, e);
        for (size_t i = 0; i < len && st == ST_OK; i++)
            store_bucket_serve(l->c->store, claims[i].bucket);
        if (st == ST_OK)
            count(l->c, &l->c->view.served, len);
        st = first_failure(st, take_dead(l, &why), &why, e);
    }
    if (l->state != CLUSTER_JOINED)
        st = first_failure(st, give_away(l, &why), &why, e);
    if (l->state == CLUSTER_LEAVING)
        st = first_failure(st, close_last(l, &why), &why, e);
    if (l->state == CLUSTER_SERVING)
        st = first_failure(st, forget_dead(l, &why), &why, e);
    return st;
}

static enum status
look(struct look *l, struct error *e)
{
    struct cluster *c = l->c;
    struct members old;
    struct error sent;
    enum status st = members_read(c->ceph, &l->members, e);
    const struct member *self;
    const struct member *twin;
    int64_t now_us;

    if (st == ST_OK)
        st = buckets_read(c->ceph, l->map, e);
    if (st != ST_OK)
        return st;
    set_routes(l);
    tell_of_dead(l);
    /* Told once, when it has lasted for longer than a dead one's lease. */
    self = members_find(&l->members, l->self);
    twin = self == NULL ? NULL : members_twin(&l->members, self);
    now_us = clock_monotonic_us();
    if (twin == NULL)
        l->c->twin_us = 0;
    else if (l->c->twin_us == 0)
        l->c->twin_us = now_us;
    else if (l->c->twin_us > 0 &&
             now_us - l->c->twin_us > 3000 * (int64_t)l->c->options.lease_ms) {
        log_error("cluster",
                  "member %s has the address %s, too: what is sent to one of "
                  "them may reach the other (halite.cluster.address)",
                  twin->name, twin->address);
        l->c->twin_us = -1;
    }
    st = act(l, e);
    set_routes(l);
    if (l->changed && events_send(c->ceph, NOTIFY_MS, EVENT_OWNERS,
                                  slice_str(""), &sent) != ST_OK)
        log_debug("cluster", "others were not told: %s", sent.text);
    lock_take(&c->lock);
    old = c->view.members;
    c->view.members = l->members;
    memcpy(c->view.map, l->map, sizeof c->view.map);
    (void)snprintf(c->view.self, sizeof c->view.self, "%s", l->self);
    c->view.buckets = l->buckets;
    c->view.looked_us = clock_monotonic_us();
    lock_drop(&c->lock);
    l->members = old;
    return st;
}

/* False: to stop. */
static bool
wait_for_look(struct cluster *c, enum cluster_state *state)
{
    bool is_quiet;

    lock_take(&c->lock);
    if (!c->look)
        cond_wait_ms(&c->wake, &c->lock, LOOK_MS);
    is_quiet = !c->look;
    c->look = false;
    *state = c->state;
    lock_drop(&c->lock);
    if (is_quiet) {
        unsigned buckets = c->format.layout.salt_buckets, owned = 0;

        /* How many buckets are served, when that has changed. */
        for (unsigned i = 0; i < buckets; i++)
            owned += store_bucket_is_local(c->store, i);
        if (owned != c->owned)
            log_info("cluster", "serves %u of %u salt buckets", owned, buckets);
        c->owned = owned;
    }
    return *state != CLUSTER_STOPPING;
}

void *
cluster_main(void *ctx)
{
    struct cluster *c = ctx;
    enum cluster_state state;
    sigset_t all;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
    while (wait_for_look(c, &state)) {
        struct look *l = mem_new(sizeof *l);
        struct error e = { 0 };
        enum status st;

        l->c = c;
        l->state = state;
        l->self = lease_name(c->lease);
        l->buckets = c->format.layout.salt_buckets;
        st = look(l, &e);
        if (ceph_is_blocklisted(c->ceph))
            lease_lose(c->lease, "it was shut out of the cluster");
        lease_set_wal_bytes(c->lease, store_counts(c->store).wal.bytes);
        lock_take(&c->lock);
        c->looked = state;
        if (st != ST_OK && c->error.status == ST_OK)
            log_warn("cluster", "%s; tried again each second", e.text);
        else if (st == ST_OK && c->error.status != ST_OK)
            log_info("cluster", "works again");
        c->error = (struct error){ 0 };
        if (st != ST_OK)
            c->error = e;
        c->looks++;
        cond_broadcast(&c->done);
        lock_drop(&c->lock);
        members_fini(&l->members);
        free(l);
    }
    return NULL;
}
