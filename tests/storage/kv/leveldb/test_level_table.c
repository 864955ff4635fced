/* Tables that LevelDB wrote, as fsck reads them. */
#include "storage/kv/leveldb/level_table.h"

#include <dirent.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/file/durable.h"
#include "base/file/file.h"
#include "base/process/log.h"
#include "storage/kv/kv.h"
#include "storage/kv/leveldb/level_bytes.h"
#include "tests/harness.h"
#include "tests/tempdir.h"

#define KEYS   2000
#define VALUE  1000
#define FOOTER 48

/* Long keys that begin alike, so that the index is worth packing. */
static void
fill(const char *dir)
{
    struct kv_options o = { .place = KV_LEVELDB(dir), .create = true };
    struct kv_batch *b = kv_batch_new();
    uint64_t seed = harness_seed(20261122);
    uint8_t value[VALUE];
    struct kv *kv;

    ck_assert_int_eq(kv_open(&o, &kv, NULL), ST_OK);
    for (unsigned i = 0; i < KEYS; i++) {
        char key[128];

        (void)snprintf(key, sizeof key, "%0100u", i);
        for (size_t k = 0; k < VALUE; k++)
            value[k] = (uint8_t)harness_random(&seed);
        kv_batch_put(b, slice_str(key), slice_of(value, VALUE));
    }
    ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    kv_batch_free(&b);
    kv_close(&kv);
}

static char *
first_table_path(const char *dir)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    char *path = NULL;

    while ((entry = readdir(d)) != NULL)
        if (strstr(entry->d_name, ".ldb") != NULL && path == NULL)
            path = tempdir_path(dir, entry->d_name);
    (void)closedir(d);
    ck_assert_ptr_nonnull(path);
    return path;
}

static struct buf
first_table(const char *dir)
{
    char *path = first_table_path(dir);
    struct buf bytes = BUF_INIT;

    ck_assert_int_eq(file_read(path, SIZE_MAX, &bytes, NULL), ST_OK);
    free(path);
    return bytes;
}

/* Where the index lies, and how much of it. */
static uint8_t *
index_of(const struct buf *table, size_t *size)
{
    struct cursor c = cursor_of(
        slice_of(table->data + table->size - FOOTER, (size_t)FOOTER - 8));
    uint64_t at;

    (void)cursor_varint(&c);
    (void)cursor_varint(&c);
    at = cursor_varint(&c);
    *size = (size_t)cursor_varint(&c);
    return table->data + at;
}

START_TEST(reads_a_packed_index)
{
    char *dir = tempdir_new();
    struct buf table;
    uint64_t blocks = 0;
    size_t size;
    const uint8_t *index;
    struct table_fault fault;

    fill(dir);
    table = first_table(dir);
    index = index_of(&table, &size);
    ck_assert_uint_eq(index[size], 1); /* packed */
    fault = level_table_check(buf_slice(&table), &blocks);
    ck_assert_msg(fault.text == NULL, "%s", fault.text);
    ck_assert_uint_gt(blocks, 100);
    table.data[table.size / 2] ^= 1;
    fault = level_table_check(buf_slice(&table), &blocks);
    ck_assert_str_eq(fault.text, "the checksum of a block does not fit");
    buf_fini(&table);
    tempdir_free(&dir);
}
END_TEST

/* Their checksum fits: they were written so. */
START_TEST(rejects_what_cannot_be_unpacked)
{
    static const uint8_t ends[][4] = {
        { 0xff, 0xff, 0xff, 0xff }, /* a size beyond all bounds */
        { 0x04, 0xfc, 0, 0 },       /* more bytes than there are */
    };
    char *dir = tempdir_new();
    struct buf table;

    fill(dir);
    table = first_table(dir);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t size;
        uint8_t *index = index_of(&table, &size);
        struct table_fault fault;
        uint64_t blocks;
        uint32_t crc;

        memcpy(index, ends[i], sizeof ends[i]);
        crc = level_mask(crc32c(slice_of(index, size + 1)));
        for (unsigned k = 0; k < 4; k++)
            index[size + 1 + k] = (uint8_t)(crc >> 8 * k);
        fault = level_table_check(buf_slice(&table), &blocks);
        ck_assert_str_eq(fault.text, "an index cannot be unpacked");
    }
    buf_fini(&table);
    tempdir_free(&dir);
}
END_TEST

/* Keys that are there once bits of the first table are flipped, and what is
 * left is gathered. */
static uint64_t
keys_after(const size_t *bits, size_t len)
{
    char *from = tempdir_new(), *parent = tempdir_new();
    char *to = tempdir_path(parent, "new"), *path;
    struct buf table = BUF_INIT;
    struct kv_options o = { .place = KV_LEVELDB(to) };
    struct error e;
    struct kv *kv;
    uint64_t keys;

    fill(from);
    path = first_table_path(from);
    ck_assert_int_eq(file_read(path, SIZE_MAX, &table, NULL), ST_OK);
    for (size_t i = 0; i < len; i++)
        table.data[bits[i] / 8] ^= (uint8_t)(1 << bits[i] % 8);
    ck_assert_int_eq(files_write(path, buf_slice(&table), NULL), ST_OK);
    ck_assert_msg(kv_salvage(from, to, &keys, &e) == ST_OK, "%s", e.text);
    ck_assert_int_eq(kv_open(&o, &kv, NULL), ST_OK);
    for (unsigned i = 0; i < KEYS; i += KEYS - 1) {
        struct buf value = BUF_INIT;
        char key[128];
        enum status st;

        (void)snprintf(key, sizeof key, "%0100u", i);
        st = kv_get(kv, slice_str(key), &value, NULL);
        ck_assert(st == ST_NOT_FOUND || value.size == VALUE);
        buf_fini(&value);
    }
    kv_close(&kv);
    buf_fini(&table);
    free(path);
    free(to);
    tempdir_free(&from);
    tempdir_free(&parent);
    return keys;
}

/* A block has 16 KB, which is 15 values, and the one that filled it. */
#define BLOCK_KEYS 17

START_TEST(what_is_left_of_a_damaged_table)
{
    uint64_t seed = harness_seed(16);
    char *dir = tempdir_new();
    struct buf table;
    size_t index, size, bits[2];

    log_set_level(LOG_ERROR);
    fill(dir);
    table = first_table(dir);
    index = (size_t)(index_of(&table, &size) - table.data);
    /* Blocks of data. */
    bits[0] = table.size / 2 * 8;
    bits[1] = table.size / 4 * 8;
    ck_assert_uint_ge(keys_after(bits, 1), KEYS - BLOCK_KEYS);
    ck_assert_uint_ge(keys_after(bits, 2), KEYS - 2 * BLOCK_KEYS);
    for (int i = 0; i < 5; i++) {
        bits[0] = (size_t)(harness_random(&seed) % (index * 8));
        ck_assert_uint_ge(keys_after(bits, 1), KEYS - BLOCK_KEYS);
    }
    /* The footer's magic, and the index: nothing of this table can be found. */
    bits[0] = table.size * 8 - 5;
    ck_assert_uint_eq(keys_after(bits, 1), 0);
    bits[0] = (index + size / 2) * 8;
    ck_assert_uint_eq(keys_after(bits, 1), 0);
    buf_fini(&table);
    tempdir_free(&dir);
}
END_TEST

TEST_MAIN("level_table", TEST(reads_a_packed_index),
          TEST(rejects_what_cannot_be_unpacked),
          TEST(what_is_left_of_a_damaged_table))
