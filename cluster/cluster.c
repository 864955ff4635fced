/* A cluster: opened, left, closed; what its thread does is in
 * cluster_buckets.c. */
#include "cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/process/clock.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "base/cursor.h"
#include "cluster/cluster_priv.h"
#include "storage/place/pool.h"
#include "storage/wal/rados/wal_rados.h"

#define LEASE_MS 5000 /* short for people, long for a loaded monitor */
#define WAIT_MS  10000
#define LEAVE_MS 30000
#define TOOL_MS  10000 /* for another command to end */

/* -- opening --------------------------------------------------------------- */

/* Of several that find nothing one makes it. */
static enum status
make_format(struct cluster *c, struct error *e)
{
    const struct cluster_options *o = &c->options;
    enum status st = pool_check_empty(c->ceph, e);

    if (st == ST_INVALID && /* another one made it meanwhile? */
        pool_format_read(c->ceph, &c->format, NULL) == ST_OK)
        return ST_OK;
    if (st != ST_OK)
        return st;
    if (!o->create)
        return error_set(e, ST_NOT_FOUND, "%s: there is no store", o->at);
    log_info("cluster", "making a new store in %s", o->at);
    format_new(&c->format, &o->store.layout);
    c->format.complete = true;
    c->format.window_hours =
        o->window_hours == 0 ? POOL_WINDOW_HOURS : o->window_hours;
    st = pool_format_create(c->ceph, &c->format, e);
    return st == ST_CONFLICT ? pool_format_read(c->ceph, &c->format, e) : st;
}

static enum status
open_pool(struct cluster *c, struct error *e)
{
    enum status st = ceph_open(c->options.at, &c->ceph, e);

    if (st == ST_OK)
        st = ceph_check_version(c->ceph, e);
    if (st == ST_OK)
        st = pool_format_read(c->ceph, &c->format, e);
    if (st == ST_NOT_FOUND && c->ceph != NULL)
        st = make_format(c, e);
    return st;
}

static bool
is_tool(const struct cluster *c)
{
    return strcmp(c->options.mode, "tool") == 0;
}

static enum status
open_tls(struct cluster *c, struct error *e)
{
    const struct cluster_options *o = &c->options;
    struct members m = { 0 };
    bool on = o->tls && !is_tool(c);
    enum status st = is_tool(c) ? members_read(c->ceph, &m, e) : ST_OK;

    for (size_t i = 0; i < m.len; i++)
        on |= m.list[i].live && m.list[i].tls;
    members_fini(&m);
    return st == ST_OK && on ? channel_tls_new(o->ca, o->tls_any, &c->tls, e)
                             : st;
}

static void
lease_lost(void *ctx, const char *why)
{
    struct cluster *c = ctx;

    c->options.lost(c->options.ctx, why);
}

static void
owners_changed(void *ctx, unsigned kind, struct slice payload,
               struct buf *answer)
{
    struct cluster *c = ctx;

    (void)answer;
    (void)kind;
    (void)payload;
    /* Has the thread look at members and map soon. */
    lock_take(&c->lock);
    c->look = true;
    cond_signal(&c->wake);
    lock_drop(&c->lock);
}

static enum status
join(struct cluster *c, struct error *e)
{
    struct lease_options o = {
        .self = { .frame_version = FRAME_VERSION, .tls = c->tls != NULL },
        .duration_ms = c->options.lease_ms,
        .lost = lease_lost,
        .ctx = c,
    };
    struct events *events = NULL;
    enum status st;

    (void)snprintf(o.self.mode, sizeof o.self.mode, "%s", c->options.mode);
    (void)snprintf(o.self.address, sizeof o.self.address, "%s",
                   c->options.address);
    (void)snprintf(o.self.version, sizeof o.self.version, "%s",
                   c->options.version);
    st = lease_open(c->ceph, &o, &c->lease, e);
    if (st == ST_OK)
        st = events_open(c->ceph, (o.duration_ms + 999) / 1000 * 1000, &events,
                         e);
    if (st != ST_OK)
        return st;
    events_on(events, EVENT_OWNERS, owners_changed, c);
    lock_take(&c->events_lock);
    c->events = events;
    lock_drop(&c->events_lock);
    return ST_OK;
}

/* Asked by the store before it acknowledges, flushes and lends its heads. */
static enum status
owns(void *ctx, struct error *e)
{
    struct cluster *c = ctx;
    bool heard;

    if (!lease_is_good(c->lease) || ceph_is_blocklisted(c->ceph))
        return error_set(e, ST_BUSY,
                         "this server's lease is not renewed: another one may "
                         "own its part of the store by now");
    lock_take(&c->events_lock);
    heard = c->events == NULL || events_are_heard(c->events);
    lock_drop(&c->events_lock);
    if (!heard)
        return error_set(e, ST_BUSY,
                         "this server does not hear what others change: its "
                         "watch in the pool is being made again");
    return ST_OK;
}

static enum status
open_store(struct cluster *c, struct error *e)
{
    struct store_options so = c->options.store;
    const struct kv_options ko = {
        .place = { "rados", c->options.at },
        .layout = &c->format.layout,
        .window_hours = c->format.window_hours,
        .create = true,
    };
    const struct remote_options ro = {
        .secret = c->secret,
        .tls = c->tls,
        .layout = c->format.layout,
        .wait_ms = c->options.wait_ms,
        .owns = owns,
        .owns_ctx = c,
    };
    enum status st = pool_secret(c->ceph, c->secret, e);

    if (st != ST_OK)
        return st;
    c->remote = remote_new(&ro);
    st = kv_open(&ko, &so.kv, e);
    if (st != ST_OK)
        return st;
    so.dir = NULL;
    so.layout = c->format.layout;
    so.wal = wal_rados_new(c->ceph, lease_name(c->lease));
    so.remote = remote_hooks(c->remote);
    st = store_open(&so, &c->store, e);
    return st;
}

static enum status
start_thread(struct cluster *c, struct error *e)
{
    return thread_start(&c->thread, cluster_main, c, "the cluster", e);
}

enum status
cluster_open(const struct cluster_options *o, struct cluster **out,
             struct error *e)
{
    static enum status (*const parts[])(struct cluster * c,
                                        struct error * e) = {
        open_pool, open_tls, join, open_store, start_thread,
    };
    struct cluster *c = mem_new(sizeof *c);
    enum status st = ST_OK;

    c->magic = CLUSTER_MAGIC;
    c->options = *o;
    c->options.lease_ms = o->lease_ms == 0 ? LEASE_MS : o->lease_ms;
    c->options.wait_ms = o->wait_ms == 0 ? WAIT_MS : o->wait_ms;
    lock_init(&c->lock);
    lock_init(&c->events_lock);
    cond_init(&c->wake);
    cond_init(&c->done);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && st == ST_OK; i++)
        st = parts[i](c, e);
    *out = c;
    if (st != ST_OK && cluster_close(out, NULL) != ST_OK)
        log_warn("cluster", "closed badly after it could not be opened");
    return st;
}

/* -- life ------------------------------------------------------------------ */

static void
set_state(struct cluster *c, enum cluster_state state)
{
    lock_take(&c->lock);
    c->state = state;
    c->look = true;
    cond_signal(&c->wake);
    lock_drop(&c->lock);
}

enum status
cluster_serve(struct cluster *c, struct error *e)
{
    OBJ_CHECK(c, CLUSTER_MAGIC);
    set_state(c, CLUSTER_SERVING);
    return events_send(c->ceph, WAIT_MS, EVENT_OWNERS, slice_str(""), e);
}

/* Another command that owns salt buckets, or NULL. */
static const struct member *
other_tool(struct cluster *c) REQUIRES(c->lock)
{
    const struct cluster_view *v = &c->view;

    for (unsigned i = 0; i < v->buckets; i++) {
        const struct member *m = members_find(&v->members, v->map[i].member);

        if (m != NULL && m->live && strcmp(m->mode, "tool") == 0 &&
            strcmp(m->name, v->self) != 0)
            return m;
    }
    return NULL;
}

/* Has each bucket an owner that can be reached, and this process served what is
 * its own? */
static bool
is_settled(struct cluster *c) REQUIRES(c->lock)
{
    const struct cluster_view *v = &c->view;

    if (c->looks == 0 || c->error.status != ST_OK)
        return false;
    for (unsigned i = 0; i < v->buckets; i++) {
        const struct member *m = members_find(&v->members, v->map[i].member);

        if (m == NULL || !m->live || v->map[i].from[0] != '\0' ||
            (m->address[0] == '\0' && strcmp(m->name, v->self) != 0))
            return false;
        if (strcmp(m->name, v->self) == 0 &&
            !store_bucket_is_local(c->store, i))
            return false;
    }
    return true;
}

enum status
cluster_wait(struct cluster *c, unsigned wait_ms, struct error *e)
{
    int64_t from_us = clock_monotonic_us();
    enum status st = ST_OK;

    OBJ_CHECK(c, CLUSTER_MAGIC);
    lock_take(&c->lock);
    while (!is_settled(c) && st == ST_OK) {
        int64_t ms = (clock_monotonic_us() - from_us) / 1000;
        const struct member *tool = other_tool(c);

        if (ms >= TOOL_MS && tool != NULL)
            st = error_set(e, ST_BUSY,
                           "the store is in use by another command, member %s: "
                           "try again when it has ended",
                           tool->name);
        else if (ms >= wait_ms)
            st = c->error.status != ST_OK
                     ? error_set(e, c->error.status, "%s", c->error.text)
                     : error_set(e, ST_BUSY,
                                 "some salt buckets have no owner yet");
        else
            cond_wait_ms(&c->done, &c->lock, 100);
    }
    lock_drop(&c->lock);
    return st;
}

static unsigned
owned(struct cluster *c) REQUIRES(c->lock)
{
    unsigned n = 0;

    for (unsigned i = 0; i < c->format.layout.salt_buckets; i++)
        n += store_bucket_is_local(c->store, i);
    return n;
}

enum status
cluster_leave(struct cluster *c, struct error *e)
{
    int64_t end_us = clock_monotonic_us() + (int64_t)LEAVE_MS * 1000;
    enum status st;

    OBJ_CHECK(c, CLUSTER_MAGIC);
    /* While others' requests go on; little is left when buckets are given. */
    st = store_flush(c->store, e);
    if (st == ST_OK) /* others take no "leaving" member for an owner */
        st = lease_set_mode(c->lease, "leaving", e);
    if (st != ST_OK)
        return st;
    set_state(c, CLUSTER_LEAVING);
    lock_take(&c->lock);
    /* A look that began before may still take buckets. */
    while ((c->looked != CLUSTER_LEAVING || owned(c) > 0) && st == ST_OK) {
        if (clock_monotonic_us() >= end_us)
            st = error_set(e, ST_BUSY,
                           "%u salt buckets were not given away%s%s", owned(c),
                           c->error.status == ST_OK ? "" : ": ", c->error.text);
        else
            cond_wait_ms(&c->done, &c->lock, 100);
    }
    lock_drop(&c->lock);
    return st == ST_OK ? lease_set_mode(c->lease, MEMBER_ENDED, e) : st;
}

void
cluster_stop(struct cluster *c)
{
    struct events *events;

    OBJ_CHECK(c, CLUSTER_MAGIC);
    if (c->thread.runs)
        set_state(c, CLUSTER_STOPPING);
    thread_join(&c->thread);
    lock_take(&c->events_lock);
    events = c->events;
    c->events = NULL;
    lock_drop(&c->events_lock);
    events_close(&events);
}

enum status
cluster_close(struct cluster **cp, struct error *e)
{
    struct cluster *c = OBJ_TAKE(cp, CLUSTER_MAGIC);
    enum status st, left;

    if (c == NULL)
        return ST_OK;
    cluster_stop(c);
    st = store_close(&c->store, e);
    left = lease_close(&c->lease, st == ST_OK ? e : NULL);
    remote_free(&c->remote);
    channel_tls_free(&c->tls);
    ceph_close(&c->ceph);
    lock_take(&c->lock);
    members_fini(&c->view.members);
    lock_drop(&c->lock);
    cond_fini(&c->done);
    cond_fini(&c->wake);
    lock_fini(&c->events_lock);
    lock_fini(&c->lock);
    OBJ_FREE(c);
    return st == ST_OK ? left : st;
}

struct store *
cluster_store(struct cluster *c)
{
    OBJ_CHECK(c, CLUSTER_MAGIC);
    return c->store;
}

const uint8_t *
cluster_secret(const struct cluster *c)
{
    OBJ_CHECK(c, CLUSTER_MAGIC);
    return c->secret;
}

void
cluster_on(struct cluster *c, unsigned kind, events_fn *f, void *ctx)
{
    OBJ_CHECK(c, CLUSTER_MAGIC);
    lock_take(&c->events_lock);
    events_on(c->events, kind, f, ctx);
    lock_drop(&c->events_lock);
}

const char *
cluster_self(const struct cluster *c)
{
    OBJ_CHECK(c, CLUSTER_MAGIC);
    return lease_name(c->lease);
}

/* Has the member an answer among these? */
static bool
has_answered(const struct member *m, struct slice answers)
{
    struct cursor all = cursor_of(answers);

    while (!all.failed && cursor_left(&all) > 0) {
        struct cursor one = cursor_of(cursor_sized(&all));

        if (slice_eq(cursor_sized(&one), slice_str(m->name)) && !one.failed)
            return true;
    }
    return false;
}

enum status
cluster_ask(struct cluster *c, unsigned kind, struct slice payload,
            struct buf *answers, struct error *e)
{
    struct buf named = BUF_INIT;
    struct cursor all;
    enum status st;

    OBJ_CHECK(c, CLUSTER_MAGIC);
    st = events_ask(c->ceph, WAIT_MS, kind, payload, &named, e);
    if (st == ST_OK) {
        struct members m;

        /* The list is read after the event: who joined since then knows what
         * the engine said when the event was sent. */
        st = members_read(c->ceph, &m, e);
        for (size_t i = 0; st == ST_OK && i < m.len; i++)
            if (strcmp(m.list[i].mode, MEMBER_ENDED) != 0 &&
                !has_answered(&m.list[i], buf_slice(&named)))
                st = error_set(
                    e, ST_BUSY,
                    "member %s (%s%s%s) of the cluster does not answer: "
                    "try again later",
                    m.list[i].name, m.list[i].mode,
                    m.list[i].address[0] == '\0' ? "" : ", ",
                    m.list[i].address);
        members_fini(&m);
    }
    all = cursor_of(buf_slice(&named));
    while (st == ST_OK && !all.failed && cursor_left(&all) > 0) {
        struct cursor one = cursor_of(cursor_sized(&all));

        (void)cursor_sized(&one);
        buf_put_sized(answers, cursor_bytes(&one, cursor_left(&one)));
    }
    buf_fini(&named);
    return st;
}

struct ceph *
cluster_ceph(struct cluster *c)
{
    OBJ_CHECK(c, CLUSTER_MAGIC);
    return c->ceph;
}

static uint64_t
calls(const struct cluster *c, enum ceph_call call)
{
    return ceph_calls(c->ceph, call);
}

void
cluster_counts(struct cluster *c, struct cluster_counts *out)
{
    OBJ_CHECK(c, CLUSTER_MAGIC);
    *out = (struct cluster_counts){
        .pool_full = ceph_is_full(c->ceph),
        .blocklisted = ceph_is_blocklisted(c->ceph),
        .rados = {
            .writes = calls(c, CEPH_CALL_WRITE),
            .reads = calls(c, CEPH_CALL_READ),
            .locks = calls(c, CEPH_CALL_LOCK) + calls(c, CEPH_CALL_UNLOCK),
            .watches = calls(c, CEPH_CALL_WATCH),
            .notifies = calls(c, CEPH_CALL_NOTIFY),
            .others = calls(c, CEPH_CALL_CLUSTER),
        },
        .put_latency = remote_put_latency(c->remote),
    };
    out->lease_remaining_us = lease_remaining_us(c->lease, &out->lease_us);
    lock_take(&c->lock);
    for (size_t i = 0; i < c->view.members.len; i++)
        if (c->view.members.list[i].live)
            out->members_live++;
        else
            out->members_dead++;
    out->buckets = c->format.layout.salt_buckets;
    out->buckets_unowned =
        c->view.looked_us == 0 ? out->buckets : cluster_view_unowned(&c->view);
    for (unsigned i = 0; i < out->buckets; i++)
        out->buckets_local += store_bucket_is_local(c->store, i);
    out->takeovers = c->view.takeovers;
    out->taken = c->view.taken;
    out->served = c->view.served;
    out->given = c->view.given;
    out->looked_us = c->view.looked_us;
    out->looks_fail = c->error.status != ST_OK;
    lock_drop(&c->lock);
}

void
cluster_view(struct cluster *c, struct cluster_view *out)
{
    OBJ_CHECK(c, CLUSTER_MAGIC);
    lock_take(&c->lock);
    *out = c->view;
    out->members.list =
        mem_new_array(out->members.len == 0 ? 1 : out->members.len,
                      sizeof *out->members.list);
    if (out->members.len > 0)
        memcpy(out->members.list, c->view.members.list,
               out->members.len * sizeof *out->members.list);
    lock_drop(&c->lock);
}
