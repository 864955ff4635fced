/* See storage/kv/leveldb/level_log.h.  LevelDB's own reader passes over a
 * header of zeros, and what is behind it in the block, without a word; here it
 * is as bad as any other. */
#include "storage/kv/leveldb/level_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/mem.h"

struct reader {
    int fd;
    const char *path;
    uint8_t *block;
    size_t block_size; /* less than a whole one at the end of the file */
    uint64_t block_at; /* where it lies in the file */
    struct error *e;
};

/* -- chunks ---------------------------------------------------------------- */

/* The chunk at 'at' of the block; '*bytes' is what it holds. */
static enum level_chunk
chunk_read(const struct reader *r, size_t at, struct slice *bytes)
{
    const uint8_t *p = r->block + at;
    size_t left = r->block_size - at, size;

    if (left < LEVEL_LOG_HEADER)
        return LEVEL_NONE;
    size = level_number(p + 4, 2);
    if (p[6] < LEVEL_WHOLE || p[6] > LEVEL_LAST ||
        size > left - LEVEL_LOG_HEADER ||
        level_mask(crc32c(slice_of(p + 6, size + 1))) != level_number(p, 4))
        return LEVEL_NONE;
    *bytes = slice_of(p + LEVEL_LOG_HEADER, size);
    return (enum level_chunk)p[6];
}

static enum status
block_read(struct reader *r, uint64_t at)
{
    r->block_at = at;
    r->block_size = 0;
    while (r->block_size < LEVEL_LOG_BLOCK) {
        ssize_t n =
            pread(r->fd, r->block + r->block_size,
                  LEVEL_LOG_BLOCK - r->block_size, (off_t)(at + r->block_size));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(r->e, ST_IO, "read '%s': %m", r->path);
        if (n == 0)
            break;
        r->block_size += (size_t)n;
    }
    return ST_OK;
}

/* -- records --------------------------------------------------------------- */

struct assembly {
    level_record_fn *f;
    void *ctx;
    struct buf record;
    bool inside; /* a first chunk, and no last one yet */
    bool skip;   /* a bad chunk, and go on behind it */
};

/* True when the chunk may stand here. */
static bool
chunk_fits(const struct assembly *a, enum level_chunk chunk)
{
    return chunk != LEVEL_NONE &&
           a->inside == (chunk == LEVEL_MIDDLE || chunk == LEVEL_LAST);
}

static enum status
chunk_take(struct assembly *a, enum level_chunk chunk, struct slice bytes,
           struct error *e)
{
    a->inside = chunk == LEVEL_FIRST || chunk == LEVEL_MIDDLE;
    if (a->f == NULL)
        return ST_OK;
    if (chunk == LEVEL_WHOLE || chunk == LEVEL_FIRST)
        buf_clear(&a->record);
    buf_put_slice(&a->record, bytes);
    if (a->record.failed)
        return error_set(e, ST_IO, "no memory for a record of LevelDB's");
    return a->inside ? ST_OK : a->f(a->ctx, buf_slice(&a->record), e);
}

/* The chunks of one block from '*at' on, which is then where the first bad one
 * lies in it, or what is left when it ends. */
static enum status
block_take(struct reader *r, struct assembly *a, struct level_log_end *end,
           size_t *at)
{
    enum status st = ST_OK;

    while (st == ST_OK && r->block_size >= *at + LEVEL_LOG_HEADER) {
        struct slice bytes;
        enum level_chunk chunk = chunk_read(r, *at, &bytes);

        if (!chunk_fits(a, chunk)) {
            if (!a->skip)
                return ST_OK;
            a->inside = false;
            if (chunk == LEVEL_NONE)
                break;
            if (chunk == LEVEL_MIDDLE || chunk == LEVEL_LAST) {
                *at += LEVEL_LOG_HEADER + bytes.size;
                continue;
            }
        }
        st = chunk_take(a, chunk, bytes, r->e);
        if (st != ST_OK)
            return st;
        *at += LEVEL_LOG_HEADER + bytes.size;
        if (!a->inside) {
            end->last = end->good;
            end->good = r->block_at + *at;
        }
    }
    if (r->block_size == LEVEL_LOG_BLOCK)
        *at = LEVEL_LOG_BLOCK; /* what fills the block is nothing */
    return st;
}

/* Does a record begin behind the bad one?  Looks at every byte. */
static enum status
look_behind(struct reader *r, size_t at, struct level_log_end *end)
{
    enum status st = ST_OK;

    while (st == ST_OK && r->block_size > 0) {
        for (; at + LEVEL_LOG_HEADER <= r->block_size; at++) {
            struct slice bytes;
            enum level_chunk chunk = chunk_read(r, at, &bytes);

            if (chunk == LEVEL_WHOLE || chunk == LEVEL_FIRST) {
                end->follows = true;
                return ST_OK;
            }
        }
        at = 0;
        st = block_read(r, r->block_at + LEVEL_LOG_BLOCK);
    }
    return st;
}

/* Reads blocks from r->block_at on, where '*at' lies in the first. */
static enum status
blocks_take(struct reader *r, struct assembly *a, struct level_log_end *end,
            size_t *at)
{
    enum status st = block_read(r, r->block_at);

    while (st == ST_OK && r->block_size > 0) {
        st = block_take(r, a, end, at);
        if (st != ST_OK || *at < LEVEL_LOG_BLOCK)
            break;
        *at = 0;
        st = block_read(r, r->block_at + LEVEL_LOG_BLOCK);
    }
    return st;
}

static enum status
log_read(struct reader *r, struct assembly *a, uint64_t from,
         struct level_log_end *out)
{
    size_t at = from % LEVEL_LOG_BLOCK;
    struct stat info;
    enum status st;

    if (fstat(r->fd, &info) != 0)
        return error_set(r->e, ST_IO, "stat '%s': %m", r->path);
    *out = (struct level_log_end){ .size = (uint64_t)info.st_size,
                                   .good = from,
                                   .last = from };
    r->block_at = from - at;
    st = blocks_take(r, a, out, &at);
    if (st == ST_NOT_FOUND) {
        out->follows = true;
        st = ST_OK;
    } else if (st == ST_OK && !a->inside &&
               (r->block_size == 0 || r->block_at + at == out->size))
        out->good = out->size;
    if (st == ST_OK && out->good < out->size && !out->follows &&
        r->block_size > 0)
        st = look_behind(r, at + 1, out);
    return st;
}

static enum status
open_and_read(const char *path, uint64_t from, struct assembly *a,
              struct level_log_end *out, struct error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct reader r = { .path = path, .fd = fd, .e = e };
    enum status st;

    *out = (struct level_log_end){ .good = from, .last = from };
    if (fd < 0)
        return error_set(e, errno == ENOENT ? ST_NOT_FOUND : ST_IO,
                         "cannot open '%s': %m", path);
    r.block = mem_new(LEVEL_LOG_BLOCK);
    st = log_read(&r, a, from, out);
    (void)close(fd);
    buf_fini(&a->record);
    free(r.block);
    return st;
}

enum status
level_log_read(const char *path, uint64_t from, level_record_fn *f, void *ctx,
               struct level_log_end *out, struct error *e)
{
    struct assembly a = { .f = f, .ctx = ctx, .record = BUF_INIT };

    return open_and_read(path, from, &a, out, e);
}

enum status
level_log_salvage(const char *path, level_record_fn *f, void *ctx,
                  struct error *e)
{
    struct assembly a = {
        .f = f, .ctx = ctx, .record = BUF_INIT, .skip = true
    };
    struct level_log_end end;

    return open_and_read(path, 0, &a, &end, e);
}

void
level_log_put(struct buf *log, struct slice record)
{
    bool first = true, last = false;

    while (!last && !log->failed) {
        static const uint8_t zeros[LEVEL_LOG_HEADER];
        size_t room = LEVEL_LOG_BLOCK - log->size % LEVEL_LOG_BLOCK, size;
        uint8_t header[LEVEL_LOG_HEADER];
        uint32_t crc;

        if (room < LEVEL_LOG_HEADER) {
            buf_put(log, zeros, room);
            room = LEVEL_LOG_BLOCK;
        }
        room -= LEVEL_LOG_HEADER;
        last = record.size <= room;
        size = last ? record.size : room;
        header[6] = first ? (last ? LEVEL_WHOLE : LEVEL_FIRST)
                          : (last ? LEVEL_LAST : LEVEL_MIDDLE);
        crc = crc32c_more(crc32c(slice_of(header + 6, 1)),
                          slice_of(record.data, size));
        crc = level_mask(crc);
        for (unsigned i = 0; i < 4; i++)
            header[i] = (uint8_t)(crc >> (8 * i));
        header[4] = (uint8_t)size;
        header[5] = (uint8_t)(size >> 8);
        buf_put(log, header, sizeof header);
        buf_put(log, record.data, size);
        record = slice_of(record.data + size, record.size - size);
        first = false;
    }
}

/* -- batches --------------------------------------------------------------- */

#define BATCH_HEADER 12
#define BATCH_DELETE 0
#define BATCH_PUT    1

bool
level_batch_of(struct slice record, struct level_batch *out)
{
    struct cursor c;
    uint32_t seen = 0;

    if (record.size < BATCH_HEADER)
        return false;
    out->first = level_number(record.data, 8);
    out->len = (uint32_t)level_number(record.data + 8, 4);
    c = cursor_of(record);
    (void)cursor_bytes(&c, BATCH_HEADER);
    for (; !c.failed && cursor_left(&c) > 0; seen++) {
        uint8_t type = cursor_u8(&c);

        if (type > BATCH_PUT)
            return false;
        (void)cursor_sized(&c);
        if (type == BATCH_PUT)
            (void)cursor_sized(&c);
    }
    return !c.failed && seen == out->len;
}
