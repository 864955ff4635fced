/* Damaged files: what a crash can leave is cut off, all else is rejected. */
#include "storage/wal/wal.h"

#include <string.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "tests/storage/wal_rig.h"

/* Three records, and where each ends in the file.  The mark that the close
 * leaves behind them says that all are on the disk. */
static struct buf
sample(size_t ends[3])
{
    struct wal *wal = open_off();
    static const char *const texts[] = { "first", "the second record", "3" };
    struct buf b;

    ends[0] = WAL_SEGMENT_HEADER;
    for (int i = 0; i < 3; i++) {
        ends[i] = (i == 0 ? WAL_SEGMENT_HEADER : ends[i - 1]) +
                  WAL_RECORD_HEADER + 2 + strlen(texts[i]);
        commit(wal, append(wal, (uint8_t)(i + 1), texts[i]), false);
    }
    close_ok(&wal);
    b = file_read(1);
    ck_assert_uint_eq(b.size, ends[2] + WAL_MARK_SIZE);
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
    size_t ends[3];
    struct buf whole = sample(ends), records = BUF_INIT;

    for (size_t size = 0; size <= whole.size; size++) {
        int n = whole_records(ends, size);
        struct error e = { 0 };
        struct buf left;

        folder_fill(1, slice_of(whole.data, size));
        ck_assert_msg(reopen(&records, &e) == ST_OK, "%zu: %s", size, e.text);
        ck_assert_str_eq(buf_cstr(&records), prefixes[n]);
        left = file_read(1);
        ck_assert_uint_eq(left.size, size == whole.size ? size
                                     : n == 0           ? WAL_SEGMENT_HEADER
                                                        : ends[n - 1]);
        buf_fini(&left);
    }
    buf_fini(&records);
    buf_fini(&whole);
}
END_TEST

/* The file has its length, but zeros from some byte on. */
START_TEST(zeros_from_every_byte)
{
    size_t ends[3];
    struct buf whole = sample(ends), records = BUF_INIT;

    for (size_t size = 0; size < whole.size; size++) {
        struct buf cut = BUF_INIT;
        struct error e = { 0 };
        enum status st;

        buf_put(&cut, whole.data, size);
        while (cut.size < whole.size + 5000)
            buf_put_u8(&cut, 0);
        folder_fill(1, buf_slice(&cut));
        st = reopen(&records, &e);
        /* A header is synced before the first record: half of one is damage. */
        if (size > 0 && size < WAL_SEGMENT_HEADER) {
            bool same = memcmp(cut.data, whole.data, WAL_SEGMENT_HEADER) == 0;

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
}
END_TEST

static size_t
record_start(const size_t ends[3], size_t at)
{
    int n = whole_records(ends, at);

    if (at < WAL_SEGMENT_HEADER)
        return 0;
    return n == 0 ? WAL_SEGMENT_HEADER : ends[n - 1];
}

/* In the last file: damage before a mark is rejected with its place; the mark
 * itself is not missed. */
START_TEST(flip_every_bit_of_the_last_file)
{
    size_t ends[3];
    struct buf whole = sample(ends), records = BUF_INIT;

    for (size_t bit = 0; bit < whole.size * 8; bit++) {
        struct error e = { 0 };
        char place[64];
        enum status st;

        whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        folder_fill(1, buf_slice(&whole));
        whole.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        st = reopen(&records, &e);
        if (bit / 8 >= ends[2]) {
            ck_assert_msg(st == ST_OK, "bit %zu: %s", bit, e.text);
            ck_assert_str_eq(buf_cstr(&records), prefixes[3]);
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
}
END_TEST

/* -- power cuts ----------------------------------------------------------- */

/* Six records, a sync after the second: so many bytes were on the disk. */
static struct buf
half_synced(size_t ends[6], size_t *reach)
{
    struct wal *wal = open_off();
    struct buf b;

    for (unsigned i = 0; i < 6; i++) {
        uint64_t lsn = append(wal, (uint8_t)(i + 1), "of some bytes");

        commit(wal, lsn, i == 1);
        ends[i] = WAL_SEGMENT_HEADER +
                  (i + 1) * (WAL_RECORD_HEADER + 2 + strlen("of some bytes")) +
                  (i > 1 ? WAL_MARK_SIZE : 0);
    }
    *reach = ends[1];
    b = file_read(1);
    ck_assert_uint_eq(b.size, ends[5]);
    close_ok(&wal);
    return b;
}

static size_t
count(const struct buf *records)
{
    size_t n = 0;

    for (size_t i = 0; i < records->size; i++)
        n += records->data[i] == ':';
    return n / 2;
}

/* Any page of 16 bytes may be missing from what was not synced, with whole
 * records behind it: the file ends there.  What was synced must be there. */
START_TEST(holes_where_nothing_was_synced)
{
    size_t ends[6], reach, at, page = 16;
    struct buf whole = half_synced(ends, &reach), records = BUF_INIT;

    for (at = 0; at < whole.size; at++) {
        struct buf cut = BUF_INIT;
        struct error e = { 0 };
        enum status st;
        size_t limit = at < reach ? reach : whole.size;
        size_t want = 0, size = at + page < limit ? page : limit - at;

        buf_put_slice(&cut, buf_slice(&whole));
        memset(cut.data + at, 0, size);
        if (memcmp(cut.data, whole.data, whole.size) == 0)
            continue;
        folder_fill(1, buf_slice(&cut));
        st = reopen(&records, &e);
        while (want < 6 && ends[want] <= at)
            want++;
        if (at < reach) {
            ck_assert_msg(st == ST_CORRUPT, "hole at %zu: %d", at, st);
            /* A random checksum ends the header, maybe with a zero. */
            ck_assert_ptr_nonnull(
                strstr(e.text, memcmp(cut.data, whole.data, WAL_SEGMENT_HEADER)
                                   ? "no header"
                                   : "on the disk once"));
        } else {
            ck_assert_msg(st == ST_OK, "hole at %zu: %s", at, e.text);
            ck_assert_uint_ge(count(&records), want);
            ck_assert_uint_le(count(&records), want + 1);
            ck_assert_uint_ge(count(&records), 2);
        }
        buf_fini(&cut);
    }
    buf_fini(&records);
    buf_fini(&whole);
}
END_TEST

/* A file of another version is rejected. */
START_TEST(files_of_another_version)
{
    struct buf file = BUF_INIT, records = BUF_INIT;
    uint8_t header[WAL_SEGMENT_HEADER];
    struct error e = { 0 };

    (void)wal_segment_header(1, 99, header);
    header[7] = WAL_VERSION + 1;
    buf_put(&file, header, 24);
    buf_put_u32(&file, crc32c(slice_of(header, 24)));
    buf_put_str(&file, "what follows");
    folder_fill(1, buf_slice(&file));
    ck_assert_int_eq(reopen(&records, &e), ST_CORRUPT);
    ck_assert_ptr_nonnull(strstr(e.text, "version 1"));
    buf_fini(&records);
    buf_fini(&file);
}
END_TEST

/* -- bundles -------------------------------------------------------------- */

/* Of three records in one write all are there, or none. */
START_TEST(a_bundle_is_whole_or_not_there)
{
    struct wal *wal = open_off();
    struct buf whole, records = BUF_INIT;
    size_t end;

    for (uint8_t i = 1; i <= 3; i++)
        (void)append(wal, i, i == 2 ? "" : "text");
    close_ok(&wal);
    whole = file_read(1);
    end = whole.size - WAL_MARK_SIZE;
    ck_assert_uint_eq(end, WAL_SEGMENT_HEADER + WAL_RECORD_HEADER + 14);
    for (size_t size = WAL_SEGMENT_HEADER; size <= whole.size; size++) {
        struct error e = { 0 };

        folder_fill(1, slice_of(whole.data, size));
        ck_assert_msg(reopen(&records, &e) == ST_OK, "%zu: %s", size, e.text);
        ck_assert_str_eq(buf_cstr(&records),
                         size < end ? "" : "1:1:text 1:2: 1:3:text ");
    }
    for (size_t at = WAL_SEGMENT_HEADER; at < end; at++) {
        struct error e = { 0 };

        whole.data[at] ^= 0x40;
        folder_fill(1, buf_slice(&whole));
        whole.data[at] ^= 0x40;
        ck_assert_int_eq(reopen(&records, &e), ST_CORRUPT);
        ck_assert_str_eq(buf_cstr(&records), "");
    }
    buf_fini(&records);
    buf_fini(&whole);
}
END_TEST

/* A file of one bundle. */
static struct buf
one_bundle(struct slice payload)
{
    uint8_t header[WAL_SEGMENT_HEADER], record[WAL_RECORD_HEADER];
    struct buf file = BUF_INIT;
    uint32_t file_key;

    file_key = wal_segment_header(1, 99, header);
    buf_put(&file, header, sizeof header);
    wal_record_header(WAL_BUNDLE, payload, record);
    wal_record_mask(record, file_key);
    buf_put(&file, record, sizeof record);
    buf_put_slice(&file, payload);
    return file;
}

static const struct {
    const char *bytes;
    const char *records; /* NULL: malformed */
} bundles[] = {
    { "", "" },
    { "\1\1x\2\2yz", "1:1:x 1:2:yz " },
    { "\1\1x\2\3yz", NULL }, /* too short */
    { "\1\1x\2", NULL },
    { "\1\1x\2\xff\xff\xff\xff\xff\xff\xff\xff\xff", NULL },
    { "\377\1x", NULL }, /* a bundle in a bundle */
};

START_TEST(bundles_that_are_read)
{
    struct buf file = one_bundle(slice_str(bundles[_i].bytes));
    struct buf records = BUF_INIT;
    struct error e = { 0 };
    enum status st;

    folder_fill(1, buf_slice(&file));
    st = reopen(&records, &e);
    if (bundles[_i].records != NULL) {
        ck_assert_msg(st == ST_OK, "%s", e.text);
        ck_assert_str_eq(buf_cstr(&records), bundles[_i].records);
    } else {
        ck_assert_int_eq(st, ST_CORRUPT);
        ck_assert_ptr_nonnull(strstr(e.text, "1.wal: a bundle"));
    }
    buf_fini(&records);
    buf_fini(&file);
}
END_TEST

START_TEST(a_mark_in_a_bundle_is_malformed)
{
    struct buf file = one_bundle(slice_of("\0\1x", 3)), records = BUF_INIT;
    struct error e = { 0 };

    folder_fill(1, buf_slice(&file));
    ck_assert_int_eq(reopen(&records, &e), ST_CORRUPT);
    buf_fini(&records);
    buf_fini(&file);
}
END_TEST

/* In a file that is not the last, any flip and any cut is damage. */
START_TEST(damage_before_the_last_file)
{
    size_t ends[3];
    struct buf whole = sample(ends), records = BUF_INIT, second;
    struct wal *wal = open_off();

    (void)append(wal, 9, "later");
    close_ok(&wal);
    second = file_read(2);
    for (size_t at = 0; at < whole.size; at++) {
        struct error e = { 0 };
        bool cut_between = whole_records(ends, at) > 0 &&
                           ends[whole_records(ends, at) - 1] == at;

        whole.data[at] ^= 0x10;
        folder_fill(1, buf_slice(&whole));
        whole.data[at] ^= 0x10;
        file_write(2, buf_slice(&second));
        ck_assert_int_eq(reopen(&records, &e), ST_CORRUPT);
        ck_assert_msg(strstr(e.text, "1.wal at offset ") != NULL, "%s", e.text);
        folder_fill(1, slice_of(whole.data, at));
        file_write(2, buf_slice(&second));
        if (!cut_between && at != WAL_SEGMENT_HEADER)
            ck_assert_int_eq(reopen(&records, &e), ST_CORRUPT);
    }
    buf_fini(&second);
    buf_fini(&records);
    buf_fini(&whole);
}
END_TEST

START_TEST(a_missing_file_is_damage)
{
    struct wal *wal = open_off();
    struct buf path = path_of(2), records = BUF_INIT;
    struct error e = { 0 };

    for (int i = 0; i < 3; i++) {
        (void)append(wal, 1, "x");
        wal_rotate(wal);
    }
    close_ok(&wal);
    ck_assert_int_eq(unlink(buf_cstr(&path)), 0);
    ck_assert_int_eq(reopen(&records, &e), ST_CORRUPT);
    ck_assert_msg(strstr(e.text, "segment 2 is missing") != NULL, "%s", e.text);
    buf_fini(&path);
}
END_TEST

/* Bytes of another segment, or of another WAL, are no records here. */
START_TEST(foreign_bytes_are_no_records)
{
    size_t ends[3];
    struct buf a = sample(ends), b, records = BUF_INIT;
    struct error e = { 0 };

    folder_fill(1, slice_of(a.data, 0));
    b = sample(ends); /* the same number and records, another nonce */
    ck_assert_uint_eq(a.size, b.size);
    memcpy(b.data + ends[0], a.data + ends[0], ends[2] - ends[0]);
    folder_fill(1, buf_slice(&b)); /* the mark is its own */
    ck_assert_int_eq(reopen(&records, &e), ST_CORRUPT);
    folder_fill(1, slice_of(b.data, ends[2]));
    ck_assert_msg(reopen(&records, &e) == ST_OK, "%s", e.text);
    ck_assert_str_eq(buf_cstr(&records), prefixes[1]);
    folder_fill(2, buf_slice(&a)); /* a file under another name */
    ck_assert_int_eq(reopen(&records, &e), ST_CORRUPT);
    buf_fini(&a);
    buf_fini(&b);
    buf_fini(&records);
}
END_TEST

/* After a crash and a cut, life goes on behind the cut. */
START_TEST(appends_after_a_torn_tail)
{
    size_t ends[3];
    struct buf whole = sample(ends);
    struct wal *wal;

    folder_fill(1, slice_of(whole.data, ends[1] + 3));
    wal = open_off();
    expect_replay(wal, prefixes[2]);
    (void)append(wal, 4, "more");
    close_ok(&wal);
    wal = open_off();
    expect_replay(wal, "1:1:first 1:2:the second record 2:4:more ");
    close_ok(&wal);
    buf_fini(&whole);
}
END_TEST

TEST_MAIN_WITH(
    setup, teardown, "WAL damage", TEST(cut_at_every_byte),
    TEST(zeros_from_every_byte), TEST(flip_every_bit_of_the_last_file),
    TEST(holes_where_nothing_was_synced), TEST(files_of_another_version),
    TEST(a_bundle_is_whole_or_not_there), LOOP(bundles_that_are_read, bundles),
    TEST(a_mark_in_a_bundle_is_malformed), TEST(damage_before_the_last_file),
    TEST(a_missing_file_is_damage), TEST(foreign_bytes_are_no_records),
    TEST(appends_after_a_torn_tail))
