/* Three stores of one place in a process, each behind a server of its own: who
 * takes a point and who shows it need not be its owner, over real sockets,
 * while buckets move and connections end. */
#include "cluster/remote.h"

#include "cluster/owner.h"
#include "tests/cluster/cluster_rig.h"
#include "tests/storage/owners_rig.h"

#define SERIES 64

static const enum access_path ways[] = { SCAN_HINTS, SCAN_RANGE, SCAN_SEEKS };

struct net {
    struct rig *rig;
    struct remote *remotes[NODES];
    struct rig_port ports[NODES];
};

static enum status
always_owns(void *ctx, struct error *e)
{
    (void)ctx;
    (void)e;
    return ST_OK;
}

/* What a change of the bucket map is to every daemon. */
static void
net_route(struct net *net, unsigned bucket)
{
    int owner = atomic_load(&net->rig->owner[bucket]);
    char name[16];

    (void)snprintf(name, sizeof name, "node%d", owner);
    for (int i = 0; i < NODES; i++) {
        bool remote = owner != OWNER_NONE && owner != i;

        remote_route(net->remotes[i], bucket, remote ? name : NULL,
                     remote ? net->ports[owner].address : NULL);
    }
}

static void
net_serve(struct net *net, int id, uint16_t port)
{
    struct peer_server_options o = {
        .secret = rig_secret,
        .handlers = owner_handlers(net->rig->nodes[id].s),
    };

    rig_open(&net->ports[id], &o, port);
}

static struct net *
net_new(unsigned wait_ms)
{
    struct net *net = mem_new(sizeof *net);
    struct remote_options o = { .secret = rig_secret,
                                .wait_ms = wait_ms,
                                .owns = always_owns };

    log_set_level(LOG_ERROR);
    net->rig = rig_new();
    o.layout = *store_layout(net->rig->nodes[0].s);
    for (int i = 0; i < NODES; i++) {
        net->remotes[i] = remote_new(&o);
        net->rig->nodes[i].remote = *remote_hooks(net->remotes[i]);
        net_serve(net, i, 0);
    }
    for (unsigned b = 0; b < BUCKETS; b++)
        net_route(net, b);
    return net;
}

static void
net_free(struct net *net)
{
    for (int i = 0; i < NODES; i++)
        rig_close(&net->ports[i]);
    rig_free(&net->rig);
    for (int i = 0; i < NODES; i++)
        remote_free(&net->remotes[i]);
    free(net);
}

/* All connections to a node end, and it is there again. */
static void
net_restart(struct net *net, int id)
{
    uint16_t port = rig_number(&net->ports[id]);

    rig_close(&net->ports[id]);
    net_serve(net, id, port);
}

static void
net_move(struct net *net, unsigned bucket, int to)
{
    struct rig *rig = net->rig;
    int from = atomic_load(&rig->owner[bucket]);
    struct error e;

    rig_ok(store_bucket_give(rig->nodes[from].s, bucket, &e), &e);
    atomic_store(&rig->owner[bucket], OWNER_NONE);
    net_route(net, bucket);
    rig_take(rig, to, bucket, NULL);
    net_route(net, bucket);
}

static struct points found[SERIES], expected[SERIES];

static void
check_equal(void)
{
    for (unsigned i = 0; i < SERIES; i++) {
        ck_assert_uint_eq(found[i].len, expected[i].len);
        for (size_t k = 0; k < found[i].len; k++) {
            ck_assert_int_eq(found[i].ts_ms[k], expected[i].ts_ms[k]);
            ck_assert_int_eq(found[i].v[k].i, expected[i].v[k].i);
        }
    }
}

static void
check_all(struct net *net)
{
    for (int n = 0; n < NODES; n++)
        for (size_t w = 0; w < 3; w++) {
            rig_read_all(net->rig->nodes[n].s, ways[w], found, SERIES);
            check_equal();
        }
}

static void
points_done(void)
{
    for (unsigned i = 0; i < SERIES; i++) {
        points_fini(&found[i]);
        points_fini(&expected[i]);
    }
}

/* A point of each series. */
static void
put_round(struct net *net, int node, int round)
{
    struct store *s = net->rig->nodes[node].s;
    struct series_point points[SERIES];

    for (unsigned i = 0; i < SERIES; i++) {
        struct point p = { RIG_T0 + round * 60000, { .i = round }, false };

        points[i] = (struct series_point){ rig_series(s, i), p, ST_OK };
        ck_assert(points_add(&expected[i], p));
    }
    rig_put_all(s, points, SERIES);
}

START_TEST(what_one_takes_all_show)
{
    struct net *net = net_new(10000);

    for (int round = 0; round < 50; round++) {
        put_round(net, round % NODES, round);
        rig_read_all(net->rig->nodes[(round + 1) % NODES].s, SCAN_HINTS, found,
                     SERIES);
        check_equal();
    }
    check_all(net);
    net_free(net);
    points_done();
}
END_TEST

START_TEST(series_are_asked_of_their_owners)
{
    struct net *net = net_new(10000);
    uint8_t bytes[TSUID_BYTES];
    struct error e;

    for (int round = 0; round < 10; round++)
        put_round(net, 0, round);
    for (unsigned i = 0; i < SERIES; i++) {
        struct store *s = net->rig->nodes[i % NODES].s;
        struct slice t = tsuid(bytes, i);
        uint64_t deleted, lsn;
        struct point last;

        rig_ok(store_last(s, t, INT64_MAX, &last, &e), &e);
        ck_assert_int_eq(last.ts_ms, RIG_T0 + 9 * 60000);
        ck_assert_int_eq(last.v.i, 9);
        rig_ok(store_delete(s, t, RIG_T0 + 5 * 60000, INT64_MAX, &deleted, &lsn,
                            &e),
               &e);
        ck_assert_uint_eq(deleted, 5);
        expected[i].len = 5;
        rig_ok(store_last(s, t, INT64_MAX, &last, &e), &e);
        ck_assert_int_eq(last.v.i, 4);
        ck_assert_int_eq(store_last(s, t, 1, &last, &e), ST_NOT_FOUND);
    }
    check_all(net);
    rig_ok(remote_hooks(net->remotes[0])
               ->flush(remote_hooks(net->remotes[0])->ctx, &e),
           &e);
    for (int n = 1; n < NODES; n++)
        ck_assert_uint_eq(store_counts(net->rig->nodes[n].s).head_rows, 0);
    check_all(net);
    net_free(net);
    points_done();
}
END_TEST

/* -- while all changes ----------------------------------------------------- */

struct net_writer {
    struct net *net;
    int node;
    unsigned series;
    pthread_t thread;
    int acked; /* rounds */
    atomic_bool *stop;
};

/* Points of one series, each acknowledged before the next is put. */
static void *
write_series(void *arg)
{
    struct net_writer *w = arg;

    while (!atomic_load(w->stop)) {
        struct store *s = w->net->rig->nodes[w->node].s;
        struct series_point p[20];
        struct error e;
        uint64_t lsn;

        for (int i = 0; i < 20; i++)
            p[i] = (struct series_point){
                rig_series(s, w->series + (unsigned)i % 4),
                { RIG_T0 + w->acked * 1000, { .i = w->acked }, false },
                ST_OK
            };
        rig_ok(store_put(s, p, 20, &lsn, &e), &e);
        rig_ok(store_commit(s, lsn, false, &e), &e);
        w->acked++;
    }
    return NULL;
}

static void
writers_run(struct net *net, void (*change)(struct net *net, uint64_t *random),
            int changes)
{
    struct net_writer writers[6];
    atomic_bool stop = false;
    uint64_t random = harness_seed(7);

    for (int i = 0; i < 6; i++) {
        writers[i] = (struct net_writer){ .net = net,
                                          .node = i % NODES,
                                          .series = (unsigned)i * 4,
                                          .stop = &stop };
        ck_assert_int_eq(
            pthread_create(&writers[i].thread, NULL, write_series, &writers[i]),
            0);
    }
    for (int i = 0; i < changes; i++) {
        change(net, &random);
        (void)usleep((unsigned)(harness_random(&random) % 20000));
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(pthread_join(writers[i].thread, NULL), 0);
        ck_assert_int_gt(writers[i].acked, 0);
        for (int k = 0; k < writers[i].acked; k++)
            for (unsigned s = 0; s < 4; s++)
                ck_assert(points_add(
                    &expected[writers[i].series + s],
                    (struct point){ RIG_T0 + k * 1000, { .i = k }, false }));
    }
}

static void
move_one(struct net *net, uint64_t *random)
{
    unsigned bucket = (unsigned)(harness_random(random) % BUCKETS);
    int from = atomic_load(&net->rig->owner[bucket]);

    net_move(net, bucket,
             (from + 1 + (int)(harness_random(random) % 2)) % NODES);
}

static void
restart_one(struct net *net, uint64_t *random)
{
    net_restart(net, (int)(harness_random(random) % NODES));
}

/* No acknowledged point is lost, and each is there once. */
START_TEST(buckets_move_under_writers)
{
    struct net *net = net_new(60000);

    writers_run(net, move_one, 40);
    check_all(net);
    net_free(net);
    points_done();
}
END_TEST

START_TEST(links_end_under_writers)
{
    struct net *net = net_new(60000);

    writers_run(net, restart_one, 20);
    check_all(net);
    net_free(net);
    points_done();
}
END_TEST

/* -- owners that are not there --------------------------------------------- */

/* Puts wait for the next owner, and are told when none came in time. */
START_TEST(an_owner_that_ended_is_waited_for)
{
    struct net *net = net_new(1000);
    struct rig *rig = net->rig;
    struct series_point p;
    unsigned series = 0, bucket;
    uint8_t bytes[TSUID_BYTES];
    uint16_t port;
    struct error e;
    uint64_t lsn;

    do
        bucket = key_salt(store_layout(rig->nodes[0].s), tsuid(bytes, series));
    while (bucket % NODES != 1 && ++series < SERIES);
    rig_put_one(rig->nodes[0].s, series, RIG_T0, 1);
    port = rig_number(&net->ports[1]);
    rig_close(&net->ports[1]);
    p = (struct series_point){ rig_series(rig->nodes[0].s, series),
                               { RIG_T0 + 1000, { .i = 2 }, false },
                               ST_OK };
    ck_assert_int_eq(store_put(rig->nodes[0].s, &p, 1, &lsn, &e), ST_BUSY);
    ck_assert_int_eq(p.status, ST_BUSY);
    /* It gives the bucket away, by the map alone. */
    net_move(net, bucket, 2);
    rig_put_one(rig->nodes[0].s, series, RIG_T0 + 2000, 3);
    net_serve(net, 1, port);
    rig_put_one(rig->nodes[1].s, series, RIG_T0 + 3000, 4);
    rig_read_all(rig->nodes[1].s, SCAN_RANGE, found, SERIES);
    ck_assert_uint_ge(found[series].len, 3);
    ck_assert_int_eq(found[series].v[found[series].len - 1].i, 4);
    net_free(net);
    points_done();
}
END_TEST

/* An old map names who is the owner no more: that one says so. */
START_TEST(an_old_map_is_noticed)
{
    struct net *net = net_new(1000);
    struct rig *rig = net->rig;
    uint8_t bytes[TSUID_BYTES];
    struct slice t = tsuid(bytes, 3);
    unsigned bucket = key_salt(store_layout(rig->nodes[0].s), t);
    int owner = atomic_load(&rig->owner[bucket]);
    int wrong = (owner + 1) % NODES, client = (owner + 2) % NODES;
    struct series_point p;
    struct point last;
    struct error e;
    uint64_t lsn;

    rig_put_one(rig->nodes[client].s, 3, RIG_T0, 1);
    remote_route(net->remotes[client], bucket, "wrong",
                 net->ports[wrong].address);
    p = (struct series_point){ rig_series(rig->nodes[client].s, 3),
                               { RIG_T0 + 1000, { .i = 2 }, false },
                               ST_OK };
    ck_assert_int_eq(store_put(rig->nodes[client].s, &p, 1, &lsn, &e), ST_BUSY);
    ck_assert_int_eq(store_last(rig->nodes[client].s, t, INT64_MAX, &last, &e),
                     ST_BUSY);
    net_route(net, bucket);
    rig_put_one(rig->nodes[client].s, 3, RIG_T0 + 1000, 2);
    rig_ok(store_last(rig->nodes[client].s, t, INT64_MAX, &last, &e), &e);
    ck_assert_int_eq(last.v.i, 2);
    net_free(net);
    points_done();
}
END_TEST

/* Requests of many series, in parts, over answers in parts. */
START_TEST(much_is_asked_at_once)
{
    struct net *net = net_new(10000);
    struct series_point *points = mem_new_array(20000, sizeof *points);

    for (unsigned k = 0; k < 5; k++) {
        struct store *s = net->rig->nodes[k % NODES].s;

        for (unsigned i = 0; i < 20000; i++)
            points[i] = (struct series_point){
                rig_series(s, i % SERIES),
                { RIG_T0 + (k * 20000 + i) / SERIES * 1000,
                  { .i = (int64_t)(i * 2654435761u) },
                  false },
                ST_OK
            };
        rig_put_all(s, points, 20000);
        for (unsigned i = 0; i < 20000; i++)
            ck_assert(points_add(&expected[i % SERIES], points[i].point));
    }
    for (unsigned i = 0; i < SERIES; i++)
        ck_assert(points_sort_unique(&expected[i]));
    check_all(net);
    free(points);
    net_free(net);
    points_done();
}
END_TEST

TEST_MAIN("remote", TEST(what_one_takes_all_show),
          TEST(series_are_asked_of_their_owners),
          TEST(buckets_move_under_writers), TEST(links_end_under_writers),
          TEST(an_owner_that_ended_is_waited_for), TEST(an_old_map_is_noticed),
          TEST(much_is_asked_at_once))
