/* Purges of one daemon while others use the same series and names. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/uid/shared/daemons.h"
#include "uid/fsck/uid_fsck.h"
#include "uid/names/uid_marks.h"
#include "uid/purge/purge.h"
#include "uid/series/series_priv.h"
#include "uid/series/series_purge.h"

#define T0    INT64_C(1356998400000)
#define HOUR  INT64_C(3600000)
#define HOSTS 30

static const struct series_rules rules = { true, true, true, 8, false };

static struct daemons all;

static void
open_all(void)
{
    daemons_open(&all);
}

static void
close_all(void)
{
    daemons_close(&all);
}

static void
resolve(int d, const char *metric, const char *host, series_ref *ref,
        struct tsuid *tsuid)
{
    const struct tag tag = { slice_str("host"), slice_str(host) };

    OK(series_resolve(all.d[d].series, &rules,
                      &(struct series_text){ 0, slice_str(metric), &tag, 1 },
                      ref, tsuid, &e));
}

/* As the put path does it: a handle that is not valid any more is looked up
 * again.  Daemons have hours of their own, since each has a head. */
static void
put(int d, const char *metric, const char *host, int64_t ms)
{
    struct series_point p = {
        .point = { T0 + d * 1000 * HOUR + ms, { .i = 1 }, false }
    };
    struct tsuid tsuid;
    uint64_t lsn;
    enum status st;

    do {
        resolve(d, metric, host, &p.series, &tsuid);
        st = store_put(all.d[d].store, &p, 1, &lsn, NULL);
    } while (st == ST_NOT_FOUND);
    ck_assert_int_eq(st, ST_OK);
}

/* Puts points into the engine and deletes them again. */
static void
put_and_delete(int d, const char *metric, const char *host)
{
    struct tsuid tsuid;
    series_ref ref;
    uint64_t deleted, lsn;

    put(d, metric, host, 0);
    OK(store_flush(all.d[d].store, &e));
    resolve(d, metric, host, &ref, &tsuid);
    OK(store_delete(all.d[d].store, tsuid_slice(&tsuid), 0, INT64_MAX / 2,
                    &deleted, &lsn, &e));
    ck_assert_uint_eq(deleted, 1);
}

static uint64_t
id_of(int d, enum uid_kind kind, const char *name)
{
    uint64_t id;

    return uid_find(all.d[d].uids, kind, slice_str(name), &id, NULL) == ST_OK
               ? id
               : 0;
}

static void
found(void *ctx, const struct finding *x)
{
    (void)ctx;
    ck_assert_msg(x->is_note, "%s: %s", x->code, x->text);
}

/* Each row has its series in the directory, each id its name, and each count is
 * right in the engine and in every memory. */
static void
check_all(uint64_t series)
{
    struct check c = { .say = found };
    struct check_counts n;

    for (int d = 0; d < DAEMONS; d++)
        OK(store_flush(all.d[d].store, &e));
    OK(check_tables(all.d[0].store, &c, &n, &e));
    if (series != UINT64_MAX)
        for (int d = 0; d < DAEMONS; d++)
            ck_assert_uint_eq(series_total(all.d[d].series), series);
}

static enum status
purge(int d, struct purge *p, struct error *e)
{
    return purge_run(p, all.d[d].series, all.d[d].store, all.d[d].uids, e);
}

START_TEST(removes_what_no_daemon_has)
{
    struct purge p = { .dry_run = false };
    uint64_t old;

    put_and_delete(0, "old", "a");
    put_and_delete(1, "old", "b");
    put(1, "new", "a", 0);
    old = id_of(0, UID_METRIC, "old");
    for (int d = 0; d < DAEMONS; d++) /* into all caches */
        ck_assert_uint_ne(id_of(d, UID_TAGV, "b"), 0);
    OK(purge(2, &(struct purge){ .dry_run = true }, &e));
    check_all(3);
    OK(purge(2, &p, &e));
    ck_assert_uint_eq(p.forgotten, 2);
    ck_assert_uint_eq(p.names[UID_METRIC], 1);
    ck_assert_uint_eq(p.names[UID_TAGK], 0);
    ck_assert_uint_eq(p.names[UID_TAGV], 1);
    check_all(1);
    for (int d = 0; d < DAEMONS; d++) {
        ck_assert_uint_eq(id_of(d, UID_METRIC, "old"), 0);
        ck_assert_uint_eq(id_of(d, UID_TAGV, "b"), 0);
        ck_assert_uint_ne(id_of(d, UID_TAGV, "a"), 0);
        ck_assert(!uid_has_deleted(all.d[d].uids));
    }
    put(0, "old", "b", 0);
    ck_assert_uint_gt(id_of(1, UID_METRIC, "old"), old);
    check_all(2);
}
END_TEST

/* Many series of several tag-key sets and salt buckets, in more than a batch.
 */
START_TEST(counts_are_right)
{
    struct purge p = { .dry_run = false };
    char host[16];

    for (int i = 0; i < 600; i++) {
        struct tsuid tsuid;
        series_ref ref;

        (void)snprintf(host, sizeof host, "h%d", i);
        resolve(i % DAEMONS, i % 2 == 0 ? "m" : "n", host, &ref, &tsuid);
    }
    for (int d = 0; d < DAEMONS; d++)
        put(d, "m", "h8", 0);
    OK(purge(0, &p, &e));
    ck_assert_uint_eq(p.forgotten, 599);
    check_all(1);
}
END_TEST

/* -- what is used while a purge works -------------------------------------- */

/* Called for the first series, when the purge has read the rows already. */
static bool
put_meanwhile(void *ctx, uint64_t metric)
{
    bool *done = ctx;

    (void)metric;
    if (!*done) {
        *done = true;
        put(1, "m", "again", 0);
        put(1, "m", "flushed", 0);
        OK(store_flush(all.d[1].store, &e));
    }
    return true;
}

START_TEST(keeps_what_is_used_meanwhile)
{
    bool done = false;
    struct purge p = { .takes = put_meanwhile, .ctx = &done };
    uint64_t id;

    put_and_delete(0, "m", "again");
    put_and_delete(0, "m", "flushed");
    put_and_delete(0, "m", "gone");
    put(1, "m", "open", 0);
    id = id_of(1, UID_TAGV, "again");
    OK(purge(2, &p, &e));
    ck_assert_uint_eq(p.forgotten, 1);
    ck_assert_uint_eq(p.names[UID_TAGV], 1);
    ck_assert_uint_eq(id_of(0, UID_TAGV, "gone"), 0);
    ck_assert_uint_eq(id_of(0, UID_TAGV, "again"), id);
    check_all(3);
}
END_TEST

/* Entries that a purge marked and did not come to remove. */
START_TEST(a_marked_series_is_entered_again)
{
    uint8_t key[SERIES_KEY_MAX];
    struct kv_batch *b = kv_batch_new();
    struct tsuid tsuid;
    series_ref ref;
    uint32_t created_s = 0;

    resolve(0, "m", "a", &ref, &tsuid);
    kv_batch_put(b, slice_of(key, key_series(tsuid_slice(&tsuid), key)),
                 slice_of("\0\0\0\7", 4));
    OK(store_write(all.d[0].store, b, NULL, &e));
    kv_batch_free(&b);
    resolve(1, "m", "a", &ref, &tsuid);
    OK(series_created(all.d[1].series, tsuid_slice(&tsuid), &created_s, &e));
    ck_assert(!uid_is_mark(created_s));
    check_all(1);
}
END_TEST

START_TEST(a_marked_name_is_kept_or_gone)
{
    struct uid_marked name = { slice_str("a"), 0, false };
    struct uid_marking m = {
        .what = UID_MARK, .kind = UID_TAGV, .mark = 7, .names = &name, .len = 1
    };
    bool gone = false;
    struct tsuid tsuid;
    series_ref ref;

    resolve(0, "m", "a", &ref, &tsuid);
    name.id = id_of(0, UID_TAGV, "a");
    OK(uid_mark_names(all.d[2].uids, &m, &e));
    ck_assert(name.done);
    OK(uid_keep_names(all.d[1].uids, UID_TAGV, &name.id, 1, &gone, &e));
    ck_assert(!gone);
    m.what = UID_REMOVE;
    OK(uid_mark_names(all.d[2].uids, &m, &e));
    ck_assert(!name.done);
    m.what = UID_MARK;
    OK(uid_mark_names(all.d[2].uids, &m, &e));
    m.what = UID_REMOVE;
    OK(uid_mark_names(all.d[2].uids, &m, &e));
    ck_assert(name.done);
    /* The cache of the other still has it. */
    ck_assert_uint_eq(id_of(1, UID_TAGV, "a"), name.id);
    OK(uid_keep_names(all.d[1].uids, UID_TAGV, &name.id, 1, &gone, &e));
    ck_assert(gone);
    /* Who expects marks looks the name up again. */
    uid_expect_marks(all.d[1].uids, INT64_MAX);
    resolve(1, "m", "a", &ref, &tsuid);
    ck_assert_uint_gt(id_of(1, UID_TAGV, "a"), name.id);
}
END_TEST

/* A daemon enters a series by the id of a name that a purge has just removed.
 */
START_TEST(a_series_of_a_gone_name_is_taken_back)
{
    struct uid_marked name = { slice_str("a"), 0, false };
    struct uid_marking m = {
        .what = UID_MARK, .kind = UID_TAGV, .mark = 7, .names = &name, .len = 1
    };
    struct tsuid tsuid;
    series_ref ref;

    resolve(0, "m", "a", &ref, &tsuid);
    name.id = id_of(1, UID_TAGV, "a"); /* into its cache */
    OK(uid_mark_names(all.d[2].uids, &m, &e));
    m.what = UID_REMOVE;
    OK(uid_mark_names(all.d[2].uids, &m, &e));
    uid_expect_marks(all.d[1].uids, INT64_MAX);
    resolve(1, "n", "a", &ref, &tsuid);
    ck_assert_uint_ne(id_of(1, UID_TAGV, "a"), name.id);
    for (int d = 0; d < DAEMONS; d++) {
        ck_assert_uint_eq(series_total(all.d[d].series), 2);
        ck_assert_uint_eq(
            series_total_of(all.d[d].series, id_of(d, UID_METRIC, "n")), 1);
    }
    key_put_uint(tsuid.bytes + tsuid.size - 3, name.id, 3);
    ck_assert_int_eq(series_created(all.d[1].series, tsuid_slice(&tsuid),
                                    &(uint32_t){ 0 }, NULL),
                     ST_NOT_FOUND);
}
END_TEST

/* -- who does not take part ------------------------------------------------ */

START_TEST(all_must_answer)
{
    struct purge p = { .dry_run = false };
    struct error why;

    put_and_delete(0, "m", "a");
    all.silent[1] = true;
    ck_assert_int_eq(purge(0, &p, &why), ST_BUSY);
    ck_assert_str_eq(why.text, "daemon 1 does not answer");
    all.silent[1] = false;
    check_all(1);
    OK(purge(0, &p, &e));
    check_all(0);
}
END_TEST

static bool
miss_events(void *ctx, uint64_t metric)
{
    (void)ctx;
    (void)metric;
    daemons_missed(&all, 1);
    return true;
}

static bool
leave(void *ctx, uint64_t metric)
{
    (void)ctx;
    (void)metric;
    all.deaf[1] = true;
    return true;
}

static bool
begin_another(void *ctx, uint64_t metric)
{
    (void)ctx;
    (void)metric;
    OK(series_purge_begin(all.d[1].series, &e));
    return true;
}

/* Daemons that miss events, leave, or begin another purge, when one has begun.
 */
START_TEST(gives_up_when_the_daemons_change)
{
    static bool (*const changes[])(
        void *ctx, uint64_t metric) = { miss_events, leave, begin_another };
    struct purge p = { .takes = changes[_i] };
    struct error why;

    put_and_delete(0, "m", "a");
    ck_assert_int_eq(purge(0, &p, &why), ST_BUSY);
    ck_assert_uint_eq(p.forgotten, 0);
    if (_i == 2)
        series_purge_end(all.d[1].series);
    all.deaf[1] = false;
    daemons_missed(&all, 1);
    check_all(1);
    OK(purge(0, &(struct purge){ .dry_run = false }, &e));
    check_all(0);
}
END_TEST

static void
leave_at_name(void *ctx, enum uid_kind kind, struct slice name, uint64_t id)
{
    (void)kind;
    (void)name;
    (void)id;
    (void)leave(ctx, 0);
}

/* A daemon leaves after the names were marked: no more names are removed. */
START_TEST(gives_up_while_names_are_removed)
{
    struct purge p = { .name = leave_at_name };
    struct error why;

    put_and_delete(0, "m", "a");
    ck_assert_int_eq(purge(0, &p, &why), ST_BUSY);
    ck_assert_uint_eq(p.names[UID_METRIC], 1);
    ck_assert_uint_eq(p.names[UID_TAGV], 0);
    ck_assert_uint_ne(id_of(2, UID_TAGV, "a"), 0);
}
END_TEST

/* -- races ----------------------------------------------------------------- */

static atomic_bool ended;
static atomic_uint put_by_others;

/* Some series get points, most are entered and get none. */
static void *
use_series(void *arg)
{
    int d = *(const int *)arg;
    char host[16];

    for (unsigned n = 0; !atomic_load(&ended); n++) {
        struct tsuid tsuid;
        series_ref ref;

        (void)snprintf(host, sizeof host, "h%u", n % HOSTS);
        if (n % 7 == 0) {
            (void)snprintf(host, sizeof host, "p%u", n / 7 % 1000);
            put(d, "busy", host, (int64_t)n);
            atomic_fetch_add(&put_by_others, 1);
        } else {
            resolve(d, "busy", host, &ref, &tsuid);
        }
        if (n % 100 == 0)
            OK(store_flush(all.d[d].store, &e));
    }
    return NULL;
}

START_TEST(what_others_put_meanwhile_stays)
{
    static const int numbers[] = { 0, 1 };
    pthread_t threads[2];
    uint64_t forgotten = 0, names = 0, gave_up = 0, runs = 0;

    atomic_store(&ended, false);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_series,
                                        (void *)(uintptr_t)&numbers[i]),
                         0);
    /* On a busy machine the others may wait for long. */
    for (; runs < 60 || (runs < 6000 && (forgotten == 0 || names == 0));
         runs++) {
        struct purge p = { .dry_run = false };
        struct error why;
        enum status st = purge(2, &p, &why);

        ck_assert_msg(st == ST_OK || st == ST_BUSY, "%s", why.text);
        gave_up += st == ST_BUSY;
        forgotten += p.forgotten;
        names += p.names[UID_TAGV];
    }
    atomic_store(&ended, true);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_lt(gave_up, runs / 2);
    ck_assert_uint_gt(forgotten, 0);
    ck_assert_uint_gt(names, 0);
    ck_assert_uint_gt(atomic_load(&put_by_others), 0);
    check_all(UINT64_MAX);
}
END_TEST

TEST_MAIN_WITH(open_all, close_all, "shared_purge",
               TEST(removes_what_no_daemon_has), TEST(counts_are_right),
               TEST(keeps_what_is_used_meanwhile),
               TEST(a_marked_series_is_entered_again),
               TEST(a_marked_name_is_kept_or_gone),
               TEST(a_series_of_a_gone_name_is_taken_back),
               TEST(all_must_answer),
               TIMES(gives_up_when_the_daemons_change, 3),
               TEST(gives_up_while_names_are_removed),
               TEST(what_others_put_meanwhile_stays))
