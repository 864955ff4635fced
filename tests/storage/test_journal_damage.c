/* Damaged files: what a crash can leave is cut off, all else is refused. */
#include "config.h"

#include "storage/journal.h"

#include <string.h>
#include <sys/stat.h>

#include "tests/storage/journal_rig.h"

/* Three records, and where each ends in the file. */
static struct buf
sample(const char *dir, size_t ends[3])
{
    struct journal *j = open_off(dir);
    static const char *const texts[] = { "first", "the second record", "3" };
    struct buf b;

    ends[0] = JOURNAL_FILE_HEADER;
    for (int i = 0; i < 3; i++) {
        ends[i] = (i == 0 ? JOURNAL_FILE_HEADER : ends[i - 1]) +
                  JOURNAL_RECORD_HEADER + strlen(texts[i]);
        (void)append(j, (uint8_t)(i + 1), texts[i]);
    }
    close_ok(&j);
    b = file_read(dir, 1);
    ck_assert_uint_eq(b.size, ends[2]);
    return b;
}

static const char *const prefixes[] = {
    "",
    "1:1:first ",
    "1:1:first 1:2:the second record ",
    "1:1:first 1:2:the second record 1:3:3 ",
};

/* How many records end at or before 'size'. */
static int
whole_records(const size_t ends[3], size_t size)
{
    int n = 0;

    while (n < 3 && ends[n] <= size)
        n++;
    return n;
}

START_TEST(cut_at_every_byte)
{
    char *dir = folder_make();
    size_t ends[3];
    struct buf whole = sample(dir, ends), records = BUF_INIT;

    for (size_t size = 0; size <= whole.size; size++) {
        int n = whole_records(ends, size);
        struct error e = { 0 };
        struct buf left;

        folder_fill(dir, 1, slice_of(whole.data, size));
        ck_assert_msg(reopen(dir, &records, &e) == ST_OK, "%zu: %s", size,
                      e.text);
        ck_assert_str_eq(buf_cstr(&records), prefixes[n]);
        left = file_read(dir, 1);
        ck_assert_uint_eq(left.size,
                          n == 0 ? JOURNAL_FILE_HEADER : ends[n - 1]);
        buf_fini(&left);
    }
    buf_fini(&records);
    buf_fini(&whole);
    folder_remove(&dir);
}
END_TEST

/* The file has its length, but zeros from some byte on. */
START_TEST(zeros_from_every_byte)
{
    char *dir = folder_make();
    size_t ends[3];
    struct buf whole = sample(dir, ends), records = BUF_INIT;

    for (size_t size = 0; size < whole.size; size++) {
        struct buf cut = BUF_INIT;
        struct error e = { 0 };
        enum status st;

        buf_put(&cut, whole.data, size);
        while (cut.size < whole.size + 5000)
            buf_put_u8(&cut, 0);
        folder_fill(dir, 1, buf_slice(&cut));
        st = reopen(dir, &records, &e);
        /* A header is synced before the first record: half of one is damage. */
        if (size > 0 && size < JOURNAL_FILE_HEADER) {
            bool same = memcmp(cut.data, whole.data, JOURNAL_FILE_HEADER) == 0;

            ck_assert_int_eq(st, same ? ST_OK : ST_CORRUPT);
        } else {
            int n = whole_records(ends, size);

            ck_assert_msg(st == ST_OK, "%zu: %s", size, e.text);
            /* The last bytes may have been zeros anyway. */
            ck_assert(strncmp(buf_cstr(&records), prefixes[n],
                              strlen(prefixes[n])) == 0);
        }
        buf_fini(&cut);
    }
    buf_fini(&records);
    buf_fini(&whole);
    folder_remove(&dir);
}
END_TEST

static size_t
record_start(const size_t ends[3], size_t at)
{
    int n = whole_records(ends, at);

    if (at < JOURNAL_FILE_HEADER)
        return 0;
    return n == 0 ? JOURNAL_FILE_HEADER : ends[n - 1];
}

/* In the last file: damage before a whole record is refused with its place, in
 * the last record it cannot be told from a torn tail. */
START_TEST(flip_every_bit_of_the_last_file)
{
    char *dir = folder_make();
    size_t ends[3];
    struct buf whole = sample(dir, ends), records = BUF_INIT;

    for (size_t bit = 0; bit < whole.size * 8; bit++) {
        struct error e = { 0 };
        char place[64];
        enum status st;

        whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        folder_fill(dir, 1, buf_slice(&whole));
        whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        st = reopen(dir, &records, &e);
        if (bit / 8 >= ends[1]) {
            ck_assert_msg(st == ST_OK, "bit %zu: %s", bit, e.text);
            ck_assert_str_eq(buf_cstr(&records), prefixes[2]);
            continue;
        }
        ck_assert_msg(st == ST_CORRUPT, "bit %zu: %d", bit, st);
        (void)snprintf(place, sizeof place,
                       "/00000000000000000001.wal at offset %zu:",
                       record_start(ends, bit / 8));
        ck_assert_msg(strstr(e.text, place) != NULL, "bit %zu: %s", bit,
                      e.text);
    }
    buf_fini(&records);
    buf_fini(&whole);
    folder_remove(&dir);
}
END_TEST

/* In a file that is not the last, any flip and any cut is damage. */
START_TEST(damage_before_the_last_file)
{
    char *dir = folder_make();
    size_t ends[3];
    struct buf whole = sample(dir, ends), records = BUF_INIT, second;
    struct journal *j = open_off(dir);

    (void)append(j, 9, "later");
    close_ok(&j);
    second = file_read(dir, 2);
    for (size_t at = 0; at < whole.size; at++) {
        struct error e = { 0 };
        bool cut_between = whole_records(ends, at) > 0 &&
                           ends[whole_records(ends, at) - 1] == at;

        whole.data[at] ^= 0x10;
        folder_fill(dir, 1, buf_slice(&whole));
        whole.data[at] ^= 0x10;
        file_write(dir, 2, buf_slice(&second));
        ck_assert_int_eq(reopen(dir, &records, &e), ST_CORRUPT);
        ck_assert_msg(strstr(e.text, "1.wal at offset ") != NULL, "%s", e.text);
        folder_fill(dir, 1, slice_of(whole.data, at));
        file_write(dir, 2, buf_slice(&second));
        if (!cut_between && at != JOURNAL_FILE_HEADER)
            ck_assert_int_eq(reopen(dir, &records, &e), ST_CORRUPT);
    }
    buf_fini(&second);
    buf_fini(&records);
    buf_fini(&whole);
    folder_remove(&dir);
}
END_TEST

START_TEST(a_missing_file_is_damage)
{
    char *dir = folder_make();
    struct journal *j = open_off(dir);
    struct buf path = path_of(dir, 2), records = BUF_INIT;
    struct error e = { 0 };

    for (int i = 0; i < 3; i++) {
        (void)append(j, 1, "x");
        journal_rotate(j);
    }
    close_ok(&j);
    ck_assert_int_eq(unlink(buf_cstr(&path)), 0);
    ck_assert_int_eq(reopen(dir, &records, &e), ST_CORRUPT);
    ck_assert_msg(strstr(e.text, "segment 2 is missing") != NULL, "%s", e.text);
    buf_fini(&path);
    folder_remove(&dir);
}
END_TEST

/* Bytes of another segment, or of another journal, are no records here. */
START_TEST(foreign_bytes_are_no_records)
{
    char *dir = folder_make();
    size_t ends[3];
    struct buf a = sample(dir, ends), b, records = BUF_INIT;
    struct error e = { 0 };

    folder_fill(dir, 1, slice_of(a.data, 0));
    b = sample(dir, ends); /* the same number and records, another nonce */
    ck_assert_uint_eq(a.size, b.size);
    memcpy(b.data + ends[0], a.data + ends[0], ends[2] - ends[0]);
    folder_fill(dir, 1, buf_slice(&b));
    ck_assert_msg(reopen(dir, &records, &e) == ST_OK, "%s", e.text);
    ck_assert_str_eq(buf_cstr(&records), prefixes[1]);
    folder_fill(dir, 2, buf_slice(&a)); /* a file under another name */
    ck_assert_int_eq(reopen(dir, &records, &e), ST_CORRUPT);
    buf_fini(&a);
    buf_fini(&b);
    buf_fini(&records);
    folder_remove(&dir);
}
END_TEST

/* After a crash and a cut, life goes on behind the cut. */
START_TEST(appends_after_a_torn_tail)
{
    char *dir = folder_make();
    size_t ends[3];
    struct buf whole = sample(dir, ends);
    struct journal *j;

    folder_fill(dir, 1, slice_of(whole.data, ends[1] + 3));
    j = open_off(dir);
    expect_replay(j, prefixes[2]);
    (void)append(j, 4, "more");
    close_ok(&j);
    j = open_off(dir);
    expect_replay(j, "1:1:first 1:2:the second record 2:4:more ");
    close_ok(&j);
    buf_fini(&whole);
    folder_remove(&dir);
}
END_TEST

TEST_MAIN("journal damage", TEST(cut_at_every_byte),
          TEST(zeros_from_every_byte), TEST(flip_every_bit_of_the_last_file),
          TEST(damage_before_the_last_file), TEST(a_missing_file_is_damage),
          TEST(foreign_bytes_are_no_records), TEST(appends_after_a_torn_tail))
