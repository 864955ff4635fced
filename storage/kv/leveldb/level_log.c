/* See storage/kv/leveldb/level_log.h.  LevelDB's own reader passes over a
 * header of zeros, and what is behind it in the block, without a word; here it
 * is as bad as any other. */
#include "config.h"

#include "storage/kv/leveldb/level_log.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
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
    enum status (*f)(void *ctx, struct slice record, struct error *e);
    void *ctx;
    struct buf record;
    bool inside; /* a first chunk, and no last one yet */
};

/* True when the chunk may stand here. */
static bool
fits(const struct assembly *a, enum level_chunk chunk)
{
    return chunk != LEVEL_NONE &&
           a->inside == (chunk == LEVEL_MIDDLE || chunk == LEVEL_LAST);
}

static enum status
take(struct assembly *a, enum level_chunk chunk, struct slice bytes,
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

/* The chunks of one block from '*bad' on, which is then where the first bad one
 * lies in it, or what is left when it ends. */
static enum status
block_take(struct reader *r, struct assembly *a, struct level_log_end *end,
           size_t *bad)
{
    enum status st = ST_OK;

    while (st == ST_OK && r->block_size >= *bad + LEVEL_LOG_HEADER) {
        struct slice bytes;
        enum level_chunk chunk = chunk_read(r, *bad, &bytes);

        if (!fits(a, chunk))
            return ST_OK;
        st = take(a, chunk, bytes, r->e);
        if (st != ST_OK)
            return st;
        *bad += LEVEL_LOG_HEADER + bytes.size;
        if (!a->inside) {
            end->last = end->good;
            end->good = r->block_at + *bad;
        }
    }
    if (r->block_size == LEVEL_LOG_BLOCK)
        *bad = LEVEL_LOG_BLOCK; /* what fills the block is nothing */
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

enum status
level_log_read(int fd, const char *path, uint64_t from,
               enum status (*f)(void *ctx, struct slice record,
                                struct error *e),
               void *ctx, struct level_log_end *out, struct error *e)
{
    struct reader r = { .fd = fd, .path = path, .e = e };
    struct assembly a = { .f = f, .ctx = ctx, .record = BUF_INIT };
    struct stat info;
    size_t bad = from % LEVEL_LOG_BLOCK;
    enum status st;

    *out = (struct level_log_end){ .good = from, .last = from };
    if (fstat(fd, &info) != 0)
        return error_set(e, ST_IO, "stat '%s': %m", path);
    out->size = (uint64_t)info.st_size;
    r.block = mem_new(LEVEL_LOG_BLOCK);
    st = block_read(&r, from - bad);
    while (st == ST_OK && r.block_size > 0) {
        st = block_take(&r, &a, out, &bad);
        if (st != ST_OK || bad < LEVEL_LOG_BLOCK)
            break;
        bad = 0;
        st = block_read(&r, r.block_at + LEVEL_LOG_BLOCK);
    }
    if (st == ST_NOT_FOUND) {
        out->follows = true;
        st = ST_OK;
    } else if (st == ST_OK && !a.inside &&
               (r.block_size == 0 || r.block_at + bad == out->size))
        out->good = out->size;
    if (st == ST_OK && out->good < out->size && !out->follows &&
        r.block_size > 0)
        st = look_behind(&r, bad + 1, out);
    buf_fini(&a.record);
    free(r.block);
    return st;
}

#define BATCH_HEADER 12

bool
level_batch_of(struct slice record, struct level_batch *out)
{
    if (record.size < BATCH_HEADER)
        return false;
    out->first = level_number(record.data, 8);
    out->len = (uint32_t)level_number(record.data + 8, 4);
    return true;
}
