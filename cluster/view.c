#include "cluster/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "storage/place/pool.h"

void
cluster_view_fini(struct cluster_view *v)
{
    members_fini(&v->members);
}

enum status
cluster_view_read(const char *at, struct cluster_view *out, struct error *e)
{
    struct ceph *c = NULL;
    struct format f;
    enum status st = ceph_open(at, &c, e);

    *out = (struct cluster_view){ .buckets = 0 };
    if (st == ST_OK)
        st = pool_format_read(c, &f, e);
    if (st == ST_OK)
        st = members_read(c, &out->members, e);
    if (st == ST_OK)
        st = buckets_read(c, out->map, e);
    if (st == ST_OK)
        out->buckets = f.layout.salt_buckets;
    ceph_close(&c);
    return st;
}

/* Those that it has begun to take over count. */
static unsigned
owned_by(const struct cluster_view *v, const char *member)
{
    unsigned n = 0;

    for (unsigned i = 0; i < v->buckets; i++)
        n += strcmp(v->map[i].member, member) == 0;
    return n;
}

/* -1: none that lives. */
static int
owner_of(const struct cluster_view *v, unsigned bucket)
{
    for (size_t i = 0; i < v->members.len; i++)
        if (v->members.list[i].live &&
            strcmp(v->members.list[i].name, v->map[bucket].member) == 0)
            return (int)i;
    return -1;
}

unsigned
cluster_view_unowned(const struct cluster_view *v)
{
    unsigned n = 0;

    for (unsigned i = 0; i < v->buckets; i++)
        n += owner_of(v, i) < 0;
    return n;
}

void
cluster_view_json(const struct cluster_view *v, struct buf *out)
{
    buf_printf(
        out,
        "{\"self\":\"%s\",\"buckets\":%u,\"unowned\":%u,\"taken\":%" PRIu64
        ",\"served\":%" PRIu64 ",\"given\":%" PRIu64 ",\"members\":[",
        v->self, v->buckets, cluster_view_unowned(v), v->taken, v->served,
        v->given);
    for (size_t i = 0; i < v->members.len; i++) {
        const struct member *m;

        buf_put_str(out, i == 0 ? "" : ",");
        m = &v->members.list[i];
        buf_printf(out,
                   "{\"name\":\"%s\",\"address\":\"%s\",\"mode\":\"%s\","
                   "\"live\":%s,\"buckets\":%u,\"walBytes\":%" PRIu64
                   ",\"started\":%" PRId64 ",\"version\":\"%s\"}",
                   m->name, m->address, m->mode, m->live ? "true" : "false",
                   owned_by(v, m->name), m->wal_bytes, m->started_ms / 1000,
                   m->version);
    }
    buf_put_str(out, "],\"owners\":[");
    for (unsigned i = 0; i < v->buckets; i++)
        buf_printf(out, "%s%d", i == 0 ? "" : ",", owner_of(v, i));
    buf_put_str(out, "]}");
}

void
cluster_view_text(const struct cluster_view *v, int64_t now_ms, struct buf *out)
{
    buf_printf(out, "%-16s %-24s %-8s %-5s %7s %10s %9s %s\n", "member",
               "address", "mode", "lease", "buckets", "WAL", "up", "version");
    for (size_t i = 0; i < v->members.len; i++) {
        const struct member *m = &v->members.list[i];

        buf_printf(out,
                   "%-16s %-24s %-8s %-5s %7u %7" PRIu64 " KB %7" PRId64
                   " s %s\n",
                   m->name, m->address[0] == '\0' ? "-" : m->address, m->mode,
                   m->live ? "held" : "ended", owned_by(v, m->name),
                   m->wal_bytes / 1024,
                   now_ms > m->started_ms ? (now_ms - m->started_ms) / 1000 : 0,
                   m->version);
    }
    for (size_t i = 0; i < v->members.len; i++) {
        const struct member *m = &v->members.list[i];
        const struct member *twin = members_twin(&v->members, m);

        if (twin != NULL && strcmp(m->name, twin->name) < 0)
            buf_printf(out,
                       "%s and %s have the same address: what is sent to one "
                       "may reach the other (halite.cluster.address)\n",
                       m->name, twin->name);
    }
    if (cluster_view_unowned(v) > 0)
        buf_printf(out,
                   "%u of %u salt buckets have no owner that lives: their puts "
                   "wait, their newest points are not read\n",
                   cluster_view_unowned(v), v->buckets);
}
