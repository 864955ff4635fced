#include "tsd/transfer/import/source.h"

#include <fcntl.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/file/file.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

#define LINES 40000 /* some 700 KB: several blocks */

/* Of the case that runs; 'got' is what it read. */
static char *dir;
static struct buf packed, got;
static struct source *s;

static struct buf text;
static size_t unended; /* lines that were lent without their ends */

static void
setup(void)
{
    dir = tempdir_new();
    buf_clear(&text);
    for (int i = 0; i < LINES; i++)
        buf_printf(&text, "line %d %u%s", i, (unsigned)i * 2654435761u,
                   i % 3 == 0 ? "\r\n" : "\n");
}

static void
teardown(void)
{
    source_close(&s);
    buf_fini(&packed);
    buf_fini(&got);
    tempdir_free(&dir);
}

static char *
write_file(const char *name, struct slice bytes)
{
    char *path = tempdir_path(dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    struct error e;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(file_write_fd(fd, path, bytes, &e), ST_OK);
    (void)close(fd);
    return path;
}

enum packing { PLAIN, GZIP, XZ, ZSTD, PACKINGS };

static void
pack(enum packing how, struct slice in)
{
    uLongf room = compressBound((uLong)in.size) + 4096;
    uint8_t *to = buf_reserve(&packed, room);
    size_t at = 0;
    z_stream gz = { 0 };

    switch (how) {
    case PLAIN:
    case PACKINGS:
        buf_put_slice(&packed, in);
        return;
    case GZIP:
        ck_assert_int_eq(deflateInit2(&gz, 6, Z_DEFLATED, 16 + MAX_WBITS, 8,
                                      Z_DEFAULT_STRATEGY),
                         Z_OK);
        gz.next_in = (Bytef *)(uintptr_t)in.data;
        gz.avail_in = (uInt)in.size;
        gz.next_out = to;
        gz.avail_out = (uInt)room;
        ck_assert_int_eq(deflate(&gz, Z_FINISH), Z_STREAM_END);
        at = room - gz.avail_out;
        (void)deflateEnd(&gz);
        break;
    case XZ:
        ck_assert_int_eq(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL,
                                                 in.data, in.size, to, &at,
                                                 room),
                         LZMA_OK);
        break;
    case ZSTD:
        at = ZSTD_compress(to, room, in.data, in.size, 1);
        break;
    }
    packed.size += at;
}

/* Two members, or frames, of one half each. */
static void
pack_halves(enum packing how)
{
    size_t half = text.size / 2;

    pack(how, slice_of(text.data, half));
    pack(how, slice_of(text.data + half, text.size - half));
}

static size_t
read_all(void)
{
    struct slice block;
    size_t lines = 0;

    unended = 0;
    while (source_next(s, &block)) {
        buf_put_slice(&got, block);
        while (block.size > 0) {
            struct slice line = source_cut_line(&block);

            unended += line.size > 0 && line.data[line.size - 1] != '\r';
            lines++;
        }
    }
    return lines;
}

START_TEST(lends_all_lines)
{
    struct error e;
    char *path;

    pack_halves((enum packing)_i);
    path = write_file("f", buf_slice(&packed));
    ck_assert_int_eq(source_open(path, SOURCE_BY_CONTENT, &s, &e), ST_OK);
    ck_assert_uint_eq(read_all(), LINES);
    ck_assert_uint_eq(unended, LINES);
    ck_assert_int_eq(source_status(s, &e), ST_OK);
    ck_assert(slice_eq(buf_slice(&got), buf_slice(&text)));
    ck_assert_uint_eq(source_bytes_read(s), packed.size);
    source_close(&s);
    ck_assert_ptr_null(s);
    free(path);
}
END_TEST

/* Whatever is cut off, no line is cut: those before it are lent, the failure is
 * told. */
START_TEST(tells_of_an_early_end)
{
    struct error e;
    char *path;

    pack((enum packing)(_i + 1), buf_slice(&text));
    path = write_file("f", slice_of(packed.data, packed.size / 2));
    ck_assert_int_eq(source_open(path, SOURCE_BY_CONTENT, &s, &e), ST_OK);
    (void)read_all();
    ck_assert_int_eq(source_status(s, &e), ST_CORRUPT);
    ck_assert_ptr_nonnull(strstr(e.text, "ends within"));
    ck_assert(got.size > 0 && got.size < text.size);
    ck_assert_int_eq(got.data[got.size - 1], '\n');
    ck_assert(slice_starts(buf_slice(&text), buf_slice(&got)));
    source_close(&s);
    free(path);
    path = write_file("g", buf_slice(&packed));
    packed.data[packed.size / 2] ^= 0x55;
    free(path);
    path = write_file("g", buf_slice(&packed));
    ck_assert_int_eq(source_open(path, SOURCE_BY_CONTENT, &s, &e), ST_OK);
    buf_clear(&got);
    (void)read_all();
    ck_assert(_i + 1 == ZSTD || source_status(s, &e) == ST_CORRUPT);
    free(path);
}
END_TEST

START_TEST(names_decide_for_tsdb)
{
    struct error e;
    char *plain, *gz, *bad;

    pack(GZIP, slice_str("a\nb\n"));
    plain = write_file("f", buf_slice(&packed));
    gz = write_file("f.gz", buf_slice(&packed));
    bad = write_file("bad.gz", slice_str("a\n"));
    ck_assert_int_eq(source_open(gz, SOURCE_BY_NAME, &s, &e), ST_OK);
    ck_assert_uint_eq(read_all(), 2);
    source_close(&s);
    buf_clear(&got);
    ck_assert_int_eq(source_open(plain, SOURCE_BY_NAME, &s, &e), ST_OK);
    (void)read_all();
    ck_assert(slice_eq(buf_slice(&got), buf_slice(&packed)));
    source_close(&s);
    ck_assert_int_eq(source_open(bad, SOURCE_BY_NAME, &s, &e), ST_CORRUPT);
    ck_assert_str_eq(e.text, "Not in GZIP format");
    ck_assert_ptr_null(s);
    ck_assert_int_eq(source_open(dir, SOURCE_BY_NAME, &s, &e), ST_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(e.text, " (Is a directory)"));
    free(gz);
    gz = tempdir_path(dir, "none");
    ck_assert_int_eq(source_open(gz, SOURCE_BY_NAME, &s, &e), ST_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(e.text, "none (No such file or directory)"));
    free(plain);
    free(gz);
    free(bad);
}
END_TEST

static const struct {
    const char *text;
    size_t lines;
} odd[] = {
    { "", 0 },          { "\n", 1 },     { "a", 1 },        { "a\nb", 2 },
    { "\r\n\n", 2 },    { "a\rb\r", 2 }, { "a\r\r\nb", 3 }, { "\r", 1 },
    { "a\rb\r\nc", 3 }, { "a\n\rb", 3 },
};

START_TEST(odd_files)
{
    struct error e;
    char *path;

    path = write_file("f", slice_str(odd[_i].text));
    ck_assert_int_eq(source_open(path, SOURCE_BY_CONTENT, &s, &e), ST_OK);
    ck_assert_uint_eq(read_all(), odd[_i].lines);
    ck_assert_int_eq(source_status(s, &e), ST_OK);
    free(path);
}
END_TEST

/* Wherever a CR lies in a block, and its LF in the next one. */
START_TEST(lone_cr_ends_a_line)
{
    struct buf lines = BUF_INIT;
    struct error e;
    char *path;

    for (int i = 0; i < LINES; i++)
        buf_printf(&lines, "l %d%s", i * (i % 7), i % 2 == 0 ? "\r" : "\r\n");
    pack((enum packing)_i, buf_slice(&lines));
    path = write_file("f", buf_slice(&packed));
    ck_assert_int_eq(source_open(path, SOURCE_BY_CONTENT, &s, &e), ST_OK);
    ck_assert_uint_eq(read_all(), LINES);
    ck_assert_uint_eq(unended, LINES);
    ck_assert_uint_eq(got.size, lines.size);
    free(path);
    buf_fini(&lines);
}
END_TEST

/* Java takes what it knows; we tell that there is more. */
static const char *const behind_gzip[] = {
    "",
    "garbage, more than a header has",
    "\x1f",
    "\x1f\x8b\x08",
    "\x1f\x8b\x07garbage",
};

START_TEST(garbage_behind_gzip)
{
    bool none = *behind_gzip[_i] == '\0';
    struct error e;
    char *path;

    pack(GZIP, slice_str("a\n"));
    pack(GZIP, slice_str("b\n"));
    buf_put_str(&packed, behind_gzip[_i]);
    path = write_file("f.gz", buf_slice(&packed));
    ck_assert_int_eq(source_open(path, SOURCE_BY_NAME, &s, &e), ST_OK);
    ck_assert_uint_eq(read_all(), 2);
    ck_assert_int_eq(source_status(s, &e), ST_OK);
    source_close(&s);
    ck_assert_int_eq(source_open(path, SOURCE_BY_CONTENT, &s, &e), ST_OK);
    ck_assert_uint_eq(read_all(), 2);
    ck_assert_int_eq(source_status(s, &e), none ? ST_OK : ST_CORRUPT);
    free(path);
}
END_TEST

/* Zeros are padding, however many, and whatever follows them is read. */
START_TEST(zeros_behind_gzip)
{
    static const size_t zeros[] = { 1, 9, 512, 100000 };

    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++)
        for (int more = 0; more <= 2; more++) {
            struct error e;
            char *path;

            buf_clear(&packed);
            buf_clear(&got);
            pack(GZIP, slice_str("a\n"));
            for (size_t n = 0; n < zeros[i]; n++)
                buf_put_u8(&packed, 0);
            if (more == 1)
                pack(GZIP, slice_str("b\n"));
            else if (more == 2)
                buf_put_str(&packed, "garbage");
            path = write_file("f.gz", buf_slice(&packed));
            ck_assert_int_eq(source_open(path, SOURCE_BY_CONTENT, &s, &e),
                             ST_OK);
            ck_assert_uint_eq(read_all(), more == 1 ? 2 : 1);
            ck_assert_int_eq(source_status(s, &e),
                             more == 2 ? ST_CORRUPT : ST_OK);
            source_close(&s);
            free(path);
        }
}
END_TEST

START_TEST(a_long_line_is_an_error)
{
    struct buf big = BUF_INIT;
    struct error e;
    char *path;
    uint8_t *to;

    buf_put_str(&big, "short\n");
    to = buf_reserve(&big, SOURCE_LINE_MAX + SOURCE_BLOCK);
    ck_assert_ptr_nonnull(to);
    memset(to, 'x', SOURCE_LINE_MAX + SOURCE_BLOCK);
    big.size += SOURCE_LINE_MAX + SOURCE_BLOCK;
    path = write_file("f", buf_slice(&big));
    ck_assert_int_eq(source_open(path, SOURCE_BY_CONTENT, &s, &e), ST_OK);
    ck_assert_uint_eq(read_all(), 1);
    ck_assert_int_eq(source_status(s, &e), ST_LIMIT);
    free(path);
    buf_fini(&big);
}
END_TEST

/* Lines before the block count, and the last one may have no end. */
START_TEST(lines_are_numbered)
{
    static const struct {
        size_t offset;
        uint64_t number;
        const char *text;
    } lines[] = {
        { 0, 8, "a" }, { 2, 9, "" }, { 3, 10, "bc" }, { 7, 11, "d" }
    };
    const struct slice block = slice_str("a\n\nbc\r\nd");

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct source_line l = source_line_at(block, 7, lines[i].offset);

        ck_assert_uint_eq(l.number, lines[i].number);
        ck_assert(slice_eq_str(l.text, lines[i].text));
    }
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "source", TEST(lines_are_numbered),
               TIMES(lends_all_lines, PACKINGS),
               TIMES(tells_of_an_early_end, PACKINGS - 1),
               TEST(names_decide_for_tsdb), LOOP(odd_files, odd),
               TIMES(lone_cr_ends_a_line, PACKINGS),
               LOOP(garbage_behind_gzip, behind_gzip), TEST(zeros_behind_gzip),
               TEST(a_long_line_is_an_error))
