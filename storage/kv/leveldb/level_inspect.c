/* See storage/kv/leveldb/level_inspect.h.
 *
 * What may be cut off:
 *
 * - of a log, all from the first bad record on, if that lies behind what SYNCED
 *   says: the engine never promised that it is there.  With it goes what later
 *   logs hold, so that no row is there without the names that were written
 *   before it: what is left is what was there at some moment.  Batches are
 *   numbered one after another, so the next log shows that a log lacks its end;
 * - of the MANIFEST, its last record, if it lies so.  LevelDB syncs each before
 *   it goes on, so only one can be on its way; and only then does it delete the
 *   logs and tables that this record makes needless.  So if they are there, the
 *   version before it is whole.  It goes, too, if it is whole but names a table
 *   that is not there: the folder is synced after it is written. */
#include "storage/kv/leveldb/level_inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/process/crash.h"
#include "base/file/durable.h"
#include "base/file/file.h"
#include "base/process/log.h"
#include "storage/kv/leveldb/level_log.h"
#include "storage/kv/leveldb/level_table.h"

static enum status
damage(struct level_inspection *x, enum level_part part, const char *path,
       uint64_t at, const char *text, struct error *e)
{
    const struct level_fault f = {
        .part = part, .damage = true, .path = path, .at = at, .text = text
    };

    return x->report(x, &f, e);
}

/* 'end' is that of a log or MANIFEST which is not good to its end, or which
 * lacks its end. */
static enum status
log_fault(struct level_inspection *x, enum level_part part, const char *path,
          const struct level_log_end *end, uint64_t synced, struct error *e)
{
    const struct level_fault f = {
        .part = part,
        .damage = x->has_mark ? end->good < synced : end->follows,
        .path = path,
        .at = end->good,
        .size = end->size,
        .text = end->good == end->size
                    ? "it ends before what had been synced"
                    : "a record is damaged, incomplete or out of sequence",
    };

    return x->report(x, &f, e);
}

static enum status
read_mark(struct level_inspection *x, struct error *e)
{
    struct error why;
    enum status st = level_mark_read(x->dir, &x->mark, &why);

    x->files++;
    x->has_mark = st == ST_OK;
    if (st == ST_CORRUPT)
        return damage(x, LEVEL_SYNCED, x->dir, 0, why.text, e);
    return st == ST_OK || st == ST_NOT_FOUND ? ST_OK
                                             : error_set(e, st, "%s", why.text);
}

/* Says so when the file is missing, and not when that cannot be known. */
static enum status
look_for(struct level_inspection *x, const char *path, bool *found,
         struct error *e)
{
    *found = access(path, F_OK) == 0;
    if (*found)
        return ST_OK;
    if (errno != ENOENT)
        return error_set(e, ST_IO, "look for '%s': %m", path);
    return damage(x, LEVEL_MISSING, path, 0, "is missing", e);
}

/* -- the MANIFEST ---------------------------------------------------------- */

static enum status
apply_edit(void *ctx, struct slice record, struct error *e)
{
    struct level_inspection *x = ctx;

    (void)e;
    x->understood &= level_history_add(&x->history, record);
    return ST_OK;
}

/* The log that the MANIFEST names is there, and those that had been synced. */
static enum status
find_logs(struct level_inspection *x, struct error *e)
{
    char *path = level_file_path(x->dir, LEVEL_FILE_LOG, x->history.now.log);
    bool found;
    enum status st = look_for(x, path, &found, e);

    free(path);
    for (size_t i = 0; i < x->mark.len && st == ST_OK; i++) {
        uint64_t number = x->mark.logs[i].number;

        if (number == x->history.now.log ||
            !level_version_needs(&x->history.now, number))
            continue;
        path = level_file_path(x->dir, LEVEL_FILE_LOG, number);
        st = look_for(x, path, &found, e);
        free(path);
    }
    return st;
}

static enum status
read_edits(struct level_inspection *x, uint64_t number, const char *path,
           struct error *e)
{
    uint64_t synced = level_mark_manifest(&x->mark, number);
    struct level_log_end end;
    enum status st;

    x->understood = true;
    st = level_log_read(path, 0, apply_edit, x, &end, e);
    if (st == ST_NOT_FOUND)
        x->understood = false;
    if (st == ST_NOT_FOUND)
        return damage(x, LEVEL_MANIFEST, path, 0, "is missing", e);
    if (st != ST_OK)
        return st;
    x->files++;
    x->bytes += end.size;
    if (!x->understood || (x->history.now.log == 0 && end.good == end.size))
        return damage(x, LEVEL_MANIFEST, path, end.last,
                      "an edit cannot be understood, or none names a log", e);
    /* LevelDB syncs each edit before it writes the next. */
    if (end.good < end.size && end.follows)
        synced = UINT64_MAX;
    if (x->has_mark && end.last >= synced &&
        level_history_is_ahead(&x->history, x->dir)) {
        level_history_back(&x->history);
        end.good = end.last;
    }
    x->is_short = end.good < end.size || (x->has_mark && end.good < synced);
    if (x->is_short)
        st = log_fault(x, LEVEL_MANIFEST, path, &end, synced, e);
    x->understood &= x->history.now.log != 0;
    return st;
}

static enum status
read_manifest(struct level_inspection *x, struct error *e)
{
    uint64_t number;
    struct error why;
    enum status st = level_current_manifest(x->dir, &number, &why);
    char *path;

    x->files++;
    if (st == ST_NOT_FOUND)
        return damage(x, LEVEL_CURRENT, x->dir, 0, why.text, e);
    if (st != ST_OK)
        return error_set(e, st, "%s", why.text);
    path = level_file_path(x->dir, LEVEL_FILE_MANIFEST, number);
    st = read_edits(x, number, path, e);
    free(path);
    return st;
}

/* -- logs ------------------------------------------------------------------ */

struct sequence {
    uint64_t next; /* the number that the next batch has; 0: any */
    bool broken;   /* what follows, in whichever log, is not taken */
};

static enum status
take_batch(void *ctx, struct slice record, struct error *e)
{
    struct sequence *s = ctx;
    struct level_batch b;

    (void)e;
    if (s->broken || !level_batch_of(record, &b) ||
        (s->next != 0 && b.first != s->next))
        return ST_NOT_FOUND;
    s->next = b.first + b.len;
    return ST_OK;
}

static enum status
check_log(struct level_inspection *x, uint64_t number, bool newest,
          struct sequence *s, struct error *e)
{
    uint64_t synced = level_mark_synced(&x->mark, number);
    char *path = level_file_path(x->dir, LEVEL_FILE_LOG, number);
    struct level_log_end end;
    enum status st = level_log_read(path, 0, take_batch, s, &end, e);

    if (st == ST_NOT_FOUND)
        st = ST_IO;
    if (st == ST_OK) {
        x->files++;
        x->bytes += end.size;
        if (end.good < end.size ||
            (x->has_mark && synced != UINT64_MAX && end.good < synced))
            st = log_fault(x, LEVEL_LOG, path, &end, synced, e);
        /* No log is left behind empty. */
        s->broken |= end.good < end.size || (end.size == 0 && !newest);
    }
    free(path);
    return st;
}

static enum status
check_logs(struct level_inspection *x, struct error *e)
{
    struct level_mark there = { 0 };
    struct sequence s = { 0 };
    enum status st = find_logs(x, e);

    if (st == ST_OK)
        st = level_files_list(x->dir, &there, e);
    for (size_t i = 0; i < there.len && st == ST_OK; i++)
        if (level_version_needs(&x->history.now, there.logs[i].number))
            st = check_log(x, there.logs[i].number, i + 1 == there.len, &s, e);
    level_mark_fini(&there);
    return st;
}

/* -- tables ---------------------------------------------------------------- */

static enum status
read_table(struct level_inspection *x, const char *path, uint64_t size,
           struct error *e)
{
    struct buf bytes = BUF_INIT;
    uint64_t blocks = 0;
    struct table_fault fault;
    enum status st = file_read(path, SIZE_MAX, &bytes, e);

    if (st == ST_OK) {
        x->files++;
        x->bytes += bytes.size;
        fault = level_table_check(buf_slice(&bytes), &blocks);
        if (fault.text == NULL && size != bytes.size)
            fault.text = "its size is not the MANIFEST's";
        if (fault.no_memory)
            st = error_set(e, ST_LIMIT, "%s: no memory for its index", path);
        else if (fault.text != NULL)
            st = damage(x, LEVEL_TABLE, path, fault.at, fault.text, e);
    }
    buf_fini(&bytes);
    return st;
}

static enum status
check_tables(struct level_inspection *x, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < x->history.now.len && st == ST_OK; i++) {
        const struct level_table *t = &x->history.now.tables[i];
        char *path = level_file_path(x->dir, LEVEL_FILE_TABLE, t->number);

        bool found;

        st = look_for(x, path, &found, e);
        if (found && x->reads_tables)
            st = read_table(x, path, t->size, e);
        free(path);
    }
    return st;
}

/* -- all ------------------------------------------------------------------- */

enum status
level_inspect(struct level_inspection *x, struct error *e)
{
    enum status st = read_mark(x, e);

    x->history = (struct level_history){ .last = BUF_INIT };
    if (st == ST_OK)
        st = read_manifest(x, e);
    if (st == ST_OK && x->understood)
        st = check_logs(x, e);
    if (st == ST_OK && x->understood)
        st = check_tables(x, e);
    return st;
}

void
level_inspection_fini(struct level_inspection *x)
{
    level_mark_fini(&x->mark);
    level_history_fini(&x->history);
}

bool
level_inspection_needs(const struct level_inspection *x, enum level_file file,
                       uint64_t number)
{
    const struct level_version *v = &x->history.now;
    uint64_t newest = v->log;

    if (file != LEVEL_FILE_LOG && file != LEVEL_FILE_TABLE)
        return false;
    if (!x->understood)
        return true;
    if (file == LEVEL_FILE_LOG)
        return level_version_needs(v, number);
    for (size_t i = 0; i < v->len; i++) {
        if (v->tables[i].number == number)
            return true;
        if (v->tables[i].number > newest)
            newest = v->tables[i].number;
    }
    return x->is_short && number > newest;
}

/* -- before a start -------------------------------------------------------- */

static enum status
cut(const struct level_fault *f, struct error *e)
{
    int fd = open(f->path, O_RDWR | O_CLOEXEC);
    enum status st;

    log_warn("storage",
             "%s: cut off %" PRIu64 " bytes at offset %" PRIu64
             ", which had not been synced when power failed",
             f->path, f->size - f->at, f->at);
    if (fd < 0 || ftruncate(fd, (off_t)f->at) != 0) {
        st = error_set(e, ST_IO, "cannot cut '%s': %m", f->path);
    } else {
        crash_point("open-engine-cut");
        st = files_sync_fd(fd, f->path, e);
    }
    if (fd >= 0)
        (void)close(fd);
    return st;
}

static enum status
start_report(struct level_inspection *x, const struct level_fault *f,
             struct error *e)
{
    if (f->part == LEVEL_SYNCED)
        return error_set(e, ST_CORRUPT, "%s", f->text);
    if (!x->has_mark || !x->understood)
        return ST_OK;
    if (!f->damage)
        return cut(f, e);
    if (f->part == LEVEL_MISSING)
        return error_set(e, ST_CORRUPT, "'%s' is missing", f->path);
    return error_set(e, ST_CORRUPT,
                     "'%s' is damaged at offset %" PRIu64
                     ", which had been on the disk",
                     f->path, f->at);
}

enum status
level_files_check(const char *dir, struct error *e)
{
    struct level_inspection x = { .dir = dir, .report = start_report };
    enum status st = level_inspect(&x, e);

    level_inspection_fini(&x);
    return st;
}
