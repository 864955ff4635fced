/* See storage/level_raw_priv.h. */
#include "config.h"

#include "storage/level_raw_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "base/number.h"

#define LOG_BLOCK     ((size_t)32768)
#define RECORD_HEADER ((size_t)7)

enum record {
    RECORD_ZERO,
    RECORD_FULL,
    RECORD_FIRST,
    RECORD_MIDDLE,
    RECORD_LAST
};

static uint64_t
get_le(const uint8_t *p, unsigned width)
{
    uint64_t v = 0;

    for (unsigned i = width; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

/* A checksum of bytes that hold checksums is stored turned and shifted. */
static bool
crc_fits(uint32_t stored, struct slice s)
{
    uint32_t crc = crc32c(s);

    return stored == ((crc >> 15 | crc << 17) + UINT32_C(0xa282ead8));
}

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
    size_t size = (size_t)get_le(h + 4, 2);
    size_t room = LOG_BLOCK - l->at % LOG_BLOCK - RECORD_HEADER;
    size_t left = l->bytes.size - l->at - RECORD_HEADER;

    *type = h[6];
    if (only_zeros(rest_of(l)))
        return stop(l, NULL);
    if (size > left && left < room)
        return stop(l, NULL);
    if (size > room)
        return stop(l, "a record is longer than its block");
    *data = slice_of(h + RECORD_HEADER, size);
    if (!crc_fits((uint32_t)get_le(h, 4), slice_of(h + 6, size + 1)))
        return stop(l, *type == RECORD_ZERO && size == 0
                           ? "zeros, and whole records behind them"
                           : "the checksum of a record does not fit");
    l->at += RECORD_HEADER + size;
    return true;
}

/* Over the end of a block, which no header fits into; is there a header? */
static bool
to_header(struct raw_log *l, bool inside)
{
    size_t room = LOG_BLOCK - l->at % LOG_BLOCK;

    if (room < RECORD_HEADER)
        l->at = l->bytes.size - l->at < room ? l->bytes.size : l->at + room;
    if (l->at == l->bytes.size)
        return inside ? stop(l, NULL) : false;
    return l->bytes.size - l->at < RECORD_HEADER ? stop(l, NULL) : true;
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
        if (type < RECORD_FULL || type > RECORD_LAST ||
            inside != (type == RECORD_MIDDLE || type == RECORD_LAST))
            return stop(l, "a record that belongs to no entry");
        if (type == RECORD_FULL) {
            *entry = data;
            l->good = l->at;
            return true;
        }
        buf_put_slice(&l->entry, data);
        inside = true;
        if (type == RECORD_LAST) {
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
    size_t next = (l->at / LOG_BLOCK + 1) * LOG_BLOCK;

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
            if (type == RECORD_FULL || type == RECORD_FIRST) {
                l->at = at;
                return true;
            }
        }
        next = (l->at / LOG_BLOCK + 1) * LOG_BLOCK;
    }
    return false;
}

void
raw_log_put(struct buf *log, struct slice entry)
{
    bool first = true;

    do {
        static const uint8_t zeros[RECORD_HEADER];
        size_t room = LOG_BLOCK - log->size % LOG_BLOCK, size;
        uint8_t header[RECORD_HEADER];
        bool last;
        uint32_t crc;

        if (room < RECORD_HEADER) {
            buf_put(log, zeros, room);
            room = LOG_BLOCK;
        }
        room -= RECORD_HEADER;
        last = entry.size <= room;
        size = last ? entry.size : room;
        header[6] = first ? (last ? RECORD_FULL : RECORD_FIRST)
                          : (last ? RECORD_LAST : RECORD_MIDDLE);
        crc = crc32c_more(crc32c(slice_of(header + 6, 1)),
                          slice_of(entry.data, size));
        crc = (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
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
    count = get_le(c.failed ? (const uint8_t *)"\0\0\0\0" : c.at,
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

enum edit {
    EDIT_COMPARATOR = 1,
    EDIT_LOG = 2,
    EDIT_NEXT_FILE = 3,
    EDIT_LAST_SEQUENCE = 4,
    EDIT_COMPACT_POINTER = 5,
    EDIT_DELETED = 6,
    EDIT_NEW = 7,
    EDIT_PREVIOUS_LOG = 9,
};

static void
add_table(struct raw_manifest *m, struct cursor *c)
{
    struct raw_table t;

    (void)cursor_varint(c); /* the level */
    t.number = cursor_varint(c);
    t.size = cursor_varint(c);
    (void)take_sized(c);
    (void)take_sized(c);
    if (m->len == m->cap) {
        m->cap = m->cap == 0 ? 64 : m->cap * 2;
        m->tables = mem_resize(m->tables, m->cap, sizeof *m->tables);
    }
    m->tables[m->len++] = t;
}

static void
drop_table(struct raw_manifest *m, struct cursor *c)
{
    uint64_t number;

    (void)cursor_varint(c);
    number = cursor_varint(c);
    for (size_t i = 0; i < m->len; i++)
        if (m->tables[i].number == number) {
            m->tables[i] = m->tables[--m->len];
            return;
        }
}

/* An edit may move a table to another level: it is named twice then, as gone
 * and as new, in this order. */
static bool
apply_edit(struct raw_manifest *m, struct slice edit)
{
    struct cursor c = cursor_of(edit);

    while (!c.failed && cursor_left(&c) > 0) {
        switch (cursor_varint(&c)) {
        case EDIT_COMPARATOR:
            (void)take_sized(&c);
            break;
        case EDIT_LOG:
            m->log = cursor_varint(&c);
            break;
        case EDIT_PREVIOUS_LOG:
            m->previous_log = cursor_varint(&c);
            break;
        case EDIT_NEXT_FILE:
        case EDIT_LAST_SEQUENCE:
            (void)cursor_varint(&c);
            break;
        case EDIT_COMPACT_POINTER:
            (void)cursor_varint(&c);
            (void)take_sized(&c);
            break;
        case EDIT_DELETED:
            drop_table(m, &c);
            break;
        case EDIT_NEW:
            add_table(m, &c);
            break;
        default:
            return false;
        }
    }
    return !c.failed;
}

struct raw_fault
raw_manifest_read(struct slice bytes, struct raw_manifest *out, bool *torn)
{
    struct raw_log l = { .bytes = bytes };
    struct raw_fault fault;
    struct slice edit;

    *out = (struct raw_manifest){ 0 };
    while (raw_log_next(&l, &edit))
        if (!apply_edit(out, edit)) {
            (void)stop(&l, "an edit that makes no sense");
            break;
        }
    if (l.fault.text == NULL && out->log == 0)
        (void)stop(&l, "it names no log");
    fault = l.fault;
    *torn = l.torn;
    raw_log_fini(&l);
    return fault;
}

void
raw_manifest_fini(struct raw_manifest *m)
{
    free(m->tables);
    m->tables = NULL;
    m->len = m->cap = 0;
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

static enum status
read_fd(int fd, const char *path, struct buf *out, struct error *e)
{
    struct stat info;
    uint8_t *p;

    if (fstat(fd, &info) != 0)
        return error_set(e, ST_IO, "stat %s: %m", path);
    buf_clear(out);
    p = buf_reserve(out, (size_t)info.st_size + 1);
    if (p == NULL)
        return error_set(e, ST_IO, "%s: no memory for %lld bytes", path,
                         (long long)info.st_size);
    while (out->size < (size_t)info.st_size) {
        ssize_t n = read(fd, p + out->size, (size_t)info.st_size - out->size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, ST_IO, "read %s: %m", path);
        if (n == 0)
            break;
        out->size += (size_t)n;
    }
    return ST_OK;
}

enum status
raw_file_read(const char *path, struct buf *out, struct error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum status st;

    if (fd < 0)
        return error_set(e, errno == ENOENT ? ST_NOT_FOUND : ST_IO,
                         "open %s: %m", path);
    st = read_fd(fd, path, out, e);
    (void)close(fd);
    return st;
}
