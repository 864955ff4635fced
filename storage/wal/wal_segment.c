/* The bytes of the WAL's segments. */
#include "storage/wal/wal_segment.h"

#include "base/crc32c.h"
#include "storage/row/key.h"

static const uint8_t file_magic[4] = { 'H', 'A', 'L', 'J' };

uint32_t
wal_segment_header(uint64_t segment, uint64_t nonce, uint8_t *out)
{
    uint32_t file_key;

    memcpy(out, file_magic, sizeof file_magic);
    key_put_uint(out + 4, WAL_VERSION, 4);
    key_put_uint(out + 8, segment, 8);
    key_put_uint(out + 16, nonce, 8);
    file_key = crc32c(slice_of(out, 24));
    key_put_uint(out + 24, file_key, 4);
    return file_key;
}

bool
wal_segment_check(struct wal_segment *w)
{
    const uint8_t *header = w->bytes.data;

    if (w->bytes.size < WAL_SEGMENT_HEADER)
        return false;
    w->file_key = (uint32_t)key_get_uint(header + 24, 4);
    return memcmp(header, file_magic, sizeof file_magic) == 0 &&
           key_get_uint(header + 4, 4) == WAL_VERSION &&
           key_get_uint(header + 8, 8) == w->segment &&
           crc32c(slice_of(header, 24)) == w->file_key;
}

void
wal_record_header(uint8_t type, struct slice payload, uint8_t *out)
{
    key_put_uint(out, payload.size + 1, 4);
    out[4] = type;
    key_put_uint(out + 5, crc32c_more(crc32c(slice_of(out, 5)), payload), 4);
    key_put_uint(out + 9, crc32c(slice_of(out, 9)) & 0xffff, 2);
}

void
wal_record_mask(uint8_t *header, uint32_t file_key)
{
    key_put_uint(header + 5, key_get_uint(header + 5, 4) ^ file_key, 4);
    key_put_uint(header + 9, key_get_uint(header + 9, 2) ^ file_key >> 16, 2);
}

void
wal_mark(uint64_t synced, uint32_t file_key, uint8_t *out)
{
    uint8_t *payload = out + WAL_RECORD_HEADER;

    key_put_uint(payload, synced, 8);
    wal_record_header(WAL_MARK, slice_of(payload, 8), out);
    wal_record_mask(out, file_key);
}
