/* A lease, renewed by a thread; and fencing those whose lease has ended. */
#include "storage/lease/lease_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/process/clock.h"
#include "base/hash.h"
#include "base/process/log.h"
#include "base/process/signals.h"
#include "base/mem.h"
#include "storage/rados/ceph_lock.h"
#include "storage/rados/ceph_op.h"
#include "storage/wal/rados/wal_rados.h"

/* Longer than any process is stopped; its WAL's epoch holds for ever. */
#define BLOCKLIST_S (24 * 3600)

/* -- the lock -------------------------------------------------------------- */

static enum status
hold(struct lease *l, struct error *e)
{
    char object[32];

    member_lease_object(l->self.name, object);
    return ceph_lock_take(l->c, object, MEMBER_LOCK, l->self.name,
                          l->duration_ms, CEPH_LOCK_KEEP, e);
}

/* Microseconds of a clock that goes on while the machine sleeps: the lease ends
 * meanwhile, and CLOCK_MONOTONIC would not tell. */
static int64_t
lease_clock_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_BOOTTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Counted from before it was asked for: the OSD's time begins later. */
static void
held_from(struct lease *l, int64_t from_us)
{
    atomic_store(&l->until_us, from_us + (int64_t)l->duration_ms * 1000);
}

bool
lease_is_good(const struct lease *l)
{
    OBJ_CHECK(l, LEASE_MAGIC);
    if ((l->without & LEASE_WITHOUT_CLOCK) != 0)
        return true;
    return !atomic_load(&l->is_lost) &&
           lease_clock_us() <
               atomic_load(&l->until_us) - (int64_t)l->duration_ms * 250;
}

int64_t
lease_remaining_us(const struct lease *l, int64_t *duration_us)
{
    OBJ_CHECK(l, LEASE_MAGIC);
    if (duration_us != NULL)
        *duration_us = (int64_t)l->duration_ms * 1000;
    return atomic_load(&l->until_us) - lease_clock_us();
}

void
lease_lose(struct lease *l, const char *why)
{
    OBJ_CHECK(l, LEASE_MAGIC);
    if (atomic_exchange(&l->is_lost, true))
        return;
    log_error("lease", "member %s has lost its lease: %s", l->self.name, why);
    l->lost(l->ctx, why);
}

/* -- renewals -------------------------------------------------------------- */

enum status
lease_set_mode(struct lease *l, const char *mode, struct error *e)
{
    enum status st;

    OBJ_CHECK(l, LEASE_MAGIC);
    lock_take(&l->entry_lock);
    (void)snprintf(l->self.mode, sizeof l->self.mode, "%s", mode);
    st = member_write(l->c, &l->self, e);
    lock_drop(&l->entry_lock);
    return st;
}

/* Without an answer the lease may still be ours: lease_is_good() says for how
 * long, and a later renewal, whether. */
static void
renew(struct lease *l, bool *complained)
{
    struct error e;
    int64_t from_us = lease_clock_us();
    bool ended = from_us >= atomic_load(&l->until_us);
    struct member self;
    char object[32];
    enum status st = hold(l, &e);

    /* A lease that ended, and that no heir took meanwhile, goes on: so OSDs may
     * give no answer for longer than it lasts.  If an heir did, and removed all
     * that was left, the entry is gone. */
    if (st == ST_OK && ended)
        st = member_read(l->c, l->self.name, &self, &e);
    if (st == ST_OK)
        held_from(l, from_us);
    member_lease_object(l->self.name, object);
    if (st == ST_NOT_FOUND)
        (void)!ceph_remove(l->c, object, NULL);
    if (st == ST_OK) {
        if (*complained)
            log_info("lease", "renewals are answered again");
        *complained = false;
    } else if (st == ST_NOT_FOUND || st == ST_BUSY) {
        lease_lose(l, "it ended, and another member has taken over");
    } else if (ceph_is_blocklisted(l->c)) {
        lease_lose(l, e.text);
    } else {
        if (!*complained)
            log_warn("lease", "cannot renew: %s", e.text);
        *complained = true;
    }
}

static void *
renew_main(void *ctx)
{
    struct lease *l = ctx;
    bool complained = false;
    unsigned turn = 0;

    signals_block();
    lock_take(&l->lock);
    while (!l->stopping && !atomic_load(&l->is_lost)) {
        cond_wait_ms(&l->tick, &l->lock,
                     l->duration_ms / (complained ? 16 : 4));
        if (l->stopping)
            break;
        lock_drop(&l->lock);
        renew(l, &complained);
        if (++turn % 4 == 0 && lease_is_good(l)) {
            uint64_t bytes = atomic_load(&l->wal_bytes);
            struct error e;

            lock_take(&l->entry_lock);
            if (bytes != l->self.wal_bytes) {
                l->self.wal_bytes = bytes;
                if (member_write(l->c, &l->self, &e) != ST_OK)
                    log_warn("lease", "%s", e.text);
            }
            lock_drop(&l->entry_lock);
        }
        lock_take(&l->lock);
    }
    lock_drop(&l->lock);
    return NULL;
}

void
lease_set_wal_bytes(struct lease *l, uint64_t bytes)
{
    OBJ_CHECK(l, LEASE_MAGIC);
    atomic_store(&l->wal_bytes, bytes);
}

const char *
lease_name(const struct lease *l)
{
    OBJ_CHECK(l, LEASE_MAGIC);
    return l->self.name;
}

/* -- life ------------------------------------------------------------------ */

static enum status
name_self(struct lease *l, struct error *e)
{
    struct buf address = BUF_INIT;
    enum status st = ceph_address(l->c, &address, e);

    (void)snprintf(l->self.name, sizeof l->self.name, "%016" PRIx64,
                   hash_random_seed());
    l->self.started_ms = clock_now_ms(&clock_system);
    if (st == ST_OK && address.size >= sizeof l->self.rados)
        st = error_set(e, ST_INVALID,
                       "this client's address at the cluster is too long: %s",
                       buf_cstr(&address));
    if (st == ST_OK)
        (void)snprintf(l->self.rados, sizeof l->self.rados, "%s",
                       buf_cstr(&address));
    buf_fini(&address);
    return st;
}

/* The lock first: a member without one is dead. */
static enum status
join(struct lease *l, struct error *e)
{
    enum status st;
    int64_t from_us;
    char address[64];

    /* Tried on an address that no client has. */
    (void)snprintf(address, sizeof address, "127.255.255.254:0/%" PRIu32,
                   (uint32_t)hash_random_seed() >> 1);
    st = ceph_blocklist(l->c, address, 1, e);
    if (st != ST_OK)
        st = error_wrap(e, st,
                        "a daemon must be able to shut out one that died "
                        "before it takes over from it, for which its id needs "
                        "mon 'profile rbd'");
    else
        st = name_self(l, e);
    from_us = lease_clock_us();
    if (st == ST_OK)
        st = hold(l, e);
    if (st == ST_OK)
        st = member_write(l->c, &l->self, e);
    if (st == ST_OK)
        held_from(l, from_us);
    return st;
}

static void
lease_free(struct lease *l) NO_TS_CHECK
{
    free(l->fenced);
    cond_fini(&l->tick);
    lock_fini(&l->entry_lock);
    lock_fini(&l->lock);
    OBJ_FREE(l);
}

enum status
lease_open(struct ceph *c, const struct lease_options *o, struct lease **out,
           struct error *e)
{
    struct lease *l = mem_new(sizeof *l);
    enum status st;

    *out = NULL;
    INSIST(o->duration_ms > 0);
    l->magic = LEASE_MAGIC;
    l->c = c;
    l->self = o->self;
    l->duration_ms = o->duration_ms;
    l->lost = o->lost;
    l->ctx = o->ctx;
    lock_init(&l->lock);
    lock_init(&l->entry_lock);
    cond_init(&l->tick);
    st = join(l, e);
    if (st == ST_OK)
        st = thread_start(&l->thread, renew_main, l, "the lease", e);
    if (st != ST_OK) {
        lease_free(l);
        return st;
    }
    log_info("lease", "member %s, at %s", l->self.name, l->self.rados);
    *out = l;
    return ST_OK;
}

enum status
lease_close(struct lease **owner, struct error *e)
{
    struct lease *l = OBJ_TAKE(owner, LEASE_MAGIC);
    enum status st = ST_OK;

    if (l == NULL)
        return ST_OK;
    lock_take(&l->lock);
    l->stopping = true;
    cond_signal(&l->tick);
    lock_drop(&l->lock);
    thread_join(&l->thread);
    if (!atomic_load(&l->is_lost)) {
        struct bucket_owner map[BUCKETS_MAX];
        char object[32];

        /* The entry last but for the lock: whoever finds one can remove the
         * rest. */
        st = buckets_read(l->c, map, e);
        if (st == ST_OK && !buckets_name(map, l->self.name)) {
            st = wal_rados_remove(l->c, l->self.name, e);
            if (st == ST_OK)
                st = member_remove(l->c, l->self.name, e);
        }
        if (st == ST_OK) {
            member_lease_object(l->self.name, object);
            st = ceph_lock_drop(l->c, object, MEMBER_LOCK, l->self.name, e);
            st = st == ST_OK ? ceph_remove(l->c, object, e) : st;
        }
    }
    lease_free(l);
    return st;
}

/* -- fencing --------------------------------------------------------------- */

static bool
was_fenced(struct lease *l, const char *member)
{
    bool found = false;

    lock_take(&l->lock);
    for (size_t i = 0; i < l->fenced_len && !found; i++)
        found = strcmp(l->fenced[i], member) == 0;
    lock_drop(&l->lock);
    return found;
}

enum status
lease_fence(struct lease *l, const char *member, struct error *e)
{
    struct member dead;
    enum status st;
    bool ended;

    OBJ_CHECK(l, LEASE_MAGIC);
    INSIST(strcmp(member, l->self.name) != 0);
    if (was_fenced(l, member))
        return ST_OK;
    st = member_read(l->c, member, &dead, e);
    ended = st == ST_OK && strcmp(dead.mode, MEMBER_ENDED) == 0;
    if (st == ST_OK) {
        bool live, held;
        char object[32];

        /* The lease of one that is dead is held, for ever, by the first who
         * fences it: it cannot come back to life.  Others find that lock, and
         * go on. */
        st = member_lock_read(l->c, member, &live, &held, e);
        member_lease_object(member, object);
        if (st == ST_OK && !held) {
            st = ceph_lock_take(l->c, object, MEMBER_LOCK, l->self.name, 0,
                                CEPH_LOCK_TAKE, e);
            if (st == ST_BUSY)
                st = member_lock_read(l->c, member, &live, &held, e);
        }
        if (st == ST_OK && live)
            st = error_set(e, ST_BUSY, "member %s holds its lease", member);
    }
    if (st == ST_OK && (l->without & LEASE_WITHOUT_EPOCH) == 0)
        st = wal_rados_fence(l->c, member, e);
    if (st == ST_OK && !ended && (l->without & LEASE_WITHOUT_BLOCKLIST) == 0)
        st = ceph_blocklist(l->c, dead.rados, BLOCKLIST_S, e);
    if (st != ST_OK)
        return st;
    if (!ended)
        log_warn("lease", "member %s at %s is dead, and shut out", member,
                 dead.address[0] == '\0' ? dead.rados : dead.address);
    lock_take(&l->lock);
    l->fenced =
        mem_grow(l->fenced, l->fenced_len, &l->fenced_cap, sizeof *l->fenced);
    (void)snprintf(l->fenced[l->fenced_len++], sizeof *l->fenced, "%s", member);
    lock_drop(&l->lock);
    return ST_OK;
}

enum status
lease_forget(struct lease *l, const char *member, struct error *e)
{
    struct bucket_owner map[BUCKETS_MAX];
    char object[32];
    enum status st = lease_fence(l, member, e);

    if (st != ST_OK)
        return st == ST_NOT_FOUND ? ST_OK : st;
    st = buckets_read(l->c, map, e);
    if (st == ST_OK && buckets_name(map, member))
        st = error_set(e, ST_BUSY,
                       "buckets of member %s are not taken over yet", member);
    if (st == ST_OK)
        st = wal_rados_remove(l->c, member, e);
    if (st == ST_OK)
        st = member_remove(l->c, member, e);
    /* Last: without its entry it cannot begin again. */
    member_lease_object(member, object);
    return st == ST_OK ? ceph_remove(l->c, object, e) : st;
}
