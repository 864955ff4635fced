/* See cluster/remote.h.  Threads that wait for a member hold a reference to it.
 * When no bucket names it any more, it is taken out of the table and stopped,
 * and the last of them frees it. */
#include "cluster/remote.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/lock.h"
#include "base/mem.h"
#include "cluster/payload.h"

#define REMOTE_MAGIC   FOURCC('C', 'L', 'U', 'S')
#define BUCKETS_MAX    256
#define FLUSH_US       INT64_C(600000000)
#define FLUSH_RETRY_US 20000
#define GROUP_BYTES    ((size_t)4 << 20) /* of series in a request */
#define ANSWER_BESIDES ((size_t)64 << 10)

struct member {
    struct member *next;
    char *name, *address;
    struct peer *peer;
    unsigned buckets; /* whose table entries name it */
    atomic_uint refs; /* the table counts as one */
};

struct remote {
    uint32_t magic;
    struct remote_options o;
    struct store_remote remote;
    atomic_ullong links;
    struct latency put_latency;
    struct rwlock lock; /* the table; members are counted under it */
    struct member *members GUARDED_BY(lock);
    _Atomic(struct member *) routes[BUCKETS_MAX];
};

/* -- members --------------------------------------------------------------- */

static void
member_release(struct member *m)
{
    if (atomic_fetch_sub(&m->refs, 1) != 1)
        return;
    peer_close(&m->peer);
    free(m->name);
    free(m->address);
    free(m);
}

/* The bucket's owner, to be released; NULL: none is known. */
static struct member *
hold_owner(struct remote *r, unsigned bucket)
{
    struct member *m;

    INSIST(bucket < BUCKETS_MAX);
    rwlock_take_read(&r->lock);
    m = atomic_load(&r->routes[bucket]);
    if (m != NULL)
        (void)atomic_fetch_add(&m->refs, 1);
    rwlock_drop_read(&r->lock);
    return m;
}

static enum status
has_moved(unsigned bucket, struct error *e)
{
    return error_set(e, ST_MOVED,
                     "salt bucket %u has another owner, or "
                     "none",
                     bucket);
}

static struct member *
member_new(struct remote *r, const char *name, const char *address)
{
    const struct peer_options o = { .secret = r->o.secret,
                                    .tls = r->o.tls,
                                    .silence_ms = r->o.silence_ms,
                                    .links = &r->links,
                                    .put_latency = &r->put_latency };
    struct member *m = mem_new(sizeof *m);

    m->peer = peer_open(&o, address);
    m->name = mem_strdup(name);
    m->address = mem_strdup(address);
    atomic_store(&m->refs, 1);
    return m;
}

void
remote_route(struct remote *r, unsigned bucket, const char *member,
             const char *address)
{
    struct member *to = NULL, *was, *left;
    struct member *from;
    struct member **at;

    OBJ_CHECK(r, REMOTE_MAGIC);
    INSIST(bucket < r->o.layout.salt_buckets);
    was = hold_owner(r, bucket);
    rwlock_take_write(&r->lock);
    if (member != NULL) {
        struct member *m = r->members;

        while (m != NULL && (strcmp(m->name, member) != 0 ||
                             strcmp(m->address, address) != 0))
            m = m->next;
        to = m;
        if (to == NULL) {
            to = member_new(r, member, address);
            to->next = r->members;
            r->members = to;
        }
    }
    /* The bucket is routed to 'to', which may be NULL.  A member that no bucket
     * is routed to any more is released. */
    from = atomic_exchange(&r->routes[bucket], to);
    at = &r->members;
    if (to != NULL)
        to->buckets++;
    if (from == NULL || --from->buckets > 0) {
        left = NULL;
    } else {
        while (*at != from)
            at = &(*at)->next;
        *at = from->next;
        peer_stop(from->peer);
        left = from;
    }
    rwlock_drop_write(&r->lock);
    if (was != NULL) {
        peer_wake(was->peer);
        member_release(was);
    }
    if (left != NULL)
        member_release(left);
}

/* -- PUTs ------------------------------------------------------------------ */

static uint64_t
remote_link(void *ctx, unsigned bucket)
{
    struct remote *r = ctx;
    struct member *m;
    uint64_t link;

    rwlock_take_read(&r->lock);
    m = atomic_load(&r->routes[bucket]);
    link = m == NULL ? 0 : peer_link(m->peer);
    rwlock_drop_read(&r->lock);
    return link;
}

static enum status
remote_put(void *ctx, unsigned bucket, uint64_t link, struct slice record,
           uint64_t *ticket, struct error *e)
{
    struct remote *r = ctx;
    struct member *m;
    enum status st;

    rwlock_take_read(&r->lock);
    m = atomic_load(&r->routes[bucket]);
    st = m == NULL ? has_moved(bucket, e)
                   : peer_put(m->peer, link, record, ticket, e);
    rwlock_drop_read(&r->lock);
    return st;
}

/* Who waits for a PUT, and whether its bucket is still whose it was. */
struct put_waiter {
    struct remote *r;
    unsigned bucket;
    struct member *owner;
};

static bool
put_has_moved(void *ctx)
{
    const struct put_waiter *w = ctx;

    return atomic_load(&w->r->routes[w->bucket]) != w->owner;
}

static enum status
remote_wait(void *ctx, unsigned bucket, uint64_t link, uint64_t ticket,
            int64_t end_us, struct error *e)
{
    struct put_waiter w = { ctx, bucket, hold_owner(ctx, bucket) };
    const struct peer_waiter pw = { link, ticket, end_us, put_has_moved, &w };
    enum status st;

    if (w.owner == NULL)
        return has_moved(bucket, e);
    st = peer_put_wait(w.owner->peer, &pw, e);
    member_release(w.owner);
    return st;
}

/* -- open rows ------------------------------------------------------------- */

/* What one owner is asked in one request. */
struct head_group {
    struct member *owner;
    struct peer_call call;
    size_t *which; /* specs */
    size_t len, bytes;
    size_t max; /* bytes that the answer may have; 0: any */
};

/* The group that takes a spec of this owner, whose reference it takes over. */
static struct head_group *
group_for(struct head_group *groups, size_t *len, size_t specs,
          struct member *owner, size_t bytes)
{
    for (size_t i = 0; i < *len; i++)
        if (groups[i].owner == owner && groups[i].bytes + bytes < GROUP_BYTES) {
            member_release(owner); /* the group has one */
            return &groups[i];
        }
    groups[*len].owner = owner;
    groups[*len].which = mem_new_array(specs, sizeof(size_t));
    return &groups[(*len)++];
}

static enum status
make_groups(struct remote *r, const struct scan_spec *specs, size_t len,
            struct head_group *groups, size_t *groups_len, struct error *e)
{
    for (size_t i = 0; i < len; i++) {
        struct member *owner = hold_owner(r, specs[i].bucket);
        const struct scan_spec *spec = &specs[i];
        struct head_group *g;
        size_t bytes = 0;

        if (spec->path == SCAN_SEEKS)
            for (size_t k = 0; k < spec->series_len; k++)
                bytes += spec->series[k].size + 2;
        if (owner == NULL)
            return has_moved(specs[i].bucket, e);
        g = group_for(groups, groups_len, len, owner, bytes);
        g->which[g->len++] = i;
        g->bytes += bytes;
        if (specs[i].max_bytes > g->max)
            g->max = specs[i].max_bytes;
    }
    return ST_OK;
}

static enum status
remote_head(void *ctx, const struct scan_spec *specs, size_t len,
            struct buf *out, int64_t end_us, struct error *e)
{
    struct head_group *groups = mem_new_array(len, sizeof *groups);
    size_t groups_len = 0;
    enum status st = make_groups(ctx, specs, len, groups, &groups_len, e);

    for (size_t i = 0; i < groups_len && st == ST_OK; i++) {
        struct head_group *g = &groups[i];
        struct buf request = BUF_INIT;

        g->call.end_us = end_us;
        g->call.max = g->max == 0 ? 0 : g->max + ANSWER_BESIDES;
        payload_put_head(&request, specs, g->which, g->len);
        st = request.failed
                 ? error_set(e, ST_BUSY, "no memory for a request")
                 : peer_call_begin(g->owner->peer, &g->call, FRAME_HEAD,
                                   buf_slice(&request), e);
        buf_fini(&request);
    }
    for (size_t i = 0; i < groups_len && st == ST_OK; i++) {
        struct head_group *g = &groups[i];
        struct slice *bytes = mem_new_array(g->len, sizeof *bytes);

        st = peer_call_end(&g->call, e);
        if (st == ST_OK)
            st = payload_read_bytes(g->call.answer, bytes, g->len, e);
        for (size_t k = 0; k < g->len && st == ST_OK; k++) {
            buf_put_slice(&out[g->which[k]], bytes[k]);
            if (out[g->which[k]].failed)
                st = error_set(e, ST_LIMIT,
                               "copies of open rows take more than they may");
        }
        free(bytes);
    }
    for (size_t i = 0; i < groups_len; i++) {
        peer_call_fini(&groups[i].call);
        member_release(groups[i].owner);
        free(groups[i].which);
    }
    free(groups);
    return st;
}

/* -- series ---------------------------------------------------------------- */

/* Asks the owner of a series.  With ST_OK the answer is in 'call', which is to
 * be ended by peer_call_fini() in any case. */
static enum status
ask_owner(struct remote *r, uint8_t type, const struct payload_series *s,
          struct peer_call *call, struct error *e)
{
    unsigned bucket = key_salt(&r->o.layout, s->tsuid);
    struct member *owner = hold_owner(r, bucket);
    struct buf request = BUF_INIT;
    enum status st;

    if (owner == NULL)
        return has_moved(bucket, e);
    payload_put_series(&request, s);
    st = peer_call_begin(owner->peer, call, type, buf_slice(&request), e);
    buf_fini(&request);
    if (st == ST_OK)
        st = peer_call_end(call, e);
    member_release(owner);
    return st;
}

static enum status
remote_last(void *ctx, struct slice tsuid, int64_t until_ms, struct point *out,
            bool *found, int64_t end_us, struct error *e)
{
    struct payload_series s = { .tsuid = tsuid, .to_ms = until_ms };
    struct peer_call call = { .end_us = end_us, .max = ANSWER_BESIDES };
    enum status st = ask_owner(ctx, FRAME_LAST, &s, &call, e);

    if (st == ST_OK)
        st = payload_read_point(call.answer, out, found, e);
    peer_call_fini(&call);
    return st;
}

static enum status
remote_delete(void *ctx, struct slice tsuid, int64_t from_ms, int64_t to_ms,
              uint64_t *deleted, int64_t end_us, struct error *e)
{
    struct payload_series s = { tsuid, from_ms, to_ms };
    struct peer_call call = { .end_us = end_us, .max = ANSWER_BESIDES };
    enum status st = ask_owner(ctx, FRAME_DELETE, &s, &call, e);

    if (st == ST_OK)
        st = payload_read_number(call.answer, deleted, e);
    peer_call_fini(&call);
    return st;
}

/* -- all owners ------------------------------------------------------------ */

struct flush_call {
    struct member *owner;
    struct peer_call call;
};

static enum status
remote_flush(void *ctx, struct error *e)
{
    struct remote *r = ctx;
    struct flush_call *calls = mem_new_array(BUCKETS_MAX, sizeof *calls);
    size_t len = 0;
    int64_t end_us = clock_monotonic_us() + (int64_t)r->remote.wait_ms * 1000;
    enum status st = ST_OK;

    rwlock_take_read(&r->lock);
    for (struct member *m = r->members; m != NULL; m = m->next) {
        (void)atomic_fetch_add(&m->refs, 1);
        calls[len++].owner = m;
    }
    rwlock_drop_read(&r->lock);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        struct flush_call *f = &calls[i];

        /* Asks again while the owner cannot be reached, until 'end_us'. */
        f->call.end_us = clock_monotonic_us() + FLUSH_US;
        f->call.max = ANSWER_BESIDES;
        while ((st = peer_call_begin(f->owner->peer, &f->call, FRAME_FLUSH,
                                     slice_of(NULL, 0), e)) == ST_MOVED &&
               clock_monotonic_us() < end_us)
            (void)usleep(FLUSH_RETRY_US);
        st = st == ST_MOVED ? error_wrap(e, ST_BUSY, "cannot be reached") : st;
    }
    for (size_t i = 0; i < len && st == ST_OK; i++)
        st = peer_call_end(&calls[i].call, e);
    for (size_t i = 0; i < len; i++) {
        peer_call_fini(&calls[i].call);
        member_release(calls[i].owner);
    }
    free(calls);
    return st;
}

static enum status
remote_owns(void *ctx, struct error *e)
{
    struct remote *r = ctx;

    return r->o.owns(r->o.owns_ctx, e);
}

/* -- life ------------------------------------------------------------------ */

struct remote *
remote_new(const struct remote_options *o)
{
    struct remote *r = mem_new(sizeof *r);

    INSIST(o->owns != NULL && o->layout.salt_buckets <= BUCKETS_MAX);
    r->magic = REMOTE_MAGIC;
    r->o = *o;
    rwlock_init(&r->lock);
    r->remote = (struct store_remote){
        .ctx = r,
        .wait_ms = o->wait_ms,
        .link = remote_link,
        .put = remote_put,
        .wait = remote_wait,
        .head = remote_head,
        .last = remote_last,
        .delete_points = remote_delete,
        .flush = remote_flush,
        .owns = remote_owns,
    };
    return r;
}

void
remote_free(struct remote **r)
{
    struct remote *x = OBJ_TAKE(r, REMOTE_MAGIC);

    if (x == NULL)
        return;
    for (unsigned b = 0; b < x->o.layout.salt_buckets; b++)
        remote_route(x, b, NULL, NULL);
    INSIST(x->members == NULL);
    rwlock_fini(&x->lock);
    OBJ_FREE(x);
}

const struct store_remote *
remote_hooks(const struct remote *r)
{
    OBJ_CHECK(r, REMOTE_MAGIC);
    return &r->remote;
}

const struct latency *
remote_put_latency(const struct remote *r)
{
    OBJ_CHECK(r, REMOTE_MAGIC);
    return &r->put_latency;
}
