/*
 * The files of the WAL: each record's checksums, and whether it says
 * something.
 *
 * Repaired, a file keeps its whole records: none needs another to be read, and
 * points whose series was defined in a damaged one are skipped at replay.  The
 * file as it was is kept aside.  A file that is missing becomes an empty one.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "storage/fsck/fsck_priv.h"
#include "base/durable.h"
#include "storage/store/format.h"
#include "storage/wal/wal_file.h"
#include "storage/wal/wal_record.h"

static const struct slice no_key = { NULL, 0 };

/* A folder that is not there has none. */
static enum status
list(const char *dir, struct wal_segments *out, struct error *e)
{
    if (access(dir, F_OK) != 0 && errno == ENOENT)
        return ST_OK;
    return wal_list(dir, out, e);
}

static enum status
read_record(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
            struct error *e)
{
    enum status st = record_check(ctx, type, payload, e);

    return st == ST_OK ? ST_OK
                       : error_wrap(e, st, "journal segment %" PRIu64, segment);
}

/* An empty file of a segment. */
static enum status
make_empty(const char *dir, uint64_t segment, const char *name, struct error *e)
{
    uint8_t header[WAL_FILE_HEADER];

    (void)wal_file_header(segment, hash_random_seed(), header);
    return files_replace(dir, name, slice_of(header, sizeof header), e);
}

/* Keeps all of the file aside, and the whole records in its place. */
static enum status
repair_file(struct check *c, const char *dir, const char *path,
            const char *name, uint64_t segment, struct key_layout *layout,
            const char *why, struct error *e)
{
    struct buf bytes = BUF_INIT;
    struct wal_salvage s = { .bytes = BUF_INIT };
    enum status st = files_read(path, SIZE_MAX, &bytes, e);
    int fd = -1;

    if (st == ST_OK)
        st = check_write_aside(c, name, buf_slice(&bytes), e);
    buf_fini(&bytes);
    if (st == ST_OK) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
        st = fd < 0 ? error_set(e, ST_IO, "open %s: %m", path)
                    : wal_file_salvage(fd, path, segment, read_record, layout,
                                       &s, e);
    }
    if (fd >= 0)
        (void)close(fd);
    if (st == ST_OK)
        st = files_replace(dir, name, buf_slice(&s.bytes), e);
    if (st == ST_OK)
        check_found(c, "journal-damage", no_key,
                    "whole records stay; the file as it was is kept aside",
                    "%s; %" PRIu64 " records are whole, %" PRIu64
                    " bytes are not kept",
                    why, s.records, s.lost);
    buf_fini(&s.bytes);
    return st;
}

static enum status
check_file(struct check *c, const char *dir, uint64_t segment, bool last,
           const struct key_layout *layout, struct error *e)
{
    char name[WAL_NAME_SIZE], path[FILES_PATH_MAX];
    struct key_layout widths = *layout;
    struct error why;
    struct stat info;
    uint64_t good = 0;
    enum status st;
    int fd;

    wal_name(segment, name);
    st = files_join(dir, name, path, e);
    if (st != ST_OK)
        return st;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0) {
        st = error_set(e, ST_IO, "open %s: %m", path);
        if (fd >= 0)
            (void)close(fd);
        return st;
    }
    c->files++;
    c->bytes += (uint64_t)info.st_size;
    st = wal_file_read(fd, path, segment, last, read_record, &widths, &good,
                       &why);
    (void)close(fd);
    if (st == ST_OK && good < (uint64_t)info.st_size)
        check_note(c, "journal-tail",
                   "%s: %" PRIu64 " bytes at offset %" PRIu64
                   " were never synced, and are cut off at the next start",
                   path, (uint64_t)info.st_size - good, good);
    if (st == ST_OK)
        return ST_OK;
    if (st != ST_CORRUPT)
        return error_set(e, st, "%s", why.text);
    if (c->aside == NULL) {
        c->rejected = true;
        check_found(c, "journal-damage", no_key, NULL, "%s", why.text);
        return ST_OK;
    }
    return repair_file(c, dir, path, name, segment, &widths, why.text, e);
}

static enum status
check_gap(struct check *c, const char *dir, uint64_t from, uint64_t to,
          struct error *e)
{
    enum status st = ST_OK;

    for (uint64_t n = from; n < to && st == ST_OK; n++) {
        char name[WAL_NAME_SIZE], path[FILES_PATH_MAX];

        wal_name(n, name);
        st = files_join(dir, name, path, e);
        if (st == ST_OK && c->aside != NULL)
            st = make_empty(dir, n, name, e);
        if (st != ST_OK)
            return st;
        c->rejected |= c->aside == NULL;
        check_found(c, "journal-missing", no_key,
                    c->aside == NULL ? NULL : "an empty one is there now",
                    "%s: the file is gone, with what was in it", path);
    }
    return st;
}

/* Those that SEGMENTS names and that are not between others. */
static enum status
check_ends(struct check *c, const char *dir, const struct wal_segments *s,
           const struct wal_extent *x, struct error *e)
{
    uint64_t first = s->len == 0 ? x->last + 1 : s->numbers[0];
    uint64_t last = s->len == 0 ? x->last : s->numbers[s->len - 1];
    enum status st = ST_OK;

    if (x->last < x->first)
        return ST_OK;
    if (x->first < first)
        st = check_gap(c, dir, x->first, first, e);
    if (st == ST_OK && last < x->last)
        st = check_gap(c, dir, last + 1, x->last + 1, e);
    return st;
}

static enum status
check_segments(struct check *c, const char *dir, const struct wal_segments *s,
               struct error *e)
{
    struct wal_extent x;
    struct error why;
    enum status st = wal_extent_read(dir, &x, &why);

    if (st == ST_OK)
        return check_ends(c, dir, s, &x, e);
    if (st == ST_NOT_FOUND)
        return ST_OK;
    if (st != ST_CORRUPT)
        return error_set(e, st, "%s", why.text);
    c->rejected |= c->aside == NULL;
    st = c->aside == NULL ? ST_OK : check_move_aside(c, dir, "SEGMENTS", e);
    if (st == ST_OK)
        check_found(c, "journal-segments", no_key,
                    c->aside == NULL ? NULL : "the next start makes another",
                    "%s", why.text);
    return st;
}

enum status
check_journal(const char *dir, struct check *c, struct error *e)
{
    struct wal_segments s = { NULL, 0 };
    char path[FILES_PATH_MAX];
    struct format f;
    enum status st = files_join(dir, "journal", path, e);

    if (st == ST_OK)
        st = format_read(dir, &f, e);
    if (st == ST_OK)
        st = list(path, &s, e);
    if (st == ST_OK)
        st = check_segments(c, path, &s, e);
    for (size_t i = 0; i < s.len && st == ST_OK; i++) {
        if (i > 0)
            st = check_gap(c, path, s.numbers[i - 1] + 1, s.numbers[i], e);
        if (st == ST_OK)
            st =
                check_file(c, path, s.numbers[i], i == s.len - 1, &f.layout, e);
    }
    free(s.numbers);
    return st;
}
