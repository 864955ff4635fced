/* Edits as LevelDB writes them, made here byte by byte. */
#include "storage/kv/leveldb/level_manifest.h"

#include "base/file/durable.h"
#include "storage/kv/leveldb/level_files.h"
#include "tests/harness.h"
#include "tests/nomem.h"
#include "tests/tempdir.h"

/* Comparator "c", log 5, next 300, last sequence 7, a pointer of level 1, a
 * deleted table of level 0, two new ones, and then the log before. */
static const uint8_t edit[] = { 1, 1,  'c', 2,    5,   3, 0xac, 2, 4,   7,
                                5, 1,  2,   'k',  'k', 6, 0,    9, /**/
                                7, 1,  12,  0x80, 1,   1, 'a',  1, 'z', 7,
                                2, 13, 60,  1,    'a', 1, 'z',  9, 4 };
/* Table 12 moves to level 2; the log is 8 and none before it; table 14. */
static const uint8_t next[] = { 6, 1, 12, 7, 2, 12, 0x80, 1, 1, 'a', 1, 'z',
                                2, 8, 9,  0, 7, 0,  14,   9, 1, 'a', 1, 'z' };

static void
add(struct level_history *h, const uint8_t *bytes, size_t size)
{
    ck_assert(level_history_add(h, slice_of(bytes, size)));
}

START_TEST(understands_edits)
{
    struct level_history h = { .last = BUF_INIT };

    add(&h, edit, sizeof edit);
    ck_assert_uint_eq(h.now.log, 5);
    ck_assert_uint_eq(h.now.earlier, 4);
    ck_assert_uint_eq(h.now.len, 2);
    ck_assert_uint_eq(h.now.tables[0].number, 12);
    ck_assert_uint_eq(h.now.tables[0].size, 128);
    ck_assert_uint_eq(h.before.log, 0);
    ck_assert(level_version_needs(&h.now, 4));
    ck_assert(level_version_needs(&h.now, 6));
    ck_assert(!level_version_needs(&h.now, 3));
    add(&h, next, sizeof next);
    ck_assert_uint_eq(h.before.log, 5);
    ck_assert_uint_eq(h.before.len, 2);
    ck_assert_uint_eq(h.now.log, 8);
    ck_assert_uint_eq(h.now.len, 3);
    ck_assert(!level_version_needs(&h.now, 0));
    ck_assert(!level_version_needs(&h.now, 7));
    level_history_back(&h);
    ck_assert_uint_eq(h.now.log, 5);
    ck_assert_uint_eq(h.now.len, 2);
    level_history_fini(&h);
}
END_TEST

START_TEST(no_memory_is_no_damage)
{
    char *dir = tempdir_new();

    ck_assert_int_eq(
        files_replace(dir, "CURRENT", slice_str("MANIFEST-000019\n"), NULL),
        ST_OK);
    for (unsigned n = 0; nomem_begin(n); n++) {
        struct level_history h = { .last = BUF_INIT };
        uint64_t number;
        enum status st = level_current_manifest(dir, &number, NULL);

        add(&h, edit, sizeof edit);
        nomem_end();
        ck_assert(st == ST_OK || (st == ST_IO && nomem_failed()));
        ck_assert_uint_eq(h.now.log, 5);
        level_history_fini(&h);
    }
    tempdir_free(&dir);
}
END_TEST

/* Parts of it, and what is no field. */
START_TEST(rejects_what_is_no_edit)
{
    size_t whole = 0;

    for (size_t size = 0; size < sizeof edit; size++) {
        struct level_history h = { .last = BUF_INIT };

        whole += level_history_add(&h, slice_of(edit, size));
        level_history_fini(&h);
    }
    ck_assert_uint_eq(whole, 9); /* before each of its fields */
    for (unsigned field = 0; field < 256; field++) {
        struct level_history h = { .last = BUF_INIT };
        uint8_t bytes[] = { (uint8_t)field, 0, 0, 0, 0, 0 };

        if (field == 0 || field == 8 || field > 9)
            ck_assert(!level_history_add(&h, slice_of(bytes, sizeof bytes)));
        level_history_fini(&h);
    }
}
END_TEST

static void
make_file(const char *dir, const char *name)
{
    char *path = tempdir_path(dir, name);
    FILE *f = fopen(path, "wb");

    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fclose(f), 0);
    free(path);
}

static void
drop_file(const char *dir, const char *name)
{
    char *path = tempdir_path(dir, name);

    ck_assert_int_eq(remove(path), 0);
    free(path);
}

/* All that the version before needs, one by one. */
START_TEST(is_ahead_of_a_table)
{
    static const char *const needed[] = { "000005.log", "000004.log",
                                          "000012.ldb", "000013.ldb" };
    char *dir = tempdir_new();
    struct level_history h = { .last = BUF_INIT };

    add(&h, edit, sizeof edit);
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        make_file(dir, needed[i]);
    ck_assert(!level_history_is_ahead(&h, dir)); /* of nothing */
    add(&h, next, sizeof next);
    ck_assert(level_history_is_ahead(&h, dir));
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        drop_file(dir, needed[i]);
        ck_assert_msg(!level_history_is_ahead(&h, dir), "%s", needed[i]);
        make_file(dir, needed[i]);
    }
    make_file(dir, "000014.ldb");
    ck_assert(!level_history_is_ahead(&h, dir));
    level_history_fini(&h);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("level_manifest", TEST(understands_edits),
          TEST(no_memory_is_no_damage), TEST(rejects_what_is_no_edit),
          TEST(is_ahead_of_a_table))
