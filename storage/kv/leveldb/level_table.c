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
 * where keys are whole.  A key ends with <sequence and kind:8>, the number of
 * its write and in the lowest byte 1 for a value, 0 for a deletion; of equal
 * keys the newest comes first.  An index has the last key of each block, or one
 * between it and the next, and as its value where the block is. */
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

struct entry {
    uint64_t shared; /* bytes of the key before */
    struct slice own, value;
};

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

static struct entry
take_entry(struct cursor *c)
{
    struct entry n = { .shared = cursor_varint(c) };
    uint64_t own_size = cursor_varint(c), value_size = cursor_varint(c);

    n.own = cursor_bytes(c, own_size);
    n.value = cursor_bytes(c, value_size);
    return n;
}

/* Calls check_block() for all that an index leads to. */
static struct table_fault
check_entries(struct slice file, struct slice index, size_t at,
              uint64_t *blocks)
{
    const struct table_fault malformed = {
        .text = "an index block is malformed", .at = at, .index = true
    };
    struct table_fault fault = { .text = NULL };
    struct cursor c;

    if (!entries_of(index, &c))
        return malformed;
    while (fault.text == NULL && cursor_left(&c) > 0) {
        struct cursor handle = cursor_of(take_entry(&c).value);
        struct slice data;
        unsigned type;

        if (!c.failed)
            fault = check_block(file, take_handle(&handle), &data, &type);
        if (c.failed || handle.failed)
            return malformed;
        ++*blocks;
    }
    return fault;
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
check_index(struct slice file, struct handle h, uint64_t *blocks)
{
    struct buf unpacked = BUF_INIT;
    struct slice index;
    struct table_fault fault = read_index(file, h, &unpacked, &index);

    if (fault.text == NULL)
        fault = check_entries(file, index, (size_t)h.at, blocks);
    ++*blocks;
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
    struct table_fault fault = read_footer(bytes, &metaindex, &index);

    if (fault.text != NULL)
        return fault;
    bytes.size -= FOOTER_SIZE;
    fault = check_index(bytes, index, blocks);
    return fault.text != NULL ? fault : check_index(bytes, metaindex, blocks);
}

/* -- made anew ------------------------------------------------------------- */

#define BLOCK_LEAST 16
#define BLOCK_MOST  ((size_t)32 << 10) /* of those behind a damaged one */
#define HUNT_MOST   ((size_t)1 << 20)  /* bytes without a block */
#define WRITE_SIZE  8
#define WRITE_NONE  ((UINT64_C(1) << 56) - 1) /* of keys between blocks */

/* A block begins with a whole key, so with 0: as it is, or behind the size and
 * the tag of the first literal of what snappy packed. */
static bool
may_begin(struct slice bytes)
{
    struct cursor c = cursor_of(bytes);
    unsigned tag;

    if (bytes.data[0] == 0)
        return true;
    (void)cursor_varint(&c);
    tag = cursor_u8(&c);
    (void)cursor_bytes(&c, tag >> 2 < 60 ? 0 : (tag >> 2) - 59);
    return (tag & 3) == 0 && cursor_u8(&c) == 0 && !c.failed;
}

/* The size of the block at the beginning of 'bytes', found by trying where its
 * checksum fits; 0: there is none. */
static size_t
find_block(struct slice bytes, size_t most)
{
    uint32_t crc = 0;

    if (bytes.size < TRAILER_SIZE || !may_begin(bytes))
        return 0;
    if (most > bytes.size - TRAILER_SIZE)
        most = bytes.size - TRAILER_SIZE;
    for (size_t n = 0; n <= most; n++) {
        crc = crc32c_more(crc, slice_of(bytes.data + n, 1));
        if (n >= BLOCK_LEAST && bytes.data[n] <= SNAPPY &&
            level_number(bytes.data + n + 1, 4) == level_mask(crc))
            return n;
    }
    return 0;
}

static uint64_t
write_of(struct slice key)
{
    return level_number(key.data + key.size - WRITE_SIZE, WRITE_SIZE);
}

static bool
comes_before(struct slice key, struct slice next)
{
    int order = slice_cmp(slice_of(key.data, key.size - WRITE_SIZE),
                          slice_of(next.data, next.size - WRITE_SIZE));

    return order < 0 || (order == 0 && write_of(key) > write_of(next));
}

/* Is this a block of data behind the key 'last'?  'key' becomes its last, and
 * '*newest' the number of its newest write, if that is above what it was. */
static bool
is_data(struct slice block, struct slice last, struct buf *key,
        uint64_t *newest)
{
    struct cursor c;

    buf_clear(key);
    if (!entries_of(block, &c))
        return false;
    while (cursor_left(&c) > 0) {
        bool first = key->size == 0;
        struct entry n = take_entry(&c);

        if (c.failed || n.shared > key->size)
            return false;
        key->size = n.shared;
        buf_put_slice(key, n.own);
        if (key->failed || key->size < WRITE_SIZE ||
            (write_of(buf_slice(key)) & 0xff) > 1 ||
            write_of(buf_slice(key)) >> 8 == WRITE_NONE ||
            (first && last.size > 0 && !comes_before(last, buf_slice(key))))
            return false;
        if (write_of(buf_slice(key)) >> 8 > *newest)
            *newest = write_of(buf_slice(key)) >> 8;
    }
    return key->size > 0;
}

/* Little-endian. */
static void
put_fixed32(struct buf *out, uint64_t v)
{
    for (unsigned i = 0; i < 4; i++)
        buf_put_u8(out, (uint8_t)(v >> 8 * i));
}

static void
put_entry(struct slice key, struct handle h, struct buf *out)
{
    uint8_t value[2 * VARINT_MAX], *end = varint_put(value, h.at);
    struct slice handle = { value, (size_t)(varint_put(end, h.size) - value) };

    buf_put_varint(out, 0);
    buf_put_varint(out, key.size);
    buf_put_varint(out, handle.size);
    buf_put_slice(out, key);
    buf_put_slice(out, handle);
}

/* A block of these entries, which begin at 'restarts'. */
static struct handle
put_block(struct slice entries, struct slice restarts, struct buf *out)
{
    struct handle h = { .at = out->size };

    buf_put_slice(out, entries);
    buf_put_slice(out, restarts);
    put_fixed32(out, restarts.size / 4);
    h.size = out->size - h.at;
    buf_put_u8(out, PLAIN);
    if (!out->failed)
        put_fixed32(out, level_mask(crc32c(
                             slice_of(out->data + h.at, (size_t)h.size + 1))));
    return h;
}

static void
put_ends(struct slice index, struct slice restarts, struct buf *out)
{
    static const uint8_t zero[4] = { 0 };
    struct handle metaindex = put_block(slice_str(""), slice_of(zero, 4), out);
    struct handle h = put_block(index, restarts, out);
    size_t footer = out->size;

    buf_put_varint(out, metaindex.at);
    buf_put_varint(out, metaindex.size);
    buf_put_varint(out, h.at);
    buf_put_varint(out, h.size);
    while (!out->failed && out->size < footer + HANDLES_SIZE)
        buf_put_u8(out, 0);
    buf_put(out, magic, sizeof magic);
}

/* What a table is made anew of: index, and the keys next to a block. */
struct table_parts {
    struct table_rest *rest;
    struct buf index, restarts, unpacked, key;
    bool failed; /* no memory */
};

/* Adds a block with its trailer, if it is the next one of data. */
static void
add_block(struct table_parts *r, struct slice block)
{
    struct slice data = { block.data, block.size - TRAILER_SIZE };
    struct handle h = { .at = r->rest->bytes.size, .size = data.size };
    struct buf last = r->rest->last;
    uint64_t newest = r->rest->newest;
    struct cursor c;

    if (block.data[data.size] == SNAPPY) {
        bool good = unpack(data, &r->unpacked);

        r->failed |= r->unpacked.failed;
        if (!good)
            return;
        data = buf_slice(&r->unpacked);
    }
    if (!is_data(data, buf_slice(&last), &r->key, &newest)) {
        r->failed |= r->key.failed;
        return;
    }
    put_fixed32(&r->restarts, r->index.size);
    put_entry(buf_slice(&r->key), h, &r->index);
    buf_put_slice(&r->rest->bytes, block);
    if (r->rest->blocks++ == 0 && entries_of(data, &c))
        buf_put_slice(&r->rest->first, take_entry(&c).own);
    r->rest->newest = newest;
    r->rest->last = r->key;
    r->key = last;
}

/* Blocks of data wherever they are found, whether or not an index leads there.
 */
static void
hunt(struct slice file, struct table_parts *r)
{
    size_t hunted = 0;

    for (size_t at = 0; at < file.size && hunted < HUNT_MOST;) {
        size_t size = find_block(slice_of(file.data + at, file.size - at),
                                 hunted == 0 ? SIZE_MAX : BLOCK_MOST);

        if (size == 0) {
            hunted++;
            at++;
            continue;
        }
        hunted = 0;
        add_block(r, slice_of(file.data + at, size + TRAILER_SIZE));
        at += size + TRAILER_SIZE;
    }
}

/* The blocks of data that an index leads to, but for those that do not check.
 * Returns how many there should be. */
static size_t
follow(struct slice file, struct slice index, struct table_parts *r)
{
    struct cursor c;
    size_t len = 0;

    if (!entries_of(index, &c))
        return 0;
    for (; cursor_left(&c) > 0; len++) {
        struct cursor handle = cursor_of(take_entry(&c).value);
        struct handle h = take_handle(&handle);
        struct slice data;
        unsigned type;

        if (!c.failed && !handle.failed &&
            check_block(file, h, &data, &type).text == NULL)
            add_block(r, slice_of(data.data, data.size + TRAILER_SIZE));
    }
    return len;
}

/* Of a table with a good index. */
static void
follow_index(struct slice file, bool good, struct table_parts *r)
{
    struct buf unpacked = BUF_INIT;
    struct handle metaindex, h;
    struct slice index;

    if (read_footer(file, &metaindex, &h).text == NULL) {
        file.size -= FOOTER_SIZE;
        if (read_index(file, h, &unpacked, &index).text == NULL)
            r->rest->whole = follow(file, index, r) == r->rest->blocks && good;
    }
    r->failed |= unpacked.failed;
    buf_fini(&unpacked);
}

enum status
level_table_salvage(struct slice file, struct table_rest *out, struct error *e)
{
    struct table_parts r = { .rest = out };
    uint64_t blocks = 0;
    struct table_fault fault = level_table_check(file, &blocks);

    *out = (struct table_rest){ .whole = false };
    r.failed = fault.no_memory;
    if (fault.index)
        hunt(file, &r);
    else
        follow_index(file, fault.text == NULL, &r);
    put_ends(buf_slice(&r.index), buf_slice(&r.restarts), &out->bytes);
    r.failed |= r.index.failed || r.restarts.failed || out->bytes.failed ||
                out->first.failed;
    buf_fini(&r.index);
    buf_fini(&r.restarts);
    buf_fini(&r.unpacked);
    buf_fini(&r.key);
    return r.failed ? error_set(e, ST_LIMIT, "no memory for a table") : ST_OK;
}

void
table_rest_fini(struct table_rest *t)
{
    buf_fini(&t->bytes);
    buf_fini(&t->first);
    buf_fini(&t->last);
}
