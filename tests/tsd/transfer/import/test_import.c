#include "tsd/transfer/import/import.h"

#include <fcntl.h>

#include "base/buf.h"
#include "base/file/file.h"
#include "base/process/lock.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

/* -- files ----------------------------------------------------------------- */

/* A taker that keeps the lines. Those with "bad" in them are bad, and with
 * 'stop_at_bad' end the block; "stop" is the end of the store. */
static struct {
    struct lock lock;
    struct buf taken, bad, files;
    size_t takers, syncs;
    bool stops;
} store;

/* Of the case that runs. */
static char *dir;
static struct import m;
static struct import_totals totals;

static enum status
keep_lines(void *ctx, struct slice text, import_bad *bad, void *bad_ctx,
           struct import_counts *counts, struct error *e)
{
    const uint8_t *from = text.data;

    while (text.size > 0) {
        size_t at = (size_t)(text.data - from);
        struct slice line = source_cut_line(&text);

        if (memmem(line.data, line.size, "bad", 3) != NULL) {
            bad(bad_ctx, at, slice_str("it is bad"));
            if (m.stop_at_bad)
                break;
            continue;
        }
        if (store.stops && memmem(line.data, line.size, "stop", 4) != NULL)
            return error_set(e, ST_IO, "full");
        lock_take(&store.lock);
        buf_put_slice(&store.taken, line);
        buf_put_str(&store.taken, "\n");
        lock_drop(&store.lock);
        counts->points++;
    }
    return ST_OK;
}

static enum status
keep_sync(void *ctx, struct error *e)
{
    lock_take(&store.lock);
    store.syncs++;
    lock_drop(&store.lock);
    return ST_OK;
}

static void
open_taker(void *ctx, struct import_taker *out)
{
    *out = (struct import_taker){ keep_lines, keep_sync, NULL };
    lock_take(&store.lock);
    store.takers++;
    lock_drop(&store.lock);
}

static void
close_taker(void *ctx, struct import_taker *taker)
{
}

static void
on_bad(void *ctx, const char *path, const struct source_line *line,
       struct slice why)
{
    buf_printf(&store.bad, "%llu [%.*s] %.*s\n",
               (unsigned long long)line->number, SLICE_ARG(line->text),
               SLICE_ARG(why));
}

static void
on_ended(void *ctx, const struct import_file *f)
{
    const char *slash = strrchr(f->path, '/');

    buf_printf(&store.files, "%s %llu\n", slash + 1,
               (unsigned long long)f->totals.points);
}

static void
setup(void)
{
    dir = tempdir_new();
    memset(&store, 0, sizeof store);
    lock_init(&store.lock);
}

static void
teardown(void)
{
    buf_fini(&store.taken);
    buf_fini(&store.bad);
    buf_fini(&store.files);
    lock_fini(&store.lock);
    tempdir_free(&dir);
}

static char *
write_file(const char *name, struct slice text)
{
    char *path = tempdir_path(dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    struct error e;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(file_write_fd(fd, path, text, &e), ST_OK);
    (void)close(fd);
    return path;
}

static struct import
job(const char *const *paths, size_t len)
{
    return (struct import){
        .paths = paths,
        .paths_len = len,
        .threads = 2,
        .open = open_taker,
        .close = close_taker,
        .bad = on_bad,
        .ended = on_ended,
    };
}

START_TEST(bad_lines_are_told)
{
    struct error e;
    char *path;

    path = write_file("f", slice_str("a 1\nbad 2\r\na 3\nbad 4"));
    m = job((const char *const[]){ path }, 1);
    ck_assert_int_eq(import_run(&m, &totals, &e), ST_OK);
    ck_assert_str_eq(buf_cstr(&store.taken), "a 1\na 3\n");
    ck_assert_str_eq(buf_cstr(&store.bad), "2 [bad 2] it is bad\n"
                                           "4 [bad 4] it is bad\n");
    ck_assert_uint_eq(totals.points, 2);
    ck_assert_uint_eq(totals.bad, 2);
    ck_assert_uint_eq(totals.bytes_all, 20);
    ck_assert_uint_eq(totals.bytes_read, 20);
    ck_assert_uint_ge(store.syncs, 1);
    free(path);
}
END_TEST

START_TEST(many_files_at_once)
{
    enum { FILES = 9 };
    char *paths[FILES];
    struct error e;

    for (int i = 0; i < FILES; i++) {
        char name[16];
        struct buf text = BUF_INIT;

        (void)snprintf(name, sizeof name, "f%d", i);
        for (int k = 0; k < 50000; k++)
            buf_printf(&text, "m%d %d 1 a=b\n", i, k);
        paths[i] = write_file(name, buf_slice(&text));
        buf_fini(&text);
    }
    m = job((const char *const *)paths, FILES);
    ck_assert_int_eq(import_run(&m, &totals, &e), ST_OK);
    ck_assert_uint_eq(totals.points, FILES * 50000);
    ck_assert_uint_eq(totals.bytes_read, totals.bytes_all);
    ck_assert_uint_eq(store.taken.size, totals.bytes_all);
    ck_assert_uint_eq(store.takers, 2);
    for (int i = 0; i < FILES; i++)
        free(paths[i]);
}
END_TEST

/* The import ends at the first bad line. The files before it are complete, and
 * nothing of the files after it is read. */
START_TEST(stops_at_a_bad_line)
{
    struct error e;
    char *first, *second, *third;

    first = write_file("1", slice_str("m 1 1 a=b\n"));
    second = write_file("2", slice_str("m 2 1 a=b\nbad\nm 3 1 a=b\n"));
    third = write_file("3", slice_str("m 4 1 a=b\n"));
    m = job((const char *const[]){ first, second, third }, 3);
    m.opentsdb = m.stop_at_bad = true;
    ck_assert_int_eq(import_run(&m, &totals, &e), ST_INVALID);
    ck_assert_str_eq(buf_cstr(&store.taken), "m 1 1 a=b\nm 2 1 a=b\n");
    ck_assert_str_eq(buf_cstr(&store.files), "1 1\n");
    ck_assert_uint_eq(totals.bad, 1);
    buf_clear(&store.taken);
    m.stop_at_bad = false;
    ck_assert_int_eq(import_run(&m, &totals, &e), ST_OK);
    ck_assert_str_eq(buf_cstr(&store.taken),
                     "m 1 1 a=b\nm 2 1 a=b\nm 3 1 a=b\nm 4 1 a=b\n");
    free(first);
    free(second);
    free(third);
}
END_TEST

START_TEST(a_missing_file_is_the_end)
{
    struct error e;
    char *first;

    first = write_file("1", slice_str("m 1 1 a=b\n"));
    m = job((const char *const[]){ first, "/nosuch" }, 2);
    m.opentsdb = true;
    ck_assert_int_eq(import_run(&m, &totals, &e), ST_NOT_FOUND);
    ck_assert_str_eq(e.text, "/nosuch (No such file or directory)");
    ck_assert_str_eq(buf_cstr(&store.taken), "m 1 1 a=b\n");
    free(first);
}
END_TEST

/* What stopped it half-way is told, and the rest is left. */
START_TEST(a_store_that_takes_no_more)
{
    struct error e;
    char *path;

    path = write_file("f", slice_str("m 1 1 a=b\nstop\nm 3 1 a=b\n"));
    m = job((const char *const[]){ path }, 1);
    store.stops = true;
    ck_assert_int_eq(import_run(&m, &totals, &e), ST_IO);
    ck_assert_str_eq(e.text, "full");
    ck_assert_uint_eq(totals.points, 1);
    free(path);
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "import", TEST(bad_lines_are_told),
               TEST(many_files_at_once), TEST(stops_at_a_bad_line),
               TEST(a_missing_file_is_the_end),
               TEST(a_store_that_takes_no_more))
