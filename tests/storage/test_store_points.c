/* The journal's records of points: written by one store, read into another. */
#include "config.h"

#include "storage/store_priv.h"

#include <float.h>
#include <math.h>

#include "tests/harness.h"
#include "tests/storage/tsuids.h"

#define T0         INT64_C(1356998400000)
#define SERIES_MAX 40
#define POINTS_MAX 20000

static struct error e;

/* Two stores in memory; 'from' only names series and indexes. */
struct rig {
    struct store *from, *to;
    struct replay replay;
    struct head_series *series[SERIES_MAX + 1];
    unsigned bucket[SERIES_MAX + 1];
};

static struct store *
open_store(void)
{
    struct store_options o = { .shape = KEY_SHAPE_DEFAULT };
    struct store *s;

    ck_assert_int_eq(store_open(&o, &s, &e), ST_OK);
    return s;
}

static void
lose(struct head_bucket *b)
{
    lock_take(&b->lock);
    record_points_lost(b);
    lock_drop(&b->lock);
}

/* There is one thread. */
static void
rig_open(struct rig *r, unsigned series) NO_TS_CHECK
{
    uint8_t bytes[9];

    *r = (struct rig){ .from = open_store(), .to = open_store() };
    replay_init(&r->replay, r->to);
    for (unsigned i = 1; i <= series; i++) {
        struct slice t = tsuid(bytes, i);

        r->bucket[i] = key_salt(&r->from->shape, t);
        r->series[i] = head_series(&r->from->head,
                                   &r->from->head.buckets[r->bucket[i]], t);
    }
}

static void
rig_close(struct rig *r)
{
    replay_fini(&r->replay);
    ck_assert_int_eq(store_close(&r->from, &e), ST_OK);
    ck_assert_int_eq(store_close(&r->to, &e), ST_OK);
}

static struct head_bucket *
bucket_of(struct rig *r, unsigned bucket)
{
    return &r->from->head.buckets[bucket];
}

static struct head_journal *
journal_of(struct rig *r, unsigned bucket)
{
    return &bucket_of(r, bucket)->journal;
}

static void
add(struct rig *r, unsigned i, uint64_t segment, struct point p) NO_TS_CHECK
{
    record_points_add(bucket_of(r, r->bucket[i]), r->series[i], segment, &p);
}

static enum status
replay(struct rig *r, unsigned bucket, struct slice record)
{
    return record_points_replay(&r->replay, 1, record_points_type(bucket),
                                record, &e);
}

static enum status
replay_old(struct rig *r, uint8_t type, struct slice record)
{
    return record_points_replay(&r->replay, 1, type, record, &e);
}

/* The points of series i that arrived, in their order within each hour. */
static void
arrived(const struct rig *r, unsigned i, uint32_t base,
        struct points *out) NO_TS_CHECK
{
    uint8_t bytes[9];
    struct slice t = tsuid(bytes, i);
    const struct head_series *s =
        head_find(&r->to->head, head_bucket_of(&r->to->head, t), t);

    points_clear(out);
    if (s == NULL)
        return;
    for (const struct head_row *row = s->rows; row != NULL; row = row->next)
        if (row->open.base == base)
            ck_assert(open_row_unpack(slice_of(row->open.bytes, row->open.size),
                                      row->open.count, base, out));
}

static struct point
whole(int64_t ts_ms, int64_t v)
{
    return (struct point){ ts_ms, { .i = v }, false };
}

static struct point
real(int64_t ts_ms, double d)
{
    return (struct point){ ts_ms, { .d = d }, true };
}

static void
same(struct slice got, const uint8_t *want, size_t size)
{
    ck_assert_uint_eq(got.size, size);
    for (size_t i = 0; i < size; i++)
        ck_assert_msg(got.data[i] == want[i], "byte %zu is %02x, not %02x", i,
                      got.data[i], want[i]);
}

/* docs/FORMAT.md, "Points", to the byte. */
START_TEST(the_documented_bytes)
{
    static const uint8_t first[] = { 0x7f, 0x09, 0x00, 0x00, 0x00, 0x08, 0x00,
                                     0x00, 0x40, 0x00, 0x00, 0x00, 0x02, 0x0a,
                                     0x00, 0xf0, 0x03, 0x70, 0x22, 0x0e, 0x05,
                                     0x00, 0xd0, 0xa0, 0x9e, 0x25, 0x11 };
    static const uint8_t second[] = {
        0x7e, 0x01, 0x00, 0x30, 0x49, 0x39, 0x00, 0x00, 0x13, 0xf4, 0xff,
        0x0b, 0x50, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xfd, 0x03
    };
    struct rig r;
    struct head_journal *j;

    rig_open(&r, 1);
    j = journal_of(&r, r.bucket[1]);
    record_points_start(j, r.bucket[1], 1);
    add(&r, 1, 1, whole(T0, 42));
    add(&r, 1, 1, whole(T0 + 10000, 43));
    same(record_points_end(j), first, sizeof first);
    record_points_start(j, r.bucket[1], 1);
    add(&r, 1, 1, real(T0 + 20000, 2.5));
    add(&r, 1, 1, real(T0 + 30500, 1.0 / 3));
    same(record_points_end(j), second, sizeof second);
    rig_close(&r);
}
END_TEST

/* The same, "Points, before": 42, 43, 2.5, a third. */
START_TEST(nibbles_are_read)
{
    static const uint8_t first[] = { 0x06, 0xe1, 0x0a, 0x09, 0x00, 0x10,
                                     0x00, 0x00, 0x10, 0x00, 0x00, 0x10,
                                     0x70, 0x00, 0x4e, 0xc4, 0xa1, 0x1b,
                                     0x54, 0x9e, 0x10, 0x41, 0x21 };
    static const uint8_t second[] = { 0x06, 0xe0, 0x05, 0x21, 0xe8, 0xc3, 0x83,
                                      0x38, 0xe1, 0x01, 0xd1, 0x00, 0x55, 0x55,
                                      0x55, 0x55, 0x55, 0x55, 0xd1, 0x7f };
    struct points p = { 0 };
    struct rig r;

    rig_open(&r, 1);
    ck_assert_uint_eq(r.bucket[1], 6);
    ck_assert_int_eq(
        replay_old(&r, RECORD_NIBBLES, slice_of(first, sizeof first)), ST_OK);
    ck_assert_int_eq(
        replay_old(&r, RECORD_NIBBLES, slice_of(second, sizeof second)), ST_OK);
    arrived(&r, 1, T0 / 1000, &p);
    ck_assert_uint_eq(p.len, 4);
    ck_assert(!p.is_float[1] && p.v[0].i == 42 && p.v[1].i == 43);
    ck_assert(p.is_float[2] && p.v[2].d == 2.5 && p.v[3].d == 1.0 / 3);
    ck_assert_int_eq(p.ts_ms[3], T0 + 10500);
    points_fini(&p);
    rig_close(&r);
}
END_TEST

static int64_t
random_int(uint64_t *state, int64_t last)
{
    uint64_t dice = harness_random(state) % 8;

    if (dice < 5)
        return (int64_t)((uint64_t)last + harness_random(state) % 17 - 8);
    return (int64_t)(harness_random(state) >> harness_random(state) % 64);
}

static double
random_double(uint64_t *state)
{
    static const double odd[] = {
        0.0,   -0.0,    DBL_MAX, -DBL_MAX, DBL_MIN,     5e-324, 0.1, 1e15,
        -1e12, 1.5e300, 0.0005,  1e-3,     4503599.627, 1e22,   0.3,
    };
    uint64_t dice = harness_random(state) % 8, bits;
    double d;

    if (dice == 0)
        return odd[harness_random(state) % (sizeof odd / sizeof *odd)];
    if (dice < 5)
        return (double)(int64_t)(harness_random(state) % 200000 - 100000) / 100;
    do {
        bits = harness_random(state);
        memcpy(&d, &bits, sizeof d);
    } while (!isfinite(d));
    return d;
}

struct sent {
    unsigned series;
    struct point p;
};

/* Mostly the next series at the same time, as agents send. */
static struct sent
next_sent(uint64_t *state, const struct sent *last, unsigned series)
{
    uint64_t dice = harness_random(state) % 16;
    struct sent s = { .series = last->series % series + 1,
                      .p.ts_ms = last->p.ts_ms };

    if (dice == 0)
        s.series = (unsigned)(harness_random(state) % series) + 1;
    if (dice == 1 || s.series == 1)
        s.p.ts_ms += 10000;
    if (dice == 3)
        s.p.ts_ms += (int64_t)(harness_random(state) % 3000);
    if (dice == 2)
        s.p.ts_ms = T0 + (int64_t)(harness_random(state) % (3 * HOUR_MS));
    s.p.is_float = harness_random(state) % 4 == 0;
    if (s.p.is_float)
        s.p.v.d = random_double(state);
    else
        s.p.v.i = random_int(state, last->p.is_float ? 0 : last->p.v.i);
    return s;
}

static void
check_arrived(const struct rig *r, const struct sent *sent, size_t len)
{
    struct points p = { 0 };

    for (unsigned i = 1; i <= SERIES_MAX; i++)
        for (uint32_t base = T0 / 1000; base < T0 / 1000 + 20 * HOUR_S;
             base += HOUR_S) {
            size_t at = 0;

            arrived(r, i, base, &p);
            for (size_t k = 0; k < len; k++) {
                if (sent[k].series != i || hour_base(sent[k].p.ts_ms) != base)
                    continue;
                ck_assert_uint_lt(at, p.len);
                ck_assert_int_eq(p.ts_ms[at], sent[k].p.ts_ms);
                ck_assert_int_eq(p.is_float[at], sent[k].p.is_float);
                ck_assert_int_eq(p.v[at].i, sent[k].p.v.i);
                at++;
            }
            ck_assert_uint_eq(at, p.len);
        }
    points_fini(&p);
}

/* Batches, in segments; some records never reach the journal. */
START_TEST(what_was_written_is_read)
{
    static struct sent sent[POINTS_MAX];
    uint64_t state = harness_seed(4711 + (unsigned long)_i), segment = 1;
    size_t len = 0;
    struct rig r;
    struct sent last = { 1, whole(T0, 0) };

    rig_open(&r, SERIES_MAX);
    while (len < POINTS_MAX / 4) {
        unsigned bucket = (unsigned)(harness_random(&state) % 16);
        size_t n = harness_random(&state) % 60 + 1, from = len;
        struct head_journal *j = journal_of(&r, bucket);
        struct slice record;

        segment += harness_random(&state) % 20 == 0;
        record_points_start(j, bucket, segment);
        for (size_t k = 0; k < n; k++) {
            last = next_sent(&state, &last, SERIES_MAX);
            if (r.bucket[last.series] != bucket)
                continue;
            add(&r, last.series, segment, last.p);
            sent[len++] = last;
        }
        record = record_points_end(j);
        ck_assert(!j->record.failed);
        if (len > from && harness_random(&state) % 10 != 0) {
            ck_assert_msg(replay(&r, bucket, record) == ST_OK, "%s", e.text);
            continue;
        }
        lose(&r.from->head.buckets[bucket]);
        len = from;
    }
    check_arrived(&r, sent, len);
    ck_assert_uint_eq(r.replay.points, len);
    ck_assert_uint_eq(r.replay.passed_over, 0);
    rig_close(&r);
}
END_TEST

/* Of a round: the beginning, and a bit or two each. */
START_TEST(a_steady_round_is_small)
{
    struct rig r;
    struct head_journal *j;
    unsigned bucket;
    size_t in_bucket = 0, size = 0;

    rig_open(&r, SERIES_MAX);
    bucket = r.bucket[1];
    j = journal_of(&r, bucket);
    for (int round = 0; round < 3; round++) {
        in_bucket = 0;
        record_points_start(j, bucket, 1);
        for (unsigned i = 1; i <= SERIES_MAX; i++)
            if (r.bucket[i] == bucket) {
                add(&r, i, 1, whole(T0 + round * 10000, 7 + round % 2));
                in_bucket++;
            }
        size = record_points_end(j).size;
    }
    ck_assert_uint_le(size, 4 + (in_bucket * 3 + 7) / 8);
    rig_close(&r);
}
END_TEST

/* Of four connections that take turns, each with a series and times of its own:
 * the same. */
START_TEST(connections_have_courses_of_their_own)
{
    struct rig r;
    struct head_journal *j;
    unsigned of_bucket[SERIES_MAX], len = 0, bucket = 0;

    rig_open(&r, SERIES_MAX);
    while (len < 4) { /* a bucket that has four series */
        bucket++;
        len = 0;
        for (unsigned i = 1; i <= SERIES_MAX; i++)
            if (r.bucket[i] == bucket)
                of_bucket[len++] = i;
    }
    j = journal_of(&r, bucket);
    for (int round = 0; round < 40; round++)
        for (unsigned k = 4; k-- > 0;) {
            struct slice record;

            record_points_start(j, bucket, 1);
            for (int i = 0; i < 4; i++)
                add(&r, of_bucket[k], 1,
                    whole(T0 + (round * 4 + i) * 10000 + k * 77, 7));
            record = record_points_end(j);
            ck_assert_int_eq(replay(&r, bucket, record), ST_OK);
            if (round > 20)
                ck_assert_uint_le(record.size, 2);
        }
    ck_assert_uint_eq(r.replay.points, 40 * 16);
    rig_close(&r);
}
END_TEST

/* A record that builds on a segment that is gone is of sealed points. */
START_TEST(what_leans_on_nothing_is_passed_over)
{
    struct rig r;
    struct head_journal *j;

    rig_open(&r, 1);
    j = journal_of(&r, r.bucket[1]);
    record_points_start(j, r.bucket[1], 1);
    add(&r, 1, 1, whole(T0, 5));
    (void)record_points_end(j); /* in a file that was deleted */
    record_points_start(j, r.bucket[1], 1);
    add(&r, 1, 1, whole(T0 + 1000, 6));
    ck_assert_int_eq(replay(&r, r.bucket[1], record_points_end(j)), ST_OK);
    ck_assert_uint_eq(r.replay.points, 0);
    record_points_start(j, r.bucket[1], 2);
    add(&r, 1, 2, whole(T0 + 2000, 7));
    ck_assert_int_eq(replay(&r, r.bucket[1], record_points_end(j)), ST_OK);
    ck_assert_uint_eq(r.replay.points, 1);
    rig_close(&r);
}
END_TEST

/* What is of an index that is not known, and what follows, up to a record that
 * begins the bucket anew. */
START_TEST(an_unknown_index_is_passed_over)
{
    struct rig r;
    struct head_journal *j;

    rig_open(&r, 1);
    j = journal_of(&r, r.bucket[1]);
    record_points_start(j, r.bucket[1], 1);
    add(&r, 1, 1, whole(T0, 5));
    (void)record_points_end(j); /* in a file that was deleted */
    record_points_none(j);      /* but the series is still defined */
    for (int i = 1; i <= 2; i++) {
        record_points_start(j, r.bucket[1], 1);
        add(&r, 1, 1, whole(T0 + i * 1000, 6));
        ck_assert_int_eq(replay(&r, r.bucket[1], record_points_end(j)), ST_OK);
        ck_assert_uint_eq(r.replay.points, 0);
        ck_assert_uint_eq(r.replay.passed_over, 1);
    }
    record_points_start(j, r.bucket[1], 2);
    add(&r, 1, 2, whole(T0 + 9000, 7));
    ck_assert_int_eq(replay(&r, r.bucket[1], record_points_end(j)), ST_OK);
    ck_assert_uint_eq(r.replay.points, 1);
    rig_close(&r);
}
END_TEST

/* Records of format 4: 5 and 2.5, one second apart, of series 1. */
START_TEST(plain_records_are_read)
{
    uint8_t bytes[9];
    struct buf b = BUF_INIT;
    struct points p = { 0 };
    struct rig r;

    rig_open(&r, 1);
    buf_put_u8(&b, (uint8_t)r.bucket[1]);
    buf_put_varint(&b, 3 << 2 | 2);
    buf_put_varint(&b, 9);
    buf_put_slice(&b, tsuid(bytes, 1));
    buf_put_zigzag(&b, T0);
    buf_put_zigzag(&b, 5);
    buf_put_varint(&b, 3 << 2 | 1);
    buf_put_zigzag(&b, 1000);
    buf_put_u64(&b, UINT64_C(0x4004000000000000));
    buf_put_varint(&b, 2 << 2); /* unknown */
    buf_put_zigzag(&b, 1000);
    buf_put_zigzag(&b, 5);
    ck_assert_int_eq(replay_old(&r, RECORD_PLAIN_POINTS, buf_slice(&b)), ST_OK);
    arrived(&r, 1, T0 / 1000, &p);
    ck_assert_uint_eq(p.len, 2);
    ck_assert_int_eq(p.v[0].i, 5);
    ck_assert(p.is_float[1] && p.v[1].d == 2.5);
    ck_assert_int_eq(p.ts_ms[1], T0 + 1000);
    ck_assert_uint_eq(r.replay.passed_over, 1);
    for (size_t n = 1; n < b.size; n++) { /* cut short anywhere */
        enum status status =
            replay_old(&r, RECORD_PLAIN_POINTS, slice_of(b.data, n));

        ck_assert(status == ST_OK || status == ST_CORRUPT);
    }
    buf_fini(&b);
    points_fini(&p);
    rig_close(&r);
}
END_TEST

static const struct bad {
    const char *why;
    uint8_t type;
    uint8_t bytes[8];
    size_t size;
} bads[] = {
    { "nothing", RECORD_POINTS, { 0 }, 0 },
    { "no bucket", RECORD_POINTS, { 16, 0x01 }, 2 },
    { "a bucket that is none", RECORD_POINTS_OF + 16, { 0x01 }, 1 },
    { "no beginning", RECORD_POINTS_OF, { 0 }, 0 },
    { "no beginning, either", RECORD_POINTS, { 0 }, 1 },
    { "zeros", RECORD_POINTS_OF, { 0x01, 0, 0, 0, 0, 0, 0, 0 }, 8 },
    { "a start and zeros", RECORD_POINTS_OF, { 0x03, 0 }, 2 },
    { "a start that is cut", RECORD_POINTS_OF, { 0x01, 0x00, 0x02 }, 3 },
    { "an end that is none", RECORD_POINTS_OF, { 0x09, 0x01 }, 2 },
    { "an escape that is cut", RECORD_POINTS_OF, { 0x07 }, 1 },
    { "a jump from nowhere", RECORD_POINTS_OF, { 0x3f, 0x01 }, 2 },
    { "a kind of what is unknown", RECORD_POINTS_OF, { 0xff, 0x01 }, 2 },
    { "a TSUID that is cut", RECORD_POINTS_OF, { 0x7f, 0x00, 0x00 }, 3 },
    { "a TSUID too long", RECORD_POINTS_OF, { 0x7f, 0xff, 0xff, 0xff }, 4 },
    { "of nibbles, nothing", RECORD_NIBBLES, { 0 }, 0 },
    { "no bucket", RECORD_NIBBLES, { 16, 0xf1 }, 2 },
    { "no beginning", RECORD_NIBBLES, { 0 }, 1 },
    { "an unknown beginning", RECORD_NIBBLES, { 0, 0xf2 }, 2 },
    { "a double of 17", RECORD_NIBBLES, { 0, 0xd1, 0x88, 0x00 }, 4 },
    { "an end before the end", RECORD_NIBBLES, { 0, 0xf1, 0x00 }, 3 },
    { "moves twice", RECORD_NIBBLES, { 0, 0xe1, 0xe0, 0x00 }, 4 },
    { "both steps", RECORD_NIBBLES, { 0, 0xe1, 0x0c, 0x00 }, 4 },
    { "a long TSUID", RECORD_NIBBLES, { 0, 0xe1, 0x22, 0xff, 0x0f }, 5 },
    { "cut short", RECORD_NIBBLES, { 0, 0xb1 }, 2 },
};

START_TEST(bad_records_are_refused)
{
    const struct bad *b = &bads[_i];
    struct rig r;

    rig_open(&r, 1);
    ck_assert_msg(replay_old(&r, b->type, slice_of(b->bytes, b->size)) ==
                      ST_CORRUPT,
                  "%s", b->why);
    ck_assert_uint_eq(r.replay.points, 0);
    rig_close(&r);
}
END_TEST

TEST_MAIN("store_points", TEST(the_documented_bytes), TEST(nibbles_are_read),
          TIMES(what_was_written_is_read, 4), TEST(a_steady_round_is_small),
          TEST(connections_have_courses_of_their_own),
          TEST(what_leans_on_nothing_is_passed_over),
          TEST(an_unknown_index_is_passed_over), TEST(plain_records_are_read),
          LOOP(bad_records_are_refused, bads))
