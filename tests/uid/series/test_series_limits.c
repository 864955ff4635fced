#include "uid/series/series.h"

#include <pthread.h>

#include "storage/head/head.h"
#include "storage/store/store_state.h"
#include "tests/uid/fixture.h"

static const struct series_rules rules = { true, true, true, 8, false };

/* The series of 'metric' with host=<i>. */
static enum status
try_one(struct fixture *f, const char *metric, unsigned i, struct error *e)
{
    char host[32];
    struct tag tag = { slice_str("host"), slice_of(NULL, 0) };
    struct tsuid tsuid;
    series_ref ref;

    (void)snprintf(host, sizeof host, "h%u", i);
    tag.value = slice_str(host);
    return series_resolve(
        f->series, &rules,
        &(struct series_text){ 0, slice_str(metric), &tag, 1 }, &ref, &tsuid,
        e);
}

START_TEST(limits_a_metric)
{
    struct fixture f = fixture_new((struct key_layout){ 1, 16, 3, 3, 3, 6 });
    struct error e;
    uint64_t id;

    series_limit(f.series, (struct series_limits){ .of_metric = 3 });
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(try_one(&f, "m", i, &e), ST_OK);
    ck_assert_int_eq(try_one(&f, "m", 3, &e), ST_LIMIT);
    ck_assert_str_eq(e.text, "Too many series of this metric: the limit is 3 "
                             "(halite.series.limit_per_metric)");
    /* Its name got no id. */
    ck_assert_int_eq(uid_find(f.uids, UID_TAGV, slice_str("h3"), &id, &e),
                     ST_NOT_FOUND);
    /* Those that are there, and other metrics, have nothing to fear. */
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(try_one(&f, "m", i, &e), ST_OK);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(try_one(&f, "n", i + 2, &e), ST_OK);
    /* Now that the name has an id, it is rejected at the directory. */
    ck_assert_int_eq(try_one(&f, "m", 3, &e), ST_LIMIT);
    ck_assert_uint_eq(series_total(f.series), 6);
    fixture_free(&f);
}
END_TEST

START_TEST(limits_all)
{
    struct fixture f = fixture_new((struct key_layout){ 1, 16, 3, 3, 3, 6 });
    struct error e;
    uint64_t id;

    series_limit(f.series, (struct series_limits){ .all = 3 });
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(try_one(&f, i == 0 ? "m" : "n", i, &e), ST_OK);
    ck_assert_int_eq(try_one(&f, "o", 3, &e), ST_LIMIT);
    ck_assert_str_eq(e.text, "Too many series: the limit is 3 "
                             "(halite.series.limit)");
    ck_assert_int_eq(uid_find(f.uids, UID_METRIC, slice_str("o"), &id, &e),
                     ST_NOT_FOUND);
    ck_assert_int_eq(try_one(&f, "n", 2, &e), ST_OK);
    fixture_free(&f);
}
END_TEST

/* Many in one batch: as many as there is room for, and each of the others is
 * told. */
START_TEST(limits_a_batch)
{
    struct fixture f = fixture_new((struct key_layout){ 1, 16, 3, 3, 3, 6 });
    struct series_entry entries[8];
    struct tsuid tsuids[8];
    struct error e;
    size_t rejected = 0;

    for (unsigned i = 0; i < 8; i++) {
        struct tag tag = { slice_str("host"), slice_str(&"abcdefgh"[i]) };

        ck_assert_int_eq(
            series_identify(f.series, &rules,
                            &(struct series_text){ 0, slice_str("m"), &tag, 1 },
                            &tsuids[i], &e),
            ST_OK);
        entries[i] = (struct series_entry){ .tsuid = tsuid_slice(&tsuids[i]) };
    }
    series_limit(f.series, (struct series_limits){ 7, 5 });
    ck_assert_int_eq(series_enter(f.series, entries, 8, &e), ST_OK);
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_int_eq(entries[i].rejected, i < 5 ? ST_OK : ST_LIMIT);
        ck_assert_int_eq(entries[i].ref == SERIES_REF_NONE, i >= 5);
        rejected += entries[i].rejected != ST_OK;
    }
    ck_assert_uint_eq(rejected, 3);
    ck_assert_uint_eq(series_total(f.series), 5);
    /* Entered again, with what is there in between. */
    ck_assert_int_eq(series_enter(f.series, entries, 8, &e), ST_OK);
    ck_assert_uint_eq(series_total(f.series), 5);
    fixture_free(&f);
}
END_TEST

/* The tags of a series with another metric. */
START_TEST(names_a_sibling)
{
    struct fixture f = fixture_new((struct key_layout){ 1, 16, 2, 3, 3, 6 });
    struct tag tags[2] = { { slice_str("dc"), slice_str("x") },
                           { slice_str("host"), slice_str("a") } };
    uint8_t sibling[TSUID_MAX];
    struct tsuid first, n;
    struct error e;

#define NAME(metric, out)                                                      \
    ck_assert_int_eq(                                                          \
        series_identify(f.series, &rules,                                      \
                        &(struct series_text){ 0, metric, tags, 2 }, out, &e), \
        ST_OK)
    NAME(slice_str("m"), &first);
    ck_assert(!series_of_metric(f.series, slice_str("n"), tsuid_slice(&first),
                                sibling));
    NAME(slice_str("n"), &n);
    ck_assert(series_of_metric(f.series, slice_str("n"), tsuid_slice(&first),
                               sibling));
    ck_assert_uint_eq(first.size, n.size);
    ck_assert_mem_eq(sibling, n.bytes, n.size);
    ck_assert(!series_of_metric(f.series, slice_str(""), tsuid_slice(&first),
                                sibling));
    ck_assert(!series_of_metric(f.series, slice_str("n!"), tsuid_slice(&first),
                                sibling));
#undef NAME
    fixture_free(&f);
}
END_TEST

enum { RACERS = 4, EACH = 100, ROOM = 150 };

struct racer {
    struct fixture *f;
    unsigned first;
    size_t taken;
};

static void *
race(void *arg)
{
    struct racer *r = arg;
    struct error e;

    for (unsigned i = 0; i < EACH; i++)
        r->taken += try_one(r->f, "m", r->first + i, &e) == ST_OK;
    return NULL;
}

START_TEST(limits_racers)
{
    struct fixture f = fixture_new((struct key_layout){ 1, 16, 3, 3, 3, 6 });
    struct racer racers[RACERS];
    pthread_t threads[RACERS];
    size_t taken = 0;

    series_limit(f.series, (struct series_limits){ .of_metric = ROOM });
    for (unsigned i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){ &f, i * EACH, 0 };
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &racers[i]),
                         0);
    }
    for (unsigned i = 0; i < RACERS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        taken += racers[i].taken;
    }
    ck_assert_uint_eq(taken, ROOM);
    ck_assert_uint_eq(series_total(f.series), ROOM);
    fixture_free(&f);
}
END_TEST

/* A series that left memory is not taken for new: it was entered since the
 * start, as its names were, and stays so. */
START_TEST(what_left_memory_is_entered_once)
{
    struct fixture f = fixture_new((struct key_layout){ 1, 16, 3, 3, 3, 6 });
    struct error e;

    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 5 + round; i++)
            ck_assert_int_eq(try_one(&f, "m", i, &e), ST_OK);
        ck_assert_uint_eq(series_total(f.series), 5 + round);
        head_evict(store_head(f.store), 0, UINT32_MAX);
    }
    fixture_free(&f);
}
END_TEST

TEST_MAIN("series_limits", TEST(what_left_memory_is_entered_once),
          TEST(limits_a_metric), TEST(limits_all), TEST(limits_a_batch),
          TEST(names_a_sibling), TEST(limits_racers))
