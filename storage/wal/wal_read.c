/* Reads one file of the WAL, and distinguishes the end that a crash leaves
 * from damage.
 *
 * What is written but not synced may be lost page by page, in any order: a
 * power cut leaves the file cut short, with zeros for bytes, or with a hole and
 * whole records behind it.  What was synced is there, and the marks say how
 * much that was.  So a record that does not check is where the file ends for
 * us, unless a mark behind it says that it was on the disk. */
#include "storage/wal/wal_segment.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/process/log.h"

/* One record as it lies in the file. */
struct record {
    uint8_t type;
    struct slice payload;
    uint64_t end; /* offset behind it */
};

void
wal_segment_fini(struct wal_segment *w)
{
    free(w->path);
    buf_fini(&w->bytes);
}

static bool
record_read(const struct wal_segment *w, uint64_t at, struct record *out)
{
    uint8_t h[WAL_RECORD_HEADER];
    uint32_t size, crc;
    struct cursor c;

    if (at > w->bytes.size || w->bytes.size - at < sizeof h)
        return false;
    memcpy(h, w->bytes.data + at, sizeof h);
    wal_record_mask(h, w->file_key); /* takes it off again */
    c = cursor_of(slice_of(h, sizeof h));
    size = cursor_u32(&c) - 1;
    out->type = cursor_u8(&c);
    crc = cursor_u32(&c);
    if (cursor_u16(&c) != (uint16_t)crc32c(slice_of(h, sizeof h - 2)) ||
        size >= WAL_MAX_BUNDLE || size > w->bytes.size - at - sizeof h)
        return false;
    out->payload = slice_of(w->bytes.data + at + sizeof h, size);
    out->end = at + sizeof h + size;
    return crc32c_more(crc32c(slice_of(h, 5)), out->payload) == crc;
}

static uint64_t
find_record(const struct wal_segment *w, uint64_t at, struct record *r)
{
    for (; at < w->bytes.size; at++)
        if (record_read(w, at, r))
            return at;
    return w->bytes.size;
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
find_proof(const struct wal_segment *w, uint64_t at, uint64_t *next)
{
    uint64_t reach = 0;
    struct record r;

    *next = w->bytes.size;
    for (at++; (at = find_record(w, at, &r)) < w->bytes.size; at = r.end) {
        if (*next == w->bytes.size)
            *next = at;
        if (mark_of(&r) > reach)
            reach = mark_of(&r);
    }
    return reach;
}

/* The file_key, or '*good' 0 for a file whose header never reached the
 * disk. The header is synced before the first record is written. */
static enum status
read_file_header(struct wal_segment *w, uint64_t *good, struct error *e)
{
    size_t zeros = 0;

    *good = WAL_SEGMENT_HEADER;
    if (wal_segment_check(w))
        return ST_OK;
    *good = 0;
    while (zeros < w->bytes.size && w->bytes.data[zeros] == 0)
        zeros++;
    if (w->last &&
        (w->bytes.size <= WAL_SEGMENT_HEADER || zeros == w->bytes.size))
        return ST_OK;
    return error_set(e, ST_CORRUPT,
                     "%s at offset 0: no header of WAL segment %" PRIu64
                     " in version %d",
                     w->path, w->segment, WAL_VERSION);
}

/* The record at 'at' is not whole: damage, or the end? */
static enum status
judge_end(const struct wal_segment *w, uint64_t at, struct error *e)
{
    uint64_t next, reach;

    if (!w->last)
        return error_set(e, ST_CORRUPT,
                         "%s at offset %" PRIu64
                         ": a damaged record, and later files exist",
                         w->path, at);
    reach = find_proof(w, at, &next);
    if (reach > at)
        return error_set(e, ST_CORRUPT,
                         "%s at offset %" PRIu64
                         ": a damaged record, which was on the disk once: "
                         "whole ones follow at %" PRIu64,
                         w->path, at, next);
    if (next < w->bytes.size)
        log_warn("wal",
                 "%s: a hole at offset %" PRIu64 ", whole records from %" PRIu64
                 " on; nothing behind it had been synced when power failed",
                 w->path, at, next);
    return ST_OK;
}

static enum status
take_record(const struct wal_segment *w, const struct record *r,
            wal_record_fn *f, void *ctx, struct error *e)
{
    if (f == NULL || r->type == WAL_MARK)
        return ST_OK;
    if (r->type == WAL_BUNDLE) {
        struct cursor c = cursor_of(r->payload);
        enum status st = ST_OK;

        while (st == ST_OK && cursor_left(&c) > 0) {
            uint8_t type = cursor_u8(&c);
            struct slice payload = cursor_sized(&c);

            if (c.failed || type == WAL_MARK || type == WAL_BUNDLE)
                st = error_set(e, ST_CORRUPT,
                               "%s: a bundle of records that ends at offset "
                               "%" PRIu64 " is malformed",
                               w->path, r->end);
            else
                st = f(ctx, w->segment, type, payload, e);
        }
        return st;
    }
    return error_set(e, ST_CORRUPT,
                     "%s: a record of type %u ends at offset %" PRIu64
                     ", which is neither a mark nor a bundle",
                     w->path, r->type, r->end);
}

enum status
wal_segment_read(struct wal_segment *w, wal_record_fn *f, void *ctx,
                 uint64_t *good, struct error *e)
{
    struct record r;
    enum status st = read_file_header(w, good, e);

    if (st != ST_OK || *good == 0)
        return st;
    while (record_read(w, *good, &r)) {
        st = take_record(w, &r, f, ctx, e);
        if (st != ST_OK)
            return st;
        *good = r.end;
    }
    return *good == w->bytes.size ? ST_OK : judge_end(w, *good, e);
}

enum status
wal_segment_salvage(struct wal_segment *w, wal_record_fn *f, void *ctx,
                    struct wal_salvage *out, struct error *e)
{
    uint8_t header[WAL_SEGMENT_HEADER];
    bool headed = wal_segment_check(w);
    struct record r;

    *out = (struct wal_salvage){ .bytes = BUF_INIT };
    if (headed)
        memcpy(header, w->bytes.data, sizeof header);
    else
        (void)wal_segment_header(w->segment, hash_random_seed(), header);
    buf_put(&out->bytes, header, sizeof header);
    for (uint64_t at = headed ? sizeof header : w->bytes.size;
         (at = find_record(w, at, &r)) < w->bytes.size; at = r.end) {
        /* Marks speak of offsets in the file as it was. */
        if (r.type == WAL_MARK || take_record(w, &r, f, ctx, NULL) != ST_OK)
            continue;
        buf_put(&out->bytes, w->bytes.data + at, (size_t)(r.end - at));
        out->records++;
    }
    out->lost =
        w->bytes.size > out->bytes.size ? w->bytes.size - out->bytes.size : 0;
    return out->bytes.failed
               ? error_set(e, ST_BUSY, "%s: no memory for what is whole",
                           w->path)
               : ST_OK;
}
