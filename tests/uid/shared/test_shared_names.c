/* Names that several daemons give ids to, rename and delete. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/uid/shared/daemons.h"

enum { THREADS = 8, NAMES = 200, ROUNDS = 20 };

static uint64_t
create(struct fixture *f, enum uid_kind kind, const char *name)
{
    uint64_t id;

    OK(uid_get_or_create(f->uids, kind, slice_str(name), &id, &e));
    return id;
}

static uint64_t
find(struct fixture *f, enum uid_kind kind, const char *name)
{
    uint64_t id = 0;
    enum status st = uid_find(f->uids, kind, slice_str(name), &id, NULL);

    ck_assert(st == ST_OK || st == ST_NOT_FOUND);
    return st == ST_OK ? id : 0;
}

/* Each entry of an id has the name whose entry has the id, or none; and each
 * name has one id.  Returns how many have a name. */
static size_t
check_ids(struct fixture *f, enum uid_kind kind)
{
    char prefix[] = { 'u', UID_KIND_BYTES[kind], 'i', '\0' };
    struct kv_iter *it = kv_iter_open(store_kv(f->store), slice_str(prefix));
    size_t named = 0, names = 0;

    for (bool on = kv_iter_seek(it, slice_str(prefix)); on;
         on = kv_iter_next(it)) {
        struct slice key = kv_iter_key(it), name = kv_iter_value(it);
        uint64_t id;

        if (name.size == 0)
            continue;
        OK(uid_find(f->uids, kind, name, &id, &e));
        ck_assert_uint_eq(id,
                          key_get_uint(key.data + 3, (unsigned)key.size - 3));
        named++;
    }
    OK(kv_iter_close(&it, &e));
    prefix[2] = 'n';
    it = kv_iter_open(store_kv(f->store), slice_str(prefix));
    for (bool on = kv_iter_seek(it, slice_str(prefix)); on;
         on = kv_iter_next(it))
        names++;
    OK(kv_iter_close(&it, &e));
    ck_assert_uint_eq(named, names);
    return named;
}

struct racer {
    struct fixture *f;
    pthread_barrier_t *start;
    unsigned number;
    bool together; /* all names by one call */
    uint64_t ids[NAMES];
};

static void *
race(void *arg)
{
    struct racer *r = arg;
    struct uid_wanted wanted[NAMES];
    char names[NAMES][16];

    /* Half of them in the same order, half in orders of their own. */
    for (unsigned i = 0; i < NAMES; i++) {
        unsigned n = r->number % 2 == 0 ? i : (i * 7 + r->number * 25) % NAMES;

        (void)snprintf(names[i], sizeof names[i], "host%u", n);
        wanted[i] =
            (struct uid_wanted){ .name = slice_str(names[i]), .create = true };
    }
    (void)pthread_barrier_wait(r->start);
    if (r->together)
        OK(uid_resolve(r->f->uids, UID_TAGV, wanted, NAMES, &e));
    for (unsigned i = 0; i < NAMES; i++) {
        if (!r->together)
            wanted[i].id = create(r->f, UID_TAGV, names[i]);
        r->ids[atoi(names[i] + 4)] = wanted[i].id;
    }
    return NULL;
}

/* Without caches what one daemon finds is what the engine has. */
START_TEST(daemons_agree_on_names_that_they_create_at_once)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct racer *racers = calloc(THREADS, sizeof *racers);
        struct daemons all;
        pthread_barrier_t start;
        pthread_t threads[THREADS];

        daemons_open(&all);
        ck_assert_int_eq(pthread_barrier_init(&start, NULL, THREADS), 0);
        for (unsigned i = 0; i < THREADS; i++) {
            racers[i].f = &all.d[i % 2];
            racers[i].start = &start;
            racers[i].number = i;
            racers[i].together = _i == 1 || (_i == 2 && i % 3 == 0);
            ck_assert_int_eq(
                pthread_create(&threads[i], NULL, race, &racers[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        for (unsigned n = 0; n < NAMES; n++)
            for (unsigned i = 0; i < THREADS; i++) {
                ck_assert_uint_ne(racers[i].ids[n], 0);
                ck_assert_uint_eq(racers[i].ids[n], racers[0].ids[n]);
            }
        ck_assert_uint_eq(check_ids(&all.d[2], UID_TAGV), NAMES);
        (void)pthread_barrier_destroy(&start);
        free(racers);
        daemons_close(&all);
    }
}
END_TEST

START_TEST(a_block_of_ids_is_one_daemons_and_its_rest_comes_back)
{
    struct daemons all;
    char name[16];

    daemons_open(&all);
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "a%u", i);
        ck_assert_uint_eq(create(&all.d[0], UID_METRIC, name), i + 1);
    }
    /* The first has ids left, which no other one gives out. */
    ck_assert_uint_gt(create(&all.d[1], UID_METRIC, "b"), 41);
    ck_assert_uint_eq(create(&all.d[0], UID_METRIC, "a40"), 41);
    daemons_close(&all);

    all.d[0] = fixture_new(layout_default);
    all.d[1] = fixture_new(layout_default);
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "a%u", i);
        (void)create(&all.d[0], UID_METRIC, name);
    }
    fixture_free(&all.d[0]);
    ck_assert_uint_eq(create(&all.d[1], UID_METRIC, "b"), 41);
    ck_assert_uint_eq(uid_counts(all.d[1].uids, UID_METRIC).ids_used, 41);
    fixture_free(&all.d[1]);
}
END_TEST

START_TEST(many_names_cost_some_calls)
{
    enum { MANY = 10000 };
    struct uid_wanted *wanted = calloc(MANY, sizeof *wanted);
    char(*names)[16] = calloc(MANY, sizeof *names);
    struct daemons all;
    uint64_t calls;

    daemons_open(&all);
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof names[i], "host%u", i);
        wanted[i] =
            (struct uid_wanted){ .name = slice_str(names[i]), .create = true };
    }
    calls = kv_shared_calls(daemons_kv(&all));
    OK(uid_resolve(all.d[0].uids, UID_TAGV, wanted, MANY, &e));
    ck_assert_uint_le(kv_shared_calls(daemons_kv(&all)) - calls, 4);
    for (unsigned i = 0; i < MANY; i++)
        ck_assert_uint_eq(wanted[i].id, i + 1);
    ck_assert_uint_eq(check_ids(&all.d[1], UID_TAGV), MANY);
    daemons_close(&all);
    free(names);
    free(wanted);
}
END_TEST

START_TEST(a_new_name_is_not_one_that_another_daemon_gave)
{
    struct daemons all;
    uint64_t id;

    daemons_open(&all);
    (void)create(&all.d[0], UID_METRIC, "old");
    id = create(&all.d[1], UID_METRIC, "new");
    ck_assert_int_eq(uid_rename(all.d[0].uids, UID_METRIC, slice_str("old"),
                                slice_str("new"), NULL),
                     ST_INVALID);
    ck_assert_uint_eq(find(&all.d[2], UID_METRIC, "new"), id);
    OK(uid_delete(all.d[1].uids, UID_METRIC, slice_str("new"), &e));
    OK(uid_rename(all.d[0].uids, UID_METRIC, slice_str("old"), slice_str("new"),
                  &e));
    ck_assert_uint_eq(check_ids(&all.d[2], UID_METRIC), 1);
    daemons_close(&all);
}
END_TEST

/* Each has both names in memory, and in a moment they are others'. */
START_TEST(all_hear_of_names_that_change)
{
    struct daemons all;
    struct buf name = BUF_INIT;
    uint64_t a, b, epoch;

    daemons_open(&all);
    a = create(&all.d[0], UID_TAGV, "a");
    b = create(&all.d[0], UID_TAGV, "b");
    for (int i = 0; i < DAEMONS; i++) {
        ck_assert_uint_eq(find(&all.d[i], UID_TAGV, "a"), a);
        ck_assert_uint_eq(find(&all.d[i], UID_TAGV, "b"), b);
    }
    epoch = uid_epoch(all.d[2].uids);
    OK(uid_rename(all.d[1].uids, UID_TAGV, slice_str("a"), slice_str("c"), &e));
    OK(uid_delete(all.d[1].uids, UID_TAGV, slice_str("b"), &e));
    ck_assert_uint_ne(uid_epoch(all.d[2].uids), epoch);
    for (int i = 0; i < DAEMONS; i++) {
        ck_assert_uint_eq(find(&all.d[i], UID_TAGV, "a"), 0);
        ck_assert_uint_eq(find(&all.d[i], UID_TAGV, "b"), 0);
        ck_assert_uint_eq(find(&all.d[i], UID_TAGV, "c"), a);
        buf_clear(&name);
        OK(uid_name(all.d[i].uids, UID_TAGV, a, &name, &e));
        ck_assert_str_eq(buf_cstr(&name), "c");
        ck_assert_int_eq(uid_name(all.d[i].uids, UID_TAGV, b, &name, NULL),
                         ST_NOT_FOUND);
    }
    ck_assert_uint_gt(create(&all.d[2], UID_TAGV, "a"), b);
    buf_fini(&name);
    daemons_close(&all);
}
END_TEST

/* A daemon that was cut off believes what it has until it is told. */
START_TEST(who_missed_events_drops_all)
{
    struct daemons all;
    uint64_t a;

    daemons_open(&all);
    a = create(&all.d[0], UID_METRIC, "a");
    ck_assert_uint_eq(find(&all.d[2], UID_METRIC, "a"), a);
    all.deaf[2] = true;
    OK(uid_rename(all.d[0].uids, UID_METRIC, slice_str("a"), slice_str("b"),
                  &e));
    ck_assert_uint_eq(find(&all.d[2], UID_METRIC, "a"), a);
    daemons_missed(&all, 2);
    ck_assert_uint_eq(find(&all.d[2], UID_METRIC, "a"), 0);
    ck_assert_uint_eq(find(&all.d[2], UID_METRIC, "b"), a);
    daemons_close(&all);
}
END_TEST

TEST_MAIN("shared_names",
          TIMES(daemons_agree_on_names_that_they_create_at_once, 3),
          TEST(a_block_of_ids_is_one_daemons_and_its_rest_comes_back),
          TEST(many_names_cost_some_calls), TEST(all_hear_of_names_that_change),
          TEST(who_missed_events_drops_all),
          TEST(a_new_name_is_not_one_that_another_daemon_gave))
