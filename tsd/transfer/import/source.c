/* The file is read by 64 KB, unpacked behind what is left of the last line, and
 * lent up to the last newline. */
#include "tsd/transfer/import/source.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/obj.h"

#define SOURCE_MAGIC  FOURCC('S', 'R', 'C', 'E')
#define SOURCE_INPUT  ((size_t)64 << 10)
#define XZ_MEMORY_MAX ((uint64_t)256 << 20)

struct source {
    uint32_t magic;
    int fd;
    char *path;
    uint64_t read; /* bytes of the file */
    enum status (*unpack)(struct source *s, uint8_t *to, size_t room,
                          size_t *got);
    union {
        z_stream gz;
        lzma_stream xz;
        ZSTD_DStream *zstd;
    };
    bool begun;   /* a gzip member or a zstd frame that has not ended */
    bool member;  /* one of gzip was unpacked */
    bool as_java; /* what is behind gzip's members is passed over */
    bool at_end;  /* of the text */
    bool in_done; /* the file has no more */
    struct error error;
    struct buf text; /* 'lent' bytes of it are the block at hand */
    size_t lent;
    size_t in_at, in_size;
    uint8_t in[SOURCE_INPUT];
};

/* -- the file -------------------------------------------------------------- */

static enum status
source_fail(struct source *s, enum status status, const char *why)
{
    return error_set(&s->error, status, "%s (%s)", s->path, why);
}

/* Reads more when all of the input is used up. */
static enum status
source_fill(struct source *s)
{
    ssize_t n;

    if (s->in_at < s->in_size || s->in_done)
        return ST_OK;
    n = read(s->fd, s->in, sizeof s->in);
    if (n < 0)
        return source_fail(s, ST_IO, strerror(errno));
    s->in_done = n == 0;
    s->in_at = 0;
    s->in_size = (size_t)n;
    s->read += (uint64_t)n;
    return ST_OK;
}

static const uint8_t *
source_input(const struct source *s, size_t *size)
{
    *size = s->in_size - s->in_at;
    return s->in + s->in_at;
}

/* -- unpacking: up to 'room' bytes; none is the end ------------------------ */

static enum status
unpack_plain(struct source *s, uint8_t *to, size_t room, size_t *got)
{
    enum status st = source_fill(s);
    size_t left;
    const uint8_t *in = source_input(s, &left);

    *got = left < room ? left : room;
    memcpy(to, in, *got);
    s->in_at += *got;
    return st;
}

#define GZIP_HEADER 10 /* bytes at least */

/* Java's GZIPInputStream takes what is no header behind a member for the end.
 * Silence is not ours: half a file may be missing. */
static bool
is_behind_gzip(const struct source *s)
{
    return s->as_java && s->member && s->gz.total_in < GZIP_HEADER;
}

/* Members follow one another. */
static enum status
unpack_gzip(struct source *s, uint8_t *to, size_t room, size_t *got)
{
    enum status st = ST_OK;
    size_t left;

    s->gz.next_out = to;
    s->gz.avail_out = (uInt)room;
    while (st == ST_OK && s->gz.avail_out == room) {
        int rc;

        st = source_fill(s);
        /* Zeros after a member are padding, of tapes and block devices: gzip
         * ignores them, too. */
        while (s->member && !s->begun && s->in_at < s->in_size &&
               s->in[s->in_at] == 0)
            s->in_at++;
        s->gz.next_in = (Bytef *)(uintptr_t)source_input(s, &left);
        s->gz.avail_in = (uInt)left;
        if (left == 0 && !s->in_done && st == ST_OK)
            continue;
        if (st != ST_OK || (left == 0 && (!s->begun || is_behind_gzip(s))))
            break;
        if (left == 0)
            return source_fail(s, ST_CORRUPT, "ends within gzip data");
        s->begun = true;
        rc = inflate(&s->gz, Z_NO_FLUSH);
        s->in_at = s->in_size - s->gz.avail_in;
        if (rc == Z_STREAM_END) {
            s->begun = false;
            s->member = true;
            rc = inflateReset(&s->gz);
        }
        if (rc != Z_OK && rc != Z_BUF_ERROR && is_behind_gzip(s))
            break;
        if (rc != Z_OK && rc != Z_BUF_ERROR)
            st = source_fail(s, ST_CORRUPT,
                             s->gz.msg == NULL ? "bad gzip data" : s->gz.msg);
    }
    *got = room - s->gz.avail_out;
    return st;
}

static enum status
unpack_xz(struct source *s, uint8_t *to, size_t room, size_t *got)
{
    enum status st = ST_OK;
    size_t left;
    lzma_ret rc = LZMA_OK;

    s->xz.next_out = to;
    s->xz.avail_out = room;
    while (st == ST_OK && rc == LZMA_OK && s->xz.avail_out == room) {
        st = source_fill(s);
        s->xz.next_in = source_input(s, &left);
        s->xz.avail_in = left;
        rc = lzma_code(&s->xz, s->in_done ? LZMA_FINISH : LZMA_RUN);
        s->in_at = s->in_size - s->xz.avail_in;
    }
    *got = room - s->xz.avail_out;
    if (st != ST_OK || rc == LZMA_OK || rc == LZMA_STREAM_END)
        return st;
    return rc == LZMA_MEMLIMIT_ERROR
               ? source_fail(s, ST_LIMIT, "needs too much memory to unpack")
           : rc == LZMA_BUF_ERROR
               ? source_fail(s, ST_CORRUPT, "ends within xz data")
               : source_fail(s, ST_CORRUPT, "bad xz data");
}

static enum status
unpack_zstd(struct source *s, uint8_t *to, size_t room, size_t *got)
{
    ZSTD_outBuffer out = { to, room, 0 };
    enum status st = ST_OK;
    size_t left;

    while (st == ST_OK && out.pos == 0) {
        ZSTD_inBuffer in;
        size_t rc;

        st = source_fill(s);
        in.src = source_input(s, &left);
        in.size = left;
        in.pos = 0;
        if (st != ST_OK || (left == 0 && !s->begun))
            break;
        rc = ZSTD_decompressStream(s->zstd, &out, &in);
        s->in_at += in.pos;
        if (ZSTD_isError(rc))
            return source_fail(s, ST_CORRUPT, ZSTD_getErrorName(rc));
        if (left == 0 && out.pos == 0)
            return source_fail(s, ST_CORRUPT, "ends within zstd data");
        s->begun = rc != 0;
    }
    *got = out.pos;
    return st;
}

/* -- opening --------------------------------------------------------------- */

static bool
starts_with(const struct source *s, const char *magic, size_t size)
{
    return s->in_size >= size && memcmp(s->in, magic, size) == 0;
}

static bool
ends_in(const char *path, const char *end)
{
    size_t size = strlen(path), n = strlen(end);

    return size >= n && strcmp(path + size - n, end) == 0;
}

/* The first bytes tell what it is; a pipe may give them one by one. */
static enum status
source_begin(struct source *s, enum source_unpack how)
{
    bool gzip;

    while (s->error.status == ST_OK && !s->in_done && s->in_size < 6) {
        ssize_t n = read(s->fd, s->in + s->in_size, sizeof s->in - s->in_size);

        if (n < 0)
            return source_fail(s, ST_IO, strerror(errno));
        s->in_done = n == 0;
        s->in_size += (size_t)n;
        s->read += (uint64_t)n;
    }
    gzip = starts_with(s, "\x1f\x8b", 2);
    s->as_java = how == SOURCE_BY_NAME;
    s->unpack = unpack_plain;
    if (how == SOURCE_BY_NAME && !ends_in(s->path, ".gz"))
        return ST_OK;
    if (how == SOURCE_BY_NAME && !gzip)
        return error_set(&s->error, ST_CORRUPT, "Not in GZIP format");
    if (gzip) {
        INSIST(inflateInit2(&s->gz, 16 + MAX_WBITS) == Z_OK);
        s->unpack = unpack_gzip;
    } else if (starts_with(s, "\xfd\x37zXZ\0", 6)) {
        INSIST(lzma_stream_decoder(&s->xz, XZ_MEMORY_MAX, LZMA_CONCATENATED) ==
               LZMA_OK);
        s->unpack = unpack_xz;
    } else if (starts_with(s, "\x28\xb5\x2f\xfd", 4)) {
        s->zstd = ZSTD_createDStream();
        INSIST(s->zstd != NULL);
        s->unpack = unpack_zstd;
    }
    return ST_OK;
}

static enum status
source_check_file(struct source *s)
{
    struct stat st;

    if (fstat(s->fd, &st) != 0)
        return source_fail(s, ST_IO, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return source_fail(s, ST_NOT_FOUND, strerror(EISDIR));
    return ST_OK;
}

enum status
source_open(const char *path, enum source_unpack how, struct source **out,
            struct error *e)
{
    struct source *s = mem_new(sizeof *s);
    bool is_stdin = strcmp(path, "-") == 0;
    enum status st;

    s->magic = SOURCE_MAGIC;
    s->path = mem_strdup(path);
    s->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0)
        st = source_fail(s, errno == ENOENT ? ST_NOT_FOUND : ST_IO,
                         strerror(errno));
    else
        st = source_check_file(s);
    if (st == ST_OK)
        st = source_begin(s, how);
    if (st != ST_OK) {
        *e = s->error;
        source_close(&s);
    }
    *out = s;
    return st;
}

void
source_close(struct source **sp)
{
    struct source *s = OBJ_TAKE(sp, SOURCE_MAGIC);

    if (s == NULL)
        return;
    if (s->unpack == unpack_gzip)
        (void)inflateEnd(&s->gz);
    else if (s->unpack == unpack_xz)
        lzma_end(&s->xz);
    else if (s->unpack == unpack_zstd)
        (void)ZSTD_freeDStream(s->zstd);
    if (s->fd > STDIN_FILENO)
        (void)close(s->fd);
    buf_fini(&s->text);
    free(s->path);
    OBJ_FREE(s);
}

/* -- lines ----------------------------------------------------------------- */

/* Unpacks once, behind what there is; false at the end or at a failure. */
static bool
source_more(struct source *s)
{
    size_t room = SOURCE_BLOCK, got = 0;
    uint8_t *to;

    if (s->at_end || s->error.status != ST_OK)
        return false;
    to = buf_reserve(&s->text, room);
    if (to == NULL) {
        (void)source_fail(s, ST_LIMIT, "no memory for a long line");
        return false;
    }
    if (s->unpack(s, to, room, &got) != ST_OK || got == 0)
        s->at_end = true;
    s->text.size += got;
    if (got > 0) {
        /* A CR that no LF follows ends a line, as for Java.  The last byte of
         * all is looked at when there are more. */
        size_t from = s->text.size - got;
        uint8_t *at = s->text.data + (from > 0 ? from - 1 : 0);
        uint8_t *end = s->text.data + s->text.size;

        while (end - at > 1 &&
               (at = memchr(at, '\r', (size_t)(end - at - 1))) != NULL) {
            if (at[1] != '\n')
                at[0] = '\n';
            at++;
        }
    }
    return got > 0;
}

bool
source_next(struct source *s, struct slice *block)
{
    size_t seen = 0, whole = 0; /* bytes looked at; up to the last newline */

    OBJ_CHECK(s, SOURCE_MAGIC);

    if (s->lent != 0) {
        memmove(s->text.data, s->text.data + s->lent, s->text.size - s->lent);
        s->text.size -= s->lent;
        s->lent = 0;
    }
    do {
        const uint8_t *end =
            s->text.size == seen
                ? NULL
                : memrchr(s->text.data + seen, '\n', s->text.size - seen);

        if (end != NULL)
            whole = (size_t)(end + 1 - s->text.data);
        seen = s->text.size;
        if (seen - whole > SOURCE_LINE_MAX)
            (void)source_fail(s, ST_LIMIT, "a line is too long");
    } while ((whole == 0 || seen < SOURCE_BLOCK) && source_more(s));
    /* What a failure has cut is no line. */
    s->lent = whole > 0 || s->error.status != ST_OK ? whole : seen;
    *block = slice_of(s->text.data, s->lent);
    return s->lent > 0;
}

enum status
source_status(const struct source *s, struct error *e)
{
    OBJ_CHECK(s, SOURCE_MAGIC);
    *e = s->error;
    return e->status;
}

struct slice
source_cut_line(struct slice *block)
{
    struct slice line = slice_cut(block, '\n');

    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

uint64_t
source_bytes_read(const struct source *s)
{
    OBJ_CHECK(s, SOURCE_MAGIC);
    return s->read;
}

size_t
source_count_lines(struct slice s)
{
    size_t n = 0;
    const uint8_t *at;

    for (; s.size > 0 && (at = memchr(s.data, '\n', s.size)) != NULL; n++)
        s = slice_of(at + 1, s.size - (size_t)(at + 1 - s.data));
    return n;
}

struct source_line
source_line_at(struct slice block, uint64_t before, size_t offset)
{
    struct slice rest = slice_of(block.data + offset, block.size - offset);

    return (struct source_line){
        before + 1 + source_count_lines(slice_of(block.data, offset)),
        source_cut_line(&rest),
    };
}
