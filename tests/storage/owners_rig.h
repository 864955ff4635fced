/* Several stores of one process over the tests' shared engine, each with a WAL
 * of its own, and what cluster/ and leases do for daemons: a map of owners, and
 * calls from one store to another.
 *
 * The program links tests/storage/kv/engines_shared.c. */
#pragma once

#include <stdatomic.h>

#include "base/mem.h"
#include "storage/scan/store_scan.h"
#include "storage/store/store_priv.h"
#include "storage/wal/wal_files.h"
#include "tests/harness.h"
#include "tests/storage/tsuids.h"
#include "tests/tempdir.h"

#define NODES      3
#define BUCKETS    16
#define OWNER_NONE (-1)

/* A record on its way, and then what became of it. */
struct rig_record {
    struct rig_record *next;
    uint64_t ticket;
    enum status status; /* of one that has arrived */
    bool arrived;
    size_t size;
    uint8_t bytes[];
};

/* From one store to another.  The owner's part of the work is done by those who
 * wait for it. */
struct rig_channel {
    struct lock lock; /* of the queue; a leaf */
    struct rig_record *oldest, *newest;
    uint64_t link, tickets;
    struct lock session_lock; /* one record at a time, in their order */
    struct store_session *session;
    uint64_t session_link; /* of the session */
};

struct rig_node {
    struct rig *rig;
    int id;
    char *dir;
    struct store *s;
    struct store_remote remote;
    struct rig_channel to[NODES];
};

struct rig {
    struct kv *keep; /* the keys stay while it is open */
    struct rig_node nodes[NODES];
    _Atomic int owner[BUCKETS];
    uint64_t epoch[BUCKETS];
    _Atomic uint64_t links;
    _Atomic bool lost; /* owns() fails */
};

static inline void
rig_ok(enum status st, const struct error *e)
{
    ck_assert_msg(st == ST_OK, "%s", e->text);
}

/* -- what a store calls ---------------------------------------------------- */

static inline int
rig_owner(const struct rig_node *n, unsigned bucket)
{
    int owner = atomic_load(&n->rig->owner[bucket]);

    return owner == n->id ? OWNER_NONE : owner;
}

static inline uint64_t
rig_link(void *ctx, unsigned bucket)
{
    struct rig_node *n = ctx;
    int owner = rig_owner(n, bucket);
    uint64_t link = 0;

    if (owner != OWNER_NONE) {
        lock_take(&n->to[owner].lock);
        link = n->to[owner].link;
        lock_drop(&n->to[owner].lock);
    }
    return link;
}

static inline struct rig_channel *
rig_channel(struct rig_node *n, uint64_t link)
{
    for (int i = 0; i < NODES; i++) {
        struct rig_channel *c = &n->to[i];
        bool is;

        lock_take(&c->lock);
        is = c->link == link;
        lock_drop(&c->lock);
        if (is)
            return c;
    }
    return NULL;
}

static inline enum status
rig_put(void *ctx, unsigned bucket, uint64_t link, struct slice record,
        uint64_t *ticket, struct error *e)
{
    struct rig_channel *c = rig_channel(ctx, link);
    struct rig_record *r = mem_new(sizeof *r + record.size);
    bool good;

    (void)bucket;
    if (c == NULL) {
        free(r);
        return error_set(e, ST_MOVED, "the link has ended");
    }
    r->size = record.size;
    memcpy(r->bytes, record.data, record.size);
    lock_take(&c->lock);
    good = c->link == link;
    if (good) {
        r->ticket = *ticket = ++c->tickets;
        if (c->newest != NULL)
            c->newest->next = r;
        else
            c->oldest = r;
        c->newest = r;
    }
    lock_drop(&c->lock);
    if (!good)
        free(r);
    return good ? ST_OK : error_set(e, ST_MOVED, "the link has ended");
}

/* Takes the record of this ticket out of the queue, or with 0 the oldest one
 * that has not arrived, which stays. */
static inline struct rig_record *
rig_find(struct rig_channel *c, uint64_t link, uint64_t ticket)
{
    struct rig_record *found = NULL, *before = NULL;

    lock_take(&c->lock);
    for (struct rig_record *r = c->oldest; r != NULL && found == NULL;
         r = r->next) {
        if (c->link == link &&
            (ticket == 0 ? !r->arrived : r->ticket == ticket))
            found = r;
        else
            before = r;
    }
    if (found != NULL && ticket != 0) {
        if (before != NULL)
            before->next = found->next;
        else
            c->oldest = found->next;
        if (c->newest == found)
            c->newest = before;
    }
    lock_drop(&c->lock);
    return found;
}

/* Whatever has been queued arrives. */
static inline void
rig_deliver(struct rig_node *n, struct rig_channel *c, uint64_t link)
{
    struct store *owner = n->rig->nodes[c - n->to].s;
    struct rig_record *r;

    lock_take(&c->session_lock);
    if (c->session_link != link) {
        store_session_free(&c->session);
        c->session = store_session_new(owner);
        c->session_link = link;
    }
    while ((r = rig_find(c, link, 0)) != NULL) {
        struct error e;
        uint64_t lsn;
        enum status st = store_session_put(
            c->session, slice_of(r->bytes, r->size), &lsn, &e);

        if (st == ST_OK)
            st = store_commit(owner, lsn, false, &e);
        lock_take(&c->lock);
        r->status = st;
        r->arrived = true;
        lock_drop(&c->lock);
    }
    lock_drop(&c->session_lock);
}

static inline enum status
rig_wait(void *ctx, unsigned bucket, uint64_t link, uint64_t ticket,
         int64_t end_us, struct error *e)
{
    struct rig_node *n = ctx;
    struct rig_channel *c = rig_channel(n, link);
    struct rig_record *r = NULL;
    enum status st = ST_MOVED;

    (void)bucket;
    (void)end_us;
    if (c != NULL) {
        rig_deliver(n, c, link);
        r = rig_find(c, link, ticket);
    }
    if (r != NULL)
        st = r->status;
    free(r);
    return st == ST_OK ? ST_OK : error_set(e, st, "status %d", (int)st);
}

static inline struct store *
rig_store(struct rig_node *n, unsigned bucket)
{
    int owner = rig_owner(n, bucket);

    return owner == OWNER_NONE ? NULL : n->rig->nodes[owner].s;
}

static inline enum status
rig_head(void *ctx, const struct scan_spec *specs, size_t len, struct buf *out,
         int64_t end_us, struct error *e)
{
    (void)end_us;
    for (size_t i = 0; i < len; i++) {
        struct store *s = rig_store(ctx, specs[i].bucket);
        enum status st = s == NULL ? error_set(e, ST_MOVED, "no owner")
                                   : store_head_copy(s, &specs[i], &out[i], e);

        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

static inline enum status
rig_last(void *ctx, struct slice tsuid, int64_t until_ms, struct point *out,
         bool *found, int64_t end_us, struct error *e)
{
    struct rig_node *n = ctx;
    struct store *s = rig_store(n, key_salt(store_layout(n->s), tsuid));

    (void)end_us;
    return s == NULL ? error_set(e, ST_MOVED, "no owner")
                     : store_owner_last(s, tsuid, until_ms, out, found, e);
}

static inline enum status
rig_delete(void *ctx, struct slice tsuid, int64_t from_ms, int64_t to_ms,
           uint64_t *deleted, int64_t end_us, struct error *e)
{
    struct rig_node *n = ctx;
    struct store *s = rig_store(n, key_salt(store_layout(n->s), tsuid));
    uint64_t lsn = 0;
    enum status st;

    (void)end_us;
    if (s == NULL)
        return error_set(e, ST_MOVED, "no owner");
    st = store_owner_delete(s, tsuid, from_ms, to_ms, deleted, &lsn, e);
    return st == ST_OK ? store_commit(s, lsn, false, e) : st;
}

static inline enum status
rig_flush(void *ctx, struct error *e)
{
    struct rig_node *n = ctx;
    enum status st = ST_OK;

    for (int i = 0; i < NODES && st == ST_OK; i++)
        if (i != n->id && n->rig->nodes[i].s != NULL)
            st = store_flush(n->rig->nodes[i].s, e);
    return st;
}

static inline enum status
rig_owns(void *ctx, struct error *e)
{
    struct rig_node *n = ctx;

    return atomic_load(&n->rig->lost) ? error_set(e, ST_IO, "the lease is lost")
                                      : ST_OK;
}

/* -- nodes ----------------------------------------------------------------- */

/* The connections from and to a node end. */
static inline void
rig_reconnect(struct rig *rig, int id)
{
    for (int i = 0; i < NODES; i++)
        for (int k = 0; k < NODES; k++) {
            struct rig_channel *c = &rig->nodes[i].to[k];

            if (i != id && k != id)
                continue;
            lock_take(&c->session_lock);
            lock_take(&c->lock);
            c->link = atomic_fetch_add(&rig->links, 1) + 1;
            while (c->oldest != NULL) {
                struct rig_record *r = c->oldest;

                c->oldest = r->next;
                free(r);
            }
            c->newest = NULL;
            lock_drop(&c->lock);
            store_session_free(&c->session);
            c->session_link = 0;
            lock_drop(&c->session_lock);
        }
}

static inline void
rig_start(struct rig *rig, int id)
{
    struct rig_node *n = &rig->nodes[id];
    struct store_options o = {
        .layout = KEY_LAYOUT_DEFAULT,
        .sync = WAL_SYNC_OFF,
        .remote = &n->remote,
        .wal_segment_bytes = 4096,
    };
    struct error e = { 0 };

    n->dir = tempdir_new();
    rig_ok(kv_open(&(struct kv_options){ .place = KV_MEMORY }, &o.kv, &e), &e);
    o.wal = wal_files_new(n->dir);
    rig_ok(store_open(&o, &n->s, &e), &e);
    rig_reconnect(rig, id);
}

static inline void
rig_take(struct rig *rig, int id, unsigned bucket, struct wal *dead)
{
    struct bucket_claim claim = { bucket, rig->epoch[bucket],
                                  rig->epoch[bucket] + 1 };
    struct error e = { 0 };

    rig_ok(store_buckets_take(rig->nodes[id].s, &claim, 1, dead, &e), &e);
    rig->epoch[bucket]++;
    atomic_store(&rig->owner[bucket], id);
    store_bucket_serve(rig->nodes[id].s, bucket);
}

static inline void
rig_move(struct rig *rig, unsigned bucket, int id)
{
    int from = atomic_load(&rig->owner[bucket]);
    struct error e = { 0 };

    rig_ok(store_bucket_give(rig->nodes[from].s, bucket, &e), &e);
    atomic_store(&rig->owner[bucket], OWNER_NONE);
    rig_take(rig, id, bucket, NULL);
}

/* A kill -9 in the process: all is dropped as it stands, but for the WAL. */
static inline void
rig_kill(struct rig *rig, int id)
{
    struct rig_node *n = &rig->nodes[id];

    rig_reconnect(rig, id);
    store_flusher_stop(n->s);
    store_destroy(n->s);
    n->s = NULL;
}

/* The others take what a dead one had, by its WAL, and it starts as a new one.
 */
static inline void
rig_recover(struct rig *rig, int id, uint64_t *random)
{
    struct rig_node *n = &rig->nodes[id];

    for (unsigned b = 0; b < BUCKETS; b++) {
        struct wal_options o = { .medium = wal_files_new(n->dir),
                                 .read_only = true };
        struct error e = { 0 };
        struct wal *dead;
        int heir = (id + 1 + (int)(harness_random(random) % 2)) % NODES;

        rig_ok(wal_open(&o, &dead, &e), &e);
        if (atomic_load(&rig->owner[b]) == id)
            rig_take(rig, heir, b, dead);
        rig_ok(wal_close(&dead, &e), &e);
    }
    tempdir_free(&n->dir);
    rig_start(rig, id);
}

/* Bucket b is node b % NODES's. */
static inline struct rig *
rig_new(void)
{
    struct rig *rig = mem_new(sizeof *rig);
    struct error e = { 0 };

    if (access("/dev/shm", W_OK) == 0) /* syncs to a disk take their time */
        (void)setenv("TMPDIR", "/dev/shm", 0);
    rig_ok(kv_open(&(struct kv_options){ .place = KV_MEMORY }, &rig->keep, &e),
           &e);
    for (int i = 0; i < BUCKETS; i++)
        atomic_store(&rig->owner[i], OWNER_NONE);
    for (int i = 0; i < NODES; i++) {
        struct rig_node *n = &rig->nodes[i];

        n->rig = rig;
        n->id = i;
        n->remote = (struct store_remote){
            .ctx = n,
            .wait_ms = 10000,
            .link = rig_link,
            .put = rig_put,
            .wait = rig_wait,
            .head = rig_head,
            .last = rig_last,
            .delete_points = rig_delete,
            .flush = rig_flush,
            .owns = rig_owns,
        };
        for (int k = 0; k < NODES; k++) {
            lock_init(&n->to[k].lock);
            lock_init(&n->to[k].session_lock);
        }
    }
    for (int i = 0; i < NODES; i++)
        rig_start(rig, i);
    for (unsigned b = 0; b < BUCKETS; b++)
        rig_take(rig, (int)b % NODES, b, NULL);
    return rig;
}

static inline void
rig_free(struct rig **ref)
{
    struct rig *rig = *ref;
    struct error e = { 0 };

    for (int i = 0; i < NODES; i++)
        rig_reconnect(rig, i);
    for (int i = 0; i < NODES; i++) {
        rig_ok(store_close(&rig->nodes[i].s, &e), &e);
        tempdir_free(&rig->nodes[i].dir);
        for (int k = 0; k < NODES; k++) {
            lock_fini(&rig->nodes[i].to[k].lock);
            lock_fini(&rig->nodes[i].to[k].session_lock);
        }
    }
    kv_close(&rig->keep);
    free(rig);
    *ref = NULL;
}

/* -- points ---------------------------------------------------------------- */

#define RIG_T0 INT64_C(1356998400000) /* a span begins */

static inline series_ref
rig_series(struct store *s, unsigned i)
{
    uint8_t bytes[TSUID_BYTES];
    struct error e = { 0 };
    series_ref ref = SERIES_REF_NONE;

    rig_ok(store_series(s, tsuid(bytes, i), true, &ref, &e), &e);
    return ref;
}

static inline void
rig_put_all(struct store *s, struct series_point *points, size_t len)
{
    struct error e = { 0 };
    uint64_t lsn;

    rig_ok(store_put(s, points, len, &lsn, &e), &e);
    for (size_t i = 0; i < len; i++)
        ck_assert_int_eq(points[i].status, ST_OK);
    rig_ok(store_commit(s, lsn, false, &e), &e);
}

static inline void
rig_put_one(struct store *s, unsigned i, int64_t ts_ms, int64_t v)
{
    struct series_point p = { .series = rig_series(s, i),
                              .point = { ts_ms, { .i = v }, false } };

    rig_put_all(s, &p, 1);
}

/* All points of all series (tsuids.h, below 'len') by scans of all buckets that
 * are opened together. */
static inline void
rig_read_all(struct store *s, enum access_path way, struct points *out,
             unsigned len)
{
    const struct key_layout *layout = store_layout(s);
    struct scan_spec specs[BUCKETS];
    struct store_scan *scans[BUCKETS];
    struct slice *series[BUCKETS];
    uint8_t *bytes = mem_new_array(len, TSUID_BYTES), metric[3] = { 0, 0, 1 };
    struct error e = { 0 };

    for (unsigned i = 0; i < len; i++)
        points_clear(&out[i]);
    for (unsigned b = 0; b < BUCKETS; b++) {
        struct mask_set *set = mask_set_new();
        struct mask *m = mask_new();
        uint8_t head[5] = { TABLE_ROWS, (uint8_t)b, 0, 0, 1 };

        mask_add_fixed(m, slice_of(head, 5));
        mask_add_steps(m, 0, UINT32_MAX, key_span_s(layout), 4);
        mask_add_any(m, 6);
        mask_set_give(set, &m);
        series[b] = mem_new_array(len, sizeof *series[b]);
        specs[b] = (struct scan_spec){
            .masks = set,
            .bucket = b,
            .path = way,
            .from_base = hour_base(RIG_T0),
            .to_base = hour_base(RIG_T0) + 30 * 24 * 3600,
            .series = series[b],
            .metric = slice_of(metric, 3),
            .want.summaries = true,
        };
        for (unsigned i = 0; i < len; i++) {
            struct slice t = tsuid(bytes + i * TSUID_BYTES, i);

            if (key_salt(layout, t) == b)
                series[b][specs[b].series_len++] = t;
        }
    }
    rig_ok(store_scans_open(s, specs, BUCKETS, scans, &e), &e);
    for (unsigned b = 0; b < BUCKETS; b++) {
        struct store_row row;

        while (store_scan_next(scans[b], &row)) {
            struct summary sum;
            struct points *to = &out[key_get_uint(row.tsuid.data + 6, 3)];
            size_t before = to->len;
            bool known;

            rig_ok(store_row_points(&row, to, &e), &e);
            rig_ok(store_row_summary(&row, &sum, &known, &e), &e);
            if (known) {
                ck_assert_uint_eq(sum.count, to->len - before);
                ck_assert_int_eq(sum.last_ms, to->ts_ms[to->len - 1]);
            }
        }
        rig_ok(store_scan_close(&scans[b], NULL, ST_OK, &e), &e);
        mask_set_free((struct mask_set **)(void *)&specs[b].masks);
        free(series[b]);
    }
    free(bytes);
}
