/* Several stores over one engine: each bucket has one owner, and every store
 * takes and shows all points. */
#include <pthread.h>
#include <unistd.h>

#include "tests/storage/owners_rig.h"

#define SERIES 64

static const enum access_path ways[] = { SCAN_HINTS, SCAN_RANGE, SCAN_SEEKS };

static struct rig *rig;
static struct store *s; /* the first node's; so is the window */
static struct store_window *w;
static struct points found[SERIES], expected[SERIES];

static void
free_points(struct points *p)
{
    for (unsigned i = 0; i < SERIES; i++)
        points_fini(&p[i]);
}

static void
check_equal(const struct points *a, const struct points *b)
{
    for (unsigned i = 0; i < SERIES; i++) {
        ck_assert_uint_eq(a[i].len, b[i].len);
        for (size_t k = 0; k < a[i].len; k++) {
            ck_assert_int_eq(a[i].ts_ms[k], b[i].ts_ms[k]);
            ck_assert_int_eq(a[i].is_float[k], b[i].is_float[k]);
            ck_assert_int_eq(a[i].v[k].i, b[i].v[k].i);
        }
    }
}

/* Every store shows the same. */
static void
check_all(void)
{
    for (int n = 0; n < NODES; n++)
        for (size_t i = 0; i < 3; i++) {
            rig_read_all(rig->nodes[n].s, ways[i], found, SERIES);
            check_equal(found, expected);
        }
}

static uint64_t
points_added(void)
{
    uint64_t sum = 0;

    for (int n = 0; n < NODES; n++)
        sum += store_counts(rig->nodes[n].s).points_added;
    return sum;
}

START_TEST(what_one_store_took_all_show)
{
    struct series_point points[SERIES];

    for (int round = 0; round < 50; round++) {
        struct store *taker = rig->nodes[round % NODES].s;

        for (unsigned i = 0; i < SERIES; i++) {
            struct point p = { RIG_T0 + round * 60000, { .i = round }, false };

            if (i % 2 == 0)
                p = (struct point){ p.ts_ms, { .d = round / 8.0 }, true };
            points[i] = (struct series_point){ rig_series(taker, i), p, ST_OK };
            ck_assert(points_add(&expected[i], p));
        }
        rig_put_all(taker, points, SERIES);
        rig_read_all(rig->nodes[(round + 1) % NODES].s, SCAN_HINTS, found,
                     SERIES);
        check_equal(found, expected);
    }
    check_all();
    ck_assert_uint_eq(points_added(), 50 * SERIES);
}
END_TEST

/* Chunks of more than one record a bucket, and a link that ends under them. */
START_TEST(a_large_batch_goes_to_all_owners)
{
    enum { POINTS = 5000 };
    struct series_point *points = mem_new_array(POINTS, sizeof *points);

    for (int round = 0; round < 3; round++) {
        for (unsigned i = 0; i < POINTS; i++)
            points[i] = (struct series_point){
                rig_series(rig->nodes[0].s, i % SERIES),
                { RIG_T0 + i / SERIES * 1000, { .i = (int)i + round }, false },
                ST_OK
            };
        rig_put_all(rig->nodes[0].s, points, POINTS);
        rig_reconnect(rig, 1);
    }
    for (unsigned i = 0; i < POINTS; i++)
        ck_assert(points_add(&expected[i % SERIES], points[i].point));
    check_all();
    free(points);
}
END_TEST

static unsigned refusals; /* of links, before there is one */

static uint64_t
late_link(void *ctx, unsigned bucket)
{
    if (refusals == 0)
        return rig_link(ctx, bucket);
    refusals--;
    return 0;
}

/* The first chunk finds no owner, those behind it would. */
START_TEST(the_last_value_of_a_batch_stays)
{
    enum { POINTS = 3 * HEAD_PUT_MAX };
    uint8_t bytes[TSUID_BYTES];
    struct series_point *points = mem_new_array(POINTS, sizeof *points);
    struct error e = { 0 };
    struct point last;
    unsigned series = 0;

    while (key_salt(store_layout(s), tsuid(bytes, series)) % NODES == 0)
        series++;
    for (unsigned i = 0; i < POINTS; i++)
        points[i] = (struct series_point){ rig_series(s, series),
                                           { RIG_T0, { .i = (int)i }, false },
                                           ST_OK };
    rig->nodes[0].remote.link = late_link;
    refusals = 1;
    rig_put_all(s, points, POINTS);
    ck_assert_uint_eq(refusals, 0);
    rig_ok(store_last(s, tsuid(bytes, series), INT64_MAX, &last, &e), &e);
    ck_assert_int_eq(last.v.i, POINTS - 1);
    free(points);
}
END_TEST

/* -- windows --------------------------------------------------------------- */

/* A series whose bucket is another's, or one's own. */
static unsigned
series_of(int owner)
{
    uint8_t bytes[TSUID_BYTES];
    unsigned i = 0;

    while (key_salt(store_layout(rig->nodes[0].s), tsuid(bytes, i)) % NODES !=
           (unsigned)owner)
        i++;
    return i;
}

static void
window_put(unsigned series, int v)
{
    struct series_point p = { rig_series(s, series),
                              { RIG_T0, { .i = v }, false },
                              ST_OK };
    struct error e = { 0 };
    uint64_t lsn;

    rig_ok(store_window_put(w, &p, 1, &lsn, &e), &e);
    ck_assert_int_eq(p.status, ST_OK);
}

static int64_t
last_of(struct store *node, unsigned series)
{
    uint8_t bytes[TSUID_BYTES];
    struct error e = { 0 };
    struct point last = { 0 };
    enum status st =
        store_last(node, tsuid(bytes, series), INT64_MAX, &last, &e);

    ck_assert(st == ST_OK || st == ST_NOT_FOUND);
    return st == ST_OK ? last.v.i : 0;
}

/* All are durable. */
static void
window_end(void)
{
    struct error e = { 0 };
    uint64_t lsn;
    size_t rejected;

    rig_ok(store_window_end(w, &lsn, &rejected, &e), &e);
    rig_ok(store_commit(s, lsn, false, &e), &e);
}

START_TEST(a_window_sends_and_waits_later)
{
    unsigned series = series_of(1);

    for (int i = 1; i <= 3; i++)
        window_put(series, i);
    ck_assert_uint_eq(points_added(), 0);
    window_end();
    ck_assert_uint_eq(points_added(), 3);
    ck_assert_int_eq(last_of(rig->nodes[2].s, series), 3);
    window_end();
}
END_TEST

/* The first link ends with what was on it; what came on the next one is put
 * again behind that. */
START_TEST(the_last_value_of_a_window_stays)
{
    unsigned series = series_of(1);

    window_put(series, 1);
    rig_reconnect(rig, 1);
    window_put(series, 2);
    window_end();
    ck_assert_int_eq(last_of(s, series), 2);
    /* The same when there is no owner for a moment. */
    rig->nodes[0].remote.link = late_link;
    refusals = 1;
    window_put(series, 3);
    window_put(series, 4);
    window_end();
    ck_assert_int_eq(last_of(s, series), 4);
}
END_TEST

START_TEST(a_window_keeps_what_has_no_owner)
{
    uint8_t bytes[TSUID_BYTES];
    unsigned series = series_of(1), other = series_of(2);
    unsigned bucket = key_salt(store_layout(s), tsuid(bytes, series));
    struct error e = { 0 };
    uint64_t lsn;
    size_t rejected;

    rig->nodes[0].remote.wait_ms = 20;
    rig_ok(store_bucket_give(rig->nodes[1].s, bucket, &e), &e);
    atomic_store(&rig->owner[bucket], OWNER_NONE);
    window_put(series, 1);
    window_put(other, 1);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(store_window_end(w, &lsn, &rejected, &e), ST_BUSY);
        ck_assert_ptr_nonnull(strstr(e.text, "has no owner now"));
    }
    ck_assert_int_eq(last_of(s, other), 1);
    rig_take(rig, 0, bucket, NULL);
    window_put(series, 2);
    window_end();
    ck_assert_int_eq(last_of(rig->nodes[2].s, series), 2);
}
END_TEST

/* The bucket comes here, with what was sent to its owner not answered. */
START_TEST(a_window_keeps_the_order_of_a_bucket_that_comes)
{
    uint8_t bytes[TSUID_BYTES];
    unsigned series = series_of(1);
    unsigned bucket = key_salt(store_layout(s), tsuid(bytes, series));

    window_put(series, 1);
    rig_move(rig, bucket, 0);
    window_put(series, 2);
    window_end();
    ck_assert_int_eq(last_of(s, series), 2);
    window_put(series, 3);
    ck_assert_int_eq(last_of(s, series), 3); /* it is one's own by now */
}
END_TEST

static unsigned rejections;
static enum status rejection = ST_IO;

static enum status
reject_wait(void *ctx, unsigned bucket, uint64_t link, uint64_t ticket,
            int64_t end_us, struct error *e)
{
    if (rejections == 0)
        return rig_wait(ctx, bucket, link, ticket, end_us, e);
    rejections--;
    return error_set(e, rejection, "the pool is full");
}

/* What is behind a point that is to be tried again is tried again, too. */
START_TEST(a_window_keeps_the_order_behind_what_was_busy)
{
    unsigned series = series_of(1);
    struct error e = { 0 };
    uint64_t lsn;
    size_t rejected;

    rig->nodes[0].remote.wait = reject_wait;
    rejections = 1;
    rejection = ST_BUSY;
    window_put(series, 1);
    window_put(series, 2);
    ck_assert_int_eq(store_window_end(w, &lsn, &rejected, &e), ST_BUSY);
    window_end();
    ck_assert_int_eq(last_of(s, series), 2);
}
END_TEST

START_TEST(a_window_tells_how_many_were_rejected)
{
    unsigned series = series_of(1);
    struct error e = { 0 };
    uint64_t lsn;
    size_t rejected;

    rig->nodes[0].remote.wait = reject_wait;
    rejections = 2;
    for (int i = 1; i <= 3; i++)
        window_put(series, i);
    window_put(series_of(0), 1);
    ck_assert_int_eq(store_window_end(w, &lsn, &rejected, &e), ST_IO);
    ck_assert_str_eq(e.text, "2 points: the pool is full");
    ck_assert_uint_eq(rejected, 2);
    window_end();
}
END_TEST

START_TEST(each_point_has_its_own_status)
{
    struct series_point p[SERIES];
    struct error e = { 0 };
    uint64_t lsn;

    for (unsigned i = 0; i < SERIES; i++)
        p[i] = (struct series_point){ rig_series(s, i),
                                      { RIG_T0, { .i = 1 }, false },
                                      ST_OK };
    for (unsigned i = 0; i < SERIES; i += 4) {
        p[i].point.ts_ms = -1;
        p[i + 1].series ^= UINT64_C(1) << 32; /* another generation */
    }
    ck_assert_int_eq(store_put(s, p, SERIES, &lsn, &e), ST_INVALID);
    for (unsigned i = 0; i < SERIES; i++)
        ck_assert_int_eq(p[i].status, i % 4 == 0   ? ST_INVALID
                                      : i % 4 == 1 ? ST_NOT_FOUND
                                                   : ST_OK);
    ck_assert_uint_eq(points_added(), SERIES / 2);
}
END_TEST

/* Without an owner a bucket's points are not taken, nor are its heads read; the
 * other buckets' are. */
START_TEST(a_bucket_without_an_owner_is_busy)
{
    uint8_t bytes[TSUID_BYTES];
    struct rig_node *n = &rig->nodes[0];
    struct slice t = tsuid(bytes, 7);
    unsigned bucket = key_salt(store_layout(n->s), t);
    struct series_point p[2];
    struct error e = { 0 };
    uint64_t lsn, deleted;
    struct point last;
    unsigned other = 8;

    while (key_salt(store_layout(n->s), tsuid(bytes, other)) == bucket)
        other++;
    t = tsuid(bytes, 7);
    for (int i = 0; i < NODES; i++)
        rig->nodes[i].remote.wait_ms = 50;
    rig_ok(store_bucket_give(rig->nodes[bucket % NODES].s, bucket, &e), &e);
    atomic_store(&rig->owner[bucket], OWNER_NONE);
    p[0] = (struct series_point){ rig_series(n->s, 7),
                                  { RIG_T0, { .i = 1 }, false },
                                  ST_OK };
    p[1] = (struct series_point){ rig_series(n->s, other),
                                  { RIG_T0, { .i = 1 }, false },
                                  ST_OK };
    ck_assert_int_eq(store_put(n->s, p, 2, &lsn, &e), ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "has no owner now"));
    ck_assert_int_eq(p[0].status, ST_BUSY);
    ck_assert_int_eq(p[1].status, ST_OK);
    ck_assert_int_eq(store_last(n->s, t, INT64_MAX, &last, &e), ST_BUSY);
    ck_assert_int_eq(store_delete(n->s, t, 0, INT64_MAX, &deleted, &lsn, &e),
                     ST_BUSY);
    rig_take(rig, 2, bucket, NULL);
    rig_put_one(n->s, 7, RIG_T0, 5);
    rig_ok(store_last(n->s, t, INT64_MAX, &last, &e), &e);
    ck_assert_int_eq(last.v.i, 5);
}
END_TEST

/* What others forward to a process that is not the owner. */
START_TEST(a_stale_map_is_noticed)
{
    uint8_t bytes[TSUID_BYTES];
    struct slice t = tsuid(bytes, 7);
    unsigned bucket = key_salt(store_layout(rig->nodes[0].s), t);
    struct store *next = rig->nodes[(bucket + 1) % NODES].s;
    struct store_session *ss = store_session_new(next);
    struct wal_points_writer writer = { .record = BUF_INIT };
    struct scan_spec spec = { .bucket = bucket };
    struct buf out = BUF_INIT;
    struct error e = { 0 };
    uint64_t lsn, deleted;
    struct point last, p = { RIG_T0, { .i = 3 }, false };
    bool any;

    ck_assert_int_eq(store_owner_last(next, t, 1, &last, &any, &e), ST_MOVED);
    ck_assert_ptr_nonnull(strstr(e.text, "is not this process's"));
    ck_assert_int_eq(store_owner_delete(next, t, 0, 1, &deleted, &lsn, &e),
                     ST_MOVED);
    ck_assert_int_eq(store_head_copy(next, &spec, &out, &e), ST_MOVED);
    wal_points_begin(&writer, bucket);
    wal_points_add(&writer, 0, t, &p);
    ck_assert_int_eq(store_session_put(ss, wal_points_end(&writer), &lsn, &e),
                     ST_MOVED);
    ck_assert_uint_eq(store_counts(next).head_points, 0);
    /* What it defined is known when the bucket is this process's. */
    rig_move(rig, bucket, (int)(bucket + 1) % NODES);
    wal_points_begin(&writer, bucket);
    wal_points_add(&writer, 0, slice_of(NULL, 0), &p);
    rig_ok(store_session_put(ss, wal_points_end(&writer), &lsn, &e), &e);
    /* An id that nothing defined. */
    wal_points_begin(&writer, bucket);
    wal_points_add(&writer, 1, slice_of(NULL, 0), &p);
    ck_assert_int_eq(store_session_put(ss, wal_points_end(&writer), &lsn, &e),
                     ST_MOVED);
    rig_ok(store_owner_last(next, t, INT64_MAX, &last, &any, &e), &e);
    ck_assert(any && last.v.i == 3);
    /* One so far from those before it that a table up to it is not made. */
    wal_points_begin(&writer, bucket);
    wal_points_add(&writer, 1 << 25, t, &p);
    ck_assert_int_eq(store_session_put(ss, wal_points_end(&writer), &lsn, &e),
                     ST_CORRUPT);
    wal_points_fini(&writer);
    buf_fini(&out);
    store_session_free(&ss);
}
END_TEST

/* The receiver's head forgets idle series; ids of its sessions meant them. */
START_TEST(an_owner_may_forget_a_series)
{
    for (int round = 0; round < 3; round++) {
        for (unsigned i = 0; i < SERIES; i++) {
            rig_put_one(rig->nodes[0].s, i, RIG_T0 + round * 1000, round);
            ck_assert(
                points_add(&expected[i], (struct point){ RIG_T0 + round * 1000,
                                                         { .i = round },
                                                         false }));
        }
        for (int n = 1; n < NODES; n++) {
            struct error e = { 0 };

            rig_ok(store_flush(rig->nodes[n].s, &e), &e);
            head_evict(rig->nodes[n].s->head, 0, UINT32_MAX);
            ck_assert_uint_eq(store_counts(rig->nodes[n].s).head_series, 0);
        }
    }
    check_all();
}
END_TEST

/* Who is not sure to be the owner neither acknowledges nor flushes nor reads
 * its heads. */
START_TEST(a_lost_lease_stops_all)
{
    uint8_t bytes[TSUID_BYTES];
    struct error e = { 0 };
    struct slice t = tsuid(bytes, 7);
    unsigned bucket = key_salt(store_layout(rig->nodes[0].s), t);
    struct store *owner = rig->nodes[bucket % NODES].s;
    struct series_point p = { rig_series(owner, 7),
                              { RIG_T0, { .i = 1 }, false },
                              ST_OK };
    struct point last;
    uint64_t lsn, deleted;

    rig_put_all(owner, &p, 1);
    atomic_store(&rig->lost, true);
    rig_ok(store_put(owner, &p, 1, &lsn, &e), &e);
    ck_assert_int_eq(store_commit(owner, lsn, false, &e), ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "the lease is lost"));
    ck_assert_int_eq(store_flush(owner, &e), ST_IO);
    ck_assert_int_eq(store_last(owner, t, INT64_MAX, &last, &e), ST_IO);
    ck_assert_int_eq(store_delete(owner, t, 0, INT64_MAX, &deleted, &lsn, &e),
                     ST_IO);
    ck_assert_int_eq(store_bucket_give(owner, bucket, &e), ST_IO);
    ck_assert(store_bucket_is_local(owner, bucket));
    atomic_store(&rig->lost, false);
    rig_ok(store_last(owner, t, INT64_MAX, &last, &e), &e);
}
END_TEST

static void *
hear_again(void *arg)
{
    (void)usleep(30000);
    atomic_store(&rig->lost, false);
    return NULL;
}

/* Names and series that are in memory are not told before it is sure that they
 * are current. */
START_TEST(what_is_in_memory_waits_to_be_current)
{
    struct error e = { 0 };
    pthread_t thread;

    rig_ok(store_wait_current(s, &e), &e);
    rig->nodes[0].remote.wait_ms = 20;
    atomic_store(&rig->lost, true);
    ck_assert_int_eq(store_wait_current(s, &e), ST_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "the lease is lost"));
    rig->nodes[0].remote.wait_ms = 10000;
    ck_assert_int_eq(pthread_create(&thread, NULL, hear_again, NULL), 0);
    rig_ok(store_wait_current(s, &e), &e);
    ck_assert(!atomic_load(&rig->lost));
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

/* Other tables are written to the engine, not to the WAL. */
START_TEST(batches_are_in_the_engine_at_once)
{
    struct kv_batch *b = kv_batch_new();
    struct buf value = BUF_INIT;
    struct error e = { 0 };
    uint64_t lsn = 1, before = store_counts(s).wal.bytes;

    kv_batch_set_bucket(b, 3);
    kv_batch_put(b, slice_str("mkey"), slice_str("value"));
    rig_ok(store_write(s, b, &lsn, &e), &e);
    ck_assert_uint_eq(lsn, 0);
    ck_assert_uint_eq(kv_batch_bucket(b), 3);
    rig_ok(store_commit(s, lsn, true, &e), &e);
    ck_assert_uint_eq(store_counts(s).wal.bytes, before);
    rig_ok(kv_get(store_kv(rig->nodes[1].s), slice_str("mkey"), &value, &e),
           &e);
    ck_assert(slice_eq(buf_slice(&value), slice_str("value")));
    buf_fini(&value);
    kv_batch_free(&b);
}
END_TEST

static void
setup(void)
{
    rig = rig_new();
    s = rig->nodes[0].s;
    w = store_window_new(s);
    rejection = ST_IO;
}

static void
teardown(void)
{
    store_window_free(&w);
    rig_free(&rig);
    free_points(found);
    free_points(expected);
}

TEST_MAIN_WITH(setup, teardown, "owners", TEST(what_one_store_took_all_show),
               TEST(a_large_batch_goes_to_all_owners),
               TEST(the_last_value_of_a_batch_stays),
               TEST(a_window_sends_and_waits_later),
               TEST(the_last_value_of_a_window_stays),
               TEST(a_window_keeps_what_has_no_owner),
               TEST(a_window_tells_how_many_were_rejected),
               TEST(a_window_keeps_the_order_of_a_bucket_that_comes),
               TEST(a_window_keeps_the_order_behind_what_was_busy),
               TEST(each_point_has_its_own_status),
               TEST(a_bucket_without_an_owner_is_busy),
               TEST(a_stale_map_is_noticed), TEST(an_owner_may_forget_a_series),
               TEST(a_lost_lease_stops_all),
               TEST(what_is_in_memory_waits_to_be_current),
               TEST(batches_are_in_the_engine_at_once))
