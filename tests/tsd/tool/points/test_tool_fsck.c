/* 'uid fsck' and 'fsck' on stores that were damaged on purpose. */
#include "storage/store/store.h"
#include "tests/tsd/tool/workbench.h"
#include "uid/names/uid.h"

static struct slice
id_key(struct workbench *w, uint64_t id, uint8_t *out)
{
    return uid_key(store_layout(w->db.api.store), UID_METRIC, 'i', id, out);
}

static void
write_batch(struct workbench *w, struct slice key, const char *value)
{
    struct kv_batch *b = kv_batch_new();
    struct error e;
    uint64_t lsn;

    if (value == NULL)
        kv_batch_delete(b, key);
    else
        kv_batch_put(b, key, slice_str(value));
    ck_assert_int_eq(store_write(w->db.api.store, b, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_commit(w->db.api.store, lsn, false, &e), ST_OK);
    kv_batch_free(&b);
}

static void
err_has(struct workbench *w, const char *text)
{
    ck_assert_msg(strstr(buf_cstr(&w->err), text) != NULL, "no '%s' in:\n%s",
                  text, buf_cstr(&w->err));
}

START_TEST(uid_fsck_counts_and_repairs)
{
    uint8_t key[UID_KEY_MAX];
    char *dir = tempdir_new();
    struct workbench w;

    workbench_open(&w, dir);
    ck_assert_int_eq(RUN(&w, "mkmetric", "a", "b", "c"), 0);
    ck_assert_int_eq(RUN(&w, "uid", "fsck"), 0);
    write_batch(&w, id_key(&w, 1, key), NULL);
    write_batch(&w, id_key(&w, 2, key), "other");
    ck_assert_int_eq(RUN(&w, "uid", "fsck"), 3);
    err_has(&w, "uid-no-name ");
    err_has(&w, "3 errors found.");
    ck_assert_uint_eq(w.out.size, 0);
    /* Those that it repairs count, too. */
    ck_assert_int_eq(RUN(&w, "uid", "fsck", "fix"), 3);
    err_has(&w, "; repaired: ");
    workbench_close(&w);
    workbench_open(&w, dir);
    ck_assert_int_eq(RUN(&w, "uid", "fsck"), 0);
    ck_assert_int_eq(RUN(&w, "uid", "metrics", "1"), 0);
    ck_assert_str_eq(buf_cstr(&w.out), "metrics a: [0, 0, 1]\n");
    workbench_close(&w);
    tempdir_free(&dir);
}
END_TEST

START_TEST(fsck_reports_as_opentsdb)
{
    char *dir = tempdir_new();
    struct workbench w;

    workbench_open(&w, dir);
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan"), 0);
    err_has(&w, "Total Errors: 0\n");
    write_batch(&w, slice_str("zz"), "of no table");
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan"), 1);
    err_has(&w, "no-table 7A7A: ");
    err_has(&w, "Unknown Objects: 1\nUnknown Objects Deleted: 0\n");
    /* --fix alone repairs nothing, nor does a flag without it. */
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan", "--fix"), 1);
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan", "--delete-unknown-columns"),
                     1);
    ck_assert_int_eq(
        RUN(&w, "fsck", "--full-scan", "--fix", "--delete-unknown-columns"), 1);
    err_has(&w, "Unknown Objects Deleted: 1\n");
    err_has(&w, "Total Errors Fixed: 1\n");
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan"), 0);
    workbench_close(&w);
    tempdir_free(&dir);
}
END_TEST

/* OpenTSDB's exit statuses. */
static const struct {
    const char *words[6];
    int rc;
    const char *says;
} queries[] = {
    { { "1356998400" }, 1, "Must supply a query or use" },
    { { "1356998400", "sum" }, 1, "" },
    { { "bogus" }, 1, "Invalid time: bogus" },
    { { "bogus", "--full-scan" }, 1, "Invalid time: bogus" },
    { { "1356998400", "sum", "nosuch" },
      1,
      "No such name for 'metrics': 'nosuch'" },
    { { "1356998400", "1356998500", "sum", "m", "h=nosuch" },
      1,
      "No such name for 'tagk': 'h'" },
    { { "1356998400", "sum", "m" }, 0, "Total Errors: 0" },
    { { "1356998400", "--full-scan" }, 0, "Total Errors: 0" },
};

START_TEST(fsck_checks_queries)
{
    const char *words[8] = { "fsck" };
    struct workbench w;

    for (size_t i = 0; i < 6 && queries[_i].words[i] != NULL; i++)
        words[1 + i] = queries[_i].words[i];
    workbench_open(&w, NULL);
    ck_assert_int_eq(RUN(&w, "mkmetric", "m"), 0);
    ck_assert_int_eq(workbench_run(&w, words), queries[_i].rc);
    err_has(&w, queries[_i].says);
    workbench_close(&w);
}
END_TEST

START_TEST(what_is_in_use_is_not_repaired)
{
    struct workbench w;

    workbench_open(&w, NULL);
    ck_assert_int_eq(RUN(&w, "uid", "fsck", "fix"), 1);
    err_has(&w, "stop its server");
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan", "--fix-all"), 1);
    workbench_close(&w);
}
END_TEST

TEST_MAIN("tool_fsck", TEST(uid_fsck_counts_and_repairs),
          TEST(fsck_reports_as_opentsdb), LOOP(fsck_checks_queries, queries),
          TEST(what_is_in_use_is_not_repaired))
