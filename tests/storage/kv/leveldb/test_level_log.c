/* Files as LevelDB writes them, made here byte by byte, and then spoiled. */
#include "storage/kv/leveldb/level_log.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/tempdir.h"

#define RECORDS 24

struct sample {
    struct buf bytes;
    uint64_t ends[RECORDS];
    uint64_t begins[RECORDS];
};

/* Three blocks and a bit; records of all sizes, one with a middle chunk. */
static void
make(struct sample *s, uint64_t seed)
{
    static uint8_t bytes[70000];

    s->bytes = (struct buf)BUF_INIT;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)harness_random(&seed);
    for (size_t i = 0; i < RECORDS; i++) {
        size_t size = i == 11 ? 66000 : harness_random(&seed) % 3000;

        if (i == 3) /* ends four bytes before the block: they are filled up */
            size = LEVEL_LOG_BLOCK - s->bytes.size % LEVEL_LOG_BLOCK - 7 - 4;
        s->begins[i] = s->bytes.size;
        level_log_put(&s->bytes, slice_of(bytes, size));
        s->ends[i] = s->bytes.size;
    }
}

static enum status
count(void *ctx, struct slice record, struct error *e)
{
    (void)record;
    (void)e;
    ++*(size_t *)ctx;
    return ST_OK;
}

static struct level_log_end
read_from(const char *dir, struct slice bytes, uint64_t from, size_t *records)
{
    char *path = tempdir_path(dir, "000001.log");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct level_log_end end;
    struct error e;

    ck_assert_int_eq(write(fd, bytes.data, bytes.size), (ssize_t)bytes.size);
    *records = 0;
    ck_assert_int_eq(level_log_read(path, from, count, records, &end, &e),
                     ST_OK);
    ck_assert_uint_eq(end.size, bytes.size);
    (void)close(fd);
    free(path);
    return end;
}

static struct level_log_end
read_bytes(const char *dir, struct slice bytes, size_t *records)
{
    return read_from(dir, bytes, 0, records);
}

/* How many records lie before the byte. */
static size_t
whole_before(const struct sample *s, size_t at)
{
    size_t n = 0;

    while (n < RECORDS && s->ends[n] <= at)
        n++;
    return n;
}

static void
check_end(const struct sample *s, struct level_log_end end, size_t records,
          size_t bad)
{
    size_t want = whole_before(s, bad);

    ck_assert_uint_eq(records, want);
    if (bad < end.size || want == 0 || end.good != end.size)
        ck_assert_uint_eq(end.good, want == 0 ? 0 : s->ends[want - 1]);
}

START_TEST(reads_what_is_whole)
{
    char *dir = tempdir_new();
    struct sample s;
    struct level_log_end end;
    size_t records;

    make(&s, harness_seed(20261122));
    end = read_bytes(dir, buf_slice(&s.bytes), &records);
    ck_assert_uint_eq(records, RECORDS);
    ck_assert_uint_eq(end.good, s.bytes.size);
    ck_assert_uint_eq(end.last, s.ends[RECORDS - 2]);
    ck_assert(!end.follows);
    for (size_t i = 0; i < RECORDS; i++) {
        s.bytes.data[0] = 0xff; /* what lies before is not looked at */
        end = read_from(dir, buf_slice(&s.bytes), s.ends[i], &records);
        ck_assert_uint_eq(records, RECORDS - 1 - i);
        ck_assert_uint_eq(end.good, s.bytes.size);
        end = read_from(dir, slice_of(s.bytes.data, s.bytes.size - 1),
                        s.ends[i], &records);
        if (i + 1 < RECORDS)
            ck_assert_uint_eq(end.good, s.ends[RECORDS - 2]);
    }
    end = read_bytes(dir, slice_of(s.bytes.data, 0), &records);
    ck_assert_uint_eq(end.good, 0);
    buf_fini(&s.bytes);
    tempdir_free(&dir);
}
END_TEST

/* At each border, and near it, and at random places. */
static size_t
place(const struct sample *s, size_t i, uint64_t *seed)
{
    static const int near[] = { -7, -1, 0, 1, 6, 7 };
    size_t borders = RECORDS * 6;
    size_t at = i < borders ? (size_t)((int64_t)s->ends[i / 6] + near[i % 6])
                            : (size_t)(harness_random(seed) % s->bytes.size);

    return at >= s->bytes.size ? s->bytes.size - 1 : at;
}

START_TEST(stops_where_it_is_cut)
{
    char *dir = tempdir_new();
    uint64_t seed = harness_seed(20261122);
    struct sample s;

    make(&s, seed);
    for (size_t i = 0; i < 400; i++) {
        size_t at = place(&s, i, &seed), records;
        struct level_log_end end =
            read_bytes(dir, slice_of(s.bytes.data, at), &records);

        check_end(&s, end, records, at);
        ck_assert(!end.follows);
    }
    buf_fini(&s.bytes);
    tempdir_free(&dir);
}
END_TEST

/* Bytes that hold nothing may be anything. */
static bool
is_filling(const struct sample *s, size_t at)
{
    size_t n = whole_before(s, at);

    return at % LEVEL_LOG_BLOCK >= LEVEL_LOG_BLOCK - 6 &&
           (n == 0 || s->ends[n - 1] <= at) &&
           (n == RECORDS || s->begins[n] <= at) && s->ends[3] <= at &&
           at < s->ends[3] + 4;
}

START_TEST(stops_at_a_hole)
{
    char *dir = tempdir_new();
    uint64_t seed = harness_seed(20261122);
    struct sample s;

    make(&s, seed);
    for (size_t i = 0; i < 400; i++) {
        size_t at = place(&s, i, &seed), records, size = 1, first;
        struct buf copy = BUF_INIT;
        struct level_log_end end;

        if (i % 2 == 1)
            size = 1 + (size_t)(harness_random(&seed) % 6000);
        if (size > s.bytes.size - at)
            size = s.bytes.size - at;
        buf_put_slice(&copy, buf_slice(&s.bytes));
        for (size_t k = 0; k < size; k++)
            copy.data[at + k] = size == 1 ? (uint8_t)~copy.data[at] : 0;
        for (first = at; first < at + size; first++)
            if (copy.data[first] != s.bytes.data[first] &&
                !is_filling(&s, first))
                break;
        end = read_bytes(dir, buf_slice(&copy), &records);
        if (first < at + size) {
            check_end(&s, end, records, first);
            if (whole_before(&s, at + size - 1) + 1 < RECORDS)
                ck_assert(end.follows);
        } else
            ck_assert_uint_eq(end.good, s.bytes.size);
        buf_fini(&copy);
    }
    buf_fini(&s.bytes);
    tempdir_free(&dir);
}
END_TEST

/* LevelDB's own reader steps over these. */
START_TEST(zeros_behind_the_end_are_bad)
{
    char *dir = tempdir_new();
    struct sample s;
    struct level_log_end end;
    size_t records, size;

    make(&s, harness_seed(20261122));
    size = s.bytes.size;
    for (int i = 0; i < 5000; i++)
        buf_put_u8(&s.bytes, 0);
    end = read_bytes(dir, buf_slice(&s.bytes), &records);
    ck_assert_uint_eq(records, RECORDS);
    ck_assert_uint_eq(end.good, size);
    ck_assert(!end.follows);
    buf_fini(&s.bytes);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("level_log", TEST(reads_what_is_whole), TEST(stops_where_it_is_cut),
          TEST(stops_at_a_hole), TEST(zeros_behind_the_end_are_bad))
