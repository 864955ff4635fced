/*
 * SEGMENTS: which files of the WAL there are (docs/FORMAT.md, "Journal").
 *
 * It is written when a file was made, and before files are deleted; so what it
 * names is there, and only more can be.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/durable.h"
#include "storage/wal/wal_priv.h"

#define EXTENT_NAME "SEGMENTS"

enum status
wal_extent_read(const char *dir, struct wal_extent *out, struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st = files_get_text(dir, EXTENT_NAME, &text, e);

    if (st == ST_OK &&
        sscanf(buf_cstr(&text),
               "halite segments 1\nfirst %" SCNu64 "\nlast %" SCNu64,
               &out->first, &out->last) != 2)
        st = error_set(e, ST_CORRUPT, "'%s/" EXTENT_NAME "' is malformed", dir);
    buf_fini(&text);
    return st;
}

static enum status
extent_write(const char *dir, const struct wal_extent *x, struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st;

    buf_printf(&text,
               "halite segments 1\nfirst %" PRIu64 "\nlast %" PRIu64 "\n",
               x->first, x->last);
    st = files_put_text(dir, EXTENT_NAME, &text, e);
    buf_fini(&text);
    return st;
}

enum status
wal_note(struct wal *j, enum wal_end end, uint64_t segment, struct error *e)
{
    struct wal_extent x;
    enum status st = ST_OK;

    lock_take(&j->note_lock);
    x = j->noted;
    *(end == WAL_FIRST ? &x.first : &x.last) = segment;
    if (x.first != j->noted.first || x.last != j->noted.last)
        st = extent_write(j->dir, &x, e);
    if (st != ST_OK && end == WAL_FIRST) {
        x.last = 0;
        if (unlinkat(j->dir_fd, EXTENT_NAME, 0) == 0 || errno == ENOENT)
            st = ST_OK;
    }
    if (st == ST_OK || end == WAL_FIRST)
        j->noted = x;
    lock_drop(&j->note_lock);
    return st;
}
