/* A table of LevelDB, block by block:
 *
 *     <data block>... <filter block> <metaindex block> <index block>
 * <footer:48>
 *
 *     block    <bytes> <type:1> <crc:4>         type 1: compressed by snappy
 *     footer   <metaindex: at, size> <index: at, size> zeros <magic:8>
 *
 * Blocks of data, index and metaindex hold
 *
 *     (<shared> <own> <value size> <own bytes> <value>)... <restart:4>...
 * <restarts:4>
 *
 * where 'shared' bytes of a key are those of the key before; restarts tell
 * where keys are whole.  The values of an index tell where its blocks are. */
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

/* False: it cannot be; out->failed: for want of memory. */
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
        return (struct table_fault){ .text =
                                         "a block lies outside of the file" };
    p = file.data + h.at;
    *out = slice_of(p, (size_t)h.size);
    *type = p[h.size];
    crc = crc32c(slice_of(p, (size_t)h.size + 1));
    if (level_number(p + h.size + 1, 4) != level_mask(crc))
        text = "the checksum of a block does not fit";
    else if (*type > SNAPPY)
        text = "a block of an unknown kind";
    return (struct table_fault){ .text = text, .at = (size_t)h.at };
}

/* The part of a block that holds entries; false: it is malformed. */
static bool
entries_of(struct slice block, struct cursor *out)
{
    uint64_t restarts;

    if (block.size < 4)
        return false;
    restarts = level_number(block.data + block.size - 4, 4);
    if (restarts > (block.size - 4) / 4)
        return false;
    *out = cursor_of(slice_of(block.data, block.size - 4 - restarts * 4));
    return true;
}

/* The value of the next entry. */
static struct slice
entry_value(struct cursor *c)
{
    uint64_t own_size, value_size;

    (void)cursor_varint(c);
    own_size = cursor_varint(c);
    value_size = cursor_varint(c);
    (void)cursor_bytes(c, own_size);
    return cursor_bytes(c, value_size);
}

/* Checks all blocks that an index leads to, and counts those that are good; the
 * first fault is returned. */
static struct table_fault
check_entries(struct slice file, struct slice index, size_t at, uint64_t *good)
{
    const struct table_fault malformed = {
        .text = "an index block is malformed", .at = at, .index = true
    };
    struct table_fault first = { .text = NULL };
    struct cursor c;

    if (!entries_of(index, &c))
        return malformed;
    while (cursor_left(&c) > 0) {
        struct cursor handle = cursor_of(entry_value(&c));
        struct table_fault fault = { .text = NULL };
        struct slice data;
        unsigned type;

        if (!c.failed)
            fault = check_block(file, take_handle(&handle), &data, &type);
        if (c.failed || handle.failed)
            return malformed;
        if (first.text == NULL)
            first = fault;
        *good += fault.text == NULL;
    }
    return first;
}

/* An index block, checked and unpacked. */
static struct table_fault
read_index(struct slice file, struct handle h, struct buf *unpacked,
           struct slice *index)
{
    unsigned type;
    struct table_fault fault = check_block(file, h, index, &type);

    fault.index = fault.text != NULL;
    if (fault.text != NULL || type != SNAPPY)
        return fault;
    if (unpack(*index, unpacked))
        *index = buf_slice(unpacked);
    else
        fault = (struct table_fault){ .text = "an index cannot be unpacked",
                                      .at = (size_t)h.at,
                                      .index = true,
                                      .no_memory = unpacked->failed };
    return fault;
}

static struct table_fault
check_index(struct slice file, struct handle h, uint64_t *good)
{
    struct buf unpacked = BUF_INIT;
    struct slice index;
    struct table_fault fault = read_index(file, h, &unpacked, &index);

    if (fault.text == NULL)
        fault = check_entries(file, index, (size_t)h.at, good);
    buf_fini(&unpacked);
    return fault;
}

/* What the footer says. */
static struct table_fault
read_footer(struct slice bytes, struct handle *metaindex, struct handle *index)
{
    struct slice footer;
    struct cursor c;

    if (bytes.size < FOOTER_SIZE)
        return (struct table_fault){ .text = "it is too short",
                                     .at = bytes.size,
                                     .index = true };
    footer = slice_of(bytes.data + bytes.size - FOOTER_SIZE, FOOTER_SIZE);
    c = cursor_of(slice_of(footer.data, HANDLES_SIZE));
    *metaindex = take_handle(&c);
    *index = take_handle(&c);
    if (c.failed || memcmp(footer.data + HANDLES_SIZE, magic, sizeof magic))
        return (struct table_fault){ .text = "its footer is damaged",
                                     .at = bytes.size - FOOTER_SIZE,
                                     .index = true };
    return (struct table_fault){ .text = NULL };
}

struct table_fault
level_table_check(struct slice bytes, uint64_t *blocks)
{
    struct handle metaindex, index;
    struct table_fault fault = read_footer(bytes, &metaindex, &index), other;
    uint64_t filters = 0;

    *blocks = 0;
    if (fault.text != NULL)
        return fault;
    bytes.size -= FOOTER_SIZE;
    fault = check_index(bytes, index, blocks);
    other = check_index(bytes, metaindex, &filters);
    other.index = false; /* LevelDB reads a table without its filters */
    return fault.text != NULL ? fault : other;
}
