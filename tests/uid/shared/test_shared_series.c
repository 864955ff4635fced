/* Series that several daemons enter. */
#include <pthread.h>
#include <stdlib.h>

#include "storage/row/key.h"
#include "tests/uid/shared/daemons.h"
#include "uid/series/series_index_priv.h"
#include "uid/series/series_priv.h"

enum { THREADS = 6, SERIES = 300, ROUNDS = 10 };

static const struct series_rules rules = { true, true, true, 8, false };

/* "m{host=h<n>,dc=<n mod 4>}" or without dc. */
static void
tsuid_of(struct fixture *f, unsigned n, struct tsuid *out)
{
    char host[16], dc[16];
    struct tag tags[2];

    (void)snprintf(host, sizeof host, "h%u", n);
    (void)snprintf(dc, sizeof dc, "d%u", n % 4);
    tags[0] = (struct tag){ slice_str("host"), slice_str(host) };
    tags[1] = (struct tag){ slice_str("dc"), slice_str(dc) };
    OK(series_identify(
        f->series, &rules,
        &(struct series_text){ 0, slice_str("m"), tags, n % 3 == 0 ? 1 : 2 },
        out, &e));
}

static void
enter(struct fixture *f, unsigned from, unsigned to)
{
    struct series_entry *entries = calloc(to - from, sizeof *entries);
    struct tsuid *tsuids = calloc(to - from, sizeof *tsuids);

    for (unsigned n = from; n < to; n++) {
        tsuid_of(f, n, &tsuids[n - from]);
        entries[n - from].tsuid = tsuid_slice(&tsuids[n - from]);
    }
    OK(series_enter(f->series, entries, to - from, &e));
    for (unsigned n = 0; n < to - from; n++) {
        ck_assert_int_eq(entries[n].rejected, ST_OK);
        ck_assert(entries[n].ref != SERIES_REF_NONE);
    }
    free(tsuids);
    free(entries);
}

static bool
count_one(void *ctx, struct slice tsuid)
{
    (void)tsuid;
    ++*(size_t *)ctx;
    return true;
}

/* How many a query over the metric would find, by tag-key sets, by a scan, and
 * by the index. */
static void
expect_series(struct fixture *f, size_t len)
{
    struct arena *a = arena_new(0);
    struct series_tagk_set *sets;
    size_t sets_len, scanned = 0, tagged = 0;
    uint64_t metric = 0, host = 0, counted = 0;

    OK(uid_find(f->uids, UID_METRIC, slice_str("m"), &metric, &e));
    OK(uid_find(f->uids, UID_TAGK, slice_str("host"), &host, &e));
    OK(series_tagk_sets(f->series, metric, false, a, &sets, &sets_len, &e));
    for (size_t i = 0; i < sets_len; i++)
        counted += sets[i].series;
    ck_assert_uint_eq(counted, len);
    ck_assert_uint_eq(series_total_of(f->series, metric), len);
    OK(series_each(f->series, metric, NULL, count_one, &scanned, &e));
    ck_assert_uint_eq(scanned, len);
    for (int i = 0; i < 3; i++) { /* the first times it is made */
        tagged = 0;
        OK(series_each_tagged(f->series, metric,
                              &(struct series_pick){ host, NULL, 0 }, count_one,
                              &tagged, &e));
        ck_assert_uint_eq(tagged, len);
    }
    arena_free(&a);
}

static bool
has_list(struct fixture *f)
{
    struct index_more *more;
    struct index_list *l;
    uint64_t metric = 0;
    bool make, has;

    OK(uid_find(f->uids, UID_METRIC, slice_str("m"), &metric, &e));
    l = series_index_take(f->series->index, metric,
                          series_total_of(f->series, metric), &more, &make);
    has = l != NULL;
    ck_assert(!make);
    if (has)
        series_index_drop(f->series->index, &l, &more);
    return has;
}

/* Counts in the engine are those of the entries, bucket by bucket. */
static void
check_counts(struct fixture *f)
{
    struct tagk_sets *s = tagk_sets_new(&layout_default);
    struct slice series = KEY_TABLE(TABLE_SERIES);
    struct slice counts = KEY_TABLE(TABLE_TAGK_SETS);
    struct kv_iter *it = kv_iter_open(store_kv(f->store), series);
    uint8_t key[TAGK_SETS_KEY_MAX];
    uint64_t total = 0;

    for (bool on = kv_iter_seek(it, series); on; on = kv_iter_next(it)) {
        struct slice k = kv_iter_key(it);
        struct slice set = tagk_sets_key(&layout_default,
                                         slice_of(k.data + 1, k.size - 1), key);

        tagk_sets_set(s, set, tagk_sets_get(s, set) + 1);
    }
    OK(kv_iter_close(&it, &e));
    it = kv_iter_open(store_kv(f->store), counts);
    for (bool on = kv_iter_seek(it, counts); on; on = kv_iter_next(it)) {
        uint64_t n = key_get_uint(kv_iter_value(it).data, 8);

        ck_assert_uint_eq(tagk_sets_get(s, kv_iter_key(it)), n);
        total += n;
    }
    OK(kv_iter_close(&it, &e));
    ck_assert_uint_eq(total, tagk_sets_total(s));
    tagk_sets_free(&s);
}

/* -- cases ----------------------------------------------------------------- */

START_TEST(series_of_one_are_found_by_all_at_once)
{
    struct daemons all;
    unsigned n = 0;

    daemons_open(&all);
    for (int round = 0; round < 12; round++) {
        unsigned more = round % 4 == 3 ? 100 : 1;

        enter(&all.d[round % DAEMONS], n, n + more);
        n += more;
        for (int i = 0; i < DAEMONS; i++)
            expect_series(&all.d[i], n);
    }
    check_counts(&all.d[0]);
    for (int i = 0; i < DAEMONS; i++)
        ck_assert(has_list(&all.d[i]));
    /* One more comes into the lists that there are. */
    enter(&all.d[0], n, n + 1);
    for (int i = 0; i < DAEMONS; i++) {
        ck_assert(has_list(&all.d[i]));
        expect_series(&all.d[i], n + 1);
    }
    daemons_close(&all);
}
END_TEST

struct enterer {
    struct fixture *f;
    pthread_barrier_t *start;
    unsigned number;
};

static void *
enter_all(void *arg)
{
    struct enterer *x = arg;
    unsigned step = x->number % 2 == 0 ? 7 : SERIES;

    (void)pthread_barrier_wait(x->start);
    for (unsigned n = 0; n < SERIES; n += step)
        enter(x->f, n, n + step < SERIES ? n + step : SERIES);
    return NULL;
}

START_TEST(racing_daemons_enter_each_once)
{
    uint64_t conflicts = 0;

    for (int round = 0; round < ROUNDS; round++) {
        struct enterer x[THREADS];
        pthread_t threads[THREADS];
        pthread_barrier_t start;
        struct daemons all;

        daemons_open(&all);
        ck_assert_int_eq(pthread_barrier_init(&start, NULL, THREADS), 0);
        for (unsigned i = 0; i < THREADS; i++) {
            x[i] = (struct enterer){ &all.d[i % DAEMONS], &start, i };
            ck_assert_int_eq(
                pthread_create(&threads[i], NULL, enter_all, &x[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < DAEMONS; i++)
            expect_series(&all.d[i], SERIES);
        check_counts(&all.d[0]);
        conflicts += kv_shared_conflicts(daemons_kv(&all));
        (void)pthread_barrier_destroy(&start);
        daemons_close(&all);
    }
    ck_assert_uint_gt(conflicts, 0);
}
END_TEST

START_TEST(many_series_cost_some_calls)
{
    struct daemons all;
    uint64_t calls;
    struct tsuid tsuid;

    daemons_open(&all);
    for (unsigned n = 0; n < SERIES; n++) /* their names */
        tsuid_of(&all.d[0], n, &tsuid);
    calls = kv_shared_calls(daemons_kv(&all));
    enter(&all.d[0], 0, SERIES);
    ck_assert_uint_le(kv_shared_calls(daemons_kv(&all)) - calls, 2);
    daemons_close(&all);
}
END_TEST

/* One died between writing a series and telling of it, or is about to tell:
 * whoever finds it tells instead, and only then goes on. */
START_TEST(what_is_found_and_not_heard_of_is_announced)
{
    struct daemons all;
    unsigned sent;

    daemons_open(&all);
    enter(&all.d[0], 0, 4);
    all.deaf[1] = all.deaf[2] = true;
    enter(&all.d[0], 4, 5);
    all.deaf[1] = all.deaf[2] = false;
    sent = atomic_load(&all.sent);
    enter(&all.d[1], 4, 5);
    ck_assert_uint_gt(atomic_load(&all.sent), sent);
    for (int i = 0; i < DAEMONS; i++)
        expect_series(&all.d[i], 5);
    /* Long after anything was heard, what is known is not announced. */
    atomic_store(&all.d[1].series->recent_until_us, 0);
    sent = atomic_load(&all.sent);
    enter(&all.d[1], 0, 5);
    ck_assert_uint_eq(atomic_load(&all.sent), sent);
    daemons_close(&all);
}
END_TEST

START_TEST(who_missed_events_reads_again)
{
    struct daemons all;

    daemons_open(&all);
    enter(&all.d[0], 0, 10);
    expect_series(&all.d[2], 10);
    ck_assert(has_list(&all.d[2]));
    all.deaf[2] = true;
    enter(&all.d[0], 10, 40);
    daemons_missed(&all, 2);
    expect_series(&all.d[2], 40);
    daemons_close(&all);
}
END_TEST

/* Payloads have a bound, and those of others are looked at. */
START_TEST(events_are_split_and_checked)
{
    static const struct {
        unsigned kind;
        struct slice payload;
    } bad[] = {
        { 's', { (const uint8_t *)"x\1\1", 3 } },
        { 's', { (const uint8_t *)"s\11\0\0\1\0\0\1\0\0", 10 } },
        { 's', { (const uint8_t *)"s\3\0\0\1", 5 } },
        { 's', { (const uint8_t *)"h\7h\0\0\1\0\0\1\1", 10 } },
        { 's', { (const uint8_t *)"h\10h\0\0\1\0\0\1\20\1", 11 } },
        { 's', { (const uint8_t *)"h\10h\0\0\1\0\0\1\0", 10 } },
        { 'n', { (const uint8_t *)"\0", 1 } },
        { 'n', { (const uint8_t *)"\0\1\0", 3 } },
        { 'n', { (const uint8_t *)"\4\1\1a", 4 } },
        { 'n', { (const uint8_t *)"\0\1\2a", 4 } },
        { 'p', { (const uint8_t *)"", 0 } },
        { 'p', { (const uint8_t *)"b\0", 2 } },
        { 'p', { (const uint8_t *)"x\1", 2 } },
        { 'p', { (const uint8_t *)"d\1\3abc", 6 } },
        { 'p', { (const uint8_t *)"d\1\11abc", 6 } },
        { 'z', { (const uint8_t *)"", 0 } },
    };
    struct buf answer = BUF_INIT;
    struct daemons all;

    daemons_open(&all);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(uid_events_hear(all.d[0].records, bad[i].kind,
                                      bad[i].payload, &answer,
                                      NULL) == ST_CORRUPT,
                      "case %zu", i);
    OK(uid_events_hear(all.d[0].records, 's',
                       slice_of("h\10h\0\0\1\0\0\1\17\5", 11), &answer, &e));
    ck_assert_uint_eq(series_total(all.d[0].series), 5);
    daemons_close(&all);
    daemons_open(&all);
    enter(&all.d[0], 0, 9000);
    ck_assert_uint_gt(atomic_load(&all.sent), 1);
    ck_assert_uint_le(atomic_load(&all.largest), UID_EVENT_BYTES + 1200);
    ck_assert_uint_eq(series_total(all.d[1].series), 9000);
    buf_fini(&answer);
    daemons_close(&all);
}
END_TEST

TEST_MAIN("shared_series", TEST(series_of_one_are_found_by_all_at_once),
          TEST(racing_daemons_enter_each_once),
          TEST(many_series_cost_some_calls),
          TEST(what_is_found_and_not_heard_of_is_announced),
          TEST(who_missed_events_reads_again),
          TEST(events_are_split_and_checked))
