#include "tsd/api/stats/metrics_cluster.h"

#include "tsd/api/stats/prometheus.h"

static void
put_members(const struct cluster_counts *c, struct buf *b)
{
    const char *name = "halite_cluster_members";

    prom_head(b, name, "gauge",
              "Daemons that have the pool open; dead: whose lease ended, and "
              "who left something behind.");
    prom_labelled(b, name, "state", "live", c->members_live);
    prom_labelled(b, name, "state", "dead", c->members_dead);
}

static void
put_buckets(const struct cluster_counts *c, struct buf *b)
{
    const char *name = "halite_cluster_buckets_moved_total";

    prom_gauge(b, "halite_cluster_buckets", "Salt buckets of the store.",
               c->buckets);
    prom_gauge(b, "halite_cluster_buckets_owned",
               "Salt buckets that this server serves.", c->buckets_local);
    prom_gauge(b, "halite_cluster_buckets_unowned",
               "Salt buckets whose owner is dead, or that never had one, as "
               "this server saw it last.",
               c->buckets_unowned);
    prom_head(b, name, "counter",
              "Salt buckets that came to this server from dead members or "
              "otherwise, and that it gave away.");
    prom_labelled(b, name, "how", "taken_over", c->taken);
    prom_labelled(b, name, "how", "served", c->served);
    prom_labelled(b, name, "how", "given", c->given);
    prom_total(b, "halite_cluster_takeovers_total",
               "Dead members that this server took salt buckets over from.",
               (double)c->takeovers);
}

static void
put_lease(const struct cluster_counts *c, struct buf *b)
{
    int64_t age_us = clock_monotonic_us() - c->looked_us;

    prom_gauge(b, "halite_cluster_lease_seconds",
               "How long this server's lease lasts when it is renewed.",
               (double)c->lease_us / 1e6);
    prom_gauge(b, "halite_cluster_lease_remaining_seconds",
               "How long it still lasts; below a quarter of it nothing is "
               "acknowledged, below 0 another server may take over.",
               (double)c->lease_remaining_us / 1e6);
    prom_gauge(b, "halite_cluster_healthy",
               "0: this server could not read who the members are, or not "
               "take or give salt buckets, when it last tried.",
               c->looked_us != 0 && !c->looks_fail);
    if (c->looked_us != 0)
        prom_gauge(b, "halite_cluster_look_age_seconds",
                   "How long ago it last read members and bucket map.",
                   (double)age_us / 1e6);
}

static void
put_rados(const struct cluster_counts *c, struct buf *b)
{
    const char *name = "halite_rados_operations_total";

    prom_head(b, name, "counter", "Operations asked of the Ceph cluster.");
    prom_labelled(b, name, "kind", "write", c->rados.writes);
    prom_labelled(b, name, "kind", "read", c->rados.reads);
    prom_labelled(b, name, "kind", "lock", c->rados.locks);
    prom_labelled(b, name, "kind", "watch", c->rados.watches);
    prom_labelled(b, name, "kind", "notify", c->rados.notifies);
    prom_labelled(b, name, "kind", "cluster", c->rados.others);
    prom_gauge(b, "halite_rados_pool_full",
               "1: the last write found the pool full.", c->pool_full);
    prom_gauge(b, "halite_rados_blocklisted",
               "1: another server shut this one out; it ends.", c->blocklisted);
}

void
metrics_cluster(const struct api *a, struct buf *b)
{
    struct cluster_counts c;

    if (a->cluster == NULL)
        return;
    a->cluster_counts(a->cluster, &c);
    put_members(&c, b);
    put_buckets(&c, b);
    put_lease(&c, b);
    put_rados(&c, b);
    prom_latency(b, "halite_peer_put_duration_seconds",
                 "Points to other servers, from sent to answered.",
                 c.put_latency);
}
