/* A list that fails for a while is whole in the end, where it must be. */
#include "storage/kv/leveldb/level_list.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file/durable.h"
#include "base/file/file.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

#define FILES 3

static char *dir, *plain;
static DIR *list;
static int folder; /* a second descriptor of the listed folder */

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
    plain = files_path(dir, "a");
    list = opendir(dir);
    folder = dup(dirfd(list));
}

static void
teardown(void)
{
    (void)closedir(list);
    (void)close(folder);
    free(plain);
    tempdir_free(&dir);
}

/* getdents() of what is no folder fails. */
static void
break_list(void)
{
    int fd = open(plain, O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(dup2(fd, dirfd(list)), dirfd(list));
    (void)close(fd);
}

static void *
repair_list(void *unused)
{
    (void)unused;
    (void)usleep(250000);
    if (dup2(folder, dirfd(list)) < 0)
        abort();
    return NULL;
}

START_TEST(a_failed_list_is_told)
{
    const struct dirent *entry;
    struct error e;

    break_list();
    ck_assert_int_eq(dir_next(list, "there", &entry, &e), ST_IO);
    ck_assert_ptr_null(entry);
    ck_assert_str_eq(e.text, "list there: Not a directory");
    (void)repair_list(NULL);
    for (int i = 0; i < FILES; i++) {
        ck_assert_int_eq(dir_next(list, "there", &entry, &e), ST_OK);
        ck_assert_ptr_nonnull(entry);
        ck_assert_int_ne(entry->d_name[0], '.');
    }
    ck_assert_int_eq(dir_next(list, "there", &entry, &e), ST_OK);
    ck_assert_ptr_null(entry);
}
END_TEST

START_TEST(a_list_that_must_be_whole_waits)
{
    pthread_t thread;
    int n = 0;

    break_list();
    ck_assert_int_eq(pthread_create(&thread, NULL, repair_list, NULL), 0);
    level_lists_begin();
    while (readdir(list) != NULL)
        n++;
    level_lists_end();
    (void)pthread_join(thread, NULL);
    ck_assert_int_eq(n, FILES + 2);
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
               TEST(a_list_that_must_be_whole_waits), TEST(libraries_call_it))
