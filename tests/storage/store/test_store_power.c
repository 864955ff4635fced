/* What power may leave of a store as a whole: engine and WAL, one ahead of
 * the other; and what a batch leaves that was rejected. */
#include "storage/store/store.h"

#include "storage/kv/kv.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

static char *dir;
static struct error e;

static struct store *
open_store(void)
{
    struct store_options o = { .dir = dir,
                               .layout = KEY_LAYOUT_DEFAULT,
                               .sync = WAL_SYNC_OFF };
    struct store *s;

    ck_assert_msg(store_open(&o, &s, &e) == ST_OK, "%s", e.text);
    return s;
}

static struct buf
file_read(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct buf b = BUF_INIT;

    ck_assert_ptr_nonnull(f);
    b.size = fread(buf_reserve(&b, 65536), 1, 65536, f);
    (void)fclose(f);
    return b;
}

static void
file_write(const char *path, struct slice bytes)
{
    FILE *f = fopen(path, "wb");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.size, f), bytes.size);
    ck_assert_int_eq(fclose(f), 0);
}

static void
write_one(struct store *s, const char *key, const char *value)
{
    struct kv_batch *b = kv_batch_new();
    uint64_t lsn;

    kv_batch_put(b, slice_str(key), slice_str(value));
    ck_assert_int_eq(store_write(s, b, &lsn, &e), ST_OK);
    ck_assert_int_eq(store_commit(s, lsn, false, &e), ST_OK);
    kv_batch_free(&b);
}

static void
check_one(struct store *s, const char *key, const char *want)
{
    struct buf value = BUF_INIT;

    ck_assert_int_eq(kv_get(store_kv(s), slice_str(key), &value, &e), ST_OK);
    ck_assert_str_eq(buf_cstr(&value), want);
    buf_fini(&value);
}

static uint64_t
batches(struct store *s)
{
    struct buf value = BUF_INIT;
    uint64_t n;

    ck_assert_int_eq(kv_get(store_kv(s), slice_str("b"), &value, &e), ST_OK);
    ck_assert_uint_eq(value.size, 8);
    n = key_get_uint(value.data, 8);
    buf_fini(&value);
    return n;
}

/* In a process that is gone without a word.  'early' is where the WAL is
 * copied to before the last batch. */
static void
write_and_die(const char *wal, const char *early)
{
    pid_t child = fork();
    struct store *s;
    struct buf bytes;

    if (child == 0) {
        s = open_store();
        write_one(s, "m1", "old");
        bytes = file_read(wal);
        file_write(early, buf_slice(&bytes));
        write_one(s, "m1", "new");
        ck_assert_int_eq(kv_sync(store_kv(s), &e), ST_OK);
        harness_die();
    }
    harness_wait_dead(child);
}

/* The engine had made a table of it, and the WAL was not synced: what an
 * older batch says must not come back. */
START_TEST(an_engine_ahead_of_the_journal_stays_ahead)
{
    char *wal, *early;
    struct store *s;
    bool numbered;

    dir = tempdir_new();
    wal = tempdir_path(dir, "journal/00000000000000000001.wal");
    early = tempdir_path(dir, "early");
    write_and_die(wal, early);
    if (_i == 1)
        ck_assert_int_eq(rename(early, wal), 0);
    s = open_store();
    numbered = !kv_traits(store_kv(s))->shared; /* else the WAL has none */
    check_one(s, "m1", "new");
    if (numbered)
        ck_assert_uint_eq(batches(s), 2);
    write_one(s, "m1", "newest"); /* is taken, and kept */
    if (numbered)
        ck_assert_uint_eq(batches(s), 3);
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
    s = open_store();
    check_one(s, "m1", "newest");
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
    free(wal);
    free(early);
    tempdir_free(&dir);
}
END_TEST

/* Its first half is of a size that a batch may have. */
static void
be_rejected_and_die(void)
{
    pid_t child = fork();
    uint8_t large[KV_KEY_MAX + 1] = { 0 };
    uint64_t lsn;
    struct kv_batch *b;
    struct store *s;

    if (child == 0) {
        s = open_store();
        write_one(s, "m2", "whole");
        b = kv_batch_new();
        kv_batch_put(b, slice_str("m1"), slice_str("half"));
        kv_batch_put(b, slice_of(large, sizeof large), slice_str("x"));
        ck_assert_int_eq(store_write(s, b, &lsn, &e), ST_LIMIT);
        ck_assert_int_eq(store_commit(s, lsn, false, &e), ST_OK);
        harness_die();
    }
    harness_wait_dead(child);
}

/* What the engine rejects does not come back from the WAL. */
START_TEST(a_rejected_batch_leaves_nothing)
{
    struct buf value = BUF_INIT;
    struct store *s;

    dir = tempdir_new();
    be_rejected_and_die();
    s = open_store();
    ck_assert_int_eq(kv_get(store_kv(s), slice_str("m1"), &value, &e),
                     ST_NOT_FOUND);
    check_one(s, "m2", "whole");
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
    buf_fini(&value);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN_FORKED("store_power",
                 TIMES(an_engine_ahead_of_the_journal_stays_ahead, 2),
                 TEST(a_rejected_batch_leaves_nothing))
