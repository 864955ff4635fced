/* The same requests to one store, and to three with buckets that move, links
 * that end and owners that die: what they show is the same.  And with threads:
 * what was acknowledged is there. */
#include "tests/storage/encoding.h"
#include "tests/storage/owners_rig.h"

#include <pthread.h>

#define SERIES  48
#define DAYS_MS (INT64_C(5) * 24 * HOUR_MS)

static struct points found[SERIES], expected[SERIES];

static uint64_t
below(uint64_t *random, uint64_t n)
{
    return harness_random(random) % n;
}

static void
check_equal(void)
{
    for (unsigned i = 0; i < SERIES; i++) {
        ck_assert_uint_eq(found[i].len, expected[i].len);
        for (size_t k = 0; k < found[i].len; k++) {
            ck_assert_int_eq(found[i].ts_ms[k], expected[i].ts_ms[k]);
            ck_assert_int_eq(found[i].is_float[k], expected[i].is_float[k]);
            ck_assert_int_eq(found[i].v[k].i, expected[i].v[k].i);
        }
    }
}

static void
free_points(void)
{
    for (unsigned i = 0; i < SERIES; i++) {
        points_fini(&found[i]);
        points_fini(&expected[i]);
    }
}

/* -- against one store ----------------------------------------------------- */

struct pair {
    struct rig *rig;
    struct store *one;
    uint64_t random;
    size_t encoded;
    /* Points that no owner answered for yet: of one store at a time. */
    struct store_window *window;
    int window_node;
};

static struct store *
any_store(struct pair *p)
{
    return p->rig->nodes[below(&p->random, NODES)].s;
}

static struct point
random_point(uint64_t *random)
{
    struct point p = { RIG_T0 + (int64_t)below(random, DAYS_MS / 60000) * 60000,
                       { .i = (int64_t)below(random, 1000) },
                       below(random, 3) == 0 };

    if (p.is_float)
        p.v.d = (double)p.v.i / 8;
    return p;
}

static void
end_window(struct pair *p)
{
    struct store *s = p->rig->nodes[p->window_node].s;
    struct error e = { 0 };
    uint64_t lsn;
    size_t rejected;

    if (p->window == NULL)
        return;
    rig_ok(store_window_end(p->window, &lsn, &rejected, &e), &e);
    rig_ok(store_commit(s, lsn, false, &e), &e);
    store_window_free(&p->window);
}

static void
put_into_window(struct pair *p, struct series_point *points, size_t len)
{
    struct error e = { 0 };
    uint64_t lsn;

    rig_ok(store_window_put(p->window, points, len, &lsn, &e), &e);
    rig_ok(store_commit(p->rig->nodes[p->window_node].s, lsn, false, &e), &e);
}

/* The store that is to put, through the window that there is then. */
static struct store *
putting_store(struct pair *p)
{
    if (below(&p->random, 3) == 0) {
        end_window(p);
        return any_store(p);
    }
    if (p->window == NULL) {
        p->window_node = (int)below(&p->random, NODES);
        p->window = store_window_new(p->rig->nodes[p->window_node].s);
    }
    return p->rig->nodes[p->window_node].s;
}

static void
put_some(struct pair *p)
{
    struct store *s = putting_store(p);
    size_t len = 1 + below(&p->random, below(&p->random, 8) == 0 ? 3000 : 60);
    struct series_point *a = mem_new_array(len, sizeof *a);
    struct series_point *b = mem_new_array(len, sizeof *b);

    for (size_t i = 0; i < len; i++) {
        unsigned n = (unsigned)below(&p->random, SERIES);
        struct point x = random_point(&p->random);

        a[i] = (struct series_point){ rig_series(p->one, n), x, ST_OK };
        b[i] = (struct series_point){ rig_series(s, n), x, ST_OK };
    }
    rig_put_all(p->one, a, len);
    if (p->window == NULL)
        rig_put_all(s, b, len);
    else
        put_into_window(p, b, len);
    free(a);
    free(b);
}

static void
delete_some(struct pair *p)
{
    struct store *s = any_store(p);
    uint8_t bytes[TSUID_BYTES];
    struct slice t = tsuid(bytes, (unsigned)below(&p->random, SERIES));
    int64_t from = RIG_T0 + (int64_t)below(&p->random, DAYS_MS);
    int64_t to = from + (int64_t)below(&p->random, DAYS_MS / 8);
    struct error e = { 0 };
    uint64_t a, b, lsn;

    rig_ok(store_delete(p->one, t, from, to, &a, &lsn, &e), &e);
    rig_ok(store_delete(s, t, from, to, &b, &lsn, &e), &e);
    ck_assert_uint_eq(a, b);
    rig_ok(store_commit(s, lsn, false, &e), &e);
}

static void
compare_last(struct pair *p)
{
    uint8_t bytes[TSUID_BYTES];
    struct slice t = tsuid(bytes, (unsigned)below(&p->random, SERIES));
    int64_t until = RIG_T0 + (int64_t)below(&p->random, DAYS_MS);
    struct error e = { 0 };
    struct point a = { 0 }, b = { 0 };
    enum status st = store_last(p->one, t, until, &a, &e);

    ck_assert_int_eq(store_last(any_store(p), t, until, &b, &e), st);
    ck_assert_int_eq(a.ts_ms, b.ts_ms);
    ck_assert_int_eq(a.v.i, b.v.i);
}

static void
compare_all(struct pair *p)
{
    static const enum access_path ways[] = { SCAN_HINTS, SCAN_RANGE,
                                             SCAN_SEEKS };

    rig_read_all(p->one, SCAN_RANGE, expected, SERIES);
    rig_read_all(any_store(p), ways[below(&p->random, 3)], found, SERIES);
    check_equal();
}

static void
step(struct pair *p)
{
    struct rig *rig = p->rig;
    struct error e = { 0 };
    int id = (int)below(&p->random, NODES);
    unsigned what = (unsigned)below(&p->random, 26);

    /* Buckets move, links end and owners die under a window. */
    if ((what == 5 && id == p->window_node) || (what > 5 && what < 15))
        end_window(p);
    switch (what) {
    case 0:
    case 1:
    case 2:
    case 3:
        rig_move(rig, (unsigned)below(&p->random, BUCKETS), id);
        break;
    case 4:
        rig_reconnect(rig, id);
        break;
    case 5:
        rig_kill(rig, id);
        rig_recover(rig, id, &p->random);
        break;
    case 6:
        rig_ok(store_flush(rig->nodes[id].s, &e), &e);
        break;
    case 7:
    case 8:
    case 9:
        delete_some(p);
        break;
    case 10:
        compare_all(p);
        break;
    case 11:
    case 12:
        compare_last(p);
        break;
    case 13:
    case 14:
        p->encoded += encode_all(rig->nodes[id].s);
        break;
    default:
        put_some(p);
    }
}

START_TEST(three_show_what_one_shows)
{
    struct store_options o = { .layout = KEY_LAYOUT_DEFAULT };
    struct pair p = { .random = harness_seed(20261124) + (unsigned)_i };
    struct error e = { 0 };

    p.rig = rig_new();
    rig_ok(kv_open(&(struct kv_options){ .place = { "map", NULL } }, &o.kv, &e),
           &e);
    rig_ok(store_open(&o, &p.one, &e), &e);
    for (int i = 0; i < 200; i++)
        step(&p);
    ck_assert_uint_gt(p.encoded, 0);
    end_window(&p);
    compare_all(&p);
    for (int i = 0; i < NODES; i++)
        rig_ok(store_flush(p.rig->nodes[i].s, &e), &e);
    compare_all(&p);
    rig_ok(store_close(&p.one, &e), &e);
    rig_free(&p.rig);
    free_points();
}
END_TEST

/* -- with threads ---------------------------------------------------------- */

#define WRITERS 3
#define ROUNDS  150

struct work {
    struct rig *rig;
    unsigned id;
    _Atomic unsigned *working;
};

/* Its own series (those of the number modulo WRITERS), each round through
 * another store; what was acknowledged is seen through another one at once. */
static void *
write_points(void *arg)
{
    struct work *w = arg;
    uint8_t bytes[TSUID_BYTES];

    for (int round = 0; round < ROUNDS; round++) {
        struct store *s = w->rig->nodes[(round + (int)w->id) % NODES].s;
        struct store *other = w->rig->nodes[(round + 1) % NODES].s;
        struct series_point p[SERIES / WRITERS];
        unsigned read =
            w->id + WRITERS * ((unsigned)round % (SERIES / WRITERS));
        struct error e = { 0 };
        struct point last;

        for (unsigned i = 0; i < SERIES / WRITERS; i++)
            p[i] = (struct series_point){
                rig_series(s, w->id + i * WRITERS),
                { RIG_T0 + round * 60000, { .i = round }, false },
                ST_OK
            };
        rig_put_all(s, p, SERIES / WRITERS);
        rig_ok(store_last(other, tsuid(bytes, read), INT64_MAX, &last, &e), &e);
        ck_assert_int_eq(last.v.i, round);
        if (round % 20 == 19) { /* and is gone when that was acknowledged */
            int64_t ts_ms = RIG_T0 + (round - 10) * 60000;
            uint64_t deleted, lsn;

            rig_ok(store_delete(other, tsuid(bytes, read), ts_ms, ts_ms,
                                &deleted, &lsn, &e),
                   &e);
            ck_assert_uint_eq(deleted, 1);
            rig_ok(store_commit(other, lsn, false, &e), &e);
        }
    }
    atomic_fetch_sub(w->working, 1);
    return NULL;
}

static void *
read_points(void *arg)
{
    struct work *w = arg;
    struct points seen[SERIES] = { { 0 } };
    size_t most = 0;

    while (atomic_load(w->working) > 0) {
        size_t sum = 0;

        rig_read_all(w->rig->nodes[w->id % NODES].s, SCAN_HINTS, seen, SERIES);
        for (unsigned i = 0; i < SERIES; i++)
            sum += seen[i].len;
        /* But for the few that are deleted, points do not go away. */
        ck_assert_uint_ge(sum + (size_t)WRITERS * ROUNDS / 20, most);
        most = sum > most ? sum : most;
        w->id++;
    }
    for (unsigned i = 0; i < SERIES; i++)
        points_fini(&seen[i]);
    return NULL;
}

START_TEST(buckets_move_under_requests)
{
    struct rig *rig = rig_new();
    _Atomic unsigned working = WRITERS;
    pthread_t writers[WRITERS], reader;
    struct work work[WRITERS + 1];
    uint64_t random = harness_seed(20261125), moves = 0;
    size_t sum = 0;

    for (unsigned i = 0; i <= WRITERS; i++)
        work[i] = (struct work){ rig, i, &working };
    for (unsigned i = 0; i < WRITERS; i++)
        ck_assert_int_eq(
            pthread_create(&writers[i], NULL, write_points, &work[i]), 0);
    ck_assert_int_eq(pthread_create(&reader, NULL, read_points, &work[WRITERS]),
                     0);
    while (atomic_load(&working) > 0) {
        rig_move(rig, (unsigned)below(&random, BUCKETS),
                 (int)below(&random, NODES));
        if (++moves % 8 == 0)
            rig_reconnect(rig, (int)below(&random, NODES));
    }
    for (unsigned i = 0; i < WRITERS; i++)
        ck_assert_int_eq(pthread_join(writers[i], NULL), 0);
    ck_assert_int_eq(pthread_join(reader, NULL), 0);
    ck_assert_uint_gt(moves, 0);
    rig_read_all(rig->nodes[0].s, SCAN_RANGE, found, SERIES);
    for (unsigned i = 0; i < SERIES; i++)
        sum += found[i].len;
    ck_assert_uint_eq(sum, SERIES * ROUNDS - (size_t)WRITERS * (ROUNDS / 20));
    rig_free(&rig);
    free_points();
}
END_TEST

TEST_MAIN("owners_random", TIMES(three_show_what_one_shows, 4),
          TEST(buckets_move_under_requests))
