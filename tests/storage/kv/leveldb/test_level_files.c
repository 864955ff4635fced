/* A folder that cannot be listed, by us or by LevelDB. */
#include "storage/kv/leveldb/level_files.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "storage/kv/kv.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

/* The folders that are opened from this one on cannot be listed; 0: all can. */
static atomic_uint broken_from, opened;

/* For LevelDB, too.  getdents() of what is no folder fails. */
DIR *
opendir(const char *name)
{
    union {
        void *symbol;
        DIR *(*call)(const char *name);
    } libc = { .symbol = dlsym(RTLD_NEXT, "opendir") };
    DIR *d = libc.call(name);

    if (d != NULL && broken_from != 0 &&
        atomic_fetch_add(&opened, 1) + 1 >= broken_from) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        ck_assert_int_eq(dup2(fd, dirfd(d)), dirfd(d));
        (void)close(fd);
    }
    return d;
}

/* LevelDB takes a list that fails for one that ends there: then it misses its
 * tables, and deletes nothing. */
START_TEST(an_opening_whose_lists_fail_loses_nothing)
{
    char *dir = tempdir_new();
    struct kv_options o = { .place = KV_LEVELDB(dir), .create = true };
    struct kv_batch *b = kv_batch_new();
    struct buf value = BUF_INIT;
    struct kv *kv;
    struct error e;

    kv_batch_put(b, slice_str("key"), slice_str("value"));
    ck_assert_int_eq(kv_open(&o, &kv, &e), ST_OK);
    ck_assert_int_eq(kv_write(kv, b, &e), ST_OK);
    kv_close(&kv);
    for (unsigned from = 1; from < 4; from++) {
        opened = 0;
        broken_from = from;
        ck_assert_int_eq(kv_open(&o, &kv, &e), from < 3 ? ST_IO : ST_CORRUPT);
        broken_from = 0;
        ck_assert_msg(strstr(e.text, from < 3 ? "list " : "missing") != NULL,
                      "%s", e.text);
    }
    ck_assert_int_eq(kv_open(&o, &kv, &e), ST_OK);
    ck_assert_int_eq(kv_get(kv, slice_str("key"), &value, &e), ST_OK);
    kv_close(&kv);
    buf_fini(&value);
    kv_batch_free(&b);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("level_files", TEST(an_opening_whose_lists_fail_loses_nothing))
