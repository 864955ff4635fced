/* Put paths of several daemons over one engine: names of a batch together, and
 * names that another daemon changes. */
#include <stdlib.h>

#include "tests/uid/shared/daemons.h"
#include "tsd/put/put.h"

enum { NOW_S = 1356998400 };

struct path {
    struct put_path *path;
    struct put_batch *batch;
    size_t failed;
};

static void
failed(void *ctx, size_t id, enum put_fault fault, struct slice why)
{
    struct path *p = ctx;

    (void)id;
    (void)fault;
    (void)why;
    p->failed++;
}

static void
path_open(struct path *p, struct fixture *f, struct series_rules rules)
{
    const struct put_options o = { .rules = rules };

    *p =
        (struct path){ .path = put_path_new(f->store, f->series, f->uids, &o) };
    p->batch = put_batch_new(p->path, failed, p);
}

static void
path_close(struct path *p)
{
    put_batch_free(&p->batch);
    put_path_free(&p->path);
}

static size_t
flush(struct path *p)
{
    size_t stored = 0;

    ck_assert_int_eq(put_batch_flush(p->batch, &stored), ST_OK);
    return stored;
}

static size_t
put_line(struct path *p, const char *line)
{
    put_batch_line(p->batch, slice_str(line), 0, false);
    return flush(p);
}

static uint64_t
id_of(struct fixture *f, enum uid_kind kind, const char *name)
{
    uint64_t id = 0;

    (void)!uid_find(f->uids, kind, slice_str(name), &id, NULL);
    return id;
}

static const struct series_rules all_rules = { true, true, true, 8, false };

START_TEST(new_names_of_a_batch_cost_some_calls)
{
    enum { ALONE = 20 };
    struct daemons all;
    struct path p;
    uint64_t calls, alone, together;
    char(*lines)[100] = calloc(PUT_BATCH_MAX, sizeof *lines);

    daemons_open(&all);
    path_open(&p, &all.d[0], all_rules);
    calls = kv_shared_calls(daemons_kv(&all));
    for (int i = 0; i < ALONE; i++) {
        (void)snprintf(lines[i], sizeof lines[i], "m %d %d host=alone%d dc=d",
                       NOW_S, i, i);
        ck_assert_uint_eq(put_line(&p, lines[i]), 1);
    }
    alone = (kv_shared_calls(daemons_kv(&all)) - calls) / ALONE;
    calls = kv_shared_calls(daemons_kv(&all));
    for (int i = 0; i < PUT_BATCH_MAX; i++) {
        (void)snprintf(lines[i], sizeof lines[i], "m%d %d %d host=h%d dc=d%d",
                       i % 10, NOW_S, i, i, i % 7);
        put_batch_line(p.batch, slice_str(lines[i]), (size_t)i, false);
    }
    ck_assert_uint_eq(flush(&p), PUT_BATCH_MAX);
    together = kv_shared_calls(daemons_kv(&all)) - calls;
    ck_assert_uint_eq(p.failed, 0);
    ck_assert_msg(together * 100 <= alone * PUT_BATCH_MAX,
                  "%llu calls for %d, %llu for one",
                  (unsigned long long)together, PUT_BATCH_MAX,
                  (unsigned long long)alone);
    /* In the order in which they came. */
    ck_assert_uint_lt(id_of(&all.d[1], UID_METRIC, "m0"),
                      id_of(&all.d[1], UID_METRIC, "m1"));
    ck_assert_uint_eq(id_of(&all.d[1], UID_TAGV, "h2"),
                      id_of(&all.d[1], UID_TAGV, "h1") + 2);
    ck_assert_uint_eq(series_total(all.d[1].series), PUT_BATCH_MAX + ALONE);
    free(lines);
    path_close(&p);
    daemons_close(&all);
}
END_TEST

/* What is rejected makes no names, wherever in the batch it is. */
START_TEST(rejected_rows_make_no_names)
{
    static const char *const lines[] = {
        "known 1356998400 1 host=a",  "new 1356998400 1 host=b",
        "known 1356998400 1 host=c",  "known 1356998400 x host=d",
        "known 1356998400 1 host=e!", "known 1356998400 1 other=f",
        "known 1356998400 1 host=g",
    };
    struct daemons all;
    struct path p;
    uint64_t id;

    daemons_open(&all);
    path_open(&p, &all.d[0],
              (struct series_rules){ false, false, true, 8, false });
    OK(uid_assign(all.d[1].uids, UID_METRIC, slice_str("known"), &id, &e));
    OK(uid_assign(all.d[1].uids, UID_TAGK, slice_str("host"), &id, &e));
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        put_batch_line(p.batch, slice_str(lines[i]), i, false);
    ck_assert_uint_eq(flush(&p), 3);
    ck_assert_uint_eq(p.failed, 4);
    ck_assert_uint_ne(id_of(&all.d[1], UID_TAGV, "a"), 0);
    ck_assert_uint_ne(id_of(&all.d[1], UID_TAGV, "c"), 0);
    ck_assert_uint_ne(id_of(&all.d[1], UID_TAGV, "g"), 0);
    ck_assert_uint_eq(id_of(&all.d[1], UID_METRIC, "new"), 0);
    ck_assert_uint_eq(id_of(&all.d[1], UID_TAGK, "other"), 0);
    ck_assert_uint_eq(id_of(&all.d[1], UID_TAGV, "b"), 0);
    ck_assert_uint_eq(id_of(&all.d[1], UID_TAGV, "d"), 0);
    ck_assert_uint_eq(id_of(&all.d[1], UID_TAGV, "f"), 0);
    path_close(&p);
    daemons_close(&all);
}
END_TEST

/* A put of the old name, cached elsewhere, makes a series of its own. */
START_TEST(a_cached_line_follows_a_rename_elsewhere)
{
    struct daemons all;
    struct path p[2];
    uint64_t old_id;

    daemons_open(&all);
    path_open(&p[0], &all.d[0], all_rules);
    path_open(&p[1], &all.d[1], all_rules);
    ck_assert_uint_eq(put_line(&p[0], "m 1356998400 1 host=a"), 1);
    ck_assert_uint_eq(put_line(&p[1], "m 1356998401 1 host=a"), 1);
    ck_assert_uint_eq(series_total(all.d[2].series), 1);
    old_id = id_of(&all.d[1], UID_TAGV, "a");
    OK(uid_rename(all.d[0].uids, UID_TAGV, slice_str("a"), slice_str("b"), &e));
    ck_assert_uint_eq(put_line(&p[1], "m 1356998402 1 host=b"), 1);
    ck_assert_uint_eq(series_total(all.d[2].series), 1);
    ck_assert_uint_eq(put_line(&p[1], "m 1356998403 1 host=a"), 1);
    ck_assert_uint_eq(series_total(all.d[2].series), 2);
    ck_assert_uint_eq(id_of(&all.d[1], UID_TAGV, "b"), old_id);
    ck_assert_uint_ne(id_of(&all.d[0], UID_TAGV, "a"), old_id);
    OK(uid_delete(all.d[2].uids, UID_TAGV, slice_str("a"), &e));
    ck_assert_uint_eq(put_line(&p[1], "m 1356998404 1 host=a"), 1);
    ck_assert_uint_eq(series_total(all.d[0].series), 3);
    path_close(&p[0]);
    path_close(&p[1]);
    daemons_close(&all);
}
END_TEST

TEST_MAIN("put_shared", TEST(new_names_of_a_batch_cost_some_calls),
          TEST(rejected_rows_make_no_names),
          TEST(a_cached_line_follows_a_rename_elsewhere))
