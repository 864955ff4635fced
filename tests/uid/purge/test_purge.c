/* Series and names of which nothing is left are forgotten, and no others: held
 * against the check of tables, which must find nothing afterwards. */
#include "uid/purge/purge.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "storage/histogram/histogram_table.h"
#include "storage/store/store_retention.h"
#include "tests/uid/one_fixture.h"
#include "uid/fsck/uid_fsck.h"
#include "uid/series/series_purge.h"

#define T0 INT64_C(1356998400000)

static const struct series_rules rules = { true, true, true, 8, false };

static void
resolve(const char *metric, const char *host, const char *dc, series_ref *ref,
        struct tsuid *tsuid)
{
    const struct tag tags[] = { { slice_str("host"), slice_str(host) },
                                { slice_str("dc"), slice_str(dc) } };

    OK(series_resolve(f.series, &rules,
                      &(struct series_text){ 0, slice_str(metric), tags,
                                             *dc == '\0' ? 1 : 2 },
                      ref, tsuid, &e));
}

static void
put(const char *metric, const char *host, const char *dc)
{
    struct series_point p = { .point = { T0, { .i = 1 }, false } };
    struct tsuid tsuid;
    uint64_t lsn;

    resolve(metric, host, dc, &p.series, &tsuid);
    OK(store_put(f.store, &p, 1, &lsn, &e));
    OK(store_commit(f.store, lsn, false, &e));
}

static uint64_t
id_of(enum uid_kind kind, const char *name)
{
    uint64_t id;

    return uid_find(f.uids, kind, slice_str(name), &id, NULL) == ST_OK ? id : 0;
}

static void
drop(const char *metric)
{
    int64_t before_ms = T0 + 100 * HOUR_MS;
    struct store_cut cut = { id_of(UID_METRIC, metric), before_ms, before_ms };
    struct store_drop d = { .before = cut };

    OK(store_flush(f.store, &e));
    OK(store_cuts_set(f.store, &cut, 1, &e));
    OK(store_drop_rows(f.store, &d, &e));
    ck_assert_uint_gt(d.dropped.rows, 0);
}

static void
found(void *ctx, const struct finding *x)
{
    (void)ctx;
    ck_assert_msg(x->is_note, "%s: %s", x->code, x->text);
}

/* After the start that must come next. */
static void
check(void)
{
    struct check c = { .say = found };
    struct check_counts n;

    fixture_close(&f);
    fixture_open(&f);
    OK(store_flush(f.store, &e));
    OK(check_tables(f.store, &c, &n, &e));
}

static void
purge(struct purge *p, uint64_t series, uint64_t metrics, uint64_t tagks,
      uint64_t tagvs)
{
    OK(purge_run(p, f.series, f.store, f.uids, &e));
    ck_assert_uint_eq(p->forgotten, series);
    ck_assert_uint_eq(p->names[UID_METRIC], metrics);
    ck_assert_uint_eq(p->names[UID_TAGK], tagks);
    ck_assert_uint_eq(p->names[UID_TAGV], tagvs);
    check();
}

START_TEST(forgets_what_nothing_is_left_of)
{
    uint64_t id, last;

    put("old", "a", "");
    put("old", "b", "ulm");
    put("new", "a", "");
    OK(uid_assign(f.uids, UID_METRIC, slice_str("made"), &last, &e));
    purge(&(struct purge){ .dry_run = false }, 0, 0, 0, 0);
    drop("old");
    /* The dry run says it, and changes nothing. */
    purge(&(struct purge){ .dry_run = true }, 2, 1, 1, 2);
    ck_assert_uint_ne(id_of(UID_METRIC, "old"), 0);
    ck_assert_uint_eq(series_total(f.series), 3);
    ck_assert_int_gt(store_cut_ms(f.store, id_of(UID_METRIC, "old")), 0);
    id = id_of(UID_METRIC, "old");
    purge(&(struct purge){ .dry_run = false }, 2, 1, 1, 2);
    ck_assert_uint_eq(series_total(f.series), 1);
    ck_assert_uint_eq(id_of(UID_METRIC, "old"), 0);
    ck_assert_uint_eq(id_of(UID_TAGV, "b"), 0);
    ck_assert_uint_eq(id_of(UID_TAGK, "dc"), 0);
    ck_assert_uint_ne(id_of(UID_TAGV, "a"), 0);
    ck_assert_uint_ne(id_of(UID_TAGK, "host"), 0);
    ck_assert_int_eq(store_cut_ms(f.store, id), 0);
    /* Queries need not leave out ids that no series has. */
    ck_assert(!uid_has_deleted(f.uids));
    /* Of mkmetric; it is taken where that is asked for. */
    ck_assert_uint_ne(id_of(UID_METRIC, "made"), 0);
    /* The name gets another id. */
    put("old", "b", "");
    ck_assert_uint_gt(id_of(UID_METRIC, "old"), last);
    ck_assert_uint_eq(series_total(f.series), 2);
    check();
    purge(&(struct purge){ .unused_names = true }, 0, 1, 0, 0);
    ck_assert_uint_eq(id_of(UID_METRIC, "made"), 0);
}
END_TEST

/* A histogram, an annotation: something is left. */
START_TEST(keeps_what_has_something)
{
    struct kv_batch *b = kv_batch_new();
    uint8_t key[ANNOTATION_KEY_MAX];
    struct tsuid tsuid[2];
    series_ref ref;

    put("m", "a", "");
    put("m", "b", "");
    put("m", "c", "");
    drop("m");
    resolve("m", "a", "", &ref, &tsuid[0]);
    resolve("m", "b", "", &ref, &tsuid[1]);
    histogram_put(b, tsuid_slice(&tsuid[0]), T0,
                  slice_of("\0\0\1\0\0\0\0\x41\x20\0\0\5\0\0", 14));
    OK(store_write(f.store, b, NULL, &e));
    kv_batch_free(&b);
    b = kv_batch_new();
    kv_batch_put(
        b, slice_of(key, annotation_key(tsuid_slice(&tsuid[1]), T0 + 266, key)),
        slice_of("\1\x8a\xb2\xa1\x9b\xbf\x27\0\3hi\1\2\2k\2v", 17));
    OK(store_write(f.store, b, NULL, &e));
    kv_batch_free(&b);
    purge(&(struct purge){ .dry_run = false }, 1, 0, 0, 1);
    ck_assert_uint_eq(series_total(f.series), 2);
    ck_assert_uint_eq(id_of(UID_TAGV, "c"), 0);
}
END_TEST

static bool
takes_second(void *ctx, uint64_t metric)
{
    (void)ctx;
    return metric == 2;
}

START_TEST(takes_some_metrics_alone)
{
    put("one", "a", "");
    put("two", "b", "");
    drop("one");
    drop("two");
    purge(&(struct purge){ .takes = takes_second }, 1, 1, 0, 1);
    ck_assert_uint_ne(id_of(UID_METRIC, "one"), 0);
    ck_assert_uint_eq(id_of(UID_METRIC, "two"), 0);
}
END_TEST

/* More than a batch of them. */
START_TEST(counts_are_right)
{
    char host[16];

    for (int i = 0; i < 600; i++) {
        (void)snprintf(host, sizeof host, "h%d", i);
        put("m", host, i % 3 == 0 ? "ulm" : "");
    }
    drop("m");
    put("m", "h7", "");
    put("m", "h9", "ulm");
    purge(&(struct purge){ .dry_run = false }, 598, 0, 0, 598);
    ck_assert_uint_eq(series_total(f.series), 2);
}
END_TEST

START_TEST(a_damaged_row_forbids_it)
{
    struct kv_batch *b = kv_batch_new();
    struct purge p = { .dry_run = false };
    struct error why;

    put("m", "a", "");
    drop("m");
    kv_batch_put(b, slice_str("rx"), slice_str(""));
    OK(store_write(f.store, b, NULL, &e));
    kv_batch_free(&b);
    ck_assert_int_eq(purge_run(&p, f.series, f.store, f.uids, &why),
                     ST_CORRUPT);
    ck_assert_uint_eq(p.forgotten, 0);
}
END_TEST

/* -- beside others --------------------------------------------------------- */

#define HOSTS  40
#define ROUNDS 3000

static uint64_t put_by_others;
static atomic_uint purges; /* that have ended */

/* A point, as the put path does it: with a handle that is not valid any more
 * the series is looked up again. */
static void
put_as_clients_do(unsigned host, int64_t ms)
{
    struct series_point p = { .point = { ms, { .i = 1 }, false } };
    char name[16];
    struct tsuid tsuid;
    uint64_t lsn;
    enum status st;

    (void)snprintf(name, sizeof name, "h%u", host);
    resolve("busy", name, "", &p.series, &tsuid);
    while ((st = store_put(f.store, &p, 1, &lsn, NULL)) == ST_NOT_FOUND)
        resolve("busy", name, "", &p.series, &tsuid);
    ck_assert_int_eq(st, ST_OK);
    put_by_others++;
}

/* Most series are entered and get their point some rounds later. */
static void *
put_beside(void *ctx)
{
    atomic_bool *ended = ctx;
    char name[16];

    for (unsigned n = 0; n < ROUNDS; n++) {
        unsigned before = atomic_load(&purges);
        struct tsuid tsuid;
        series_ref ref;

        while (n % 100 == 99 && atomic_load(&purges) == before)
            (void)usleep(100);
        (void)snprintf(name, sizeof name, "h%u", n / 8);
        resolve("busy", name, "", &ref, &tsuid);
        if (n % 8 == 7 && n / 8 >= HOSTS && n % 3 != 0)
            put_as_clients_do(n / 8 - HOSTS, T0 + (int64_t)n);
    }
    atomic_store(ended, true);
    return NULL;
}

/* What is put while it works has its series and its names afterwards. */
START_TEST(what_is_put_meanwhile_stays)
{
    atomic_bool ended = false;
    uint64_t forgotten = 0;
    struct store_counts n;
    pthread_t other;

    put_by_others = 0;
    ck_assert_int_eq(pthread_create(&other, NULL, put_beside, &ended), 0);
    while (!atomic_load(&ended)) {
        struct purge p = { .dry_run = false };

        OK(purge_run(&p, f.series, f.store, f.uids, &e));
        forgotten += p.forgotten;
        atomic_fetch_add(&purges, 1);
    }
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    n = store_counts(f.store);
    ck_assert_uint_eq(n.points_added, put_by_others);
    ck_assert_uint_gt(forgotten, 0);
    check(); /* each row has its series in the directory, each id its name */
}
END_TEST

START_TEST(one_at_a_time)
{
    struct purge p = { .dry_run = true };

    OK(series_purge_begin(f.series, &e));
    FAILS(purge_run(&p, f.series, f.store, f.uids, &e), ST_BUSY,
          "another purge is under way");
    series_purge_end(f.series);
    OK(purge_run(&p, f.series, f.store, f.uids, &e));
}
END_TEST

TEST_MAIN_WITH(setup_on_disk, teardown, "purge",
               TEST(forgets_what_nothing_is_left_of),
               TEST(keeps_what_has_something), TEST(takes_some_metrics_alone),
               TEST(counts_are_right), TEST(a_damaged_row_forbids_it),
               TEST(what_is_put_meanwhile_stays), TEST(one_at_a_time))
