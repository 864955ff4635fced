/* The bucket map: what is written is read, who is late changes nothing, and
 * of threads that race for buckets one wins each time. */
#include "storage/lease/buckets.h"

#include <pthread.h>
#include <stdatomic.h>

#include "tests/storage/rados/rados_rig.h"

static struct ceph *
open_ceph(const char *at)
{
    struct ceph *c;
    struct error e = { 0 };

    ck_assert_msg(ceph_open(at, &c, &e) == ST_OK, "%s", e.text);
    return c;
}

static struct bucket_owner
owner(const char *member, uint64_t epoch, const char *from, uint64_t from_epoch)
{
    struct bucket_owner o = { .epoch = epoch, .from_epoch = from_epoch };

    (void)snprintf(o.member, sizeof o.member, "%s", member);
    (void)snprintf(o.from, sizeof o.from, "%s", from);
    return o;
}

static void
expect(struct ceph *c, unsigned bucket, struct bucket_owner o)
{
    struct bucket_owner map[BUCKETS_MAX];
    struct error e = { 0 };

    ck_assert_msg(buckets_read(c, map, &e) == ST_OK, "%s", e.text);
    ck_assert_str_eq(map[bucket].member, o.member);
    ck_assert_uint_eq(map[bucket].epoch, o.epoch);
    ck_assert_str_eq(map[bucket].from, o.from);
    ck_assert_uint_eq(map[bucket].from_epoch, o.from_epoch);
}

/* Larger after each change: a claim of a dead one's adds one, as does its end,
 * and a gift two. */
static uint64_t
version_of(const struct bucket_owner map[BUCKETS_MAX])
{
    uint64_t version = 0;

    for (unsigned i = 0; i < BUCKETS_MAX; i++)
        version += 2 * map[i].epoch - (map[i].from[0] != '\0');
    return version;
}

/* The life of a bucket. */
START_TEST(changes_are_read)
{
    struct rados_rig rig = rados_rig_new("");
    struct ceph *c = open_ceph(rig.at);
    const struct bucket_owner life[] = {
        owner("", 0, "", 0),
        owner("aaaaaaaaaaaaaaaa", 1, "", 0),
        owner("bbbbbbbbbbbbbbbb", 2, "aaaaaaaaaaaaaaaa", 1),
        owner("cccccccccccccccc", 3, "aaaaaaaaaaaaaaaa", 1),
        owner("cccccccccccccccc", 3, "", 0),
        owner("dddddddddddddddd", UINT64_MAX / 4, "", 0),
    };
    struct bucket_owner map[BUCKETS_MAX];
    uint64_t before = 0;

    ck_assert_int_eq(buckets_read(c, map, NULL), ST_OK);
    ck_assert_uint_eq(version_of(map), 0);
    for (size_t i = 1; i < sizeof life / sizeof life[0]; i++) {
        expect(c, 0xa7, life[i - 1]);
        /* Who saw something else changes nothing. */
        for (size_t k = 0; k < i - 1; k++)
            ck_assert_int_eq(buckets_change(c, 0xa7, &life[k], &life[i], NULL),
                             ST_CONFLICT);
        ck_assert_int_eq(buckets_change(c, 0xa7, &life[i - 1], &life[i], NULL),
                         ST_OK);
        expect(c, 0xa7, life[i]);
        ck_assert_int_eq(buckets_read(c, map, NULL), ST_OK);
        ck_assert_uint_gt(version_of(map), before);
        before = version_of(map);
    }
    for (unsigned i = 0; i < BUCKETS_MAX; i++)
        if (i != 0xa7)
            ck_assert_str_eq(map[i].member, "");
    ck_assert(buckets_name(map, "dddddddddddddddd"));
    ck_assert(!buckets_name(map, "aaaaaaaaaaaaaaaa"));
    ceph_close(&c);
    rados_rig_free(&rig);
}
END_TEST

START_TEST(one_taken_over_is_named)
{
    struct bucket_owner map[BUCKETS_MAX] = { { .epoch = 0 } };

    map[255] = owner("aaaaaaaaaaaaaaaa", 2, "bbbbbbbbbbbbbbbb", 1);
    ck_assert(buckets_name(map, "aaaaaaaaaaaaaaaa"));
    ck_assert(buckets_name(map, "bbbbbbbbbbbbbbbb"));
    ck_assert(!buckets_name(map, "cccccccccccccccc"));
}
END_TEST

static const struct {
    const char *key, *value;
} malformed[] = {
    { "0", "aaaaaaaaaaaaaaaa 1" },
    { "0g", "aaaaaaaaaaaaaaaa 1" },
    { "0A", "aaaaaaaaaaaaaaaa 1" },
    { "000", "aaaaaaaaaaaaaaaa 1" },
    { "00", "" },
    { "00", "aaaaaaaaaaaaaaaa" },
    { "00", "aaaaaaaaaaaaaaaaa 1" },
    { "00", "aaaaaaaaaaaaaaaa 01" },
    { "00", "aaaaaaaaaaaaaaaa 1 " },
    { "00", "aaaaaaaaaaaaaaaa  1" },
    { "00", "aaaaaaaaaaaaaaaa -1" },
    { "00", "aaaaaaaaaaaaaaaa 1 from" },
    { "00", "aaaaaaaaaaaaaaaa 1 from bbbbbbbbbbbbbbbb" },
    { "00", "aaaaaaaaaaaaaaaa 1 from bbbbbbbbbbbbbbbb 1 from" },
};

START_TEST(malformed_entries_are_told)
{
    struct rados_rig rig = rados_rig_new("");
    struct ceph_op *op = ceph_write_new(rig.admin);
    struct slice key = slice_str(malformed[_i].key);
    struct slice value = slice_str(malformed[_i].value);
    struct bucket_owner map[BUCKETS_MAX];
    struct error e = { 0 };

    ceph_write_omap_set(op, &key, &value, 1);
    ck_assert_int_eq(ceph_op_run(op, "buckets", NULL), ST_OK);
    ck_assert_int_eq(buckets_read(rig.admin, map, &e), ST_CORRUPT);
    ck_assert_msg(strstr(e.text, "buckets: the entry") != NULL, "%s", e.text);
    rados_rig_free(&rig);
}
END_TEST

#define THREADS 4
#define CLAIMS  60
#define RACED   3 /* buckets */

struct racer {
    struct ceph *c;
    char name[MEMBER_NAME_SIZE];
    unsigned won, lost;
    enum status failed;
};

static void *
race(void *ctx)
{
    struct racer *r = ctx;
    uint64_t state = (uint64_t)r->name[0], before = 0;

    while (r->won < CLAIMS && r->failed == ST_OK) {
        unsigned bucket = (unsigned)(harness_random(&state) % RACED);
        struct bucket_owner map[BUCKETS_MAX], now;

        r->failed = buckets_read(r->c, map, NULL);
        if (r->failed != ST_OK || version_of(map) < before)
            break;
        before = version_of(map);
        now = owner(r->name, map[bucket].epoch + 1, "", 0);
        r->failed = buckets_change(r->c, bucket, &map[bucket], &now, NULL);
        if (r->failed == ST_OK)
            r->won++;
        if (r->failed == ST_CONFLICT) {
            r->lost++;
            r->failed = ST_OK;
        }
    }
    return NULL;
}

START_TEST(one_wins_each_race)
{
    struct rados_rig rig = rados_rig_new("");
    struct racer racers[THREADS] = { { .c = NULL } };
    pthread_t threads[THREADS];
    struct bucket_owner map[BUCKETS_MAX];
    uint64_t epochs = 0;
    unsigned lost = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        racers[i].c = open_ceph(i % 2 == 0 ? rig.at : rig.other);
        (void)snprintf(racers[i].name, MEMBER_NAME_SIZE, "%016x", 1 + i);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &racers[i]),
                         0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_int_eq(racers[i].failed, ST_OK);
        ck_assert_uint_eq(racers[i].won, CLAIMS);
        lost += racers[i].lost;
    }
    ck_assert_int_eq(buckets_read(racers[0].c, map, NULL), ST_OK);
    for (unsigned i = 0; i < RACED; i++)
        epochs += map[i].epoch;
    ck_assert_uint_eq(epochs, THREADS * CLAIMS);
    ck_assert_uint_eq(version_of(map), 2 * epochs);
    ck_assert_uint_gt(lost, 0); /* or they did not race */
    for (unsigned i = 0; i < THREADS; i++)
        ceph_close(&racers[i].c);
    rados_rig_free(&rig);
}
END_TEST

RADOS_TEST_MAIN("buckets", TEST(changes_are_read),
                TEST(one_taken_over_is_named),
                LOOP(malformed_entries_are_told, malformed),
                TEST(one_wins_each_race))
