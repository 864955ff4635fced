/* Records that are not of points alone: what is written is read, and what is
 * malformed is told. */
#include "storage/wal/wal_record.h"

#include "storage/wal/wal_points.h"
#include "tests/harness.h"

static const struct key_layout layout = KEY_LAYOUT_DEFAULT;

static const uint8_t tsuid[] = { 0, 0, 1, 0, 0, 1, 0, 0, 1 };

static struct buf
points_of(unsigned bucket)
{
    const struct point p = { .ts_ms = 1356998400000, .v.i = 42 };
    struct wal_points_writer w = { .record = BUF_INIT };
    struct buf b = BUF_INIT;

    wal_points_begin(&w, bucket);
    wal_points_add(&w, 0, slice_of(tsuid, sizeof tsuid), &p);
    buf_put_slice(&b, wal_points_end(&w));
    wal_points_fini(&w);
    return b;
}

static struct buf
delete_of(int64_t to_ms)
{
    struct buf b = BUF_INIT;

    record_delete(&b, slice_of(tsuid, sizeof tsuid), -5, to_ms);
    return b;
}

static struct buf
owned_of(uint64_t epoch, uint8_t type, struct buf record)
{
    struct buf b = BUF_INIT;

    record_owned(&b, epoch, type);
    buf_put_slice(&b, buf_slice(&record));
    buf_fini(&record);
    return b;
}

static enum status
check(uint8_t type, struct slice payload)
{
    return record_check(&layout, type, payload, NULL);
}

static const uint64_t epochs[] = { 0, 1, 127, 128, UINT64_MAX };

START_TEST(an_owned_record_has_its_epoch)
{
    struct buf points = points_of(3), b = BUF_INIT;
    struct slice record;
    uint64_t epoch;
    uint8_t type;

    record_owned(&b, epochs[_i], RECORD_POINTS);
    buf_put_slice(&b, buf_slice(&points));
    ck_assert(record_read_owned(buf_slice(&b), &epoch, &type, &record));
    ck_assert_uint_eq(epoch, epochs[_i]);
    ck_assert_uint_eq(type, RECORD_POINTS);
    ck_assert(slice_eq(record, buf_slice(&points)));
    ck_assert_int_eq(check(RECORD_OWNED, buf_slice(&b)), ST_OK);
    buf_fini(&points);
    buf_fini(&b);
}
END_TEST

/* As documented: 1,000 is e8 07. */
START_TEST(the_bytes_are_the_documented_ones)
{
    static const uint8_t bytes[] = { 0xe8, 0x07, 0x01 };
    struct buf b = BUF_INIT;

    record_owned(&b, 1000, RECORD_POINTS);
    ck_assert(slice_eq(buf_slice(&b), slice_of(bytes, sizeof bytes)));
    buf_fini(&b);
}
END_TEST

/* What is in it is checked like a record of its own; nothing nests. */
START_TEST(what_is_owned_is_checked)
{
    struct {
        struct buf record;
        uint8_t type;
        enum status st;
    } cases[] = {
        { points_of(3), RECORD_POINTS, ST_OK },
        { delete_of(7), RECORD_DELETE, ST_OK },
        { owned_of(1, RECORD_POINTS, points_of(3)), RECORD_OWNED, ST_OK },
        { owned_of(1, RECORD_DELETE, delete_of(7)), RECORD_OWNED, ST_OK },
        { owned_of(1, RECORD_POINTS, points_of(200)), RECORD_OWNED,
          ST_CORRUPT },
        { owned_of(1, RECORD_POINTS, (struct buf)BUF_INIT), RECORD_OWNED,
          ST_CORRUPT },
        { owned_of(1, RECORD_DELETE, (struct buf)BUF_INIT), RECORD_OWNED,
          ST_CORRUPT },
        { owned_of(1, RECORD_BATCH, (struct buf)BUF_INIT), RECORD_OWNED,
          ST_CORRUPT },
        { owned_of(1, RECORD_OWNED, owned_of(1, RECORD_POINTS, points_of(3))),
          RECORD_OWNED, ST_CORRUPT },
        { (struct buf)BUF_INIT, RECORD_OWNED, ST_CORRUPT },
        { (struct buf)BUF_INIT, 5, ST_CORRUPT },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct slice payload = buf_slice(&cases[i].record);

        ck_assert_msg(check(cases[i].type, payload) == cases[i].st, "case %zu",
                      i);
        buf_fini(&cases[i].record);
    }
}
END_TEST

TEST_MAIN("wal_record", LOOP(an_owned_record_has_its_epoch, epochs),
          TEST(the_bytes_are_the_documented_ones),
          TEST(what_is_owned_is_checked))
