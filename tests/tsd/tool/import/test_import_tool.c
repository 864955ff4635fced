/* 'import' that is cancelled half-way, and bad lines that are kept. */
#include <fcntl.h>
#include <unistd.h>

#include "base/file/file.h"
#include "tests/tsd/tool/workbench.h"

/* In the first of some blocks. */
#define BAD_LINE "i.m 1356998400 \0 h=a"

static void
write_lines(const char *dir)
{
    char *path = tempdir_path(dir, "lines");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    struct buf text = BUF_INIT;
    struct error e;

    buf_put_slice(&text, slice_of(BAD_LINE "\n", sizeof BAD_LINE));
    for (int i = 0; i < 40000; i++)
        buf_printf(&text, "i.m %d 1 h=a\n", 1356998400 + i);
    ck_assert_int_eq(file_write_fd(fd, path, buf_slice(&text), &e), ST_OK);
    ck_assert_int_eq(close(fd), 0);
    buf_fini(&text);
    free(path);
}

static bool
once_a_line_was_bad(void *ctx)
{
    const struct workbench *w = ctx;

    return w->err.size > 0;
}

static int
import_lines(struct workbench *w, const char *lines, const char *rejects)
{
    return RUN(w, "import", "--auto-metric", "--skip-errors", "--rejects",
               rejects, lines);
}

/* An import that was cancelled has kept its bad lines, and is run again from
 * the beginning. */
START_TEST(cancelled_and_run_again)
{
    char *dir = tempdir_new(), *lines = tempdir_path(dir, "lines"),
         *rejects = tempdir_path(dir, "rejects");
    const struct slice bad = slice_of(BAD_LINE "\n", sizeof BAD_LINE);
    struct buf text = BUF_INIT;
    struct workbench w;
    struct error e;

    workbench_open(&w, NULL);
    write_lines(dir);
    w.is_cancelled = once_a_line_was_bad;
    ck_assert_int_eq(import_lines(&w, lines, rejects), 1);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&w.err), "stopped before the end"));
    ck_assert_int_eq(file_read(rejects, 1000, &text, &e), ST_OK);
    ck_assert(slice_eq(buf_slice(&text), bad));
    w.is_cancelled = NULL;
    ck_assert_int_eq(import_lines(&w, lines, rejects), 0);
    ck_assert_int_eq(RUN(&w, "scan", "--import", "1357038399", "sum", "i.m"),
                     0);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&w.out), "i.m 1357038399 1 h=a\n"));
    buf_fini(&text);
    workbench_close(&w);
    free(lines);
    free(rejects);
    tempdir_free(&dir);
}
END_TEST

START_TEST(rejects_that_cannot_be_written)
{
    char *dir = tempdir_new(), *lines = tempdir_path(dir, "lines");
    struct workbench w;

    workbench_open(&w, NULL);
    write_lines(dir);
    ck_assert_int_eq(import_lines(&w, lines, "/dev/full"), 1);
    ck_assert_ptr_nonnull(
        strstr(buf_cstr(&w.err), "/dev/full: not all bad lines"));
    workbench_close(&w);
    free(lines);
    tempdir_free(&dir);
}
END_TEST

static const struct {
    const char *words[4];
    const char *says;
} refused[] = {
    { { "--since", "1h-ago" }, "--since, --until, --only and --metrics" },
    { { "--until", "1h-ago" }, "--since, --until, --only and --metrics" },
    { { "--only", "names" }, "--since, --until, --only and --metrics" },
    { { "--metrics", "m.*" }, "--since, --until, --only and --metrics" },
    { { "--threads", "0" }, "--threads: " },
    { { "--threads=x" }, "--threads: " },
};

START_TEST(options_that_make_no_sense)
{
    const char *words[8] = { "import" };
    char *dir = tempdir_new(), *lines = tempdir_path(dir, "lines");
    struct workbench w;
    size_t len = 1;

    workbench_open(&w, NULL);
    write_lines(dir);
    words[len++] = lines;
    for (size_t i = 0; i < 4 && refused[_i].words[i] != NULL; i++)
        words[len++] = refused[_i].words[i];
    ck_assert_int_eq(workbench_run(&w, words), 2);
    ck_assert_msg(strstr(buf_cstr(&w.err), refused[_i].says) != NULL, "%s",
                  buf_cstr(&w.err));
    workbench_close(&w);
    free(lines);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("import_tool", LOOP(options_that_make_no_sense, refused),
          TEST(cancelled_and_run_again), TEST(rejects_that_cannot_be_written))
