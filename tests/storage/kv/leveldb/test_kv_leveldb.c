/* What only an engine with files can suffer: reopening, foreign folders, a
 * second process, damage, a disk that takes no more. */
#include "storage/kv/kv.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file/durable.h"
#include "base/file/file.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

#define S(literal) slice_of((literal), sizeof(literal) - 1)

/* Of the case that runs. */
static char *dir;
static struct kv *kv;

static void
setup(void)
{
    dir = tempdir_new();
}

static void
teardown(void)
{
    kv_close(&kv);
    tempdir_free(&dir);
}

static enum status
open_in(const char *path, bool create, struct kv **out, struct error *e)
{
    struct kv_options o = { .place = KV_LEVELDB(path),
                            .create = create,
                            .write_buffer_bytes = 65536 };

    *e = (struct error){ 0 };
    return kv_open(&o, out, e);
}

static void
must_open(const char *path, bool create)
{
    struct error e;

    ck_assert_msg(open_in(path, create, &kv, &e) == ST_OK, "%s", e.text);
}

static void
must_reject(const char *path, bool create, enum status st, const char *sentence)
{
    struct error e;
    struct kv *none;

    ck_assert_int_eq(open_in(path, create, &none, &e), st);
    ck_assert_ptr_null(none);
    ck_assert_msg(strstr(e.text, sentence) != NULL, "%s", e.text);
}

static enum status
put(struct slice key, struct slice value, struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    enum status st;

    kv_batch_put(b, key, value);
    st = kv_write(kv, b, e);
    kv_batch_free(&b);
    return st;
}

/* Values that do not compress. */
static void
fill(unsigned from, unsigned to)
{
    uint64_t r = from;
    uint8_t value[400];
    char key[16];

    for (unsigned i = from; i < to; i++) {
        for (size_t j = 0; j < sizeof value; j++)
            value[j] = (uint8_t)harness_random(&r);
        (void)snprintf(key, sizeof key, "key%06u", i);
        ck_assert_int_eq(
            put(slice_str(key), slice_of(value, sizeof value), NULL), ST_OK);
    }
}

static enum status
count(size_t *n)
{
    struct kv_iter *it = kv_iter_open(kv, slice_str(""));
    bool on = kv_iter_seek(it, S(""));

    for (*n = 0; on; ++*n)
        on = kv_iter_next(it);
    return kv_iter_close(&it, NULL);
}

static size_t
must_count(void)
{
    size_t n;

    ck_assert_int_eq(count(&n), ST_OK);
    return n;
}

/* The files whose names end so; the first one's path in '*first'. */
static size_t
files(const char *end, char **first)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    size_t n = 0;

    ck_assert_ptr_nonnull(d);
    while ((entry = readdir(d)) != NULL) {
        size_t size = strlen(entry->d_name);

        if (size < strlen(end) ||
            strcmp(entry->d_name + size - strlen(end), end) != 0)
            continue;
        if (n++ == 0 && first != NULL)
            *first = tempdir_path(dir, entry->d_name);
    }
    (void)closedir(d);
    return n;
}

static void
touch(const char *name)
{
    char *path = tempdir_path(dir, name);
    FILE *f = fopen(path, "wb");

    ck_assert_ptr_nonnull(f);
    (void)fclose(f);
    free(path);
}

static void
flip(const char *path, long at_permille)
{
    FILE *f = fopen(path, "r+b");
    long size;
    int c;

    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
    size = ftell(f);
    ck_assert_int_gt(size, 0);
    ck_assert_int_eq(fseek(f, size * at_permille / 1000, SEEK_SET), 0);
    c = fgetc(f);
    ck_assert_int_eq(fseek(f, size * at_permille / 1000, SEEK_SET), 0);
    (void)fputc(c ^ 0x10, f);
    ck_assert_int_eq(fclose(f), 0);
}

/* -- folders -------------------------------------------------------------- */

START_TEST(comes_back_after_closing)
{
    char *sub = tempdir_path(dir, "engine");

    must_open(sub, true);
    for (unsigned i = 0; i < 3; i++) {
        fill(i * 300, (i + 1) * 300);
        ck_assert_int_eq(put(S("synced"), S("yes"), NULL), ST_OK);
        ck_assert_int_eq(kv_sync(kv, NULL), ST_OK);
        kv_close(&kv);
        must_open(sub, i == 1); /* 'create' opens what is whole */
        ck_assert_uint_eq(must_count(), (i + 1) * 300 + 1);
    }
    kv_close(&kv);
    free(sub);
}
END_TEST

START_TEST(creates_only_where_nothing_is)
{
    char *sub = tempdir_path(dir, "engine");
    char *deep = tempdir_path(sub, "deeper");

    must_reject(sub, false, ST_IO, "there is no database in");
    must_reject(dir, false, ST_IO, "there is no database in");
    must_reject(deep, true, ST_IO, "cannot make the folder");
    touch("letter.txt");
    must_reject(dir, true, ST_IO, "is not empty");
    must_reject(dir, false, ST_CORRUPT, "is not empty");
    must_reject("/dev/null", true, ST_IO, "/dev/null");
    ck_assert_uint_eq(files("", NULL), 3); /* . .. letter.txt */
    must_open(sub, true);
    free(deep);
    free(sub);
}
END_TEST

/* LevelDB itself would begin anew here, and delete the tables. */
START_TEST(a_missing_current_file_loses_nothing)
{
    char *current = tempdir_path(dir, "CURRENT");
    size_t before;

    must_open(dir, true);
    fill(0, 1000);
    kv_close(&kv);
    before = files("", NULL);
    ck_assert_uint_ge(files(".ldb", NULL), 1);
    ck_assert_int_eq(remove(current), 0);
    must_reject(dir, true, ST_IO, "no CURRENT file");
    must_reject(dir, false, ST_CORRUPT, "no CURRENT file");
    ck_assert_uint_eq(files("", NULL), before - 1);
    free(current);
}
END_TEST

START_TEST(a_creation_cut_short_is_begun_again)
{
    touch("LOCK");
    touch("LOG");
    touch("MANIFEST-000001");
    touch("000001.dbtmp");
    must_reject(dir, false, ST_IO, "there is no database in");
    must_open(dir, true);
    fill(0, 10);
    kv_close(&kv);
    must_open(dir, false);
    ck_assert_uint_eq(must_count(), 10);
}
END_TEST

START_TEST(opens_once)
{
    int to_child[2], to_parent[2], child;
    char c;

    must_open(dir, true);
    must_reject(dir, false, ST_IO, "already open in this process");
    kv_close(&kv);
    ck_assert_int_eq(pipe(to_child) | pipe(to_parent), 0);
    child = fork();
    if (child == 0) {
        struct error e;

        c = open_in(dir, false, &kv, &e) == ST_OK ? 'y' : 'n';
        (void)!write(to_parent[1], &c, 1);
        (void)!read(to_child[0], &c, 1);
        _exit(0);
    }
    ck_assert_int_eq(read(to_parent[0], &c, 1), 1);
    ck_assert_int_eq(c, 'y');
    must_reject(dir, false, ST_IO, "in use by another process");
    ck_assert_int_eq(write(to_child[1], &c, 1), 1);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    must_open(dir, false); /* it died without closing */
}
END_TEST

/* -- damage --------------------------------------------------------------- */

static const long places[] = { 100, 300, 500, 700, 900 };

START_TEST(a_flipped_bit_in_a_table_is_seen)
{
    char *path = NULL;
    struct error e;
    size_t n;

    must_open(dir, true);
    fill(0, 120);
    kv_close(&kv);
    ck_assert_uint_eq(files(".ldb", &path), 1);
    flip(path, places[_i]);
    if (open_in(dir, false, &kv, &e) == ST_OK) {
        ck_assert_int_eq(count(&n), ST_CORRUPT);
        kv_close(&kv);
    } else
        ck_assert_int_eq(e.status, ST_CORRUPT);
    free(path);
}
END_TEST

START_TEST(a_failed_iterator_stays_failed)
{
    char *path = NULL;
    struct buf out = BUF_INIT;
    struct kv_iter *it;
    struct error e;
    bool on;

    must_open(dir, true);
    fill(0, 120);
    kv_close(&kv);
    ck_assert_uint_eq(files(".ldb", &path), 1);
    flip(path, 10); /* in the first block */
    must_open(dir, false);
    it = kv_iter_open(kv, slice_str(""));
    for (on = kv_iter_seek(it, S("")); on;)
        on = kv_iter_next(it);
    ck_assert(!kv_iter_seek(it, S("key000119")));
    ck_assert(!kv_iter_next(it));
    ck_assert_int_eq(kv_iter_close(&it, &e), ST_CORRUPT);
    ck_assert_ptr_nonnull(strstr(e.text, "Corruption"));
    ck_assert_int_eq(kv_get(kv, S("key000000"), &out, &e), ST_CORRUPT);
    ck_assert_int_eq(kv_get(kv, S("key000119"), &out, &e), ST_OK);
    buf_fini(&out);
    free(path);
}
END_TEST

static const char *const vital[] = { "MANIFEST-", "CURRENT" };

START_TEST(a_flipped_bit_in_the_directory_files_is_seen)
{
    DIR *d;
    const struct dirent *entry;
    size_t flipped = 0;

    must_open(dir, true);
    fill(0, 120);
    kv_close(&kv);
    d = opendir(dir);
    while ((entry = readdir(d)) != NULL) {
        char *path = tempdir_path(dir, entry->d_name);

        if (strncmp(entry->d_name, vital[_i], strlen(vital[_i])) == 0) {
            flip(path, 500);
            flipped++;
        }
        free(path);
    }
    (void)closedir(d);
    ck_assert_uint_eq(flipped, 1);
    must_reject(dir, true, ST_CORRUPT, "");
}
END_TEST

/* What a killed process leaves: what was synced is there, and nothing is read
 * from the log. */
START_TEST(logs_are_worthless)
{
    char *image = tempdir_new();
    const struct dirent *entry;
    struct kv *live;
    DIR *d;

    must_open(dir, true);
    fill(0, 50);
    ck_assert_int_eq(kv_sync(kv, NULL), ST_OK);
    fill(50, 100);
    d = opendir(dir);
    while ((entry = readdir(d)) != NULL) {
        char *from = tempdir_path(dir, entry->d_name);
        char *to = tempdir_path(image, entry->d_name);
        struct buf b = BUF_INIT;

        if (file_read(from, SIZE_MAX, &b, NULL) == ST_OK)
            ck_assert_int_eq(files_write(to, buf_slice(&b), NULL), ST_OK);
        buf_fini(&b);
        free(from);
        free(to);
    }
    (void)closedir(d);
    live = kv;
    must_open(image, false);
    ck_assert_uint_eq(must_count(), 50);
    kv_close(&kv);
    kv = live;
    tempdir_free(&image);
}
END_TEST

/* -- a disk that takes no more -------------------------------------------- */

/* Files may not grow past 'bytes': LevelDB's next write fails half way, as on a
 * full disk. */
static void
limit_files(rlim_t bytes)
{
    struct rlimit r;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &r), 0);
    r.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &r), 0);
}

START_TEST(a_failed_write_is_the_last)
{
    struct kv_options big = { .place = KV_LEVELDB(dir) };
    struct error first, e;
    uint8_t value[5000] = { 1 };
    struct buf out = BUF_INIT;

    must_open(dir, true);
    kv_close(&kv);
    ck_assert_int_eq(kv_open(&big, &kv, &e), ST_OK);
    fill(0, 100);
    ck_assert_int_eq(kv_sync(kv, &e), ST_OK);
    (void)signal(SIGXFSZ, SIG_IGN);
    limit_files(1000);
    ck_assert_int_eq(put(S("too much"), slice_of(value, sizeof value), &first),
                     ST_IO);
    limit_files(RLIM_INFINITY);
    /* There is room again, and yet: what is in the engine is not known. */
    ck_assert_int_eq(put(S("small"), S("1"), &e), ST_IO);
    ck_assert_str_eq(first.text, e.text);
    ck_assert_int_eq(kv_sync(kv, &e), ST_IO);
    ck_assert_int_eq(kv_get(kv, S("key000099"), &out, &e), ST_OK);
    ck_assert_uint_eq(must_count(), 100);
    buf_fini(&out);
    kv_close(&kv);
    must_open(dir, false);
    ck_assert_uint_eq(must_count(), 100);
    ck_assert_int_eq(put(S("small"), S("1"), &e), ST_OK);
}
END_TEST

/* What waits in memory is read by its key, whatever became of the log; an
 * iterator over its table says that it lacks something, others go on.  A batch
 * that deletes does not wait. */
START_TEST(what_waits_is_not_passed_over)
{
    struct kv_batch *b = kv_batch_new();
    struct buf out = BUF_INIT;
    struct kv_iter *it;
    struct error e;
    size_t n;

    must_open(dir, true);
    fill(0, 100);
    kv_batch_put(b, S("late"), S("1"));
    kv_batch_delete(b, S("key000007"));
    ck_assert_int_eq(kv_gather(kv, b, &e), ST_OK);
    ck_assert_int_eq(kv_sync(kv, &e), ST_OK);
    kv_batch_clear(b);
    kv_batch_put(b, S("late"), S("2"));
    ck_assert_int_eq(kv_gather(kv, b, &e), ST_OK);
    if (_i == 1) {
        (void)signal(SIGXFSZ, SIG_IGN);
        limit_files(1);
        ck_assert_int_eq(count(&n), ST_IO);
        it = kv_iter_open(kv, S("r"));
        ck_assert(!kv_iter_seek(it, S("r")));
        ck_assert_int_eq(kv_iter_close(&it, &e), ST_OK);
        ck_assert_int_eq(kv_gather(kv, b, &e), ST_IO);
        ck_assert_int_eq(kv_sync(kv, &e), ST_IO);
        limit_files(RLIM_INFINITY);
    }
    ck_assert_int_eq(kv_get(kv, S("late"), &out, &e), ST_OK);
    ck_assert(slice_eq(buf_slice(&out), S("2")));
    ck_assert_int_eq(kv_get(kv, S("key000007"), &out, &e), ST_NOT_FOUND);
    ck_assert_int_eq(kv_get(kv, S("key000008"), &out, &e), ST_OK);
    if (_i == 0)
        ck_assert_uint_eq(must_count(), 100);
    kv_close(&kv);
    must_open(dir, false);
    ck_assert_uint_eq(must_count(), 100);
    ck_assert_int_eq(kv_get(kv, S("late"), &out, &e), ST_OK);
    ck_assert(slice_eq(buf_slice(&out), _i == 0 ? S("2") : S("1")));
    kv_batch_free(&b);
    buf_fini(&out);
}
END_TEST

TEST_MAIN_FORKED_WITH(setup, teardown, "kv_leveldb",
                      TEST(comes_back_after_closing),
                      TEST(creates_only_where_nothing_is),
                      TEST(a_missing_current_file_loses_nothing),
                      TEST(a_creation_cut_short_is_begun_again),
                      TEST(opens_once), TEST(logs_are_worthless),
                      LOOP(a_flipped_bit_in_a_table_is_seen, places),
                      TEST(a_failed_iterator_stays_failed),
                      LOOP(a_flipped_bit_in_the_directory_files_is_seen, vital),
                      TEST(a_failed_write_is_the_last),
                      TIMES(what_waits_is_not_passed_over, 2))
