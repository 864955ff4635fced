/* A list that fails is told, and makes LevelDB lose nothing. */
#include "storage/kv/leveldb/level_list.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file/durable.h"
#include "base/file/file.h"
#include "storage/kv/kv.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

#define FILES 3

static char *dir;
static DIR *list;
static int folder; /* a second descriptor of the listed folder */

/* The folders that are opened from this one on cannot be listed; 0: all can. */
static atomic_uint broken_from, opened;

static void
setup(void)
{
    static const char *const names[FILES] = { "a", "b", "c" };

    dir = tempdir_new();
    for (int i = 0; i < FILES; i++) {
        char *path = files_path(dir, names[i]);
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

        ck_assert_int_ge(fd, 0);
        (void)close(fd);
        free(path);
    }
    list = opendir(dir);
    folder = dup(dirfd(list));
}

static void
teardown(void)
{
    (void)closedir(list);
    (void)close(folder);
    tempdir_free(&dir);
}

/* getdents() of what is no folder fails. */
static void
break_list(DIR *d)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(dup2(fd, dirfd(d)), dirfd(d));
    (void)close(fd);
}

/* For LevelDB, too. */
DIR *
opendir(const char *name)
{
    union {
        void *symbol;
        DIR *(*call)(const char *name);
    } libc = { .symbol = dlsym(RTLD_NEXT, "opendir") };
    DIR *d = libc.call(name);

    if (d != NULL && broken_from != 0 &&
        atomic_fetch_add(&opened, 1) + 1 >= broken_from)
        break_list(d);
    return d;
}

START_TEST(a_failed_list_is_told)
{
    const struct dirent *entry;
    struct error e;

    break_list(list);
    ck_assert_int_eq(dir_next(list, "there", &entry, &e), ST_IO);
    ck_assert_ptr_null(entry);
    ck_assert_str_eq(e.text, "list there: Not a directory");
    ck_assert_int_eq(dup2(folder, dirfd(list)), dirfd(list));
    for (int i = 0; i < FILES; i++) {
        ck_assert_int_eq(dir_next(list, "there", &entry, &e), ST_OK);
        ck_assert_ptr_nonnull(entry);
        ck_assert_int_ne(entry->d_name[0], '.');
    }
    ck_assert_int_eq(dir_next(list, "there", &entry, &e), ST_OK);
    ck_assert_ptr_null(entry);
}
END_TEST

START_TEST(a_list_that_must_be_whole_names_a_log)
{
    const struct dirent *entry;
    struct error e;

    break_list(list);
    level_lists_begin();
    entry = readdir(list);
    ck_assert_ptr_nonnull(entry);
    ck_assert_ptr_nonnull(strstr(entry->d_name, ".log"));
    ck_assert_ptr_null(readdir(list));
    ck_assert_int_eq(level_lists_end("there", &e), ST_IO);
    ck_assert_str_eq(e.text, "list there: Not a directory");
    ck_assert_ptr_null(readdir(list));
    level_lists_begin();
    ck_assert_int_eq(level_lists_end("there", &e), ST_OK);
}
END_TEST

/* Whichever list it is, of ours or of LevelDB's; all is in a log. */
START_TEST(an_opening_whose_lists_fail_loses_nothing)
{
    char *path = files_path(dir, "engine");
    struct kv_options o = { .place = KV_LEVELDB(path), .create = true };
    struct kv_batch *b = kv_batch_new();
    struct buf value = BUF_INIT;
    struct kv *kv;
    struct error e;
    enum status st;

    kv_batch_put(b, slice_str("key"), slice_str("value"));
    ck_assert_int_eq(kv_open(&o, &kv, &e), ST_OK);
    ck_assert_int_eq(kv_write(kv, b, &e), ST_OK);
    kv_close(&kv);
    opened = 0;
    broken_from = (unsigned)_i + 1;
    st = kv_open(&o, &kv, &e);
    broken_from = 0;
    ck_assert_int_eq(st, ST_IO);
    ck_assert_msg(strstr(e.text, "list ") != NULL, "%s", e.text);
    ck_assert_int_eq(kv_open(&o, &kv, &e), ST_OK);
    ck_assert_int_eq(kv_get(kv, slice_str("key"), &value, &e), ST_OK);
    kv_close(&kv);
    buf_fini(&value);
    kv_batch_free(&b);
    free(path);
}
END_TEST

/* As LevelDB's are: both names are the program's, for all that it loads. */
START_TEST(libraries_call_it)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

    ck_assert_ptr_nonnull(libc);
    ck_assert_ptr_ne(dlsym(RTLD_DEFAULT, "readdir"), dlsym(libc, "readdir"));
    ck_assert_ptr_ne(dlsym(RTLD_DEFAULT, "readdir64"),
                     dlsym(libc, "readdir64"));
    (void)dlclose(libc);
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "level_list", TEST(a_failed_list_is_told),
               TEST(a_list_that_must_be_whole_names_a_log),
               TIMES(an_opening_whose_lists_fail_loses_nothing, 4),
               TEST(libraries_call_it))
