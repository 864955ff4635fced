/*
 * The files of the WAL: each record's checksums, and whether it says
 * something.
 *
 * Repaired, a file keeps its whole records: none needs another to be read, and
 * points whose series was defined in a damaged one are skipped at replay.  The
 * file as it was is kept aside.  A file that is missing becomes an empty one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "storage/fsck/fsck_priv.h"
#include "base/file/durable.h"
#include "storage/place/format.h"
#include "storage/wal/wal_files.h"
#include "storage/wal/wal_record.h"

static const struct slice no_key = { NULL, 0 };

static enum status
read_record(void *ctx, uint64_t segment, uint8_t type, struct slice payload,
            struct error *e)
{
    enum status st = record_check(ctx, type, payload, e);

    return st == ST_OK ? ST_OK
                       : error_wrap(e, st, "WAL segment %" PRIu64, segment);
}

static enum status
check_file(struct check *c, const char *dir, struct wal_segment *w,
           struct key_layout *layout, struct error *e)
{
    uint64_t good = 0, size = w->bytes.size;
    struct error why;
    enum status st = wal_segment_read(w, read_record, layout, &good, &why);

    c->files++;
    c->bytes += size;
    if (st == ST_OK && good < size)
        check_note(c, "journal-tail",
                   "%s: %" PRIu64 " bytes at offset %" PRIu64
                   " were never synced, and are cut off at the next start",
                   w->path, size - good, good);
    if (st == ST_OK)
        return ST_OK;
    if (st != ST_CORRUPT)
        return error_set(e, st, "%s", why.text);
    if (c->aside != NULL) {
        char name[WAL_NAME_SIZE];
        struct wal_salvage s = { .bytes = BUF_INIT };

        /* Keeps all of the file aside, and the whole records in its place. */
        wal_name(w->segment, name);
        st = check_write_aside(c, name, buf_slice(&w->bytes), e);
        if (st == ST_OK)
            st = wal_segment_salvage(w, read_record, layout, &s, e);
        if (st == ST_OK)
            st = files_replace(dir, name, buf_slice(&s.bytes), e);
        if (st == ST_OK)
            check_found(c, "journal-damage", no_key,
                        "whole records stay; the file as it was is kept aside",
                        "%s; %" PRIu64 " records are whole, %" PRIu64
                        " bytes are not kept",
                        why.text, s.records, s.lost);
        buf_fini(&s.bytes);
        return st;
    }
    c->rejected = true;
    check_found(c, "journal-damage", no_key, NULL, "%s", why.text);
    return ST_OK;
}

/* Files that are missing between others; repaired, they are empty ones. */
static enum status
check_gap(struct check *c, const char *dir, uint64_t from, uint64_t to,
          struct error *e)
{
    enum status st = ST_OK;

    for (uint64_t n = from; n < to && st == ST_OK; n++) {
        char name[WAL_NAME_SIZE];
        uint8_t header[WAL_SEGMENT_HEADER];

        wal_name(n, name);
        (void)wal_segment_header(n, hash_random_seed(), header);
        if (c->aside != NULL)
            st = files_replace(dir, name, slice_of(header, sizeof header), e);
        if (st != ST_OK)
            return st;
        c->rejected |= c->aside == NULL;
        check_found(c, "journal-missing", no_key, "an empty one is there now",
                    "%s/%s: the file is gone, with what was in it", dir, name);
    }
    return st;
}

enum status
check_wal(const char *dir, struct check *c, struct error *e)
{
    struct wal_segments s = { NULL, 0 };
    char *path = files_path(dir, "journal");
    struct format f;
    enum status st = format_read(dir, &f, e);

    if (st == ST_OK) {
        /* A folder that is not there has none. */
        if (access(path, F_OK) != 0 && errno == ENOENT)
            st = ST_OK;
        else
            st = wal_list(path, &s, e);
    }
    for (size_t i = 0; i < s.len && st == ST_OK; i++) {
        struct wal_segment w = { .path = NULL };

        if (i > 0)
            st = check_gap(c, path, s.numbers[i - 1] + 1, s.numbers[i], e);
        if (st == ST_OK)
            st = wal_files_load(path, s.numbers[i], i == s.len - 1, &w, e);
        if (st == ST_OK)
            st = check_file(c, path, &w, &f.layout, e);
        wal_segment_fini(&w);
    }
    free(s.numbers);
    free(path);
    return st;
}
