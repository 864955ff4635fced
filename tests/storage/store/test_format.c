/* The bytes of docs/FORMAT.md: what we write, what it says, and what we read
 * are the same. */
#include "storage/block/block.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "storage/histogram/histogram.h"
#include "storage/histogram/histogram_table.h"
#include "storage/wal/wal_priv.h"
#include "tests/harness.h"

#define BASE UINT32_C(1292148000)

/* The lines of the document, in the folder that make check names. */
static struct buf
document(void)
{
    const char *srcdir = getenv("srcdir");
    struct buf path = BUF_INIT, text = BUF_INIT;
    char chunk[4096];
    size_t n;
    FILE *f;

    buf_printf(&path, "%s/docs/FORMAT.md", srcdir == NULL ? "." : srcdir);
    f = fopen(buf_cstr(&path), "r");
    ck_assert_msg(f != NULL, "no %s: set srcdir", buf_cstr(&path));
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        buf_put(&text, chunk, n);
    (void)fclose(f);
    buf_fini(&path);
    return text;
}

/* These bytes stand in the document as a line of their own. */
static void
expect_documented(struct slice bytes)
{
    struct buf text = document(), line = BUF_INIT;

    buf_put_str(&line, "\n   ");
    for (size_t i = 0; i < bytes.size; i++)
        buf_printf(&line, " %02x", bytes.data[i]);
    buf_put_str(&line, "\n");
    ck_assert_msg(strstr(buf_cstr(&text), buf_cstr(&line)) != NULL,
                  "not in docs/FORMAT.md:%s", buf_cstr(&line));
    buf_fini(&line);
    buf_fini(&text);
}

static const struct {
    size_t len;
    struct point points[8]; /* times in ms from the base */
    uint8_t bytes[32];
    size_t size;
} blocks[] = {
    { 7,
      { { 123000, { .i = 42 }, false },
        { 133000, { .i = 43 }, false },
        { 143000, { .i = 43 }, false },
        { 153000, { .i = 41 }, false },
        { 163000, { .i = 44 }, false },
        { 173000, { .i = 46 }, false },
        { 183000, { .i = 45 }, false } },
      { 0x01, 0x03, 0x07, 0x7b, 0x3c, 0x54, 0x06, 0x01, 0x01, 0x06, 0x00, 0x42,
        0x91, 0xb0, 0x12, 0xc2, 0xf0, 0x59, 0xad },
      19 },
    { 3,
      { { 500, { .d = 0.25 }, true },
        { 2000, { .d = 0.5 }, true },
        { 2100, { .d = 1.75 }, true } },
      { 0x01, 0x0e, 0x02, 0x03, 0x05, 0x10, 0x32, 0xac, 0x02,
        0x00, 0x00, 0x63, 0x00, 0x00, 0x44, 0xe0, 0x41, 0x02,
        0x32, 0x46, 0x00, 0x32, 0x08, 0x5a, 0x84, 0xa4 },
      26 },
    { 3,
      { { 0, { .i = 1 }, false },
        { 10000, { .d = 2.5 }, true },
        { 20000, { .i = 3 }, false } },
      { 0x01, 0x13, 0x01, 0x03, 0x00, 0x14, 0x14, 0x28, 0x00, 0x00, 0x0a,
        0x00, 0x40, 0x06, 0x00, 0x44, 0xe0, 0x51, 0x8a, 0xa2, 0x9c, 0xad },
      22 },
};

START_TEST(block_bytes)
{
    const struct slice bytes = { blocks[_i].bytes, blocks[_i].size };
    struct points p = { 0 }, back = { 0 };
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < blocks[_i].len; i++) {
        struct point x = blocks[_i].points[i];

        x.ts_ms += BASE * INT64_C(1000);
        ck_assert(points_add(&p, x));
    }
    block_encode(&p, BASE, &b);
    ck_assert_mem_eq(b.data, bytes.data, bytes.size);
    ck_assert_uint_eq(b.size, bytes.size);
    expect_documented(bytes);
    ck_assert_int_eq(block_decode(bytes, BASE, &back, NULL), ST_OK);
    ck_assert_uint_eq(back.len, p.len);
    ck_assert_mem_eq(back.ts_ms, p.ts_ms, p.len * sizeof *p.ts_ms);
    ck_assert_mem_eq(back.v, p.v, p.len * sizeof *p.v);
    points_fini(&p);
    points_fini(&back);
    buf_fini(&b);
}
END_TEST

START_TEST(sparse_bytes)
{
    static const uint8_t bytes[] = { 0x01, 0x03, 0xe8, 0x02, 0x00, 0x9f, 0x19,
                                     0x0e, 0x00, 0x00, 0xfd, 0x06, 0xfa, 0x0d,
                                     0x00, 0x01, 0x01, 0x00, 0xc8, 0x01, 0x00,
                                     0xfc, 0x06, 0x57, 0x25, 0xdd, 0x08 };
    struct points p = { 0 };
    struct buf b = BUF_INIT;

    for (int64_t i = 0; i < 360; i++) {
        struct point x = { .ts_ms = (BASE + i * 9) * 1000,
                           .v = { .i = i == 200 ? 900 : 7 } };

        ck_assert(points_add(&p, x));
    }
    block_encode(&p, BASE, &b);
    ck_assert_mem_eq(b.data, bytes, sizeof bytes);
    ck_assert_uint_eq(b.size, sizeof bytes);
    expect_documented(buf_slice(&b));
    points_fini(&p);
    buf_fini(&b);
}
END_TEST

START_TEST(padded_bytes)
{
    const struct slice bytes = { blocks[0].bytes, blocks[0].size };
    struct buf b = BUF_INIT;
    struct summary s;

    block_pad(bytes, 3, &b);
    expect_documented(buf_slice(&b));
    ck_assert_int_eq(block_summary(buf_slice(&b), BASE, &s, NULL), ST_OK);
    ck_assert_int_eq(s.sum.i, 304);
    buf_fini(&b);
}
END_TEST

static const uint8_t segment[] = {
    0x48, 0x41, 0x4c, 0x4a, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab,
    0xcd, 0xef, 0xd1, 0xe3, 0xb7, 0xc8, 0x00, 0x00, 0x00, 0x09, 0xff,
    0x4f, 0x31, 0x4d, 0xca, 0xd8, 0xb1, 0x02, 0x04, 0x73, 0x61, 0x6c,
    0x74, 0x05, 0x00, 0x00, 0x00, 0x00, 0x09, 0x00, 0x9e, 0x9a, 0x30,
    0x7d, 0xb1, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2f,
};

static enum status
expect_salt(void *ctx, uint64_t number, uint8_t type, struct slice payload,
            struct error *e)
{
    int *seen = ctx;

    ck_assert_uint_eq(number, 1);
    ck_assert_int_eq(type, *seen == 0 ? 2 : 5);
    ck_assert(slice_eq_str(payload, *seen == 0 ? "salt" : ""));
    ++*seen;
    return ST_OK;
}

START_TEST(wal_bytes)
{
    uint8_t header[WAL_SEGMENT_HEADER], record[WAL_RECORD_HEADER];
    uint8_t mark[WAL_MARK_SIZE];
    const uint8_t *bundle_at = segment + sizeof header;
    const uint8_t *mark_at = bundle_at + sizeof record + 8;
    uint32_t file_key =
        wal_segment_header(1, UINT64_C(0x0123456789abcdef), header);
    struct wal_segment w = { .segment = 1 };
    int seen = 0;
    uint64_t good;

    wal_mark((uint64_t)(mark_at - segment), file_key, mark);
    ck_assert_mem_eq(header, segment, sizeof header);
    wal_record_header(WAL_BUNDLE, slice_of(bundle_at + sizeof record, 8),
                      record);
    wal_record_mask(record, file_key);
    ck_assert_mem_eq(record, bundle_at, sizeof record);
    ck_assert_mem_eq(mark, mark_at, sizeof mark);
    expect_documented(slice_of(segment, sizeof header));
    expect_documented(slice_of(bundle_at, sizeof record + 8));
    expect_documented(slice_of(mark_at, sizeof mark));
    buf_put(&w.bytes, segment, sizeof segment);
    ck_assert_int_eq(wal_segment_read(&w, expect_salt, &seen, &good, NULL),
                     ST_OK);
    ck_assert_int_eq(seen, 2);
    ck_assert_uint_eq(good, sizeof segment);
    wal_segment_fini(&w);
}
END_TEST

START_TEST(histogram_bytes)
{
    static const uint8_t tsuid[] = { 0, 0, 1, 0, 0, 1, 0, 0, 1 };
    static const uint8_t start[] = { 'g', 0, 9, 0, 0, 1, 0, 0, 1, 0, 0, 1 };
    struct histogram_bucket buckets[] = { { 0, 10, 5 }, { 10, 20, 300 } };
    struct histogram h = { buckets, 2, 1, 0 };
    uint8_t key[HISTOGRAM_KEY_MAX];
    struct buf value = BUF_INIT;

    ck_assert_uint_eq(histogram_key(slice_of(tsuid, sizeof tsuid),
                                    INT64_C(1356998400000), key),
                      sizeof start + 8);
    ck_assert_mem_eq(key, start, sizeof start);
    buf_put_u8(&value, 0);
    histogram_encode(&h, &value);
    expect_documented(buf_slice(&value));
    buf_fini(&value);
}
END_TEST

TEST_MAIN("format", LOOP(block_bytes, blocks), TEST(sparse_bytes),
          TEST(padded_bytes), TEST(wal_bytes), TEST(histogram_bytes))
