#include "tsd/admin/pool_store.h"

#include <string.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "base/obj.h"
#include "cluster/cluster.h"
#include "storage/place/pool.h"
#include "storage/place/pool_copy.h"

#define POOL_STORE_MAGIC FOURCC('P', 'L', 'S', 'T')
#define WAIT_MS          60000
#define PAUSE_US         100000
#define EXIT_LOST        75 /* EX_TEMPFAIL: to be tried again */
#define KEEP_US          ((int64_t)POOL_COPY_LOCK_MS * 1000 / 6)

struct pool_store {
    uint32_t magic;
    char *at;
    struct cluster *cluster;
    bool serves;
};

/* -- a member ---------------------------------------------------------------
 */

static void
lease_lost(void *ctx, const char *why)
{
    (void)ctx;
    log_error("cluster", "this process is no member any more, and ends: %s",
              why);
    _exit(EXIT_LOST);
}

/* This process keeps no names in memory. */
static void
member_died(void *ctx)
{
    (void)ctx;
}

enum status
pool_store_open(const char *at, const char *ca, struct pool_store **out,
                struct error *e)
{
    struct pool_store *p = mem_new(sizeof *p);
    enum status st;

    p->magic = POOL_STORE_MAGIC;
    p->at = mem_strdup(at);
    *out = p;
    st = cluster_open(
        &(struct cluster_options){
            .at = p->at,
            .store = { .min_free_bytes = 1, .no_summaries = true },
            .mode = "tool",
            .address = "",
            .ca = ca,
            .version = PACKAGE_VERSION,
            .lost = lease_lost,
            .died = member_died },
        &p->cluster, e);
    if (st == ST_OK)
        st = cluster_serve(p->cluster, e);
    p->serves = st == ST_OK;
    if (st == ST_OK)
        st = cluster_wait(p->cluster, WAIT_MS, e);
    if (st != ST_OK && pool_store_close(out, NULL) != ST_OK)
        log_warn("cluster", "closed badly after it could not be opened");
    return st;
}

enum status
pool_store_close(struct pool_store **pp, struct error *e)
{
    struct pool_store *p = OBJ_TAKE(pp, POOL_STORE_MAGIC);
    struct error why;
    enum status st;

    if (p == NULL)
        return ST_OK;
    if (p->serves && cluster_leave(p->cluster, &why) != ST_OK)
        log_warn("cluster", "left badly: %s", why.text);
    st = cluster_close(&p->cluster, e);
    free(p->at);
    OBJ_FREE(p);
    return st;
}

struct store *
pool_store_of(struct pool_store *p)
{
    OBJ_CHECK(p, POOL_STORE_MAGIC);
    return cluster_store(p->cluster);
}

enum status
pool_store_check_alone(struct pool_store *p, struct error *e)
{
    struct cluster_view self, all;
    enum status st;

    OBJ_CHECK(p, POOL_STORE_MAGIC);
    cluster_view(p->cluster, &self);
    st = cluster_view_read(p->at, &all, e);
    for (size_t i = 0; i < all.members.len && st == ST_OK; i++) {
        const struct member *m = &all.members.list[i];

        if (m->live && strcmp(m->name, self.self) != 0)
            st = error_set(e, ST_BUSY,
                           "the store is in use by member %s (%s%s%s), which "
                           "must end first; one that was killed counts for "
                           "some seconds",
                           m->name, m->mode, m->address[0] == '\0' ? "" : ", ",
                           m->address);
    }
    cluster_view_fini(&all);
    cluster_view_fini(&self);
    return st;
}

static enum status
flush_once(struct pool_store *p, bool *done, struct error *e)
{
    struct cluster_view before, after;
    enum status st = cluster_wait(p->cluster, WAIT_MS, e);
    bool same;

    *done = false;
    if (st != ST_OK)
        return st;
    cluster_view(p->cluster, &before); /* those whom a flush asks */
    st = store_flush_owners(cluster_store(p->cluster), e);
    if (st == ST_OK)
        st = cluster_view_read(p->at, &after, e);
    if (st == ST_OK) {
        /* Do all buckets have owners, who have what their WALs say in their
         * heads, and the same as before? */
        same = cluster_view_unowned(&before) == 0 &&
               cluster_view_unowned(&after) == 0;
        for (unsigned i = 0; same && i < before.buckets; i++)
            same = before.map[i].from[0] == '\0' &&
                   after.map[i].from[0] == '\0' &&
                   before.map[i].epoch == after.map[i].epoch;
        *done = same;
        cluster_view_fini(&after);
    }
    cluster_view_fini(&before);
    return st;
}

/* An owner may die, or give buckets away, at any time: its heirs are asked. */
enum status
pool_store_flush(struct pool_store *p, struct error *e)
{
    int64_t end_us = clock_monotonic_us() + (int64_t)WAIT_MS * 1000;
    bool done = false;
    enum status st;

    OBJ_CHECK(p, POOL_STORE_MAGIC);
    while ((st = flush_once(p, &done, e)), !done) {
        if (clock_monotonic_us() >= end_us)
            break;
        (void)usleep(PAUSE_US);
    }
    if (st == ST_OK && !done)
        st = error_set(e, ST_BUSY,
                       "salt buckets go on changing their owners: try again "
                       "(halite members)");
    return st;
}

/* -- a new store ------------------------------------------------------------
 */

struct filling {
    const struct pool_filling *f;
    struct ceph *c;
    struct format format;
    struct kv *kv;
    struct kv_copying copying;
    int64_t kept_us;
    bool is_lost; /* the namespace may be another copy's, by 'lost' */
    struct error lost;
};

/* The copy's 'cancel', asked with each batch. */
static bool
keep(void *ctx)
{
    struct filling *x = ctx;
    int64_t now_us = clock_monotonic_us();

    if (now_us - x->kept_us > KEEP_US && !x->is_lost) {
        x->kept_us = now_us;
        x->is_lost = pool_copy_keep(x->c, &x->format, &x->lost) != ST_OK;
    }
    return x->is_lost || cancel_asked(x->f->copying->cancel);
}

static enum status
fill(struct filling *x, struct store *s, struct error *e)
{
    struct error why;
    enum status st = pool_copy_begin(x->c, &x->format, e);
    struct kv_options o;

    if (st != ST_OK)
        return st;
    x->kept_us = clock_monotonic_us();
    o = (struct kv_options){
        .place = { "rados", x->f->at },
        .layout = &x->format.layout,
        .window_hours = x->format.window_hours,
        .create = true,
    };
    st = kv_open(&o, &x->kv, e);
    x->copying = (struct kv_copying){ x->f->copying->recode, { keep, x }, 0 };
    if (st == ST_OK)
        st = store_copy(s, x->kv, &x->copying, e);
    x->f->copying->keys = x->copying.keys;
    st = x->is_lost ? error_set(e, x->lost.status, "%s", x->lost.text) : st;
    if (st == ST_OK) {
        struct store *copy = NULL;
        enum status closed;

        st = store_open(&(struct store_options){ .kv = x->kv,
                                                 .layout = x->format.layout,
                                                 .min_free_bytes = 1 },
                        &copy, e);
        x->kv = NULL;
        if (st == ST_OK)
            st = x->f->verify(x->f->ctx, copy, e);
        closed = store_close(&copy, st == ST_OK ? e : NULL);
        st = st == ST_OK ? closed : st;
    }
    if (st == ST_OK)
        return pool_copy_end(x->c, &x->format, e);
    kv_close(&x->kv);
    if (pool_copy_drop(x->c, &x->format, &why) != ST_OK)
        log_error("copy", "what was copied is still there: %s", why.text);
    return st;
}

enum status
pool_store_fill(struct store *s, const struct pool_filling *f, struct error *e)
{
    struct filling x = { .f = f };
    enum status st = ceph_open(f->at, &x.c, e);

    if (st == ST_OK)
        st = ceph_check_version(x.c, e);
    format_new(&x.format, &f->layout);
    x.format.window_hours = POOL_WINDOW_HOURS;
    if (st == ST_OK)
        st = fill(&x, s, e);
    ceph_close(&x.c);
    return st;
}
