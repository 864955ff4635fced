/* Opens, replays and closes a WAL: what happens to its folder.
 *
 * Before a new file is made, the last one is cut where a crash tore it, and
 * synced: from then on it is no longer the last, and a torn end is damage. */
#include "storage/wal/wal_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/durable.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/obj.h"

#define EXTENT_NAME "SEGMENTS"

static enum status open_files(struct wal *j, struct error *e);

/* -- life ----------------------------------------------------------------- */

static struct wal *
wal_new(const struct wal_options *o)
{
    struct wal *j = mem_new(sizeof *j);

    j->magic = WAL_MAGIC;
    j->io = (struct wal_io){ write, fdatasync };
    j->dir = mem_strdup(o->dir);
    j->dir_fd = -1;
    j->fd = -1;
    j->sync = o->sync;
    j->interval_ms = o->interval_ms == 0 ? 1000 : o->interval_ms;
    j->segment_bytes =
        o->segment_bytes == 0 ? (size_t)64 << 20 : o->segment_bytes;
    j->buffer_bytes = o->buffer_bytes == 0 ? (size_t)8 << 20 : o->buffer_bytes;
    if (j->buffer_bytes > WAL_MAX_PAYLOAD)
        j->buffer_bytes = WAL_MAX_PAYLOAD;
    lock_init(&j->note_lock);
    lock_init(&j->lock);
    cond_init(&j->changed);
    cond_init(&j->tick);
    return j;
}

static void
wal_free(struct wal **ref) NO_TS_CHECK
{
    struct wal *j = *ref;

    *ref = NULL;
    if (j->fd >= 0)
        (void)close(j->fd);
    if (j->dir_fd >= 0)
        (void)close(j->dir_fd);
    buf_fini(&j->buffers[0]);
    buf_fini(&j->buffers[1]);
    free(j->dir);
    cond_fini(&j->tick);
    cond_fini(&j->changed);
    lock_fini(&j->lock);
    lock_fini(&j->note_lock);
    OBJ_FREE(j);
}

enum status
wal_open(const struct wal_options *o, struct wal **out, struct error *e)
{
    struct wal *j = wal_new(o);
    enum status st = open_files(j, e);

    *out = NULL;
    if (st != ST_OK) {
        wal_free(&j);
        return st;
    }
    if (j->sync == WAL_SYNC_INTERVAL) {
        int rc = pthread_create(&j->thread, NULL, wal_interval_main, j);

        if (rc != 0) {
            errno = rc;
            wal_free(&j);
            return error_set(e, ST_IO, "start the WAL's thread: %m");
        }
    }
    *out = j;
    return ST_OK;
}

enum status
wal_close(struct wal **ref, struct error *e)
{
    struct wal *j = *ref;
    uint64_t lsn;
    enum status st;

    *ref = NULL;
    if (j == NULL)
        return ST_OK;
    OBJ_CHECK(j, WAL_MAGIC);
    lock_take(&j->lock);
    lsn = j->appended;
    lock_drop(&j->lock);
    st = wal_commit(j, lsn, true, e);
    if (j->sync == WAL_SYNC_INTERVAL) {
        lock_take(&j->lock);
        j->stopping = true;
        cond_signal(&j->tick);
        lock_drop(&j->lock);
        INSIST(pthread_join(j->thread, NULL) == 0);
    }
    wal_free(&j);
    return st;
}

/* -- SEGMENTS ------------------------------------------------------------- */

/* Which files of the WAL there are (docs/FORMAT.md, "Write-ahead log").  It is
 * written when a file was made, and before files are deleted; so what it names
 * is there, and only more can be. */
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

/* -- opening -------------------------------------------------------------- */

static enum status
open_folder(struct wal *j, struct error *e)
{
    enum status st = files_make_dir(j->dir, e);

    if (st != ST_OK)
        return st;
    j->dir_fd = open(j->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return j->dir_fd < 0 ? error_set(e, ST_IO, "open %s: %m", j->dir) : ST_OK;
}

enum status
wal_make_file(struct wal *j, struct wal_begun *b, struct error *e)
{
    uint8_t header[WAL_FILE_HEADER];
    char name[WAL_NAME_SIZE];
    enum status st;

    wal_name(b->segment, name);
    b->file_key = wal_file_header(b->segment, hash_random_seed(), header);
    b->fd =
        openat(j->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (b->fd < 0)
        return error_set(e, ST_IO, "make %s/%s: %m", j->dir, name);
    st = file_write_fd(b->fd, name, slice_of(header, sizeof header), e);
    crash_point("rotate-headed");
    if (st == ST_OK && (fsync(b->fd) != 0 || fsync(j->dir_fd) != 0))
        st = error_set(e, ST_IO, "make %s/%s: %m", j->dir, name);
    crash_point("rotate-made");
    if (st == ST_OK)
        st = wal_note(j, WAL_LAST, b->segment, e);
    crash_point("rotate-noted");
    if (st != ST_OK)
        (void)close(b->fd);
    return st;
}

/* Cuts a torn tail off.  Whole or cut, the file must be on the disk before a
 * later one exists: then a torn end of it would be damage. */
static enum status
cut_tail(const struct wal_file *w, uint64_t good, struct error *e)
{
    int fd = open(w->path, O_WRONLY | O_CLOEXEC);
    enum status st = ST_OK;

    if (fd < 0)
        return error_set(e, ST_IO, "open %s: %m", w->path);
    if (good < w->bytes.size) {
        log_warn("wal",
                 "%s: cut off %" PRIu64 " bytes at offset %" PRIu64
                 ", which a crash left",
                 w->path, w->bytes.size - good, good);
        if (ftruncate(fd, (off_t)good) != 0)
            st = error_set(e, ST_IO, "cut %s at offset %" PRIu64 ": %m",
                           w->path, good);
        crash_point("open-journal-cut");
    }
    if (st == ST_OK)
        st = files_sync_fd(fd, w->path, e);
    (void)close(fd);
    return st;
}

/* The last file, without its torn tail; one that holds nothing then is deleted,
 * and its number is free.  Otherwise the next one is. */
static enum status
close_last(struct wal *j, uint64_t *segment, struct error *e)
{
    struct wal_file w;
    uint64_t size = 0;
    enum status st = wal_file_load(j->dir, *segment, true, &w, e);

    if (st == ST_OK)
        st = wal_file_read(&w, NULL, NULL, &size, e);
    if (st == ST_OK)
        st = cut_tail(&w, size, e);
    wal_file_fini(&w);
    if (st == ST_OK && size > WAL_FILE_HEADER) {
        ++*segment;
        return ST_OK;
    }
    if (st == ST_OK)
        st = wal_note(j, WAL_LAST, *segment - 1, e);
    return st == ST_OK ? wal_delete_file(j, *segment, e) : st;
}

uint64_t
wal_size(const struct wal *j, uint64_t segment)
{
    char name[WAL_NAME_SIZE];
    struct stat info;

    wal_name(segment, name);
    return fstatat(j->dir_fd, name, &info, 0) == 0 ? (uint64_t)info.st_size : 0;
}

/* Are the files there that SEGMENTS names?  There is none in a new folder, and
 * where it could not be written. */
static enum status
check_extent(const struct wal *j, size_t len, struct error *e) NO_TS_CHECK
{
    struct wal_extent x;
    enum status st = wal_extent_read(j->dir, &x, e);

    if (st == ST_NOT_FOUND || (st == ST_OK && x.last < x.first))
        return ST_OK;
    if (st != ST_OK)
        return st;
    if (len == 0 || j->first > x.first || j->first + len - 1 < x.last)
        return error_set(e, ST_CORRUPT,
                         "%s: there should be segments %" PRIu64 " to %" PRIu64
                         ", and some are gone",
                         j->dir, x.first, x.last);
    return ST_OK;
}

/* Which segments there are; none may be missing between others. */
static enum status
list_files(struct wal *j, size_t *len, struct error *e)
{
    struct wal_segments s;
    enum status st = wal_list(j->dir, &s, e);

    for (size_t i = 1; i < s.len && st == ST_OK; i++)
        if (s.numbers[i] != s.numbers[i - 1] + 1)
            st = error_set(e, ST_CORRUPT,
                           "%s: segment %" PRIu64 " is missing between "
                           "others",
                           j->dir, s.numbers[i - 1] + 1);
    j->first = s.len == 0 ? 1 : s.numbers[0];
    *len = s.len;
    free(s.numbers);
    return st;
}

static enum status
open_files(struct wal *j, struct error *e) NO_TS_CHECK
{
    struct wal_begun begun = { 0 };
    size_t len = 0;
    enum status st = open_folder(j, e);

    if (st == ST_OK)
        st = list_files(j, &len, e);
    if (st == ST_OK)
        st = check_extent(j, len, e);
    if (st != ST_OK)
        return st;
    j->noted.first = begun.segment = j->first;
    if (len > 0) {
        begun.segment += len - 1;
        st = close_last(j, &begun.segment, e);
    }
    if (st == ST_OK)
        st = wal_make_file(j, &begun, e);
    if (st != ST_OK)
        return st;
    wal_begin_file(j, &begun);
    j->replay_end = begun.segment;
    atomic_store(&j->append_segment, begun.segment);
    return ST_OK;
}

enum status
wal_replay(struct wal *j, wal_record_fn *f, void *ctx, struct error *e)
{
    uint64_t segment;
    enum status st = ST_OK;

    OBJ_CHECK(j, WAL_MAGIC);
    lock_take(&j->lock);
    segment = j->first;
    lock_drop(&j->lock);
    for (; st == ST_OK && segment < j->replay_end; segment++) {
        struct wal_file w;
        uint64_t good;

        st = wal_file_load(j->dir, segment, false, &w, e);
        if (st == ST_OK)
            st = wal_file_read(&w, f, ctx, &good, e);
        wal_file_fini(&w);
    }
    return st;
}
