/* A store copied into a pool, looked at there, with faults planted in it, and
 * copied back. */
#include "tsd/admin/pool_store.h"

#include <unistd.h>

#include "cluster/cluster.h"
#include "storage/place/pool.h"
#include "storage/store/owners.h"
#include "tests/storage/rados/rados_rig.h"
#include "tests/uid/fixture.h"
#include "tsd/admin/backup.h"
#include "tsd/admin/fsck.h"
#include "uid/series/tagk_sets.h"

#define BASE 1356998400

static const struct key_layout plain = KEY_LAYOUT_DEFAULT;
static const struct key_layout salted = { 1, 64, 3, 3, 3, 1 };
static const uint8_t tsuids[2][9] = { { 0, 0, 1, 0, 0, 1, 0, 0, 1 },
                                      { 0, 0, 1, 0, 0, 1, 0, 0, 2 } };

static struct slice
tsuid(size_t i)
{
    return slice_of(tsuids[i], sizeof tsuids[i]);
}

static struct slice
series_key(size_t i, uint8_t out[1 + TSUID_MAX])
{
    return slice_of(out, key_series(tsuid(i), out));
}

static void
write_one(struct store *s, struct slice key, const struct slice *value)
{
    struct kv_batch *b = kv_batch_new();

    if (value == NULL)
        kv_batch_delete(b, key);
    else
        kv_batch_put(b, key, *value);
    OK(store_write(s, b, NULL, &e));
    kv_batch_free(&b);
}

static void
add_series(struct fixture *f, size_t i)
{
    const struct slice entry = slice_of("\x50\xe2\x27\x00", 4);
    uint8_t key[1 + TSUID_MAX], set[TAGK_SETS_KEY_MAX];
    const struct slice one = slice_of("\0\0\0\0\0\0\0\1", 8);
    struct series_point points[50];
    uint64_t lsn;
    series_ref ref;

    write_one(f->store, series_key(i, key), &entry);
    write_one(f->store, tagk_sets_key(&plain, tsuid(i), set), &one);
    OK(store_series(f->store, tsuid(i), true, &ref, &e));
    for (int n = 0; n < 50; n++)
        points[n] = (struct series_point){
            .series = ref,
            .point = { .ts_ms = (BASE + n * 10) * INT64_C(1000), .v.i = n },
        };
    OK(store_put(f->store, points, 50, &lsn, &e));
}

/* Two series, whose points are in the head. */
static struct fixture
source_new(void)
{
    struct fixture f = fixture_new(plain);
    uint64_t id;

    ck_assert_uint_ne(key_salt(&plain, tsuid(0)), key_salt(&plain, tsuid(1)));
    OK(uid_assign(f.uids, UID_METRIC, slice_str("cpu"), &id, &e));
    OK(uid_assign(f.uids, UID_TAGK, slice_str("host"), &id, &e));
    OK(uid_assign(f.uids, UID_TAGV, slice_str("a"), &id, &e));
    OK(uid_assign(f.uids, UID_TAGV, slice_str("b"), &id, &e));
    add_series(&f, 0);
    add_series(&f, 1);
    return f;
}

static void
fill(const struct rados_rig *rig)
{
    struct fixture f = source_new();
    struct backup b = { .to = { PLACE_POOL, rig->at } };

    OK(backup_make(f.store, &b, &e));
    ck_assert_uint_eq(b.counts.names, 4);
    ck_assert_uint_eq(b.counts.series, 2);
    ck_assert_uint_eq(b.counts.points, 100);
    fixture_free(&f);
}

/* -- looking ----------------------------------------------------------------
 */

static void
add_code(void *ctx, const struct finding *f)
{
    char *codes = ctx;
    size_t n = strlen(codes);

    (void)snprintf(codes + n, 1000 - n, "%s%s", n == 0 ? "" : " ", f->code);
}

static void
look(struct store *s, const char *aside, const char *codes)
{
    char found[1000] = "";
    struct fsck f = { .say = add_code, .ctx = found };

    OK(fsck_store(&f, s, aside, &e));
    ck_assert_str_eq(found, codes);
    ck_assert(f.looked_at_all);
    ck_assert_uint_eq(f.counts.points, 100);
    ck_assert_uint_eq(f.repaired, aside == NULL ? 0 : f.found);
}

/* Found, repaired, and not found again. */
static void
expect(struct store *s, const char *aside, const char *codes)
{
    look(s, NULL, codes);
    look(s, aside, codes);
    look(s, NULL, "");
}

START_TEST(planted_faults_are_found_and_repaired)
{
    struct rados_rig rig = rados_rig_new("");
    char *dir = tempdir_new(), *aside = tempdir_path(dir, "aside");
    const struct slice nine = slice_of("\0\0\0\0\0\0\0\11", 8);
    uint8_t key[1 + TSUID_MAX], set[TAGK_SETS_KEY_MAX];
    struct pool_store *p;
    struct store *s;

    fill(&rig);
    OK(pool_store_open(rig.at, NULL, &p, &e));
    OK(pool_store_check_alone(p, &e));
    OK(pool_store_flush(p, &e));
    s = pool_store_of(p);
    ck_assert_uint_eq(store_layout(s)->salt_buckets, 64);
    ck_assert_uint_ne(key_salt(&salted, tsuid(0)), key_salt(&salted, tsuid(1)));
    look(s, NULL, "");
    /* A wrong count, in the bucket of one of the two. */
    write_one(s, tagk_sets_key(store_layout(s), tsuid(1), set), &nine);
    expect(s, aside, "tagk-sets");
    /* None. */
    write_one(s, tagk_sets_key(store_layout(s), tsuid(1), set), NULL);
    expect(s, aside, "tagk-sets");
    /* A name with one direction. */
    write_one(s, slice_of("uki\0\0\1", 6), NULL);
    expect(s, aside, "uid-no-name");
    write_one(s, slice_str("uknhost"), NULL);
    expect(s, aside, "uid-no-id");
    /* A row without a series; its tag-key set counts one that is not there. */
    write_one(s, series_key(1, key), NULL);
    look(s, NULL, "row-series");
    OK(fsck_store(&(struct fsck){ .say = add_code, .ctx = (char[1000]){ "" } },
                  s, aside, &e));
    look(s, NULL, "");
    OK(pool_store_close(&p, &e));
    free(aside);
    tempdir_free(&dir);
    rados_rig_free(&rig);
}
END_TEST

static void
ignore_lost(void *ctx, const char *why)
{
    (void)ctx;
    (void)why;
}

static void
ignore_died(void *ctx)
{
    (void)ctx;
}

static struct cluster_options
server_of(const char *at, const char *mode)
{
    return (struct cluster_options){ .at = at,
                                     .store = { .min_free_bytes = 1 },
                                     .mode = mode,
                                     .address = "127.0.0.1:1",
                                     .version = "1",
                                     .lost = ignore_lost,
                                     .died = ignore_died };
}

START_TEST(a_store_in_use_is_not_looked_at)
{
    struct rados_rig rig = rados_rig_new("");
    const struct cluster_options o = server_of(rig.other, "ro");
    struct pool_store *p, *second;
    struct cluster *server;
    struct error e = { 0 };

    fill(&rig);
    ck_assert_int_eq(pool_store_open(rig.at, NULL, &p, &e), ST_OK);
    ck_assert_int_eq(pool_store_check_alone(p, &e), ST_OK);
    ck_assert_int_eq(cluster_open(&o, &server, &e), ST_OK);
    ck_assert_int_eq(pool_store_check_alone(p, &e), ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "in use by member"));
    ck_assert_int_eq(cluster_close(&server, &e), ST_OK);
    /* Two commands at once: neither can reach the other. */
    ck_assert_int_eq(pool_store_open(rig.other, NULL, &second, &e), ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "another command"));
    ck_assert_ptr_null(second);
    ck_assert_int_eq(pool_store_flush(p, &e), ST_OK);
    ck_assert_int_eq(pool_store_close(&p, &e), ST_OK);
    rados_rig_free(&rig);
}
END_TEST

/* One that says that it has ended is not fenced, and its WAL is not read: so it
 * takes nothing from then on, though it was about to. */
START_TEST(who_ended_takes_nothing)
{
    struct rados_rig rig = rados_rig_new("");
    const struct cluster_options o = server_of(rig.at, "rw");
    struct error e = { 0 };

    fill(&rig);
    for (int i = 0; i < 8; i++) {
        struct cluster *c;

        ck_assert_int_eq(cluster_open(&o, &c, &e), ST_OK);
        ck_assert_int_eq(cluster_serve(c, &e), ST_OK);
        (void)usleep((unsigned)i * 10000);
        ck_assert_msg(cluster_leave(c, &e) == ST_OK, "%s", e.text);
        for (int k = 0; k < 150; k++) {
            for (unsigned b = 0; b < 64; b++)
                ck_assert(!store_bucket_is_local(cluster_store(c), b));
            (void)usleep(2000);
        }
        ck_assert_int_eq(cluster_close(&c, &e), ST_OK);
    }
    rados_rig_free(&rig);
}
END_TEST

START_TEST(a_copy_goes_into_an_empty_namespace)
{
    struct rados_rig rig = rados_rig_new("");
    struct pool_store *p;
    struct fixture f = source_new();
    struct backup b = { .to = { PLACE_POOL, rig.at } };
    struct error e = { 0 };

    ck_assert_int_eq(pool_store_open(rig.at, NULL, &p, &e), ST_NOT_FOUND);
    ck_assert_ptr_null(p);
    fill(&rig);
    ck_assert_int_eq(backup_make(f.store, &b, &e), ST_INVALID);
    ck_assert_ptr_nonnull(strstr(e.text, "there is a store"));
    fixture_free(&f);
    rados_rig_free(&rig);
}
END_TEST

static bool closes_badly;

enum status __real_cluster_close(struct cluster **cp, struct error *e);
enum status __wrap_cluster_close(struct cluster **cp, struct error *e);

/* The linker sends calls of cluster_close() here. */
enum status
__wrap_cluster_close(struct cluster **cp, struct error *e)
{
    enum status st = __real_cluster_close(cp, e);

    return closes_badly ? error_set(e, ST_TIMEOUT, "no answer") : st;
}

START_TEST(a_backup_is_made_though_the_pool_is_left_badly)
{
    struct rados_rig rig = rados_rig_new("");
    char *dir = tempdir_new(), *to = tempdir_path(dir, "backup");
    const struct place from = { PLACE_POOL, rig.at };
    struct backup b = { .to = { PLACE_FOLDER, to } };
    struct error e = { 0 };

    fill(&rig);
    closes_badly = true;
    ck_assert_int_eq(backup_idle(&from, &b, &e), ST_OK);
    closes_badly = false;
    ck_assert_int_eq(access(to, F_OK), 0);
    free(to);
    tempdir_free(&dir);
    rados_rig_free(&rig);
}
END_TEST

/* -- copies that end early ----------------------------------------------------
 */

static enum status
reject(void *ctx, struct store *copy, struct error *e)
{
    struct ceph *c = ctx;

    ck_assert_uint_eq(store_layout(copy)->salt_buckets, 64);
    ck_assert_int_eq(pool_check_empty(c, NULL), ST_INVALID);
    return error_set(e, ST_CORRUPT, "rejected");
}

START_TEST(a_copy_that_fails_leaves_nothing)
{
    struct rados_rig rig = rados_rig_new("");
    struct fixture f = source_new();
    struct kv_copying c = { .keys = 0 };
    const struct pool_filling filling = { .at = rig.at,
                                          .layout = salted,
                                          .copying = &c,
                                          .verify = reject,
                                          .ctx = rig.admin };
    struct error e = { 0 };

    ck_assert_int_eq(pool_store_fill(f.store, &filling, &e), ST_CORRUPT);
    ck_assert_str_eq(e.text, "rejected");
    ck_assert_int_eq(pool_check_empty(rig.admin, &e), ST_OK);
    fixture_free(&f);
    rados_rig_free(&rig);
}
END_TEST

RADOS_TEST_MAIN("pool_store", TEST(planted_faults_are_found_and_repaired),
                TEST(a_store_in_use_is_not_looked_at),
                TEST(who_ended_takes_nothing),
                TEST(a_copy_goes_into_an_empty_namespace),
                TEST(a_backup_is_made_though_the_pool_is_left_badly),
                TEST(a_copy_that_fails_leaves_nothing))
