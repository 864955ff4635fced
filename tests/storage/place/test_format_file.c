#include "storage/place/format.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

static const struct key_layout layout = { 1, 20, 3, 4, 8, 12 };

static struct buf
read_text(const char *dir)
{
    struct buf b = BUF_INIT;
    char *path = tempdir_path(dir, "FORMAT");
    FILE *f = fopen(path, "rb");

    ck_assert_ptr_nonnull(f);
    b.size = fread(buf_reserve(&b, 4096), 1, 4096, f);
    (void)fclose(f);
    free(path);
    return b;
}

static void
write_text(const char *dir, struct slice text)
{
    char *path = tempdir_path(dir, "FORMAT");
    FILE *f = fopen(path, "wb");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text.data, 1, text.size, f), text.size);
    ck_assert_int_eq(fclose(f), 0);
    free(path);
}

static void
rejects(const char *dir, enum status want, const char *sentence)
{
    struct format f;
    struct error e = { 0 };

    ck_assert_int_eq(format_read(dir, &f, &e), want);
    ck_assert_msg(strstr(e.text, sentence) != NULL, "%s", e.text);
}

START_TEST(comes_back_as_written)
{
    char *dir = tempdir_new();
    struct format a, b;

    rejects(dir, ST_NOT_FOUND, "there is no");
    rejects("/nowhere/at/all", ST_NOT_FOUND, "there is no");
    format_new(&a, &layout);
    for (int i = 0; i < 2; i++) {
        a.complete = i == 1;
        ck_assert_int_eq(format_write(dir, &a, NULL), ST_OK);
        ck_assert_int_eq(format_read(dir, &b, NULL), ST_OK);
        ck_assert_uint_eq(b.version, FORMAT_VERSION);
        ck_assert_int_eq(b.complete, i);
        ck_assert_str_eq(a.id, b.id);
        ck_assert_uint_eq(strlen(b.id), 32);
        ck_assert_int_eq(memcmp(&a.layout, &b.layout, sizeof layout), 0);
    }
    format_new(&b, &layout);
    ck_assert_str_ne(a.id, b.id);
    tempdir_free(&dir);
}
END_TEST

/* As docs/FORMAT.md shows it. */
#define DOCUMENTED                          \
    "halite 3\n"                            \
    "id 00112233445566778899aabbccddeeff\n" \
    "complete 1\n"                          \
    "salt-width 1\n"                        \
    "salt-buckets 16\n"                     \
    "metric-width 3\n"                      \
    "tagk-width 3\n"                        \
    "tagv-width 3\n"                        \
    "row-hours 6\n"

static void
write_with_checksum(const char *dir, const char *text)
{
    struct buf b = BUF_INIT;

    buf_put_str(&b, text);
    buf_printf(&b, "crc32c %08x\n", (unsigned)crc32c(slice_str(text)));
    write_text(dir, buf_slice(&b));
    buf_fini(&b);
}

START_TEST(the_documented_file)
{
    char *dir = tempdir_new();
    struct format f;
    struct buf text;

    write_text(dir, slice_str(DOCUMENTED "crc32c 00000000\n"));
    rejects(dir, ST_CORRUPT, "checksum");
    write_text(dir, slice_str(DOCUMENTED "crc32c 86b88893\n"));
    ck_assert_int_eq(format_read(dir, &f, NULL), ST_OK);
    ck_assert_uint_eq(f.layout.salt_buckets, 16);
    ck_assert(f.complete);
    ck_assert_int_eq(format_write(dir, &f, NULL), ST_OK);
    text = read_text(dir);
    ck_assert(slice_starts(buf_slice(&text), slice_str(DOCUMENTED)));
    ck_assert_uint_eq(text.size, strlen(DOCUMENTED) + 16);
    buf_fini(&text);
    tempdir_free(&dir);
}
END_TEST

static void
remove_copy(const char *dir)
{
    char *path = tempdir_path(dir, "FORMAT.1");

    ck_assert_int_eq(remove(path), 0);
    free(path);
}

/* With the copy, and without. */
START_TEST(every_flipped_bit_and_every_cut_is_seen)
{
    char *dir = tempdir_new();
    struct format f, g;
    struct buf text;

    format_new(&f, &layout);
    ck_assert_int_eq(format_write(dir, &f, NULL), ST_OK);
    text = read_text(dir);
    for (size_t i = 0; i < text.size; i++) {
        if (i == text.size / 2)
            remove_copy(dir);
        for (int cut = 0; cut < 2; cut++) {
            text.data[i] ^= (uint8_t)(1u << i % 8);
            write_text(dir, cut ? slice_of(text.data, i) : buf_slice(&text));
            text.data[i] ^= (uint8_t)(1u << i % 8);
            if (i >= text.size / 2) {
                rejects(dir, ST_CORRUPT, "FORMAT");
                continue;
            }
            ck_assert_int_eq(format_read(dir, &g, NULL), ST_OK);
            ck_assert(g.damaged);
            ck_assert_str_eq(f.id, g.id);
        }
    }
    buf_fini(&text);
    tempdir_free(&dir);
}
END_TEST

START_TEST(what_follows_the_checksum_is_ignored)
{
    char *dir = tempdir_new();
    struct format f, g;
    struct buf text;

    format_new(&f, &layout);
    ck_assert_int_eq(format_write(dir, &f, NULL), ST_OK);
    remove_copy(dir);
    text = read_text(dir);
    buf_put_str(&text, "\nhalite");
    write_text(dir, buf_slice(&text));
    ck_assert_int_eq(format_read(dir, &g, NULL), ST_OK);
    ck_assert_str_eq(f.id, g.id);
    ck_assert(g.damaged); /* the copy is not there */
    buf_fini(&text);
    tempdir_free(&dir);
}
END_TEST

static const struct {
    const char *text, *sentence;
} strange[] = {
    { "halite 4\nwhat version 4 needs\n", "a newer Halite" },
    { "halite 4294967295\n", "a newer Halite" },
    { "halite 2\nwhat version 2 had\n", "'halite scan --json'" },
    { "halite 1\n", "'halite import --json'" },
    { "halite 0\n", "malformed" },
    { "halite 03\n", "malformed" },
    { "halite 3\n", "malformed" },
    { "rocksdb 1\n", "not Halite's" },
    { "", "not Halite's" },
    { DOCUMENTED "more 1\n", "malformed" },
    { "halite 3\nid 00112233445566778899aabbccddeeff\ncomplete 1\n"
      "salt-width 1\nsalt-buckets 500\nmetric-width 3\ntagk-width 3\n"
      "tagv-width 3\nrow-hours 6\n",
      "malformed" },
    { "halite 3\nid 00112233445566778899aabbccddeeff\ncomplete 3\n"
      "salt-width 1\nsalt-buckets 16\nmetric-width 3\ntagk-width 3\n"
      "tagv-width 3\nrow-hours 6\n",
      "malformed" },
    { "halite 3\nid 0011\ncomplete 1\nsalt-width 1\nsalt-buckets 16\n"
      "metric-width 3\ntagk-width 3\ntagv-width 3\nrow-hours 6\n",
      "malformed" },
};

START_TEST(strange_files_are_rejected_with_a_sentence)
{
    char *dir = tempdir_new();

    write_with_checksum(dir, strange[_i].text);
    rejects(dir, ST_CORRUPT, strange[_i].sentence);
    tempdir_free(&dir);
}
END_TEST

START_TEST(a_write_that_was_cut_short_changes_nothing)
{
    char *dir = tempdir_new(), *tmp = tempdir_path(dir, "FORMAT.tmp");
    struct format f, g;
    FILE *file;

    format_new(&f, &layout);
    ck_assert_int_eq(format_write(dir, &f, NULL), ST_OK);
    ck_assert_int_ne(access(tmp, F_OK), 0);
    file = fopen(tmp, "wb");
    ck_assert_ptr_nonnull(file);
    (void)fputs("halite 1\nid 99", file);
    (void)fclose(file);
    ck_assert_int_eq(format_read(dir, &g, NULL), ST_OK);
    ck_assert_str_eq(f.id, g.id);
    ck_assert_int_eq(format_write(dir, &f, NULL), ST_OK);
    ck_assert_int_eq(format_read(dir, &g, NULL), ST_OK);
    ck_assert_int_ne(access(tmp, F_OK), 0);
    free(tmp);
    tempdir_free(&dir);
    ck_assert_int_eq(format_write("/nowhere/at/all", &f, NULL), ST_IO);
}
END_TEST

START_TEST(the_lock_keeps_others_out)
{
    char *dir = tempdir_new(), *path, sentence[64];
    struct error e = { 0 };
    struct format_lock lock, second;
    int other, child, ready[2];

    ck_assert_int_eq(format_lock(dir, &lock, &e), ST_OK);
    (void)snprintf(sentence, sizeof sentence,
                   "in use by another process (pid %ld)", (long)getpid());
    child = fork();
    if (child == 0)
        _exit(format_lock(dir, &second, &e) == ST_IO && second.folder == -1 &&
                      second.file == -1 && strstr(e.text, sentence) != NULL
                  ? 0
                  : 1);
    ck_assert_int_eq(waitpid(child, &other, 0), child);
    ck_assert_int_eq(other, 0);
    ck_assert_int_eq(format_lock(dir, &second, &e), ST_IO);
    ck_assert(format_is_locked(dir));
    /* Without LOCK the folder's own lock keeps others out. */
    path = tempdir_path(dir, "LOCK");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert(format_is_locked(dir));
    ck_assert_int_eq(format_lock(dir, &second, &e), ST_IO);
    free(path);
    format_unlock(&lock);
    ck_assert_int_eq(lock.folder, -1);
    ck_assert(!format_is_locked(dir));
    format_unlock(&lock);
    ck_assert_int_eq(format_lock(dir, &lock, &e), ST_OK);
    format_unlock(&lock);
    ck_assert_int_eq(format_lock("/nowhere/at/all", &lock, &e), ST_IO);
    /* Who looks whether it is locked holds it briefly. */
    path = tempdir_path(dir, "LOCK");
    ck_assert_int_eq(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        other = open(path, O_RDONLY);
        if (flock(other, LOCK_SH) != 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        (void)usleep(20000);
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], sentence, 1), 1);
    ck_assert_int_eq(format_lock(dir, &lock, &e), ST_OK);
    format_unlock(&lock);
    ck_assert_int_eq(waitpid(child, &other, 0), child);
    ck_assert_int_eq(other, 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
    /* What a link names is no lock, and stays as it is. */
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink("victim", path), 0);
    ck_assert_int_eq(format_lock(dir, &lock, &e), ST_IO);
    free(path);
    path = tempdir_path(dir, "victim");
    ck_assert_int_eq(access(path, F_OK), -1);
    free(path);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN_FORKED("format_file", TEST(comes_back_as_written),
                 TEST(the_documented_file),
                 TEST(every_flipped_bit_and_every_cut_is_seen),
                 TEST(what_follows_the_checksum_is_ignored),
                 LOOP(strange_files_are_rejected_with_a_sentence, strange),
                 TEST(a_write_that_was_cut_short_changes_nothing),
                 TEST(the_lock_keeps_others_out))
