/* Values of many rows: those that are there, those that are not, in chunks. */
#include "storage/store/row_values.h"

#include "tests/harness.h"

#define ROWS 2500

static struct error e;

static struct slice
key_of(size_t i, uint8_t out[3])
{
    out[0] = 'k';
    out[1] = (uint8_t)(i >> 8);
    out[2] = (uint8_t)i;
    return slice_of(out, 3);
}

/* Each third is absent, one of them is empty; sizes differ. */
static size_t
size_of(size_t i)
{
    return i == 1 ? 0 : i % 50 + 1;
}

static struct kv *
filled(size_t times)
{
    struct kv *kv;
    struct kv_batch *b = kv_batch_new();
    struct buf value = BUF_INIT;
    uint8_t bytes[3];

    ck_assert_int_eq(
        kv_open(&(struct kv_options){ .place = KV_MEMORY, .create = true }, &kv,
                &e),
        ST_OK);
    for (size_t i = 0; i < ROWS; i++) {
        buf_clear(&value);
        for (size_t k = 0; k < times * size_of(i); k++)
            buf_put_u8(&value, (uint8_t)i);
        if (i % 3 != 0)
            kv_batch_put(b, key_of(i, bytes), buf_slice(&value));
    }
    ck_assert_int_eq(kv_write(kv, b, &e), ST_OK);
    kv_batch_free(&b);
    buf_fini(&value);
    return kv;
}

/* Asks for all, and looks at each twice. */
static size_t
check_all(struct row_values *v, struct kv *kv, size_t times)
{
    size_t reads = 0;
    uint8_t bytes[3];

    for (size_t from = 0, len; from < ROWS; from += len, reads++) {
        row_values_clear(v);
        for (len = 0; from + len < ROWS && v->len < row_values_room(v); len++)
            row_values_add(v, key_of(from + len, bytes));
        ck_assert_int_eq(row_values_read(v, kv, &e), ST_OK);
        for (size_t k = 0; k < 2 * len; k++) {
            size_t i = from + k % len;
            struct slice value;
            enum status st = row_values_get(v, kv, k % len, &value, &e);

            ck_assert(slice_eq(v->keys[k % len], key_of(i, bytes)));
            ck_assert_int_eq(st, i % 3 == 0 ? ST_NOT_FOUND : ST_OK);
            if (st != ST_OK)
                continue;
            ck_assert_uint_eq(value.size, times * size_of(i));
            if (value.size > 0)
                ck_assert_uint_eq(value.data[value.size - 1], (uint8_t)i);
        }
    }
    return reads;
}

START_TEST(values_are_read_in_chunks)
{
    struct kv *kv = filled(1);
    struct row_values v = { 0 };

    ck_assert_uint_le(check_all(&v, kv, 1), ROWS / 1000 + 3);
    ck_assert_uint_le(row_values_room(&v), 1024);
    row_values_fini(&v);
    kv_close(&kv);
}
END_TEST

/* Of large rows fewer are read at once. */
START_TEST(chunks_are_bounded_by_bytes)
{
    struct kv *kv = filled(2000);
    struct row_values v = { 0 };

    ck_assert_uint_gt(check_all(&v, kv, 2000), ROWS / 128);
    ck_assert_uint_lt(row_values_room(&v), 128);
    row_values_fini(&v);
    kv_close(&kv);
}
END_TEST

START_TEST(no_row_is_no_read)
{
    struct row_values v = { 0 };

    ck_assert_int_eq(row_values_read(&v, NULL, &e), ST_OK);
    row_values_fini(&v);
}
END_TEST

TEST_MAIN("row_values", TEST(values_are_read_in_chunks),
          TEST(chunks_are_bounded_by_bytes), TEST(no_row_is_no_read))
