/*
 * Reads one file of the WAL, and tells the end that a crash leaves from
 * damage.
 *
 * What is written but not synced may be lost page by page, in any order: a
 * power cut leaves the file cut short, with zeros for bytes, or with a hole and
 * whole records behind it.  What was synced is there, and the marks tell how
 * much that was.  So a record that does not check is where the file ends for
 * us, unless a mark behind it says that it was on the disk.
 */
#include "config.h"

#include "storage/wal/wal_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/log.h"

#define WINDOW_SIZE ((size_t)256 << 10)

/* A file seen through a window that moves. */
struct window {
    int fd;
    const char *path;
    uint64_t segment;
    uint32_t file_key;
    bool last;     /* file of the WAL */
    uint64_t size; /* of the file */
    uint64_t at;   /* of the window in it */
    struct buf bytes;
    struct error *e;
    enum status status;
};

/* One record as it lies in the window. */
struct record {
    uint8_t type;
    struct slice payload;
    uint64_t end; /* offset behind it */
};

static enum status
window_fill(struct window *w, uint64_t at, size_t size)
{
    uint8_t *p;

    buf_clear(&w->bytes);
    w->at = at;
    p = buf_reserve(&w->bytes, size);
    if (p == NULL)
        return error_set(w->e, ST_IO, "%s: no memory for %zu bytes", w->path,
                         size);
    while (w->bytes.size < size) {
        ssize_t n = pread(w->fd, p + w->bytes.size, size - w->bytes.size,
                          (off_t)(at + w->bytes.size));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(w->e, ST_IO, "read %s at offset %" PRIu64 ": %m",
                             w->path, at);
        if (n == 0)
            return error_set(w->e, ST_IO, "%s shrank while it was read",
                             w->path);
        w->bytes.size += (size_t)n;
    }
    return ST_OK;
}

/* 'size' bytes at 'at', or NULL when they are not in the file, or when reading
 * failed, which sticks. */
static const uint8_t *
window_bytes(struct window *w, uint64_t at, size_t size)
{
    uint64_t want = size;

    if (w->status != ST_OK || at > w->size || size > w->size - at)
        return NULL;
    if (at < w->at || at + size > w->at + w->bytes.size) {
        if (want < WINDOW_SIZE)
            want = WINDOW_SIZE;
        if (want > w->size - at)
            want = w->size - at;
        w->status = window_fill(w, at, (size_t)want);
        if (w->status != ST_OK)
            return NULL;
    }
    return w->bytes.data + (at - w->at);
}

static bool
record_read(struct window *w, uint64_t at, struct record *out)
{
    const uint8_t *p = window_bytes(w, at, WAL_RECORD_HEADER);
    uint8_t h[WAL_RECORD_HEADER];
    uint32_t size, crc;
    struct cursor c;

    if (p == NULL)
        return false;
    memcpy(h, p, sizeof h);
    wal_record_mask(h, w->file_key); /* takes it off again */
    c = cursor_of(slice_of(h, sizeof h));
    size = cursor_u32(&c) - 1;
    out->type = cursor_u8(&c);
    crc = cursor_u32(&c);
    if (size >= WAL_MAX_BUNDLE ||
        cursor_u16(&c) != (uint16_t)crc32c(slice_of(h, WAL_RECORD_HEADER - 2)))
        return false;
    p = window_bytes(w, at, WAL_RECORD_HEADER + (size_t)size);
    if (p == NULL)
        return false;
    out->payload = slice_of(p + WAL_RECORD_HEADER, size);
    out->end = at + WAL_RECORD_HEADER + size;
    return crc32c_more(crc32c(slice_of(h, 5)), out->payload) == crc;
}

/* Where the next record lies at or behind 'at'; the file's size if nowhere. */
static uint64_t
find_record(struct window *w, uint64_t at, struct record *r)
{
    for (; at + WAL_RECORD_HEADER <= w->size && w->status == ST_OK; at++)
        if (record_read(w, at, r))
            return at;
    return w->size;
}

static uint64_t
mark_of(const struct record *r)
{
    struct cursor c = cursor_of(r->payload);

    return r->type == WAL_MARK ? cursor_u64(&c) : 0;
}

/* Looks through what lies behind the bad record at 'at': is there anything
 * whole, and how far do the marks there say that the file was synced? */
static uint64_t
find_proof(struct window *w, uint64_t at, uint64_t *next)
{
    uint64_t reach = 0;
    struct record r;

    *next = w->size;
    for (at = find_record(w, at + 1, &r); at < w->size;
         at = find_record(w, r.end, &r)) {
        if (*next == w->size)
            *next = at;
        if (mark_of(&r) > reach)
            reach = mark_of(&r);
    }
    return reach;
}

static bool
is_all_zero(struct window *w)
{
    for (uint64_t at = 0; at < w->size; at++) {
        const uint8_t *p = window_bytes(w, at, 1);

        if (p == NULL || *p != 0)
            return false;
    }
    return true;
}

/* The file_key, or '*good' 0 for a file whose header never reached the
 * disk. The header is synced before the first record is written. */
static enum status
read_file_header(struct window *w, uint64_t *good)
{
    const uint8_t *p = window_bytes(w, 0, WAL_FILE_HEADER);

    *good = WAL_FILE_HEADER;
    if (p != NULL && wal_file_check(p, w->segment, &w->file_key))
        return ST_OK;
    *good = 0;
    if (w->last && w->status == ST_OK &&
        (w->size <= WAL_FILE_HEADER || is_all_zero(w)))
        return ST_OK;
    if (w->status != ST_OK)
        return w->status;
    return error_set(w->e, ST_CORRUPT,
                     "%s at offset 0: no header of WAL segment %" PRIu64
                     " in version %d",
                     w->path, w->segment, WAL_VERSION);
}

/* The record at 'at' is not whole: damage, or the end? */
static enum status
judge_end(struct window *w, uint64_t at)
{
    uint64_t next, reach;

    if (!w->last)
        return error_set(w->e, ST_CORRUPT,
                         "%s at offset %" PRIu64
                         ": a damaged record, and later files exist",
                         w->path, at);
    reach = find_proof(w, at, &next);
    if (w->status != ST_OK)
        return w->status;
    if (reach > at)
        return error_set(w->e, ST_CORRUPT,
                         "%s at offset %" PRIu64
                         ": a damaged record, which was on the disk once: "
                         "whole ones follow at %" PRIu64,
                         w->path, at, next);
    if (next < w->size)
        log_warn("wal",
                 "%s: a hole at offset %" PRIu64 ", whole records from %" PRIu64
                 " on; nothing behind it had been synced when power failed",
                 w->path, at, next);
    return ST_OK;
}

static enum status
read_bundle(struct window *w, const struct record *bundle, wal_record_fn *f,
            void *ctx)
{
    struct cursor c = cursor_of(bundle->payload);
    enum status st = ST_OK;

    while (st == ST_OK && cursor_left(&c) > 0) {
        uint8_t type = cursor_u8(&c);
        uint64_t size = cursor_varint(&c);
        struct slice payload =
            cursor_bytes(&c, size > cursor_left(&c) ? SIZE_MAX : (size_t)size);

        if (c.failed || type == WAL_MARK || type == WAL_BUNDLE)
            st = error_set(w->e, ST_CORRUPT,
                           "%s: a bundle of records that ends at offset "
                           "%" PRIu64 " is malformed",
                           w->path, bundle->end);
        else
            st = f(ctx, w->segment, type, payload, w->e);
    }
    return st;
}

static enum status
take_record(struct window *w, const struct record *r, wal_record_fn *f,
            void *ctx)
{
    if (f == NULL || r->type == WAL_MARK)
        return ST_OK;
    if (r->type == WAL_BUNDLE)
        return read_bundle(w, r, f, ctx);
    return error_set(w->e, ST_CORRUPT,
                     "%s: a record of type %u ends at offset %" PRIu64
                     ", which is neither a mark nor a bundle",
                     w->path, r->type, r->end);
}

static enum status
read_records(struct window *w, wal_record_fn *f, void *ctx, uint64_t *good)
{
    struct record r;

    while (*good < w->size && record_read(w, *good, &r)) {
        enum status st = take_record(w, &r, f, ctx);

        if (st != ST_OK)
            return st;
        *good = r.end;
    }
    if (w->status != ST_OK || *good == w->size)
        return w->status;
    return judge_end(w, *good);
}

static enum status
window_open(struct window *w)
{
    struct stat info;

    if (fstat(w->fd, &info) != 0)
        return error_set(w->e, ST_IO, "stat %s: %m", w->path);
    w->size = (uint64_t)info.st_size;
    return ST_OK;
}

enum status
wal_file_read(int fd, const char *path, uint64_t segment, bool last,
              wal_record_fn *f, void *ctx, uint64_t *good, struct error *e)
{
    struct window w = {
        .fd = fd, .path = path, .segment = segment, .last = last, .e = e
    };
    enum status st = window_open(&w);

    *good = 0;
    if (st == ST_OK)
        st = read_file_header(&w, good);
    if (st == ST_OK && *good != 0)
        st = read_records(&w, f, ctx, good);
    buf_fini(&w.bytes);
    return st;
}

static enum status
salvage_records(struct window *w, wal_record_fn *f, void *ctx,
                struct wal_salvage *out)
{
    struct record r;

    for (uint64_t at = find_record(w, WAL_FILE_HEADER, &r); at < w->size;
         at = find_record(w, r.end, &r)) {
        /* Marks speak of offsets in the file as it was. */
        if (r.type == WAL_MARK || take_record(w, &r, f, ctx) != ST_OK)
            continue;
        /* The window has all of the record; 'f' sees only its payload. */
        buf_put(&out->bytes, r.payload.data - WAL_RECORD_HEADER,
                (size_t)(r.end - at));
        out->records++;
    }
    return w->status;
}

enum status
wal_file_salvage(int fd, const char *path, uint64_t segment, wal_record_fn *f,
                 void *ctx, struct wal_salvage *out, struct error *e)
{
    struct window w = { .fd = fd, .path = path, .segment = segment, .e = e };
    uint8_t header[WAL_FILE_HEADER];
    const uint8_t *p = NULL;
    enum status st = window_open(&w);

    *out = (struct wal_salvage){ .bytes = BUF_INIT };
    if (st == ST_OK)
        p = window_bytes(&w, 0, sizeof header);
    if (p != NULL && wal_file_check(p, segment, &w.file_key)) {
        buf_put(&out->bytes, p, sizeof header);
        st = salvage_records(&w, f, ctx, out);
    } else if (st == ST_OK && w.status == ST_OK) {
        (void)wal_file_header(segment, hash_random_seed(), header);
        buf_put(&out->bytes, header, sizeof header);
    }
    if (st == ST_OK && out->bytes.failed)
        st = error_set(e, ST_BUSY, "%s: no memory for what is whole", path);
    out->lost = w.size > out->bytes.size ? w.size - out->bytes.size : 0;
    buf_fini(&w.bytes);
    return w.status != ST_OK ? w.status : st;
}
