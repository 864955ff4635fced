#include "storage/row/key.h"

#include "base/hash.h"
#include "tests/harness.h"

#define S(literal) slice_of((literal), sizeof(literal) - 1)

static const struct key_layout plain = { 0, 1, 3, 3, 3, 1 };
static const struct key_layout salted = { 1, 16, 3, 3, 3, 6 };

/* myservice.latency.avg, reqtype=foo, host=web42, with the published ids. */
#define TSUID "\x00\x00\xbb\x00\x00\x01\x00\x01\x0b\x00\x00\x02\x00\xf9\x2a"

START_TEST(the_published_example)
{
    uint8_t key[ROW_KEY_MAX];
    size_t n = key_row(&plain, S(TSUID), 1292148000, key);

    ck_assert(slice_eq(slice_of(key, n),
                       S("r\x00\x00\xbb\x4d\x04\x9d\x20\x00\x00\x01\x00\x01\x0b"
                         "\x00\x00\x02\x00\xf9\x2a")));
    n = key_row(&salted, S(TSUID), 1292148000, key);
    ck_assert_uint_eq(key[1], hash_slice(S(TSUID), 0) % 16);
    ck_assert(slice_eq(slice_of(key + 2, n - 2),
                       S("\x00\x00\xbb\x4d\x04\x64\xe0\x00\x00\x01\x00\x01\x0b"
                         "\x00\x00\x02\x00\xf9\x2a")));
    n = key_series(S(TSUID), key);
    ck_assert(slice_eq(slice_of(key, n), S("s" TSUID)));
}
END_TEST

/* The salt of stored rows depends on these values for ever. */
START_TEST(the_salt_never_changes)
{
    static const struct key_layout wide = { 1, 256, 3, 3, 3, 6 };

    ck_assert_uint_eq(key_salt(&salted, S(TSUID)), 0);
    ck_assert_uint_eq(key_salt(&wide, S(TSUID)), 192);
    ck_assert_uint_eq(key_salt(&plain, S(TSUID)), 0);
    ck_assert(hash_slice(S(TSUID), 0) == UINT64_C(0x1cf210547dfc80c0));
    ck_assert(hash_slice(S(""), 0) == UINT64_C(0x589c1fe371ecf641));
}
END_TEST

#define NONE (int)KV_NO_BUCKET
#define B16  "\x00\x0f"

/* The TSUID's salt is 192 of 256. */
static const struct {
    struct slice key;
    int bucket;
} bucket_keys[] = {
    { { (const uint8_t *)"s" TSUID, 16 }, 192 },
    { { (const uint8_t *)"a" B16 TSUID "12345678", 26 }, 192 },
    { { (const uint8_t *)"g" B16 TSUID "12345678", 26 }, 192 },
    { { (const uint8_t *)"mt" TSUID, 17 }, 192 },
    { { (const uint8_t *)"r\x07" TSUID, 17 }, 7 },
    { { (const uint8_t *)"qr\x07" TSUID "12345678", 26 }, 7 },
    { { (const uint8_t *)"h\0\0\xbb\0\0\1\x09", 8 }, 9 },
    { { (const uint8_t *)"mm\0\0\xbb", 5 }, NONE },
    { { (const uint8_t *)"a\0\0"
                         "12345678",
        11 },
      NONE },
    { { (const uint8_t *)"a\0\x20" TSUID, 18 }, NONE },
    { { (const uint8_t *)"r\x07\0\0", 4 }, NONE },
    { { (const uint8_t *)"umn", 3 }, NONE },
    { { (const uint8_t *)"", 0 }, NONE },
};

START_TEST(keys_have_their_bucket)
{
    static const struct key_layout wide = { 1, 256, 3, 3, 3, 6 };

    ck_assert_int_eq((int)key_bucket(&wide, bucket_keys[_i].key),
                     bucket_keys[_i].bucket);
}
END_TEST

START_TEST(tsuids_come_apart)
{
    struct slice t = S(TSUID);

    ck_assert(tsuid_is_valid(&plain, t));
    ck_assert_uint_eq(tsuid_tags(&plain, t), 2);
    ck_assert(slice_eq(tsuid_metric(&plain, t), S("\x00\x00\xbb")));
    ck_assert(slice_eq(tsuid_tagk(&plain, t, 0), S("\x00\x00\x01")));
    ck_assert(slice_eq(tsuid_tagv(&plain, t, 0), S("\x00\x01\x0b")));
    ck_assert(slice_eq(tsuid_tagk(&plain, t, 1), S("\x00\x00\x02")));
    ck_assert(slice_eq(tsuid_tagv(&plain, t, 1), S("\x00\xf9\x2a")));
}
END_TEST

#define M  "\x00\x00\xbb"
#define K1 "\x00\x00\x01"
#define K2 "\x00\x00\x02"
#define V  "\x00\xf9\x2a"

static const struct {
    struct slice tsuid;
    bool valid;
} tsuids[] = {
    { { (const uint8_t *)M, 3 }, true },
    { { (const uint8_t *)M K1 V, 9 }, true },
    { { (const uint8_t *)M K1 V K2 V, 15 }, true },
    { { (const uint8_t *)M K2 V K1 V, 15 }, false }, /* descends */
    { { (const uint8_t *)M K1 V K1 V, 15 }, false }, /* twice */
    { { (const uint8_t *)M K1 V, 8 }, false },
    { { (const uint8_t *)M K1 V, 6 }, false },
    { { (const uint8_t *)M, 2 }, false },
    { { (const uint8_t *)M, 0 }, false },
};

START_TEST(tsuids_are_judged)
{
    ck_assert_int_eq(tsuid_is_valid(&plain, tsuids[_i].tsuid),
                     tsuids[_i].valid);
}
END_TEST

START_TEST(too_many_tags_are_rejected)
{
    struct key_layout s = { 0, 1, 1, 1, 1, 6 };
    uint8_t t[1 + 2 * (KEY_MAX_TAGS + 1)];

    for (size_t i = 0; i < sizeof t; i++)
        t[i] = (uint8_t)i;
    ck_assert(!tsuid_is_valid(&s, slice_of(t, sizeof t)));
    ck_assert(tsuid_is_valid(&s, slice_of(t, sizeof t - 2)));
}
END_TEST

static const struct {
    struct slice key;
    const char *text;
} malformed[] = {
    { { (const uint8_t *)"", 0 }, "0 bytes" },
    { { (const uint8_t *)"r" M, 4 }, "4 bytes" },
    { { (const uint8_t *)"r" M "\x4d\x04\x9d", 7 }, "7 bytes" },
    { { (const uint8_t *)"s" M "\x4d\x04\x9d\x20" K1 V, 14 }, "table 0x73" },
    { { (const uint8_t *)"r" M "\x4d\x04\x9d\x20" K1 V, 13 }, "whole pairs" },
    { { (const uint8_t *)"r" M "\x4d\x04\x9d\x20" K2 V K1 V, 20 },
      "ascending" },
    { { (const uint8_t *)"r" M "\x4d\x04\x9d\x21" K1 V, 14 },
      "rows of 1 hours begin" },
};

START_TEST(malformed_row_keys_are_rejected)
{
    struct tsuid tsuid;
    uint32_t base;
    struct error e;

    ck_assert_int_eq(
        key_row_parse(&plain, malformed[_i].key, &base, &tsuid, &e),
        ST_CORRUPT);
    ck_assert_msg(strstr(e.text, malformed[_i].text) != NULL, "%s", e.text);
}
END_TEST

START_TEST(another_salt_and_a_giant_are_rejected)
{
    uint8_t key[ROW_KEY_MAX + 6] = { 0 };
    struct tsuid tsuid;
    size_t n = key_row(&salted, S(TSUID), 7200, key);
    uint32_t base;
    struct error e;

    ck_assert_int_eq(
        key_row_parse(&salted, slice_of(key, n), &base, &tsuid, &e), ST_OK);
    for (unsigned i = 1; i < 256; i++) {
        key[1]++;
        ck_assert_int_eq(
            key_row_parse(&salted, slice_of(key, n), &base, &tsuid, &e),
            ST_CORRUPT);
        ck_assert_ptr_nonnull(strstr(e.text, "salt bucket"));
    }
    ck_assert_int_eq(
        key_row_parse(&salted, slice_of(key, sizeof key), &base, &tsuid, &e),
        ST_CORRUPT);
}
END_TEST

/* -- at random ------------------------------------------------------------ */

static struct key_layout
random_layout(uint64_t *r)
{
    static const uint8_t hours[] = { 1, 2, 3, 4, 6, 8, 12, 24 };
    struct key_layout s = { .salt_width = harness_random(r) % 2,
                            .salt_buckets = 1,
                            .row_hours = hours[harness_random(r) % 8] };

    if (s.salt_width == 1)
        s.salt_buckets = (uint16_t)(1 + harness_random(r) % 256);
    s.metric_width = (uint8_t)(1 + harness_random(r) % 8);
    s.tagk_width = (uint8_t)(1 + harness_random(r) % 8);
    s.tagv_width = (uint8_t)(1 + harness_random(r) % 8);
    ck_assert(key_layout_is_valid(&s));
    return s;
}

/* Few different bytes, so that keys share beginnings. */
static size_t
random_tsuid(const struct key_layout *s, uint64_t *r, uint8_t *out)
{
    static const uint8_t bytes[] = { 0, 1, 0x7f, 0x80, 0xff };
    size_t tags = harness_random(r) % 9, n = s->metric_width;
    uint8_t tagk = 0;

    for (size_t i = 0; i < n; i++)
        out[i] = bytes[harness_random(r) % sizeof bytes];
    for (size_t i = 0; i < tags; i++) {
        memset(out + n, 0, s->tagk_width);
        tagk = (uint8_t)(tagk + 1 + harness_random(r) % 3);
        out[n + s->tagk_width - 1] = tagk;
        n += s->tagk_width;
        for (size_t j = 0; j < s->tagv_width; j++)
            out[n++] = bytes[harness_random(r) % sizeof bytes];
    }
    return n;
}

START_TEST(row_keys_round_trip)
{
    uint64_t r = harness_seed(1);

    for (int i = 0; i < 20000; i++) {
        struct key_layout s = random_layout(&r);
        uint8_t tsuid[TSUID_MAX], key[ROW_KEY_MAX];
        struct tsuid back;
        size_t n = random_tsuid(&s, &r, tsuid), key_size;
        uint32_t base = (uint32_t)(harness_random(&r) % 1193047) * 3600;
        uint32_t begins = base / 3600 / s.row_hours * s.row_hours * 3600;
        uint32_t back_base;

        key_size = key_row(&s, slice_of(tsuid, n), base, key);
        ck_assert_uint_eq(key_size, 1u + s.salt_width + 4u + n);
        ck_assert_int_eq(
            key_row_parse(&s, slice_of(key, key_size), &back_base, &back, NULL),
            ST_OK);
        ck_assert_uint_eq(back_base, begins);
        ck_assert_uint_lt(key_salt(&s, slice_of(tsuid, n)), s.salt_buckets);
        ck_assert(slice_eq(slice_of(tsuid, n), tsuid_slice(&back)));
    }
}
END_TEST

static int
sign(int x)
{
    return (x > 0) - (x < 0);
}

/* Salt, metric, time, tags: in this order, each as unsigned bytes. */
START_TEST(the_order_of_keys_is_the_order_of_bytes)
{
    uint64_t r = harness_seed(2);

    for (int i = 0; i < 20000; i++) {
        struct key_layout s = random_layout(&r);
        uint8_t a[TSUID_MAX], b[TSUID_MAX];
        uint8_t ka[ROW_KEY_MAX], kb[ROW_KEY_MAX];
        struct slice ta = slice_of(a, random_tsuid(&s, &r, a));
        struct slice tb = slice_of(b, random_tsuid(&s, &r, b));
        uint32_t ha = (uint32_t)(harness_random(&r) % 3) * s.row_hours * 3600;
        uint32_t hb = (uint32_t)(harness_random(&r) % 3) * s.row_hours * 3600;
        size_t na = key_row(&s, ta, ha, ka), nb = key_row(&s, tb, hb, kb);
        size_t m = s.metric_width;
        int want = (int)key_salt(&s, ta) - (int)key_salt(&s, tb);

        if (want == 0)
            want = memcmp(a, b, m);
        if (want == 0)
            want = (ha > hb) - (ha < hb);
        if (want == 0)
            want = slice_cmp(slice_of(a + m, ta.size - m),
                             slice_of(b + m, tb.size - m));
        ck_assert_int_eq(sign(want),
                         sign(slice_cmp(slice_of(ka, na), slice_of(kb, nb))));
    }
}
END_TEST

START_TEST(the_salt_spreads_series)
{
    unsigned buckets[16] = { 0 };

    for (unsigned i = 0; i < 16000; i++) {
        uint8_t t[9] = { 0, 0, 1, 0, 0, 1 };

        key_put_uint(t + 6, i, 3);
        buckets[key_salt(&salted, slice_of(t, sizeof t))]++;
    }
    for (unsigned i = 0; i < 16; i++)
        ck_assert(buckets[i] > 800 && buckets[i] < 1200);
}
END_TEST

START_TEST(numbers_round_trip)
{
    for (unsigned width = 1; width <= 8; width++) {
        uint64_t max = width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1;
        uint64_t values[] = { 0, 1, max / 2, max / 2 + 1, max - 1, max };
        uint8_t last[8] = { 0 }, bytes[8];

        for (size_t i = 0; i < 6; i++) {
            key_put_uint(bytes, values[i], width);
            ck_assert_uint_eq(key_get_uint(bytes, width), values[i]);
            ck_assert(memcmp(last, bytes, width) <= 0);
            memcpy(last, bytes, width);
        }
    }
}
END_TEST

static const struct {
    struct key_layout layout;
    bool valid;
} layouts[] = {
    { KEY_LAYOUT_DEFAULT, true },     { { 0, 1, 1, 8, 8, 6 }, true },
    { { 1, 256, 8, 1, 1, 6 }, true }, { { 1, 257, 3, 3, 3, 6 }, false },
    { { 1, 0, 3, 3, 3, 6 }, false },  { { 0, 16, 3, 3, 3, 6 }, false },
    { { 2, 16, 3, 3, 3, 6 }, false }, { { 1, 16, 0, 3, 3, 6 }, false },
    { { 1, 16, 3, 9, 3, 6 }, false }, { { 1, 16, 3, 3, 0, 6 }, false },
    { { 1, 16, 3, 3, 3, 0 }, false }, { { 1, 16, 3, 3, 3, 5 }, false },
    { { 1, 16, 3, 3, 3, 24 }, true }, { { 1, 16, 3, 3, 3, 48 }, false },
};

START_TEST(layouts_are_judged)
{
    ck_assert_int_eq(key_layout_is_valid(&layouts[_i].layout),
                     layouts[_i].valid);
}
END_TEST

TEST_MAIN("key", TEST(the_published_example), TEST(the_salt_never_changes),
          LOOP(keys_have_their_bucket, bucket_keys), TEST(tsuids_come_apart),
          LOOP(tsuids_are_judged, tsuids), TEST(too_many_tags_are_rejected),
          LOOP(malformed_row_keys_are_rejected, malformed),
          TEST(another_salt_and_a_giant_are_rejected),
          TEST(row_keys_round_trip),
          TEST(the_order_of_keys_is_the_order_of_bytes),
          TEST(the_salt_spreads_series), TEST(numbers_round_trip),
          LOOP(layouts_are_judged, layouts))
