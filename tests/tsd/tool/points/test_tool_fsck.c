/* 'uid fsck' and 'fsck' on stores that were damaged on purpose. */
#include "storage/store/store.h"
#include "tests/tsd/tool/workbench.h"
#include "tsd/put/put.h"
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

START_TEST(fsck_finds_and_repairs)
{
    char *dir = tempdir_new();
    struct workbench w;

    workbench_open(&w, dir);
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan"), 0);
    err_has(&w, "clean\n");
    write_batch(&w, slice_str("zz"), "of no table");
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan"), 1);
    err_has(&w, "no-table 7a7a ");
    err_has(&w, "no-table: 1\n1 found, 0 repaired\n");
    /* --fix alone repairs nothing, nor does a flag without it. */
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan", "--fix"), 1);
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan", "--delete-unknown-columns"),
                     1);
    ck_assert_int_eq(
        RUN(&w, "fsck", "--full-scan", "--fix", "--delete-unknown-columns"), 1);
    err_has(&w, "1 found, 1 repaired\n");
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
    { { "1356998400", "sum", "m" }, 0, "clean" },
    { { "1356998400", "--full-scan" }, 0, "clean" },
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

static void
put_line(struct workbench *w, const char *line)
{
    struct put_batch *b = put_batch_new(w->db.api.put, NULL, NULL);
    size_t stored = 0;

    put_batch_line(b, slice_str(line), 1, false);
    ck_assert_int_eq(put_batch_flush(b, &stored), ST_OK);
    ck_assert_uint_eq(stored, 1);
    put_batch_free(&b);
}

/* What a table has. */
static size_t
entries_of(struct workbench *w, uint8_t table)
{
    struct kv_iter *it =
        kv_iter_open(store_kv(w->db.api.store), KEY_TABLE(table));
    size_t n = 0;
    struct error e;

    for (bool on = kv_iter_seek(it, KEY_TABLE(table)); on;
         on = kv_iter_next(it))
        n++;
    ck_assert_int_eq(kv_iter_end(&it, ST_OK, &e), ST_OK);
    return n;
}

/* Rows of names that were deleted go when that is asked for, with all that
 * their series have, and nothing else. */
static const struct {
    const char *kind, *name;
    const char *says;
} orphans[] = {
    { "metrics", "gone", "Unable to resolve the metric from the row key: " },
    { "tagk", "old", "Unable to resolve the tagk or tagv from the row key: " },
    { "tagv", "x", "Unable to resolve the tagk or tagv from the row key: " },
};

START_TEST(orphans_are_found_and_deleted)
{
    char *dir = tempdir_new();
    struct workbench w;

    workbench_open(&w, dir);
    put_line(&w, "kept 1356998400 1 h=a");
    put_line(&w, "gone 1356998400 1 old=x");
    put_line(&w, "gone 1357041600 2 old=x"); /* another row */
    put_line(&w, "gone 1388534400 3 old=x"); /* the weeks before are summed */
    ck_assert_int_eq(RUN(&w, "uid", "metasync"), 0);
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan"), 0);
    workbench_close(&w);

    workbench_open(&w, dir);
    ck_assert_int_eq(
        RUN(&w, "uid", "delete", orphans[_i].kind, orphans[_i].name), 0);
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan"), 1);
    err_has(&w, orphans[_i].says);
    err_has(&w, "row-orphan: 3\n3 found, 0 repaired\n");
    /* Other repairs leave them. */
    ck_assert_int_eq(
        RUN(&w, "fsck", "--full-scan", "--fix", "--delete-bad-rows"), 1);
    err_has(&w, "row-orphan: 3\n3 found, 0 repaired\n");
    ck_assert_int_eq(
        RUN(&w, "fsck", "--full-scan", "--fix", "--delete-orphans"), 1);
    err_has(&w, "row-orphan: 3\n3 found, 3 repaired\n");
    workbench_close(&w);

    workbench_open(&w, dir);
    ck_assert_int_eq(RUN(&w, "fsck", "--full-scan"), 0);
    err_has(&w, " 1 rows of 1 points, ");
    ck_assert_uint_eq(entries_of(&w, TABLE_ROWS), 1);
    ck_assert_uint_eq(entries_of(&w, TABLE_SERIES), 1);
    ck_assert_uint_eq(entries_of(&w, TABLE_TAGK_SETS), 1);
    ck_assert_uint_eq(entries_of(&w, TABLE_META), 1);
    ck_assert_int_eq(RUN(&w, "scan", "--import"), 0);
    ck_assert_str_eq(buf_cstr(&w.out), "kept 1356998400 1 h=a\n");
    workbench_close(&w);
    tempdir_free(&dir);
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
          TEST(fsck_finds_and_repairs), LOOP(fsck_checks_queries, queries),
          LOOP(orphans_are_found_and_deleted, orphans),
          TEST(what_is_in_use_is_not_repaired))
