/* A store that nothing may be written to is read beside: its WAL is replayed,
 * and its folder stays as it is. */
#include <dirent.h>
#include <sys/stat.h>

#include "base/file/durable.h"
#include "storage/place/datadir.h"
#include "storage/scan/store_scan.h"
#include "storage/store/store.h"
#include "storage/store/store_state.h"
#include "storage/head/head.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

#define T0 INT64_C(1356998400000)

static const uint8_t tsuid[9] = { 0, 0, 1, 0, 0, 1, 0, 0, 1 };
static struct error e;

static struct store *
open_at(const char *dir, bool read_only)
{
    const struct store_options o = { .dir = dir,
                                     .layout = KEY_LAYOUT_DEFAULT,
                                     .read_only = read_only,
                                     .no_summaries = true,
                                     .min_free_bytes = 1 };
    struct store *s;

    ck_assert_msg(store_open(&o, &s, &e) == ST_OK, "%s", e.text);
    return s;
}

static enum status
put(struct store *s, int64_t ts_ms)
{
    struct series_point p = { .point = { .ts_ms = ts_ms, .v.i = 7 } };
    uint64_t lsn;
    enum status st;

    ck_assert_int_eq(
        store_series(s, slice_of(tsuid, sizeof tsuid), false, &p.series, &e),
        ST_OK);
    st = store_put(s, &p, 1, &lsn, &e);
    return st == ST_OK ? store_commit(s, lsn, true, &e) : st;
}

/* The names and sizes of all files of a folder, and when each changed last. */
static void
describe(const char *dir, struct buf *out)
{
    static const char *const parts[] = { "", "engine", "journal" };

    for (size_t i = 0; i < 3; i++) {
        char *part = files_path(dir, parts[i]);
        struct dirent **names;
        int len = scandir(part, &names, NULL, alphasort);

        ck_assert_int_gt(len, 2);
        for (int k = 0; k < len; k++) {
            char *path = files_path(part, names[k]->d_name);
            struct stat s;

            ck_assert_int_eq(lstat(path, &s), 0);
            buf_printf(out, "%s %lld %lld.%09ld\n", path, (long long)s.st_size,
                       (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
            free(path);
            free(names[k]);
        }
        free(names);
        free(part);
    }
}

START_TEST(reads_what_it_must_not_change)
{
    char *dir = tempdir_new(), *data = tempdir_path(dir, "data"),
         *image = tempdir_path(dir, "image"), *shadow;
    struct buf before = BUF_INIT, after = BUF_INIT;
    struct kv_batch *b = kv_batch_new();
    struct store *s = open_at(data, false);

    ck_assert_int_eq(put(s, T0), ST_OK);
    ck_assert_int_eq(store_flush(s, &e), ST_OK);
    ck_assert_int_eq(kv_sync(store_kv(s), NULL), ST_OK); /* a table */
    ck_assert_int_eq(put(s, T0 + 1000), ST_OK);
    ck_assert_int_eq(folder_copy(data, image, false, &e), ST_OK);
    ck_assert_int_eq(store_close(&s, &e), ST_OK);

    describe(image, &before);
    ck_assert_int_eq(folder_shadow(image, &shadow, &e), ST_OK);
    s = open_at(shadow, true);
    ck_assert_uint_eq(head_counts(store_head(s)).points, 1); /* of the WAL */
    ck_assert_int_eq(put(s, T0 + 2000), ST_IO);
    kv_batch_put(b, slice_str("x"), slice_str("y"));
    ck_assert_int_eq(store_write(s, b, NULL, &e), ST_BUSY);
    ck_assert_ptr_nonnull(strstr(e.text, "read-only"));
    ck_assert_int_eq(store_close(&s, &e), ST_OK);
    describe(image, &after);
    ck_assert_str_eq(buf_cstr(&before), buf_cstr(&after));

    folder_shadow_delete(&shadow);
    ck_assert_ptr_null(shadow);
    kv_batch_free(&b);
    buf_fini(&before);
    buf_fini(&after);
    free(data);
    free(image);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("store_shadow", TEST(reads_what_it_must_not_change))
