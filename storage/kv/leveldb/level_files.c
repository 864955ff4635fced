/* See storage/kv/leveldb/level_files.h.
 *
 * What may be cut off:
 *
 * - of a log, all from the first bad record on, if that lies behind what SYNCED
 *   says: no client was promised that it is there.  With it goes what later
 * logs hold, so that no row is there without the names that were written before
 *   it: what is left is what was there at some moment.  Batches are numbered
 *   one after another, so a log that lacks its end is found out by the next;
 * - of the MANIFEST, its last record, if it lies so.  LevelDB syncs each before
 *   it goes on, so only one can be on its way; and only then does it delete the
 *   logs and tables that this record makes needless.  So if they are there, the
 *   version before it is whole.  It goes, too, if it is whole but names a table
 *   that is not there: the folder is synced after it is written.
 */
#include "config.h"

#include "storage/kv/leveldb/level_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "base/durable.h"
#include "storage/kv/leveldb/level_log.h"
#include "storage/kv/leveldb/level_manifest.h"

#define MARK_NAME "SYNCED"
#define MARK_MAX  65536
#define NAME_SIZE 32 /* of a log or MANIFEST */

/* -- names ----------------------------------------------------------------- */

static bool
log_number(const char *name, uint64_t *number)
{
    size_t n = strlen(name);

    return n > 4 && strcmp(name + n - 4, ".log") == 0 &&
           number_parse_u64(slice_of(name, n - 4), number);
}

static char *
log_path(const char *dir, uint64_t number)
{
    char name[NAME_SIZE];

    (void)snprintf(name, sizeof name, "%06" PRIu64 ".log", number);
    return files_path(dir, name);
}

static char *
manifest_path(const char *dir, uint64_t number)
{
    char name[NAME_SIZE];

    (void)snprintf(name, sizeof name, "MANIFEST-%06" PRIu64, number);
    return files_path(dir, name);
}

/* ST_NOT_FOUND when CURRENT does not name one. */
static enum status
current_manifest(const char *dir, uint64_t *number, struct error *e)
{
    static const char start[] = "MANIFEST-";
    char *path = files_path(dir, "CURRENT");
    struct buf text = BUF_INIT;
    enum status st = files_read(path, NAME_SIZE, &text, e);
    struct slice s = buf_slice(&text);
    size_t n = sizeof start - 1;

    if (st == ST_OK &&
        (!slice_starts(s, slice_str(start)) || s.data[s.size - 1] != '\n' ||
         !number_parse_u64(slice_of(s.data + n, s.size - n - 1), number)))
        st = error_set(e, ST_NOT_FOUND, "'%s' names no MANIFEST", path);
    buf_fini(&text);
    free(path);
    return st;
}

/* -- marks ----------------------------------------------------------------- */

void
level_mark_fini(struct level_mark *m)
{
    free(m->logs);
    *m = (struct level_mark){ 0 };
}

static void
add_log(struct level_mark *m, uint64_t number, uint64_t synced)
{
    size_t at = m->len;

    m->logs = mem_resize(m->logs, m->len + 1, sizeof *m->logs);
    for (; at > 0 && m->logs[at - 1].number > number; at--)
        m->logs[at] = m->logs[at - 1];
    m->logs[at] = (struct level_log){ number, synced };
    m->len++;
}

enum status
level_files_list(const char *dir, struct level_mark *out, struct error *e)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    struct stat info;
    uint64_t number;

    *out = (struct level_mark){ 0 };
    if (d == NULL)
        return error_set(e, ST_IO, "cannot read the folder '%s': %s", dir,
                         strerror(errno));
    /* One that goes meanwhile is in a table now, which is synced. */
    while ((entry = readdir(d)) != NULL)
        if (log_number(entry->d_name, &number) &&
            fstatat(dirfd(d), entry->d_name, &info, 0) == 0)
            add_log(out, number, (uint64_t)info.st_size);
    (void)closedir(d);
    return ST_OK;
}

static enum status
sync_path(const char *path, struct error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum status st;

    if (fd < 0 && errno == ENOENT)
        return ST_OK;
    if (fd < 0)
        return error_set(e, ST_IO, "cannot open '%s' to sync it: %s", path,
                         strerror(errno));
    st = files_sync_fd(fd, path, e);
    (void)close(fd);
    return st;
}

/* Up to its last whole record: LevelDB may be writing the next one.  What the
 * mark before says is not read again: while it is open a MANIFEST only grows.
 */
static enum status
sync_manifest(const char *dir, struct level_mark *m, struct error *e)
{
    struct level_log_end end;
    uint64_t before = m->manifest, from = m->manifest_synced;
    enum status st = current_manifest(dir, &m->manifest, e);
    char *path;
    int fd;

    if (st != ST_OK)
        return st == ST_NOT_FOUND ? error_wrap(e, ST_IO, "sync") : st;
    if (m->manifest != before)
        from = 0;
    path = manifest_path(dir, m->manifest);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        st = error_set(e, ST_IO, "cannot open '%s': %s", path, strerror(errno));
    } else {
        st = level_log_read(fd, path, from, NULL, NULL, &end, e);
        m->manifest_synced = end.good;
        if (st == ST_OK)
            st = files_sync_fd(fd, path, e);
        (void)close(fd);
    }
    free(path);
    return st;
}

enum status
level_files_sync(const char *dir, struct level_mark *m, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < m->len && st == ST_OK; i++) {
        char *path = log_path(dir, m->logs[i].number);

        st = sync_path(path, e);
        free(path);
    }
    if (st == ST_OK)
        st = sync_manifest(dir, m, e);
    return st == ST_OK ? files_sync_dir(dir, e) : st;
}

static void
mark_text(const struct level_mark *m, struct buf *out)
{
    buf_printf(out, "halite synced 1\n");
    buf_printf(out, "manifest %" PRIu64 " %" PRIu64 "\n", m->manifest,
               m->manifest_synced);
    for (size_t i = 0; i < m->len; i++)
        buf_printf(out, "log %" PRIu64 " %" PRIu64 "\n", m->logs[i].number,
                   m->logs[i].synced);
    buf_printf(out, "crc32c %08x\n", (unsigned)crc32c(buf_slice(out)));
}

enum status
level_files_note(const char *dir, const struct level_mark *m, struct error *e)
{
    struct buf text = BUF_INIT;
    enum status st;

    mark_text(m, &text);
    st = text.failed ? error_set(e, ST_IO, "no memory for a mark")
                     : files_replace(dir, MARK_NAME, buf_slice(&text), e);
    buf_fini(&text);
    return st;
}

/* Only what mark_text() writes is taken: the caller compares. */
static bool
mark_parse(const char *text, struct level_mark *m)
{
    int used = 0;
    uint64_t number, synced;

    if (sscanf(text, "halite synced 1\nmanifest %" SCNu64 " %" SCNu64 "\n%n",
               &m->manifest, &m->manifest_synced, &used) != 2)
        return false;
    text += used;
    while (sscanf(text, "log %" SCNu64 " %" SCNu64 "\n%n", &number, &synced,
                  &used) == 2) {
        add_log(m, number, synced);
        text += used;
    }
    return true;
}

enum status
level_mark_read(const char *dir, struct level_mark *m, struct error *e)
{
    char *path = files_path(dir, MARK_NAME);
    struct buf text = BUF_INIT, again = BUF_INIT;
    enum status st = files_read(path, MARK_MAX, &text, e);

    *m = (struct level_mark){ 0 };
    if (st == ST_OK && mark_parse(buf_cstr(&text), m))
        mark_text(m, &again);
    if (st == ST_OK &&
        (again.size == 0 || !slice_eq(buf_slice(&again), buf_slice(&text))))
        st = error_set(e, ST_CORRUPT, "'%s' is damaged", path);
    buf_fini(&text);
    buf_fini(&again);
    free(path);
    return st;
}

/* -- before it is opened --------------------------------------------------- */

struct check {
    const char *dir;
    struct level_mark mark;
    struct level_history history;
    bool understood; /* each record of the MANIFEST */
    uint64_t next;   /* the number that the next batch has; 0: any */
    bool broken;     /* nothing more is to be taken from logs */
};

uint64_t
level_mark_synced(const struct level_mark *m, uint64_t number)
{
    for (size_t i = 0; i < m->len; i++)
        if (m->logs[i].number == number)
            return m->logs[i].synced;
    /* A later one was begun after the sync; of another nothing is known. */
    return m->len == 0 || number > m->logs[m->len - 1].number ? 0 : UINT64_MAX;
}

uint64_t
level_mark_manifest(const struct level_mark *m, uint64_t number)
{
    if (number == m->manifest)
        return m->manifest_synced;
    /* A later one had its first record synced before CURRENT named it. */
    return number > m->manifest ? 1 : UINT64_MAX;
}

static enum status
damaged(const char *path, uint64_t at, struct error *e)
{
    return error_set(e, ST_CORRUPT,
                     "'%s' is damaged at offset %" PRIu64
                     ", which had been on the disk",
                     path, at);
}

static enum status
cut(int fd, const char *path, const struct level_log_end *end, struct error *e)
{
    log_warn("storage",
             "%s: cut off %" PRIu64 " bytes at offset %" PRIu64
             ", which had not been synced when power failed",
             path, end->size - end->good, end->good);
    if (ftruncate(fd, (off_t)end->good) != 0)
        return error_set(e, ST_IO, "cannot cut '%s': %s", path,
                         strerror(errno));
    crash_point("open-engine-cut");
    return files_sync_fd(fd, path, e);
}

static enum status
apply_edit(void *ctx, struct slice record, struct error *e)
{
    struct check *c = ctx;

    (void)e;
    c->understood &= level_history_add(&c->history, record);
    return ST_OK;
}

/* What the version needs and was synced must be there. */
static enum status
check_logs_are_there(const struct check *c, struct error *e)
{
    for (size_t i = 0; i < c->mark.len; i++) {
        const struct level_log *l = &c->mark.logs[i];
        char *path = log_path(c->dir, l->number);
        struct stat info;
        enum status st = ST_OK;

        if (!level_version_needs(&c->history.now, l->number))
            st = ST_OK;
        else if (stat(path, &info) != 0)
            st = error_set(e, ST_CORRUPT, "'%s' is not there any more", path);
        else if ((uint64_t)info.st_size < l->synced)
            st = damaged(path, (uint64_t)info.st_size, e);
        free(path);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

static enum status
check_manifest_file(struct check *c, uint64_t number, int fd, const char *path,
                    struct error *e)
{
    struct level_log_end end;
    enum status st = level_log_read(fd, path, 0, apply_edit, c, &end, e);
    uint64_t synced = level_mark_manifest(&c->mark, number);

    if (st != ST_OK || !c->understood)
        return st;
    if (end.good < synced || (end.good < end.size && end.follows))
        return damaged(path, end.good, e);
    if (end.last >= synced && level_history_is_ahead(&c->history, c->dir)) {
        level_history_back(&c->history);
        end.good = end.last;
    }
    st = check_logs_are_there(c, e);
    return st == ST_OK && end.good < end.size ? cut(fd, path, &end, e) : st;
}

static enum status
check_manifest(struct check *c, struct error *e)
{
    uint64_t number;
    enum status st = current_manifest(c->dir, &number, e);
    char *path;
    int fd;

    if (st != ST_OK)
        return st == ST_NOT_FOUND ? ST_OK : st;
    path = manifest_path(c->dir, number);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        c->understood = true;
        st = check_manifest_file(c, number, fd, path, e);
        (void)close(fd);
    }
    free(path);
    return st;
}

static enum status
take_batch(void *ctx, struct slice record, struct error *e)
{
    struct check *c = ctx;
    struct level_batch b;

    if (c->broken || !level_batch_of(record, &b) ||
        (c->next != 0 && b.first != c->next))
        return ST_NOT_FOUND;
    c->next = b.first + b.len;
    return ST_OK;
}

static enum status
check_log(struct check *c, uint64_t number, bool newest, struct error *e)
{
    char *path = log_path(c->dir, number);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct level_log_end end;
    enum status st;

    if (fd < 0) {
        st = error_set(e, ST_IO, "cannot open '%s': %s", path, strerror(errno));
    } else {
        st = level_log_read(fd, path, 0, take_batch, c, &end, e);
        if (st == ST_OK && end.good < end.size)
            st = end.good < level_mark_synced(&c->mark, number)
                     ? damaged(path, end.good, e)
                     : cut(fd, path, &end, e);
        /* No log is left behind empty. */
        if (end.good < end.size || (end.size == 0 && !newest))
            c->broken = true;
        (void)close(fd);
    }
    free(path);
    return st;
}

enum status
level_files_check(const char *dir, struct error *e)
{
    struct check c = { .dir = dir, .history = { .last = BUF_INIT } };
    struct level_mark there = { 0 };
    enum status st = level_mark_read(dir, &c.mark, e);

    if (st == ST_NOT_FOUND)
        return ST_OK;
    if (st == ST_OK)
        st = check_manifest(&c, e);
    if (st == ST_OK && c.understood)
        st = level_files_list(dir, &there, e);
    for (size_t i = 0; i < there.len && st == ST_OK; i++)
        if (level_version_needs(&c.history.now, there.logs[i].number))
            st = check_log(&c, there.logs[i].number, i + 1 == there.len, e);
    level_mark_fini(&there);
    level_mark_fini(&c.mark);
    level_history_fini(&c.history);
    return st;
}
