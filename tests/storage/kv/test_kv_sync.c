/* What kv_sync() makes durable.  This program's fsync() and fdatasync() take
 * the place of the C library's, for LevelDB too: they note what is synced, and
 * fail when told to. */
#include "storage/kv/kv.h"

#include <dirent.h>
#include <errno.h>
#include <sys/syscall.h>

#include "base/process/lock.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

#define S(literal) slice_of((literal), sizeof(literal) - 1)

static struct {
    struct lock lock;
    const char *fail; /* a part of names; of a folder, its whole name */
    char synced[64][256];
    size_t len;
} disk = { .lock = LOCK_INIT };

static bool
is_meant(const char *name, const char *part)
{
    return *part == '/' ? strcmp(name, part) == 0 : strstr(name, part) != NULL;
}

static int
note(int fd)
{
    char link[64], name[256] = "";
    int rc = 0;

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, name, sizeof name - 1) < 0)
        abort();
    lock_take(&disk.lock);
    if (disk.fail != NULL && is_meant(name, disk.fail))
        rc = -1;
    else if (disk.len < 64)
        memcpy(disk.synced[disk.len++], name, sizeof name);
    lock_drop(&disk.lock);
    if (rc != 0)
        errno = EIO;
    return rc;
}

int
fsync(int fd)
{
    return note(fd) == 0 ? (int)syscall(SYS_fsync, fd) : -1;
}

int
fdatasync(int fd)
{
    return note(fd) == 0 ? (int)syscall(SYS_fdatasync, fd) : -1;
}

static void
forget(void)
{
    lock_take(&disk.lock);
    disk.len = 0;
    lock_drop(&disk.lock);
}

static size_t
times_synced(const char *part)
{
    size_t n = 0;

    lock_take(&disk.lock);
    for (size_t i = 0; i < disk.len; i++)
        n += is_meant(disk.synced[i], part);
    lock_drop(&disk.lock);
    return n;
}

static enum status
put(struct kv *kv, unsigned i)
{
    struct kv_batch *b = kv_batch_new();
    char key[16];
    uint8_t value[1000] = { 0 };
    enum status st;

    (void)snprintf(key, sizeof key, "key%06u", i);
    kv_batch_put(b, slice_str(key), slice_of(value, sizeof value));
    st = kv_write(kv, b, NULL);
    kv_batch_free(&b);
    return st;
}

static struct kv *
open_engine(const char *dir, bool create)
{
    struct kv_options o = { .place = KV_LEVELDB(dir), .create = create };
    struct kv *kv;
    struct error e;

    ck_assert_msg(kv_open(&o, &kv, &e) == ST_OK, "%s", e.text);
    ck_assert_uint_ge(times_synced(dir), 1); /* its new names */
    forget();
    return kv;
}

static void
check_keys(struct kv *kv, unsigned to)
{
    struct buf out = BUF_INIT;
    char key[16];

    for (unsigned i = 0; i < to; i++) {
        (void)snprintf(key, sizeof key, "key%06u", i);
        ck_assert_int_eq(kv_get(kv, slice_str(key), &out, NULL), ST_OK);
    }
    buf_fini(&out);
}

/* A table, the MANIFEST that names it, and their names; nothing is written if
 * nothing is new, but the MANIFEST. */
START_TEST(a_sync_makes_a_table_durable)
{
    char *dir = tempdir_new();
    struct kv *kv = open_engine(dir, true);

    for (unsigned round = 1; round < 4; round++) {
        for (unsigned i = 0; i < 70; i++)
            ck_assert_int_eq(put(kv, i), ST_OK);
        forget();
        ck_assert_int_eq(kv_sync(kv, NULL), ST_OK);
        ck_assert_uint_ge(times_synced(".ldb"), 1);
        ck_assert_uint_ge(times_synced("MANIFEST"), 2);
        ck_assert_uint_ge(times_synced(dir), 2);
    }
    forget();
    ck_assert_int_eq(kv_sync(kv, NULL), ST_OK);
    ck_assert_uint_eq(times_synced(".ldb"), 0);
    kv_close(&kv);
    kv = open_engine(dir, false);
    check_keys(kv, 70);
    kv_close(&kv);
    tempdir_free(&dir);
}
END_TEST

/* A failed sync is never tried again: the kernel may have dropped the pages,
 * and then says that all is well. */
START_TEST(a_failed_sync_is_final)
{
    char *dir = tempdir_new();
    struct kv *kv = open_engine(dir, true);
    const char *const fails[] = { ".ldb", "MANIFEST", dir };
    struct error e;

    for (unsigned i = 0; i < 70; i++)
        ck_assert_int_eq(put(kv, i), ST_OK);
    disk.fail = fails[_i];
    ck_assert_int_eq(kv_sync(kv, &e), ST_IO);
    disk.fail = NULL;
    ck_assert_int_eq(kv_sync(kv, &e), ST_IO);
    ck_assert_msg(strstr(e.text, "Input/output error") != NULL, "%s", e.text);
    ck_assert_int_eq(put(kv, 300), ST_IO);
    check_keys(kv, 70);
    kv_close(&kv);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("kv_sync", TEST(a_sync_makes_a_table_durable),
          TIMES(a_failed_sync_is_final, 3))
