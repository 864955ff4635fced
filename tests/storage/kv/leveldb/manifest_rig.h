/* Records of LevelDB's MANIFEST, made byte by byte. */
#pragma once

#include "base/buf.h"
#include "base/crc32c.h"
#include "storage/kv/leveldb/level_bytes.h"

#define MANIFEST_BLOCK  ((size_t)32768)
#define MANIFEST_HEADER ((size_t)7)

/* Appends a record in as many chunks as it needs. */
static inline void
manifest_put(struct buf *file, struct slice record)
{
    enum { WHOLE = 1, FIRST, MIDDLE, LAST };
    bool first = true, last = false;

    while (!last) {
        static const uint8_t zeros[MANIFEST_HEADER];
        size_t room = MANIFEST_BLOCK - file->size % MANIFEST_BLOCK, size;
        uint8_t header[MANIFEST_HEADER];
        uint32_t crc;

        if (room < MANIFEST_HEADER) {
            buf_put(file, zeros, room);
            room = MANIFEST_BLOCK;
        }
        room -= MANIFEST_HEADER;
        last = record.size <= room;
        size = last ? record.size : room;
        header[6] = first ? (last ? WHOLE : FIRST) : (last ? LAST : MIDDLE);
        crc = level_mask(crc32c_more(crc32c(slice_of(header + 6, 1)),
                                     slice_of(record.data, size)));
        for (unsigned i = 0; i < 4; i++)
            header[i] = (uint8_t)(crc >> (8 * i));
        header[4] = (uint8_t)size;
        header[5] = (uint8_t)(size >> 8);
        buf_put(file, header, sizeof header);
        buf_put(file, record.data, size);
        record = slice_of(record.data + size, record.size - size);
        first = false;
    }
}
