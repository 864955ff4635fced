#include "tsd/pool.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/process/log.h"
#include "cluster/cluster.h"
#include "cluster/owner.h"
#include "uid/meta/record.h"

#define EXIT_LOST    75 /* EX_TEMPFAIL: to be started again */
#define COMMAND_WAIT 60000
#define EVENT_WAIT   10000

/* Kinds of events: uid/'s are letters, cluster/'s lie below. */
static enum status
send_event(void *ctx, enum uid_event kind, struct slice payload,
           struct buf *answers, struct error *e)
{
    struct cluster *c = ctx;

    return answers == NULL
               ? events_send(cluster_ceph(c), EVENT_WAIT, kind, payload, e)
               : cluster_ask(c, kind, payload, answers, e);
}

static void
hear_event(void *ctx, unsigned kind, struct slice payload, struct buf *answer)
{
    const struct pool *p = ctx;
    struct records *r = p->api->records;
    struct error e;

    if (kind == EVENTS_MISSED) {
        uid_events_missed(r);
        return;
    }
    buf_put_sized(answer, slice_str(cluster_self(p->cluster)));
    if (uid_events_hear(r, kind, payload, answer, &e) != ST_OK) {
        log_error("cluster", "an event of another member: %s", e.text);
        uid_events_missed(r);
    }
}

/* It may have written to the engine, and told no other member. */
static void
member_died(void *ctx)
{
    const struct pool *p = ctx;

    uid_events_missed(p->api->records);
}

/* Others own the buckets by now.  Nothing is flushed or answered any more: the
 * service manager starts a new member. */
static void
lease_lost(void *ctx, const char *why)
{
    (void)ctx;
    log_error("cluster",
              "this process is no member of the cluster any more, and ends, "
              "to be started again: %s",
              why);
    _exit(EXIT_LOST);
}

enum status
pool_find_server(const char *at, char address[POOL_ADDRESS_MAX],
                 struct error *e)
{
    struct cluster_view v;
    enum status st = cluster_view_read(at, &v, e);

    address[0] = '\0';
    for (size_t i = 0; i < v.members.len && st == ST_OK; i++)
        if (v.members.list[i].live && strcmp(v.members.list[i].mode, "rw") == 0)
            (void)snprintf(address, POOL_ADDRESS_MAX, "%s%s",
                           v.members.list[i].tls ? "https://" : "",
                           v.members.list[i].address);
    cluster_view_fini(&v);
    return st;
}

enum status
pool_open(struct pool *p, struct api *a, const char *at,
          const struct store_options *store, struct error *e)
{
    const struct settings *s = a->settings;
    struct cluster_options o = {
        .at = at,
        .store = *store,
        .window_hours = s->pool_window_hours,
        .create = true,
        .address = p->address == NULL ? "" : p->address,
        .version = PACKAGE_VERSION,
        .tls = s->cluster_tls != TLS_OFF,
        .tls_any = s->cluster_tls == TLS_ANY,
        .ca = s->cluster_ca,
        .lease_ms = s->cluster_lease_ms,
        .wait_ms = s->cluster_wait_ms,
        .lost = lease_lost,
        .died = member_died,
        .ctx = p,
    };
    enum status st;

    p->api = a;
    if (o.tls && p->address != NULL && s->tls_cert == NULL)
        return error_set(e, ST_INVALID,
                         "halite.cluster.tls needs halite.tls.cert and "
                         "halite.tls.key");
    o.mode = p->address == NULL ? "tool" : s->mode == MODE_RO ? "ro" : "rw";
    o.store.no_summaries = p->address == NULL;
    o.store.layout.salt_width = 1;
    o.store.layout.salt_buckets = (uint16_t)s->pool_buckets;
    st = cluster_open(&o, &p->cluster, e);
    if (st != ST_OK)
        return st;
    a->cluster = p->cluster;
    a->store = cluster_store(p->cluster);
    return ST_OK;
}

enum status
pool_serve(struct pool *p, struct error *e)
{
    static const unsigned kinds[] = { UID_EVENT_NAMES, UID_EVENT_SERIES,
                                      UID_EVENT_ANNOTATED, UID_EVENT_PURGE };
    struct cluster *c = p->cluster;
    enum status st;

    if (c == NULL)
        return ST_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        cluster_on(c, kinds[i], hear_event, p);
    p->events = (struct uid_events){ c, send_event };
    uid_set_events(p->api->uids, &p->events);
    st = cluster_serve(c, e);
    if (st == ST_OK && p->address == NULL)
        st = cluster_wait(c, COMMAND_WAIT, e);
    return st;
}

struct peer_server *
pool_peers(struct pool *p, void (*closed)(void *ctx), void *ctx)
{
    struct cluster *c = p->cluster;

    if (c == NULL)
        return NULL;
    return peer_server_open(&(struct peer_server_options){
        .secret = cluster_secret(c),
        .handlers = owner_handlers(cluster_store(c)),
        .closed = closed,
        .closed_ctx = ctx,
    });
}

enum status
pool_leave(struct pool *p, struct error *e)
{
    return p->cluster == NULL ? ST_OK : cluster_leave(p->cluster, e);
}

void
pool_stop(struct pool *p)
{
    if (p->cluster != NULL)
        cluster_stop(p->cluster);
}

enum status
pool_close(struct pool *p, struct error *e)
{
    enum status st = cluster_close(&p->cluster, e);

    if (p->api != NULL)
        p->api->cluster = NULL;
    return st;
}
