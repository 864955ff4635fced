/* What kv_sync() makes durable.  This program's fsync() and
 * fdatasync() take the place of the C library's, for LevelDB too: they note
 * what is synced, fail when told to, and hold LevelDB's tables up, so that a
 * log which was rotated away stays there for as long as a test needs. */
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
    struct cond changed;
    bool hold_tables;
    const char *fail; /* an ending of names */
    char synced[64][256];
    size_t len;
} disk = { .lock = LOCK_INIT, .changed = { PTHREAD_COND_INITIALIZER } };

static bool
ends(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n >= m && strcmp(name + n - m, end) == 0;
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
    while (disk.hold_tables && ends(name, ".ldb"))
        cond_wait(&disk.changed, &disk.lock);
    if (disk.fail != NULL && ends(name, disk.fail))
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

static void
hold_tables(bool hold)
{
    lock_take(&disk.lock);
    disk.hold_tables = hold;
    cond_broadcast(&disk.changed);
    lock_drop(&disk.lock);
}

static size_t
times_synced(const char *end)
{
    size_t n = 0;

    lock_take(&disk.lock);
    for (size_t i = 0; i < disk.len; i++)
        n += ends(disk.synced[i], end);
    lock_drop(&disk.lock);
    return n;
}

/* All that were there before are there still, and were synced. */
static void
check_logs(const char *dir, size_t want)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    size_t n = 0;

    ck_assert_ptr_nonnull(d);
    while ((entry = readdir(d)) != NULL) {
        if (!ends(entry->d_name, ".log"))
            continue;
        n++;
        ck_assert_msg(times_synced(entry->d_name) > 0, "%s is not synced",
                      entry->d_name);
    }
    (void)closedir(d);
    ck_assert_uint_eq(n, want);
    ck_assert_uint_ge(times_synced(dir), 1);
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

/* LevelDB counts some 1,400 bytes for each, and begins a log every 64 KB. */
static struct kv *
with_rotated_log(const char *dir)
{
    struct kv_options o = { .place = KV_LEVELDB(dir),
                            .create = true,
                            .write_buffer_bytes = 65536 };
    struct kv *kv;

    ck_assert_int_eq(kv_open(&o, &kv, NULL), ST_OK);
    ck_assert_uint_ge(times_synced(dir), 1); /* the new database's names */
    hold_tables(true);
    forget();
    for (unsigned i = 0; i < 70; i++)
        ck_assert_int_eq(put(kv, i), ST_OK);
    ck_assert_uint_eq(times_synced(".log"), 0);
    forget();
    return kv;
}

START_TEST(sync_covers_the_log_left_behind)
{
    char *dir = tempdir_new();
    struct kv *kv = with_rotated_log(dir);

    for (int i = 0; i < 2; i++) { /* the second time too */
        forget();
        ck_assert_int_eq(kv_sync(kv, NULL), ST_OK);
        check_logs(dir, 2);
    }
    hold_tables(false);
    kv_close(&kv);
    tempdir_free(&dir);
}
END_TEST

/* A failed sync is never tried again: the kernel may have dropped the pages,
 * and then says that all is well. */
START_TEST(a_failed_sync_is_final)
{
    char *dir = tempdir_new();
    struct kv *kv = with_rotated_log(dir);
    struct buf out = BUF_INIT;
    struct error e;

    disk.fail = _i == 0 ? ".log" : dir;
    ck_assert_int_eq(kv_sync(kv, &e), ST_IO);
    disk.fail = NULL;
    ck_assert_int_eq(kv_sync(kv, &e), ST_IO);
    ck_assert_msg(strstr(e.text, "Input/output error") != NULL, "%s", e.text);
    ck_assert_int_eq(put(kv, 300), ST_IO);
    ck_assert_int_eq(kv_get(kv, S("key000069"), &out, &e), ST_OK);
    buf_fini(&out);
    hold_tables(false);
    kv_close(&kv);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("kv_sync", TEST(sync_covers_the_log_left_behind),
          TIMES(a_failed_sync_is_final, 2))
