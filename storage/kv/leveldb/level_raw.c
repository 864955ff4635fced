/* See storage/kv/leveldb/level_raw.h. */
#include "config.h"

#include "storage/kv/leveldb/level_raw.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/text/number.h"
#include "storage/kv/leveldb/level_bytes.h"

/* -- logs ----------------------------------------------------------------- */

static bool
stop(struct raw_log *l, const char *text)
{
    if (text == NULL)
        l->torn = true;
    else
        l->fault = (struct raw_fault){ text, l->at };
    return false;
}

static bool
only_zeros(struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] != 0)
            return false;
    return true;
}

static struct slice
rest_of(const struct raw_log *l)
{
    return slice_of(l->bytes.data + l->at, l->bytes.size - l->at);
}

/* One record at l->at, whose header is there. */
static bool
take_record(struct raw_log *l, unsigned *type, struct slice *data)
{
    const uint8_t *h = l->bytes.data + l->at;
    size_t size = (size_t)level_number(h + 4, 2);
    size_t room = LEVEL_LOG_BLOCK - l->at % LEVEL_LOG_BLOCK - LEVEL_LOG_HEADER;
    size_t left = l->bytes.size - l->at - LEVEL_LOG_HEADER;

    *type = h[6];
    if (only_zeros(rest_of(l)))
        return stop(l, NULL);
    if (size > left && left < room)
        return stop(l, NULL);
    if (size > room)
        return stop(l, "a record is longer than its block");
    *data = slice_of(h + LEVEL_LOG_HEADER, size);
    if (level_mask(crc32c(slice_of(h + 6, size + 1))) != level_number(h, 4))
        return stop(l, *type == LEVEL_NONE && size == 0
                           ? "zeros, and whole records behind them"
                           : "the checksum of a record does not fit");
    l->at += LEVEL_LOG_HEADER + size;
    return true;
}

/* Over the end of a block, which no header fits into; is there a header? */
static bool
to_header(struct raw_log *l, bool inside)
{
    size_t room = LEVEL_LOG_BLOCK - l->at % LEVEL_LOG_BLOCK;

    if (room < LEVEL_LOG_HEADER)
        l->at = l->bytes.size - l->at < room ? l->bytes.size : l->at + room;
    if (l->at == l->bytes.size)
        return inside ? stop(l, NULL) : false;
    return l->bytes.size - l->at < LEVEL_LOG_HEADER ? stop(l, NULL) : true;
}

bool
raw_log_next(struct raw_log *l, struct slice *entry)
{
    bool inside = false;

    buf_clear(&l->entry);
    l->good = l->at;
    while (l->fault.text == NULL && !l->torn && to_header(l, inside)) {
        struct slice data;
        unsigned type;

        if (!take_record(l, &type, &data))
            return false;
        if (type < LEVEL_WHOLE || type > LEVEL_LAST ||
            inside != (type == LEVEL_MIDDLE || type == LEVEL_LAST))
            return stop(l, "a record that belongs to no entry");
        if (type == LEVEL_WHOLE) {
            *entry = data;
            l->good = l->at;
            return true;
        }
        buf_put_slice(&l->entry, data);
        inside = true;
        if (type == LEVEL_LAST) {
            *entry = buf_slice(&l->entry);
            l->good = l->at;
            return !l->entry.failed || stop(l, "an entry has no room");
        }
    }
    return false;
}

/* Whatever begins in front of the next block is given up; of what goes on
 * there, the rest is passed over as well. */
bool
raw_log_resume(struct raw_log *l)
{
    size_t next = (l->at / LEVEL_LOG_BLOCK + 1) * LEVEL_LOG_BLOCK;

    while (next < l->bytes.size) {
        unsigned type;
        struct slice data;

        l->at = next;
        l->fault.text = NULL;
        l->torn = false;
        while (to_header(l, false)) {
            size_t at = l->at;

            if (!take_record(l, &type, &data))
                break;
            if (type == LEVEL_WHOLE || type == LEVEL_FIRST) {
                l->at = at;
                return true;
            }
        }
        next = (l->at / LEVEL_LOG_BLOCK + 1) * LEVEL_LOG_BLOCK;
    }
    return false;
}

void
raw_log_put(struct buf *log, struct slice entry)
{
    bool first = true;

    do {
        static const uint8_t zeros[LEVEL_LOG_HEADER];
        size_t room = LEVEL_LOG_BLOCK - log->size % LEVEL_LOG_BLOCK, size;
        uint8_t header[LEVEL_LOG_HEADER];
        bool last;
        uint32_t crc;

        if (room < LEVEL_LOG_HEADER) {
            buf_put(log, zeros, room);
            room = LEVEL_LOG_BLOCK;
        }
        room -= LEVEL_LOG_HEADER;
        last = entry.size <= room;
        size = last ? entry.size : room;
        header[6] = first ? (last ? LEVEL_WHOLE : LEVEL_FIRST)
                          : (last ? LEVEL_LAST : LEVEL_MIDDLE);
        crc = crc32c_more(crc32c(slice_of(header + 6, 1)),
                          slice_of(entry.data, size));
        crc = level_mask(crc);
        for (unsigned i = 0; i < 4; i++)
            header[i] = (uint8_t)(crc >> (8 * i));
        header[4] = (uint8_t)size;
        header[5] = (uint8_t)(size >> 8);
        buf_put(log, header, sizeof header);
        buf_put(log, entry.data, size);
        entry = slice_of(entry.data + size, entry.size - size);
        first = false;
    } while (entry.size > 0 && !log->failed);
}

void
raw_log_fini(struct raw_log *l)
{
    buf_fini(&l->entry);
}

static struct slice
take_sized(struct cursor *c)
{
    uint64_t size = cursor_varint(c);

    if (size > cursor_left(c))
        c->failed = true;
    return c->failed ? slice_of(c->at, 0) : cursor_bytes(c, (size_t)size);
}

bool
raw_batch_is_whole(struct slice entry, uint64_t *operations)
{
    struct cursor c = cursor_of(entry);
    uint64_t count, seen = 0;

    (void)cursor_bytes(&c, 8); /* the number of its writing */
    count = level_number(c.failed ? (const uint8_t *)"\0\0\0\0" : c.at,
                         cursor_left(&c) < 4 ? 0 : 4);
    (void)cursor_bytes(&c, 4);
    while (!c.failed && cursor_left(&c) > 0) {
        uint8_t type = cursor_u8(&c);

        (void)take_sized(&c);
        if (type == 1)
            (void)take_sized(&c);
        else if (type != 0)
            return false;
        seen++;
    }
    *operations = seen;
    return !c.failed && seen == count;
}

/* -- the manifest --------------------------------------------------------- */

struct raw_fault
raw_manifest_read(struct slice bytes, struct level_history *out, size_t *last,
                  bool *torn)
{
    struct raw_log l = { .bytes = bytes };
    struct raw_fault fault;
    struct slice edit;
    size_t at = 0;

    *out = (struct level_history){ .last = BUF_INIT };
    while (raw_log_next(&l, &edit)) {
        *last = at;
        at = l.good;
        if (!level_history_add(out, edit)) {
            (void)stop(&l, "an edit that makes no sense");
            break;
        }
    }
    if (l.fault.text == NULL && out->now.log == 0)
        (void)stop(&l, "it names no log");
    fault = l.fault;
    *torn = l.torn;
    raw_log_fini(&l);
    return fault;
}

/* -- files ---------------------------------------------------------------- */

static bool
ends(const char *name, const char *with, uint64_t *number)
{
    size_t n = strlen(name), m = strlen(with);

    return n > m && strcmp(name + n - m, with) == 0 &&
           number_parse_u64(slice_of(name, n - m), number);
}

enum raw_kind
raw_name(const char *name, uint64_t *number)
{
    static const char manifest[] = "MANIFEST-";

    *number = 0;
    if (strcmp(name, "CURRENT") == 0)
        return RAW_CURRENT;
    if (strncmp(name, manifest, sizeof manifest - 1) == 0 &&
        number_parse_u64(slice_str(name + sizeof manifest - 1), number))
        return RAW_MANIFEST;
    if (ends(name, ".log", number))
        return RAW_LOG;
    return ends(name, ".ldb", number) || ends(name, ".sst", number) ? RAW_TABLE
                                                                    : RAW_OTHER;
}
