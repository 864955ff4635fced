/* Payloads between daemons: what is written is read, and no cut of it is; the
 * seeds of fuzz_payload are made of it. */
#include "cluster/payload.h"

#include "base/mem.h"
#include "tests/harness.h"
#include "tests/storage/tsuids.h"

#define SERIES 200

static const struct key_layout layout = KEY_LAYOUT_DEFAULT;

/* Requests of both kinds, over two sets of masks. */
struct request {
    struct mask_set *sets[2];
    struct scan_spec specs[6];
    struct slice series[SERIES];
    uint8_t bytes[SERIES][TSUID_BYTES];
    size_t series_len;
};

static const uint8_t metric[3] = { 0, 0, 1 };

static struct mask_set *
make_set(uint32_t from)
{
    struct mask_set *set = mask_set_new();
    struct mask *m = mask_new();
    uint64_t values[] = { 3, 9, 4 };

    mask_add_fixed(m, slice_of("r\1", 2));
    mask_add_fixed(m, slice_of(metric, 3));
    mask_add_steps(m, from, UINT32_MAX, key_span_s(&layout), 4);
    mask_add_any(m, 3);
    mask_add_set(m, values, 3, 3);
    mask_set_give(set, &m);
    return set;
}

static struct request *
request_new(void)
{
    struct request *r = mem_new(sizeof *r);

    for (int i = 0; i < 2; i++)
        r->sets[i] = make_set((uint32_t)i * 21600);
    for (unsigned i = 0; i < SERIES; i++) {
        struct slice t = tsuid(r->bytes[i], i);

        if (key_salt(&layout, t) == 5)
            r->series[r->series_len++] = t;
    }
    r->series_len = slices_sort_unique(r->series, r->series_len);
    ck_assert_uint_gt(r->series_len, 3);
    for (unsigned i = 0; i < 6; i++)
        r->specs[i] = (struct scan_spec){
            .masks = r->sets[i / 3],
            .bucket = i,
            .path = i % 2 == 0 ? SCAN_RANGE : SCAN_HINTS,
            .from_base = 3600 * i,
            .to_base = 7200 * i,
            .metric = slice_of(metric, 3),
            .max_bytes = i * 1000,
        };
    r->specs[5].path = SCAN_SEEKS;
    r->specs[5].series = r->series;
    r->specs[5].series_len = r->series_len;
    return r;
}

static void
request_free(struct request *r)
{
    mask_set_free(&r->sets[0]);
    mask_set_free(&r->sets[1]);
    free(r);
}

START_TEST(head_requests_are_read)
{
    static const size_t which[] = { 0, 2, 3, 5 };
    struct request *r = request_new();
    struct buf out = BUF_INIT;
    struct payload_head h;
    struct error e;

    payload_put_head(&out, r->specs, which, 4);
    ck_assert_msg(payload_read_head(buf_slice(&out), &layout, &h, &e) == ST_OK,
                  "%s", e.text);
    ck_assert_uint_eq(h.len, 4);
    ck_assert_uint_eq(h.sets_len, 2);
    for (size_t i = 0; i < 4; i++) {
        const struct scan_spec *a = &r->specs[which[i]], *b = &h.specs[i];

        ck_assert_uint_eq(a->bucket, b->bucket);
        ck_assert_int_eq(a->path, b->path);
        ck_assert_uint_eq(a->from_base, b->from_base);
        ck_assert_uint_eq(a->to_base, b->to_base);
        ck_assert_uint_eq(a->max_bytes, b->max_bytes);
        ck_assert(slice_eq(a->metric, b->metric));
        ck_assert_uint_eq(a->series_len, b->series_len);
        for (size_t k = 0; k < b->series_len; k++)
            ck_assert(slice_eq(a->series[k], b->series[k]));
        ck_assert_ptr_eq(b->masks, i == 3 ? NULL : h.sets[i == 2]);
    }
    payload_head_fini(&h);
    for (size_t cut = 0; cut < out.size; cut++) {
        ck_assert_int_eq(
            payload_read_head(slice_of(out.data, cut), &layout, &h, &e),
            ST_CORRUPT);
        payload_head_fini(&h);
    }
    buf_fini(&out);
    request_free(r);
}
END_TEST

/* What a spec says must fit the store. */
START_TEST(head_requests_are_checked)
{
    struct request *r = request_new();
    struct scan_spec *s = &r->specs[_i < 3 ? 0 : 5];
    size_t which = _i < 3 ? 0 : 5;
    struct slice first = r->series[0];
    struct buf out = BUF_INIT;
    struct payload_head h;
    struct error e;

    switch (_i) {
    case 0:
        s->bucket = layout.salt_buckets;
        break;
    case 1:
        s->path = (enum access_path)3;
        break;
    case 2:
        s->metric.size = 2;
        break;
    case 3: /* a series of another bucket */
        s->bucket = 4;
        break;
    case 4: /* not ascending */
        r->series[0] = r->series[1];
        r->series[1] = first;
        break;
    case 5: /* no TSUID */
        r->series[0].size -= 1;
        break;
    default: /* of another metric */
        s->metric = slice_of("\0\0\2", 3);
    }
    payload_put_head(&out, r->specs, &which, 1);
    ck_assert_int_eq(payload_read_head(buf_slice(&out), &layout, &h, &e),
                     ST_CORRUPT);
    payload_head_fini(&h);
    buf_fini(&out);
    request_free(r);
}
END_TEST

START_TEST(head_answers_are_read)
{
    struct buf out = BUF_INIT;
    struct slice got[3];
    struct error e;

    buf_put_sized(&out, slice_str("one"));
    buf_put_sized(&out, slice_str(""));
    buf_put_sized(&out, slice_str("three"));
    ck_assert_int_eq(payload_read_bytes(buf_slice(&out), got, 3, &e), ST_OK);
    ck_assert(slice_eq_str(got[0], "one"));
    ck_assert_uint_eq(got[1].size, 0);
    ck_assert(slice_eq_str(got[2], "three"));
    ck_assert_int_eq(payload_read_bytes(buf_slice(&out), got, 2, &e),
                     ST_CORRUPT);
    out.size--;
    ck_assert_int_eq(payload_read_bytes(buf_slice(&out), got, 3, &e),
                     ST_CORRUPT);
    buf_fini(&out);
}
END_TEST

START_TEST(series_are_read)
{
    uint8_t bytes[TSUID_BYTES];
    struct payload_series in = { tsuid(bytes, 7), -5, INT64_MAX }, got;
    struct buf out = BUF_INIT;
    struct error e;

    payload_put_series(&out, &in);
    ck_assert_int_eq(payload_read_series(buf_slice(&out), &layout, &got, &e),
                     ST_OK);
    ck_assert(slice_eq(got.tsuid, in.tsuid));
    ck_assert_int_eq(got.from_ms, -5);
    ck_assert_int_eq(got.to_ms, INT64_MAX);
    for (size_t cut = 0; cut < out.size; cut++)
        if (cut != 16 + 3) /* a metric is a series, too */
            ck_assert_int_eq(
                payload_read_series(slice_of(out.data, cut), &layout, &got, &e),
                ST_CORRUPT);
    buf_fini(&out);
}
END_TEST

START_TEST(points_are_read)
{
    struct point points[] = { { 0, { .i = -1 }, false },
                              { POINT_MAX_TS_MS, { .d = 0.1 }, true } },
                 got;
    struct buf out = BUF_INIT;
    struct error e;
    bool found;

    for (int i = 0; i < 2; i++) {
        buf_clear(&out);
        payload_put_point(&out, &points[i]);
        ck_assert_int_eq(payload_read_point(buf_slice(&out), &got, &found, &e),
                         ST_OK);
        ck_assert(found);
        ck_assert_int_eq(got.ts_ms, points[i].ts_ms);
        ck_assert_int_eq(got.v.i, points[i].v.i);
        ck_assert_int_eq(got.is_float, points[i].is_float);
        for (size_t cut = 0; cut < out.size; cut++)
            ck_assert_int_eq(
                payload_read_point(slice_of(out.data, cut), &got, &found, &e),
                ST_CORRUPT);
        out.data[1] = 0xff; /* before 1970 */
        ck_assert_int_eq(payload_read_point(buf_slice(&out), &got, &found, &e),
                         ST_CORRUPT);
    }
    buf_clear(&out);
    payload_put_point(&out, NULL);
    ck_assert_int_eq(payload_read_point(buf_slice(&out), &got, &found, &e),
                     ST_OK);
    ck_assert(!found);
    buf_fini(&out);
}
END_TEST

TEST_MAIN("payload", TEST(head_requests_are_read),
          TIMES(head_requests_are_checked, 7), TEST(head_answers_are_read),
          TEST(series_are_read), TEST(points_are_read))
