/* What a power cut may leave of LevelDB's files, and what it may not.
 *
 * A database is written to, synced, and written to again; its folder is then
 * copied as it is, which is what is found if all pages had reached the disk,
 * and spoiled. */
#include "storage/kv/leveldb/level_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/process/lock.h"
#include "storage/kv/kv.h"
#include "storage/kv/leveldb/level_log.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

#define VALUE 700

/* LevelDB makes no table while it is held up here. */
static struct {
    struct lock lock;
    struct cond changed;
    bool hold_tables;
} disk = { .lock = LOCK_INIT, .changed = { PTHREAD_COND_INITIALIZER } };

int
fdatasync(int fd)
{
    char link[64], name[256] = "";

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, name, sizeof name - 1) < 0)
        abort();
    lock_take(&disk.lock);
    while (disk.hold_tables && strstr(name, ".ldb") != NULL)
        cond_wait(&disk.changed, &disk.lock);
    lock_drop(&disk.lock);
    return (int)syscall(SYS_fdatasync, fd);
}

static void
hold_tables(bool hold)
{
    lock_take(&disk.lock);
    disk.hold_tables = hold;
    cond_broadcast(&disk.changed);
    lock_drop(&disk.lock);
}

/* Of 'i', which says what it must be. */
static void
value_of(unsigned i, uint8_t out[VALUE])
{
    uint64_t r = i;

    for (size_t k = 0; k < VALUE; k++)
        out[k] = (uint8_t)harness_random(&r);
}

static void
put(struct kv *kv, unsigned from, unsigned to)
{
    struct kv_batch *b = kv_batch_new();
    uint8_t value[VALUE];
    char key[16];

    for (unsigned i = from; i < to; i++) {
        (void)snprintf(key, sizeof key, "key%06u", i);
        value_of(i, value);
        kv_batch_clear(b);
        kv_batch_put(b, slice_str(key), slice_of(value, VALUE));
        ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    }
    kv_batch_free(&b);
}

static struct buf
file_get(const char *dir, const char *name)
{
    char *path = tempdir_path(dir, name);
    FILE *f = fopen(path, "rb");
    struct buf b = BUF_INIT;

    ck_assert_msg(f != NULL, "%s", path);
    do
        b.size += fread(buf_reserve(&b, 65536), 1, 65536, f);
    while (!feof(f));
    (void)fclose(f);
    free(path);
    return b;
}

static void
file_put(const char *dir, const char *name, struct slice bytes)
{
    char *path = tempdir_path(dir, name);
    FILE *f = fopen(path, "wb");

    ck_assert_msg(f != NULL, "%s", path);
    ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.size, f), bytes.size);
    ck_assert_int_eq(fclose(f), 0);
    free(path);
}

static bool
is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Empties 'to' and fills it with the files of 'from'. */
static void
copy_folder(const char *from, const char *to)
{
    DIR *d = opendir(to);
    const struct dirent *entry;

    while ((entry = readdir(d)) != NULL) {
        char *path = tempdir_path(to, entry->d_name);

        if (!is_dot(entry->d_name))
            ck_assert_int_eq(remove(path), 0);
        free(path);
    }
    (void)closedir(d);
    d = opendir(from);
    while ((entry = readdir(d)) != NULL)
        if (!is_dot(entry->d_name)) {
            struct buf b = file_get(from, entry->d_name);

            file_put(to, entry->d_name, buf_slice(&b));
            buf_fini(&b);
        }
    (void)closedir(d);
}

/* The one file of this kind, without its folder; the newest if there are more.
 */
static void
find(const char *dir, const char *part, char out[64])
{
    DIR *d = opendir(dir);
    const struct dirent *entry;

    out[0] = '\0';
    while ((entry = readdir(d)) != NULL)
        if (strstr(entry->d_name, part) != NULL &&
            strcmp(entry->d_name, out) > 0)
            (void)snprintf(out, 64, "%.63s", entry->d_name);
    (void)closedir(d);
    ck_assert_str_ne(out, "");
}

/* -- the scene ------------------------------------------------------------- */

struct scene {
    char *dir, *copy; /* as it was when power failed; where it is spoiled */
    char log[64], manifest[64];
    size_t synced, size; /* of the log */
};

#define SYNCED_KEYS 60
#define ALL_KEYS    180

static size_t
size_of(const char *dir, const char *name)
{
    struct buf b = file_get(dir, name);
    size_t size = b.size;

    buf_fini(&b);
    return size;
}

static struct scene
make_scene(size_t buffer)
{
    struct scene s = { .dir = tempdir_new(), .copy = tempdir_new() };
    char *live = tempdir_new();
    struct kv_options o = { .place = KV_LEVELDB(live),
                            .create = true,
                            .write_buffer_bytes = buffer };
    struct kv *kv;

    ck_assert_int_eq(kv_open(&o, &kv, NULL), ST_OK);
    hold_tables(true);
    put(kv, 0, SYNCED_KEYS);
    ck_assert_int_eq(kv_sync(kv, NULL), ST_OK);
    find(live, ".log", s.log);
    find(live, "MANIFEST", s.manifest);
    s.synced = size_of(live, s.log);
    put(kv, SYNCED_KEYS, ALL_KEYS);
    s.size = size_of(live, s.log);
    copy_folder(live, s.dir);
    hold_tables(false);
    kv_close(&kv);
    tempdir_free(&live);
    return s;
}

static void
free_scene(struct scene *s)
{
    tempdir_free(&s->dir);
    tempdir_free(&s->copy);
}

/* Opens the copy; each key has its value, at least 'least' are there, and none
 * without those before it.  Returns how many. */
static unsigned
must_hold(const struct scene *s, unsigned least, const char *what)
{
    struct kv_options o = { .place = KV_LEVELDB(s->copy) };
    struct buf got = BUF_INIT;
    uint8_t value[VALUE];
    struct error e = { 0 };
    struct kv *kv;
    unsigned n = 0;

    ck_assert_msg(kv_open(&o, &kv, &e) == ST_OK, "%s: %s", what, e.text);
    for (unsigned i = 0; i < ALL_KEYS; i++) {
        char key[16];
        enum status st;

        (void)snprintf(key, sizeof key, "key%06u", i);
        st = kv_get(kv, slice_str(key), &got, &e);
        ck_assert(st == ST_OK || st == ST_NOT_FOUND);
        if (st == ST_OK) {
            value_of(i, value);
            ck_assert(slice_eq(buf_slice(&got), slice_of(value, VALUE)));
            ck_assert_msg(n++ == i, "%s: key %u, and not all before it", what,
                          i);
        } else
            ck_assert_msg(i >= least, "%s: key %u is lost", what, i);
    }
    ck_assert_uint_ge(n, least);
    buf_fini(&got);
    kv_close(&kv);
    return n;
}

static void
must_reject(const struct scene *s, const char *sentence)
{
    struct kv_options o = { .place = KV_LEVELDB(s->copy) };
    struct error e = { 0 };
    struct kv *kv;

    ck_assert_int_eq(kv_open(&o, &kv, &e), ST_CORRUPT);
    ck_assert_msg(strstr(e.text, sentence) != NULL, "%s", e.text);
}

/* -- the log --------------------------------------------------------------- */

/* Zeros, noise, or nothing from 'at' on. */
static void
spoil(const struct scene *s, int how, size_t at, size_t size)
{
    struct buf b = file_get(s->dir, s->log);

    copy_folder(s->dir, s->copy);
    if (size > b.size - at)
        size = b.size - at;
    for (size_t i = 0; i < size; i++)
        b.data[at + i] = how == 0 ? 0 : (uint8_t)(b.data[at + i] ^ 0x5a);
    file_put(s->copy, s->log, slice_of(b.data, how == 2 ? at : b.size));
    buf_fini(&b);
}

START_TEST(what_was_not_synced_may_be_gone)
{
    struct scene s = make_scene(0);
    uint64_t seed = harness_seed(20261122);
    char what[64];

    ck_assert_uint_gt(s.size, 3 * 32768);
    for (unsigned i = 0; i < 24; i++) {
        size_t at = s.synced + harness_random(&seed) % (s.size - s.synced);
        size_t size = 1 + harness_random(&seed) % 9000;

        if (i % 3 == 0 && at / 4096 * 4096 >= s.synced) { /* pages */
            at = at / 4096 * 4096;
            size = 4096;
        }
        (void)snprintf(what, sizeof what, "way %d, %zu bytes at %zu", _i, size,
                       at);
        spoil(&s, _i, i == 0 ? s.synced : at, size);
        must_hold(&s, SYNCED_KEYS, what);
    }
    free_scene(&s);
}
END_TEST

START_TEST(what_was_synced_may_not)
{
    struct scene s = make_scene(0);
    uint64_t seed = harness_seed(20261122);

    for (unsigned i = 0; i < 24; i++) {
        size_t at = harness_random(&seed) % s.synced;

        if (i == 0)
            at = s.synced - 1;
        spoil(&s, _i, at, _i == 0 ? 4096 : 1);
        must_reject(&s, "which had been on the disk");
    }
    free_scene(&s);
}
END_TEST

START_TEST(a_missing_log_is_missed)
{
    struct scene s = make_scene(0);
    char *path = tempdir_path(s.copy, s.log);

    copy_folder(s.dir, s.copy);
    must_hold(&s, ALL_KEYS, "as it was");
    copy_folder(s.dir, s.copy);
    ck_assert_int_eq(remove(path), 0);
    must_reject(&s, "is missing");
    free(path);
    free_scene(&s);
}
END_TEST

/* LevelDB begins a new log, and the earlier one, which had been synced in part,
 * ends too soon or is spoiled: what the later one holds must go, too. */
START_TEST(what_came_later_goes_too)
{
    static const size_t buffer = 120000;
    struct scene s = make_scene(buffer);
    struct buf b = file_get(s.dir, s.log);
    unsigned most = 0;

    ck_assert_uint_lt(s.size, ALL_KEYS * VALUE);
    copy_folder(s.dir, s.copy);
    ck_assert_uint_eq(must_hold(&s, ALL_KEYS, "as it was"), ALL_KEYS);
    for (size_t at = s.synced; at < s.size; at += 3131) {
        unsigned n;

        copy_folder(s.dir, s.copy);
        file_put(s.copy, s.log, slice_of(b.data, at));
        n = must_hold(&s, SYNCED_KEYS, "cut short");
        ck_assert_uint_lt(n, ALL_KEYS);
        if (n > most)
            most = n;
        spoil(&s, _i, at, 100);
        ck_assert_uint_le(must_hold(&s, SYNCED_KEYS, "spoiled"), n);
    }
    ck_assert_uint_lt(most, ALL_KEYS);
    buf_fini(&b);
    free_scene(&s);
}
END_TEST

/* -- the MANIFEST ---------------------------------------------------------- */

static void
append(const struct scene *s, struct slice bytes)
{
    struct buf b = file_get(s->dir, s->manifest);

    copy_folder(s->dir, s->copy);
    buf_put_slice(&b, bytes);
    file_put(s->copy, s->manifest, buf_slice(&b));
    buf_fini(&b);
}

/* A whole record, one that is no edit; parts and holes of it are torn ones. */
START_TEST(a_torn_end_of_the_manifest_is_cut_off)
{
    struct scene s = make_scene(0);
    struct buf b = file_get(s.dir, s.log); /* begins with a whole record */
    size_t size = 7u + b.data[4] + 256u * b.data[5];

    for (size_t at = 1; at < size; at += 131) {
        struct buf torn = BUF_INIT;

        append(&s, slice_of(b.data, at));
        must_hold(&s, ALL_KEYS, "a part of a record");
        buf_put(&torn, b.data, at);
        while (torn.size < size)
            buf_put_u8(&torn, (uint8_t)~b.data[torn.size]);
        append(&s, buf_slice(&torn));
        must_hold(&s, ALL_KEYS, "a record with a hole");
        buf_put(&torn, b.data, size);
        append(&s, buf_slice(&torn));
        must_reject(&s, "which had been on the disk");
        buf_fini(&torn);
    }
    append(&s, slice_of(b.data, size));
    must_reject(&s, "LevelDB in");
    buf_fini(&b);
    free_scene(&s);
}
END_TEST

/* A bit of each of the MANIFEST's last 'len' bytes, or of all. */
static void
must_reject_flips(const struct scene *s, size_t len)
{
    struct buf b = file_get(s->dir, s->manifest);

    for (size_t at = len < b.size ? b.size - len : 0; at < b.size; at++) {
        copy_folder(s->dir, s->copy);
        b.data[at] ^= 0x10;
        file_put(s->copy, s->manifest, buf_slice(&b));
        b.data[at] ^= 0x10;
        must_reject(s, "which had been on the disk");
    }
    buf_fini(&b);
}

START_TEST(damage_of_the_manifest_is_rejected)
{
    struct scene s = make_scene(0);

    must_reject_flips(&s, SIZE_MAX);
    free_scene(&s);
}
END_TEST

/* Also of the record of a table that was made after the last sync. */
START_TEST(a_close_leaves_nothing_that_may_be_cut_off)
{
    struct scene s = { .dir = tempdir_new(), .copy = tempdir_new() };
    struct kv_options o = { .place = KV_LEVELDB(s.dir), .create = true };
    struct level_mark m;
    struct kv *kv;

    ck_assert_int_eq(kv_open(&o, &kv, NULL), ST_OK);
    put(kv, 0, ALL_KEYS);
    ck_assert_int_eq(kv_sync(kv, NULL), ST_OK);
    kv_compact_log(kv, 0);
    kv_close(&kv);
    find(s.dir, "MANIFEST", s.manifest);
    ck_assert_int_eq(level_mark_read(s.dir, &m, NULL), ST_OK);
    ck_assert_uint_eq(m.manifest_synced, size_of(s.dir, s.manifest));
    level_mark_fini(&m);
    must_reject_flips(&s, 20);
    free_scene(&s);
}
END_TEST

/* The last record says that a log became a table, and the log is gone: without
 * it all would be lost, though no sync came since. */
START_TEST(a_record_that_was_acted_on_is_not_cut_off)
{
    struct scene s = make_scene(0);
    struct kv_options o = { .place = KV_LEVELDB(s.copy) };
    struct kv *kv;
    struct buf b;

    copy_folder(s.dir, s.copy);
    ck_assert_int_eq(kv_open(&o, &kv, NULL), ST_OK);
    put(kv, 0, 10);
    ck_assert_int_eq(kv_sync(kv, NULL), ST_OK);
    kv_compact_log(kv, 0);
    copy_folder(s.copy, s.dir);
    kv_close(&kv);
    find(s.dir, "MANIFEST", s.manifest);
    b = file_get(s.dir, s.manifest);
    copy_folder(s.dir, s.copy);
    must_hold(&s, ALL_KEYS, "settled");
    copy_folder(s.dir, s.copy);
    b.data[b.size - 1] ^= 1;
    file_put(s.copy, s.manifest, buf_slice(&b));
    must_reject(&s, "is missing");
    buf_fini(&b);
    free_scene(&s);
}
END_TEST

/* An edit as LevelDB writes one when the log became a table: later logs are
 * needed, and this table. */
static const uint8_t edit[] = { 2,    0x7f, 3, 0x80, 0x7f, 7,   0, 0xff,
                                0x7e, 9,    9, 'k',  'e',  'y', 0, 0,
                                0,    0,    0, 0,    1,    'l' };

static void
append_edit(const struct scene *s)
{
    struct buf b = file_get(s->dir, s->manifest);

    level_log_put(&b, slice_of(edit, sizeof edit));
    copy_folder(s->dir, s->copy);
    file_put(s->copy, s->manifest, buf_slice(&b));
    buf_fini(&b);
}

/* LevelDB makes a table's name durable between writing such an edit and
 * syncing it. */
START_TEST(a_manifest_ahead_of_its_tables_is_cut_back)
{
    struct scene s = make_scene(0);
    char *log = tempdir_path(s.copy, s.log);
    struct level_mark m;

    append_edit(&s);
    ck_assert_uint_eq(must_hold(&s, ALL_KEYS, "no such table"), ALL_KEYS);
    append_edit(&s); /* what it would be read from instead is gone, too */
    ck_assert_int_eq(remove(log), 0);
    must_reject(&s, "is missing");
    append_edit(&s); /* it had been synced */
    ck_assert_int_eq(level_mark_read(s.copy, &m, NULL), ST_OK);
    m.manifest_synced = size_of(s.copy, s.manifest);
    ck_assert_int_eq(level_files_note(s.copy, &m, NULL), ST_OK);
    level_mark_fini(&m);
    must_reject(&s, "is missing");
    free(log);
    free_scene(&s);
}
END_TEST

/* -- SYNCED ---------------------------------------------------------------- */

START_TEST(without_a_mark_all_counts_as_synced)
{
    struct scene s = make_scene(0);
    char *path = tempdir_path(s.copy, "SYNCED");

    spoil(&s, 1, s.size - 100, 1);
    ck_assert_int_eq(remove(path), 0);
    must_reject(&s, "LevelDB in");
    copy_folder(s.dir, s.copy);
    ck_assert_int_eq(remove(path), 0);
    must_hold(&s, ALL_KEYS, "no mark");
    free(path);
    free_scene(&s);
}
END_TEST

START_TEST(a_damaged_mark_is_rejected)
{
    struct scene s = make_scene(0);
    struct buf b = file_get(s.dir, "SYNCED");

    copy_folder(s.dir, s.copy);
    for (size_t at = 0; at < b.size; at++) {
        b.data[at] ^= 0x01;
        file_put(s.copy, "SYNCED", buf_slice(&b));
        b.data[at] ^= 0x01;
        must_reject(&s, "is damaged");
        file_put(s.copy, "SYNCED", slice_of(b.data, at));
        must_reject(&s, "is damaged");
    }
    buf_fini(&b);
    free_scene(&s);
}
END_TEST

/* As docs/FORMAT.md shows it. */
START_TEST(the_mark_is_as_documented)
{
    char *dir = tempdir_new();
    struct level_log logs[] = { { 6, 65650 }, { 9, 120 } };
    struct level_mark m = { 5, 143, logs, 2 };
    struct buf b;

    ck_assert_int_eq(level_files_note(dir, &m, NULL), ST_OK);
    b = file_get(dir, "SYNCED");
    ck_assert_str_eq(buf_cstr(&b), "halite synced 1\n"
                                   "manifest 5 143\n"
                                   "log 6 65650\n"
                                   "log 9 120\n"
                                   "crc32c 8eb82ae4\n");
    buf_fini(&b);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("level_files", TIMES(what_was_not_synced_may_be_gone, 3),
          TIMES(what_was_synced_may_not, 3), TIMES(what_came_later_goes_too, 2),
          TEST(a_missing_log_is_missed),
          TEST(a_torn_end_of_the_manifest_is_cut_off),
          TEST(damage_of_the_manifest_is_rejected),
          TEST(a_close_leaves_nothing_that_may_be_cut_off),
          TEST(a_manifest_ahead_of_its_tables_is_cut_back),
          TEST(a_record_that_was_acted_on_is_not_cut_off),
          TEST(without_a_mark_all_counts_as_synced),
          TEST(a_damaged_mark_is_rejected), TEST(the_mark_is_as_documented))
