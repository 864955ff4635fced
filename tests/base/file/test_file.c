#include "base/file/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/durable.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

enum { SIZE = 200000 };

START_TEST(what_was_written_is_read)
{
    char path[] = "/tmp/halite-test-file-XXXXXX";
    int fd = mkstemp(path);
    uint8_t *bytes = malloc(SIZE);
    struct buf b = BUF_INIT;
    struct error e;

    ck_assert(fd >= 0 && bytes != NULL);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 7 >> 3);
    ck_assert_int_eq(file_write_fd(fd, path, slice_of(bytes, SIZE), &e), ST_OK);
    ck_assert_int_eq(close(fd), 0);

    buf_put_str(&b, "x");
    ck_assert_int_eq(file_read(path, SIZE, &b, &e), ST_OK);
    ck_assert_uint_eq(b.size, SIZE + 1);
    ck_assert_int_eq(b.data[0], 'x');
    ck_assert_mem_eq(b.data + 1, bytes, SIZE);
    buf_clear(&b);
    ck_assert_int_eq(file_read(path, SIZE - 1, &b, &e), ST_LIMIT);
    ck_assert_ptr_nonnull(strstr(e.text, "larger than 199999 bytes"));
    ck_assert_int_eq(unlink(path), 0);
    free(bytes);
    buf_fini(&b);
}
END_TEST

START_TEST(says_what_failed)
{
    struct buf b = BUF_INIT;
    struct error e;

    ck_assert_int_eq(file_read("/nonexistent/x", 10, &b, &e), ST_NOT_FOUND);
    ck_assert_str_eq(e.text, "there is no '/nonexistent/x'");
    ck_assert_int_eq(file_read("/", 10, &b, &e), ST_IO);
    ck_assert_int_eq(file_write_fd(-1, "it", slice_str("x"), &e), ST_IO);
    ck_assert_str_eq(e.text, "it: cannot write: Bad file descriptor");
    buf_fini(&b);
}
END_TEST

/* What NAME.tmp was is left alone. */
START_TEST(replaces_through_no_link)
{
    char *dir = tempdir_new();
    char *victim = tempdir_path(dir, "victim"), *x = tempdir_path(dir, "x");
    char *tmp = tempdir_path(dir, "x.tmp");
    struct buf b = BUF_INIT;
    struct stat info;

    ck_assert_int_eq(files_write(victim, slice_str("mine"), NULL), ST_OK);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(i == 0   ? symlink(victim, tmp)
                         : i == 1 ? link(victim, tmp)
                                  : mkfifo(tmp, 0600),
                         0);
        ck_assert_int_eq(files_replace(dir, "x", slice_str("text"), NULL),
                         ST_OK);
        ck_assert_int_eq(lstat(x, &info), 0);
        ck_assert(S_ISREG(info.st_mode));
        buf_clear(&b);
        ck_assert_int_eq(file_read(x, SIZE, &b, NULL), ST_OK);
        ck_assert_str_eq(buf_cstr(&b), "text");
        buf_clear(&b);
        ck_assert_int_eq(file_read(victim, SIZE, &b, NULL), ST_OK);
        ck_assert_str_eq(buf_cstr(&b), "mine");
    }
    buf_fini(&b);
    free(victim);
    free(x);
    free(tmp);
    tempdir_free(&dir);
}
END_TEST

/* A folder whose list fails half-way is no shorter one. */
START_TEST(a_failed_list_is_told)
{
    char *dir = tempdir_new(), *file = tempdir_path(dir, "a");
    DIR *list = opendir(dir);
    int folder = dup(dirfd(list)), null = open("/dev/null", O_RDONLY);
    const struct dirent *entry;
    struct error e;

    ck_assert_int_eq(files_write(file, slice_str(""), &e), ST_OK);
    /* getdents() of what is no folder fails. */
    ck_assert_int_eq(dup2(null, dirfd(list)), dirfd(list));
    ck_assert_int_eq(dir_next(list, "there", &entry, &e), ST_IO);
    ck_assert_ptr_null(entry);
    ck_assert_str_eq(e.text, "list there: Not a directory");
    ck_assert_int_eq(dup2(folder, dirfd(list)), dirfd(list));
    ck_assert_int_eq(dir_next(list, "there", &entry, &e), ST_OK);
    ck_assert_str_eq(entry->d_name, "a");
    ck_assert_int_eq(dir_next(list, "there", &entry, &e), ST_OK);
    ck_assert_ptr_null(entry);
    (void)close(null);
    (void)close(folder);
    (void)closedir(list);
    free(file);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("file", TEST(what_was_written_is_read), TEST(says_what_failed),
          TEST(a_failed_list_is_told), TEST(replaces_through_no_link))
