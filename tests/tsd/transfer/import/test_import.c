#include "tsd/transfer/import/import.h"

#include <fcntl.h>

#include "base/buf.h"
#include "base/file/file.h"
#include "base/process/lock.h"
#include "tests/harness.h"
#include "tests/tempdir.h"
#include "tsd/transfer/import/import_check.h"
#include "tsd/transfer/import/import_journal.h"

/* -- what OpenTSDB checks -------------------------------------------------- */

static const struct {
    const char *line;
    const char *why; /* NULL: it is fine */
} lines[] = {
    { "m 1356998400 1 a=b", NULL },
    { "m 1356998401000 1 a=b ", NULL },
    { "m 1356998402 +5  a=b  c=d", NULL },
    { "m 1356998403 1.5f c=d a=b", NULL },
    { "m 1356998403 1.5f c=d a=b e=f", NULL },
    { "m 1356998404 1e300 a=b", NULL },
    { "m 1356998404.5 1 a=b", NULL },
    { "", "invalid metric: " },
    { "  ", "invalid metric: " },
    { " 1356998400 1 a=b", "invalid metric: " },
    { "m 1356998400  a=b", "invalid value: " },
    { "  m  1356998403  1  a=b  g=h", NULL },
    { "#m 1356998400 1 a=b",
      "a line cannot begin with a metric that begins with #: 'halite import' "
      "accepts it after 'put '" },
    { "# a comment", "Invalid character 'a' in a" },
    { "m", "Index 1 out of bounds for length 1" },
    { "m 1356998400", "Index 2 out of bounds for length 2" },
    { "m 1356998400  ", "invalid value: " },
    { "m 1356998400 1", "Need at least one tag (metric=m, tags={})" },
    { "m 0 1 a=b", "invalid timestamp: 0" },
    { "m -5 1 a=b", "invalid timestamp: -5" },
    { "m 1356998400.1234 1 a=b",
      "bad timestamp=13569984001234 when trying to add value=1" },
    { "m 13569984.5678 1 a=b",
      "Invalid time: 13569984.5678. A fraction of a second has 1 to 3 digits" },
    { "m 1356998400 abc a=b", "Invalid character 'a' in abc" },
    { "m 1356998400 9223372036854775808 a=b",
      "Overflow in 9223372036854775808" },
    { "m 1356998400 1e400 a=b",
      "value is NaN or Infinite: Infinity for timestamp=1356998400" },
    { "m 1356998400 1 a=", "invalid tag: a=" },
    { "m 1356998400 1 a=b a=c", "duplicate tag: a=c, tags={a=b}" },
    { "m 13569984005000 1 a=b",
      "bad timestamp=13569984005000 when trying to add value=1" },
    { "m 1356998404 1 a=b",
      "New timestamp=1356998404 is less than or equal to "
      "previous=1356998404500 when trying to add value=1 to metric=m, "
      "tags={a=b}" },
    { "m 1356998403 1 a=b c=d",
      "New timestamp=1356998403 is less than or equal to "
      "previous=1356998403000 when trying to add value=1 to metric=m, "
      "tags={a=b, c=d}" },
};

START_TEST(checks_lines)
{
    struct import_check *c = import_check_new(false);
    struct buf why = BUF_INIT;
    size_t new = 0;

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        bool is_new = false, ok;

        buf_clear(&why);
        ok = import_check_line(c, slice_str(lines[i].line), &is_new, &why);
        ck_assert_str_eq(buf_cstr(&why),
                         lines[i].why == NULL ? "" : lines[i].why);
        ck_assert_int_eq(ok, lines[i].why == NULL);
        if (ok)
            import_check_accept(c);
        new += ok &&is_new;
    }
    ck_assert_uint_eq(new, 4);
    import_check_free(&c);
    ck_assert_ptr_null(c);
    buf_fini(&why);
}
END_TEST

START_TEST(takes_any_order)
{
    struct import_check *c = import_check_new(true);
    struct buf why = BUF_INIT;

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        bool is_new, late = lines[i].why != NULL &&
                            slice_starts(slice_str(lines[i].why),
                                         slice_str("New timestamp="));

        buf_clear(&why);
        ck_assert_int_eq(
            import_check_line(c, slice_str(lines[i].line), &is_new, &why),
            lines[i].why == NULL || late);
        if (why.size == 0)
            import_check_accept(c);
    }
    import_check_free(&c);
    buf_fini(&why);
}
END_TEST

/* -- files ----------------------------------------------------------------- */

/* A taker that keeps the lines; those with "bad" in them are bad, and "stop"
 * is the end of the store. */
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

static bool
open_taker(void *ctx, struct import_taker *out, struct error *e)
{
    *out = (struct import_taker){ keep_lines, keep_sync, NULL };
    lock_take(&store.lock);
    store.takers++;
    lock_drop(&store.lock);
    return true;
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

/* Nothing behind the first bad line; files before it are whole. */
START_TEST(opentsdb_stops_at_a_bad_line)
{
    struct error e;
    char *first, *second, *third;

    first = write_file("1", slice_str("m 1 1 a=b\n"));
    second = write_file("2", slice_str("m 2 1 a=b\nm 2 2 a=b\nm 3 1 a=b\n"));
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
    /* Names that are invalid: what follows is another series'. */
    buf_clear(&store.taken);
    free(second);
    second =
        write_file("2", slice_str("bad 2 1 a=b\nm 2 2 a=b\nbad 3 1 a=b\n"));
    m = job((const char *const[]){ first, second, third }, 3);
    m.opentsdb = m.stop_at_bad = true;
    ck_assert_int_eq(import_run(&m, &totals, &e), ST_INVALID);
    ck_assert_str_eq(buf_cstr(&store.taken), "m 1 1 a=b\n");
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

START_TEST(goes_on_from_its_journal)
{
    const struct import_mark mark = { 20, 2, 2, 0, 0 };
    struct source *s;
    struct error e;
    char *path, *journal;

    path = write_file("f", slice_str("m 1 1 a=b\nm 2 1 a=b\nm 3 1 a=b\n"
                                     "bad\n"));
    journal = tempdir_path(dir, "f.halite-import");
    m = job((const char *const[]){ path }, 1);
    m.journal_of = "this store";
    ck_assert_int_eq(source_open(path, SOURCE_BY_CONTENT, &s, &e), ST_OK);
    ck_assert_int_eq(
        import_journal_write(path, source_identity(s), "this store", &mark, &e),
        ST_OK);
    ck_assert_int_eq(access(journal, F_OK), 0);
    ck_assert_int_eq(import_run(&m, &totals, &e), ST_OK);
    ck_assert_str_eq(buf_cstr(&store.taken), "m 3 1 a=b\n");
    ck_assert_str_eq(buf_cstr(&store.bad), "4 [bad] it is bad\n");
    ck_assert_uint_eq(totals.points, 3);
    ck_assert_int_ne(access(journal, F_OK), 0);
    /* Of another store, or of another file: all of it. */
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(import_journal_write(
                             path, i == 0 ? source_identity(s) : "1:2:3:4",
                             i == 0 ? "that store" : "this store", &mark, &e),
                         ST_OK);
        buf_clear(&store.taken);
        ck_assert_int_eq(import_run(&m, &totals, &e), ST_OK);
        ck_assert_uint_eq(store.taken.size, 30);
    }
    source_close(&s);
    free(path);
    free(journal);
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

TEST_MAIN_WITH(setup, teardown, "import", TEST(checks_lines),
               TEST(takes_any_order), TEST(bad_lines_are_told),
               TEST(many_files_at_once), TEST(opentsdb_stops_at_a_bad_line),
               TEST(a_missing_file_is_the_end), TEST(goes_on_from_its_journal),
               TEST(a_store_that_takes_no_more))
