/* A table of LevelDB, block by block:
 *
 *     <data block>... <filter block> <metaindex block> <index block>
 * <footer:48> block    <bytes> <type:1> <crc:4>     type 1: compressed by
 * snappy footer   <metaindex: at, size> <index: at, size> zeros <magic:8>
 *
 * Index and metaindex hold <shared> <own> <value size> <own bytes> <value>...
 * and at their end how often keys start afresh, and where. */
#include "storage/kv/leveldb/level_table.h"

#include <snappy-c.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/cursor.h"
#include "storage/kv/leveldb/level_bytes.h"

#define FOOTER_SIZE  ((size_t)48)
#define TRAILER_SIZE ((size_t)5)
#define HANDLES_SIZE ((size_t)40)
#define PLAIN        0
#define SNAPPY       1
#define UNPACKED_MAX ((size_t)1 << 30)

static const uint8_t magic[8] = {
    0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb
};

struct handle {
    uint64_t at, size;
};

static struct handle
take_handle(struct cursor *c)
{
    struct handle h;

    h.at = cursor_varint(c);
    h.size = cursor_varint(c);
    return h;
}

static bool
unpack(struct slice packed, struct buf *out)
{
    const char *from = (const char *)packed.data;
    size_t size;
    uint8_t *to;

    buf_clear(out);
    if (snappy_uncompressed_length(from, packed.size, &size) != SNAPPY_OK ||
        size > UNPACKED_MAX)
        return false;
    to = buf_reserve(out, size);
    if (to == NULL ||
        snappy_uncompress(from, packed.size, (char *)to, &size) != SNAPPY_OK)
        return false;
    out->size = size;
    return true;
}

/* A block's bytes as they are stored, when they check. */
static struct table_fault
check_block(struct slice file, struct handle h, struct slice *out,
            unsigned *type)
{
    const char *text = NULL;
    const uint8_t *p;
    uint32_t crc;

    if (file.size < TRAILER_SIZE || h.at > file.size - TRAILER_SIZE ||
        h.size > file.size - TRAILER_SIZE - h.at)
        return (struct table_fault){ "a block lies outside of the file", 0 };
    p = file.data + h.at;
    *out = slice_of(p, (size_t)h.size);
    *type = p[h.size];
    crc = crc32c(slice_of(p, (size_t)h.size + 1));
    if (level_number(p + h.size + 1, 4) != level_mask(crc))
        text = "the checksum of a block does not fit";
    else if (*type > SNAPPY)
        text = "a block of an unknown kind";
    return (struct table_fault){ text, (size_t)h.at };
}

/* Calls check_block() for all that an index leads to. */
static struct table_fault
check_entries(struct slice file, struct slice index, size_t at,
              uint64_t *blocks)
{
    struct table_fault fault = { NULL, 0 };
    struct cursor c;
    uint64_t restarts;

    if (index.size < 4)
        return (struct table_fault){ "an index is too short", at };
    restarts = level_number(index.data + index.size - 4, 4);
    if (restarts > (index.size - 4) / 4)
        return (struct table_fault){ "an index block is malformed", at };
    c = cursor_of(slice_of(index.data, index.size - 4 - restarts * 4));
    while (fault.text == NULL && cursor_left(&c) > 0) {
        struct slice own, value, data;
        struct cursor handle;
        uint64_t own_size, value_size;
        unsigned type;

        (void)cursor_varint(&c);
        own_size = cursor_varint(&c);
        value_size = cursor_varint(&c);
        own = cursor_bytes(&c, (size_t)own_size);
        value = cursor_bytes(&c, (size_t)value_size);
        handle = cursor_of(value);
        if (c.failed || own.size != own_size)
            return (struct table_fault){ "an index block is malformed", at };
        fault = check_block(file, take_handle(&handle), &data, &type);
        if (handle.failed)
            return (struct table_fault){ "an index block is malformed", at };
        ++*blocks;
    }
    return fault;
}

static struct table_fault
check_index(struct slice file, struct handle h, uint64_t *blocks)
{
    struct buf unpacked = BUF_INIT;
    struct slice index;
    unsigned type;
    struct table_fault fault = check_block(file, h, &index, &type);

    if (fault.text == NULL && type == SNAPPY) {
        if (unpack(index, &unpacked))
            index = buf_slice(&unpacked);
        else
            fault = (struct table_fault){ "an index cannot be unpacked",
                                          (size_t)h.at };
    }
    if (fault.text == NULL)
        fault = check_entries(file, index, (size_t)h.at, blocks);
    ++*blocks;
    buf_fini(&unpacked);
    return fault;
}

struct table_fault
level_table_check(struct slice bytes, uint64_t *blocks)
{
    struct handle metaindex, index;
    struct table_fault fault;
    struct slice footer;
    struct cursor c;

    if (bytes.size < FOOTER_SIZE)
        return (struct table_fault){ "it is too short", bytes.size };
    footer = slice_of(bytes.data + bytes.size - FOOTER_SIZE, FOOTER_SIZE);
    c = cursor_of(slice_of(footer.data, HANDLES_SIZE));
    metaindex = take_handle(&c);
    index = take_handle(&c);
    if (c.failed || memcmp(footer.data + HANDLES_SIZE, magic, sizeof magic))
        return (struct table_fault){ "its footer is damaged",
                                     bytes.size - FOOTER_SIZE };
    bytes.size -= FOOTER_SIZE;
    fault = check_index(bytes, index, blocks);
    return fault.text != NULL ? fault : check_index(bytes, metaindex, blocks);
}
