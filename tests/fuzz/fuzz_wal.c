/* Replays arbitrary bytes as a segment, four ways, by the first byte:
 *
 *     0  the rest is the file
 *     1  the rest follows a good header
 *     2  <cut:2> <at:2> <flip:1> { <size:1> <bytes> }...: a file of such
 *        records, damaged; what is replayed is how it began
 *     3  the rest is what a bundle holds
 *
 * Bit 7 of the first byte: the file is not the last one. */
#include "storage/wal/wal_priv.h"

#include "base/cursor.h"
#include "base/obj.h"
#include "tests/fuzz/target.h"

struct seen {
    size_t records;
    size_t at; /* behind the last one */
    struct slice file;
};

/* Each record lies in the file behind the one before. */
static enum status
see(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
    struct error *e)
{
    struct seen *s = ctx;
    const uint8_t *found = memmem(s->file.data + s->at, s->file.size - s->at,
                                  payload.data, payload.size);

    INSIST(segment == 7);
    INSIST(found != NULL);
    s->records++;
    s->at = (size_t)(found - s->file.data) + payload.size;
    return ST_OK;
}

static enum status
replay(struct slice file, bool last, struct seen *s)
{
    struct wal_segment w = { .segment = 7, .last = last };
    uint64_t good;
    struct error e = { 0 };
    enum status st;

    *s = (struct seen){ .file = file };
    buf_put_slice(&w.bytes, file);
    st = wal_segment_read(&w, see, s, &good, &e);
    INSIST(st == ST_OK || (st == ST_CORRUPT && e.text[0] != '\0'));
    INSIST(good <= file.size);
    INSIST(st != ST_OK || last || good == file.size);
    wal_segment_fini(&w);
    return st;
}

static void
put_record(struct buf *b, struct slice payload, uint32_t file_key)
{
    uint8_t header[WAL_RECORD_HEADER];
    struct buf bundle = BUF_INIT;

    buf_put_u8(&bundle, 1);
    buf_put_sized(&bundle, payload);
    wal_record_header(WAL_BUNDLE, buf_slice(&bundle), header);
    wal_record_mask(header, file_key);
    buf_put(b, header, sizeof header);
    buf_put_slice(b, buf_slice(&bundle));
    buf_fini(&bundle);
}

static void
replay_damaged(struct cursor *c, struct buf *b, uint32_t file_key, bool last)
{
    size_t cut = cursor_u16(c), at = cursor_u16(c);
    uint8_t flip = cursor_u8(c);
    struct seen s;
    size_t records = 0;

    for (; !c->failed && records < 100; records++) {
        struct slice payload = cursor_bytes(c, cursor_u8(c));

        if (c->failed)
            break;
        put_record(b, payload, file_key);
    }
    INSIST(replay(buf_slice(b), last, &s) == ST_OK);
    INSIST(s.records == records);
    b->size -= cut % (b->size + 1);
    if (b->size > 0)
        b->data[at % b->size] ^= flip;
    (void)replay(buf_slice(b), last, &s);
    INSIST(s.records <= records);
}

/* Each record lies in the bundle, with a type and a size at least. */
static enum status
see_bundled(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
            struct error *e)
{
    size_t *left = ctx;

    INSIST(segment == 7);
    INSIST(type != WAL_MARK && type != WAL_BUNDLE);
    INSIST(payload.size + 2 <= *left);
    *left -= payload.size + 2;
    return ST_OK;
}

static void
replay_bundle(struct slice records, struct buf *b, uint32_t file_key, bool last)
{
    uint8_t header[WAL_RECORD_HEADER];
    struct wal_segment w = { .segment = 7, .last = last };
    size_t left = records.size;
    struct error e = { 0 };
    uint64_t good;
    enum status st;

    wal_record_header(WAL_BUNDLE, records, header);
    wal_record_mask(header, file_key);
    buf_put(b, header, sizeof header);
    buf_put_slice(b, records);
    buf_put_slice(&w.bytes, buf_slice(b));
    st = wal_segment_read(&w, see_bundled, &left, &good, &e);
    INSIST(st == ST_OK ? good == b->size && left <= records.size
                       : st == ST_CORRUPT && good == WAL_SEGMENT_HEADER);
    wal_segment_fini(&w);
}

FUZZ_TARGET(data, size)
{
    struct cursor c = cursor_of(slice_of(data, size));
    uint8_t header[WAL_SEGMENT_HEADER], first = cursor_u8(&c);
    uint32_t file_key = wal_segment_header(7, 0, header);
    bool last = (first & 0x80) == 0;
    struct buf b = BUF_INIT;
    struct seen s;

    first = (uint8_t)((first & 0x7f) % 4);
    if (first > 0)
        buf_put(&b, header, sizeof header);
    if (first < 2) {
        buf_put_slice(&b, cursor_bytes(&c, cursor_left(&c)));
        (void)replay(buf_slice(&b), last, &s);
    } else if (first == 3) {
        replay_bundle(cursor_bytes(&c, cursor_left(&c)), &b, file_key, last);
    } else {
        replay_damaged(&c, &b, file_key, last);
    }
    buf_fini(&b);
    return 0;
}
