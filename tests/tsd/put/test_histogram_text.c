/* Histograms as clients write them. */
#include "tsd/put/histogram_text.h"

#include <string.h>
#include <unistd.h>

#include "tests/harness.h"

#define SIMPLE "net.opentsdb.core.SimpleHistogramDecoder"

static struct error e;

static const struct {
    const char *text;
    const char *shown; /* "low high count .." or the error */
    int64_t underflow, overflow;
} lines[] = {
    { "0,10=5", "0 10 5 ", 0, 0 },
    { "0,10=5:10,20=10:u=1:o=2", "0 10 5 10 20 10 ", 1, 2 },
    { "U=+3:10,20=-1:0,10=2:O=4", "0 10 2 10 20 -1 ", 3, 4 },
    { "0,10=1:0.0,1e1=2", "0 10 2 ", 0, 0 },
    { "u=7", "", 7, 0 },
    { "-1.5f,0x1p3=1", "-1.5 8 1 ", 0, 0 },
    { "garbage", "Improperly formatted bucket: garbage", 0, 0 },
    { "", "Improperly formatted bucket: ", 0, 0 },
    { "0,10=5:", "Improperly formatted bucket: ", 0, 0 },
    { "0,10=5=6", "Improperly formatted bucket: 0,10=5=6", 0, 0 },
    { "0-10=5", "Improperly formatted bounds: 0-10=5", 0, 0 },
    { "0,5,10=5", "Improperly formatted bounds: 0,5,10=5", 0, 0 },
    { "0,10=x", "For input string: \"x\"", 0, 0 },
    { "0,10=9223372036854775808", "For input string: \"9223372036854775808\"",
      0, 0 },
    { "0,x=1", "For input string: \"0,x\"", 0, 0 },
    { ",10=1", "For input string: \",10\"", 0, 0 },
    { "u=", "For input string: \"\"", 0, 0 },
};

START_TEST(reads_lines)
{
    struct arena *arena = arena_new(0);
    struct histogram h;
    struct buf text = BUF_INIT;
    enum status st =
        histogram_parse_line(slice_str(lines[_i].text), arena, &h, &e);

    if (st != ST_OK) {
        ck_assert_str_eq(e.text, lines[_i].shown);
    } else {
        for (size_t i = 0; i < h.len; i++)
            buf_printf(&text, "%g %g %lld ", (double)h.buckets[i].low,
                       (double)h.buckets[i].high,
                       (long long)h.buckets[i].count);
        ck_assert_str_eq(buf_cstr(&text), lines[_i].shown);
        ck_assert_int_eq(h.underflow, lines[_i].underflow);
        ck_assert_int_eq(h.overflow, lines[_i].overflow);
    }
    buf_fini(&text);
    arena_free(&arena);
}
END_TEST

START_TEST(limits_buckets)
{
    struct arena *arena = arena_new(0);
    struct histogram h;
    struct buf text = BUF_INIT;

    for (int i = 0; i < HISTOGRAM_BUCKETS_MAX; i++)
        buf_printf(&text, "%s%d,%d=1", i == 0 ? "" : ":", i, i + 1);
    ck_assert_int_eq(histogram_parse_line(buf_slice(&text), arena, &h, &e),
                     ST_OK);
    ck_assert_uint_eq(h.len, HISTOGRAM_BUCKETS_MAX);
    buf_put_str(&text, ":u=1");
    ck_assert_int_eq(histogram_parse_line(buf_slice(&text), arena, &h, &e),
                     ST_INVALID);
    buf_fini(&text);
    arena_free(&arena);
}
END_TEST

static const struct {
    const char *text;
    enum status status;
    const char *why;
} blobs[] = {
    { "AAAAAAAAAAAA", ST_OK, "" },
    { "AAEAAAAAQSAAAAUBAg==", ST_OK, "" },
    { "AAEA AAAA\nQSAA-AAUBAg==", ST_OK, "" },
    { "AAAA", ST_INVALID,
      "Byte array shorter than 6 bytes detected: [0, 0, 0]" },
    { "/wD+", ST_INVALID,
      "Byte array shorter than 6 bytes detected: [-1, 0, -2]" },
    { "YWJj", ST_INVALID,
      "Byte array shorter than 6 bytes detected: [97, 98, 99]" },
    { "YQoJ/w==", ST_INVALID,
      "Byte array shorter than 6 bytes detected: [97, 10, 9, -1]" },
    { "YWIKCf8=", ST_INVALID,
      "Byte array shorter than 6 bytes detected: [97, 98, 10, 9, -1]" },
    { "", ST_INVALID, "Byte array shorter than 6 bytes detected: []" },
    { "AAA", ST_INVALID, "Byte array shorter than 6 bytes detected: []" },
    { "AAEAAAAAAAAA", ST_CORRUPT, "Buffer underflow." },
};

START_TEST(reads_base64)
{
    struct arena *arena = arena_new(0);
    struct histogram h;

    e.text[0] = '\0';
    ck_assert_int_eq(
        histogram_parse_base64(slice_str(blobs[_i].text), arena, &h, &e),
        blobs[_i].status);
    ck_assert_str_eq(e.text, blobs[_i].why);
    arena_free(&arena);
}
END_TEST

static const struct {
    const char *text;
    bool ok, on;
    int simple;
} configs[] = {
    { NULL, true, false, -1 },
    { "", true, false, -1 },
    { "{}", true, true, -1 },
    { "{\"" SIMPLE "\": 0}", true, true, 0 },
    { "{\"" SIMPLE "\": 255}", true, true, 255 },
    { "{\"" SIMPLE "\": 256}", false, true, -1 },
    { "{\"" SIMPLE "\": -1}", false, true, -1 },
    { "{\"" SIMPLE "\": \"x\"}", false, true, -1 },
    { "{\"net.opentsdb.core.Other\": 1}", false, true, -1 },
    { "[]", false, true, -1 },
    { "{", false, true, -1 },
    { "/nowhere/x.json", false, true, -1 },
};

START_TEST(reads_codecs)
{
    struct histogram_codecs c;
    enum status st = histogram_codecs_read(configs[_i].text, &c, &e);

    ck_assert_int_eq(st == ST_OK, configs[_i].ok);
    ck_assert_int_eq(c.on, configs[_i].on);
    if (st != ST_OK)
        return;
    ck_assert_int_eq(c.simple, configs[_i].simple);
    ck_assert_int_eq(histogram_simple_check(&c, &e) == ST_OK, c.simple >= 0);
    ck_assert_int_eq(histogram_codec_check(&c, 0, &e) == ST_OK, c.simple == 0);
}
END_TEST

START_TEST(reads_a_file)
{
    char path[] = "/tmp/halite-XXXXXX.json";
    int fd = mkstemps(path, 5);
    struct histogram_codecs c;
    const char text[] = "{\"" SIMPLE "\": 3}\n";

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text));
    (void)close(fd);
    ck_assert_int_eq(histogram_codecs_read(path, &c, &e), ST_OK);
    ck_assert_int_eq(c.simple, 3);
    (void)unlink(path);
}
END_TEST

TEST_MAIN("histogram_text", LOOP(reads_lines, lines), TEST(limits_buckets),
          LOOP(reads_base64, blobs), LOOP(reads_codecs, configs),
          TEST(reads_a_file))
