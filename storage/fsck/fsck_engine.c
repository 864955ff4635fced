/* The files of LevelDB (storage/kv/leveldb/level_inspect.h), reported.
 *
 * Repaired, the engine is made anew of all that checks: records of the logs and
 * blocks of the tables.  The old one is kept aside as a whole. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/fsck/fsck_priv.h"
#include "base/file/durable.h"
#include "base/file/file.h"
#include "storage/place/datadir.h"
#include "storage/kv/kv.h"
#include "storage/kv/leveldb/level_inspect.h"
#include "storage/kv/leveldb/level_log.h"

static const struct slice no_key = { NULL, 0 };

struct engine_check {
    struct level_inspection inspection;
    struct check *c;
    uint64_t found; /* in the engine */
};

static enum status
report(struct level_inspection *i, const struct level_fault *f, struct error *e)
{
    static const char *const codes[] = {
        [LEVEL_SYNCED] = "engine-synced",
        [LEVEL_CURRENT] = "engine-current",
        [LEVEL_MANIFEST] = "engine-manifest",
        [LEVEL_LOG] = "engine-log",
        [LEVEL_TABLE] = "engine-table",
        [LEVEL_MISSING] = "engine-missing",
    };
    struct engine_check *x = (struct engine_check *)i;

    (void)e;
    if (!f->damage) {
        check_note(x->c, "engine-tail",
                   "%s: bytes %" PRIu64 " to %" PRIu64
                   " are not whole and were never synced: the next start cuts "
                   "them off",
                   f->path, f->at, f->size);
        return ST_OK;
    }
    x->found++;
    return check_found(x->c, codes[f->part], no_key,
                       "the engine is made anew of what is whole",
                       "%s at offset %" PRIu64 ": %s", f->path, f->at, f->text);
}

static enum status
keep_batch(void *ctx, struct slice record, struct error *e)
{
    struct level_batch b;

    if (level_batch_of(record, &b))
        level_log_put(ctx, record);
    return ((struct buf *)ctx)->failed
               ? error_set(e, ST_IO, "no memory for a log")
               : ST_OK;
}

/* The whole records of a log, in a log of their own. */
static enum status
purify_log(const char *from, const char *to, struct error *e)
{
    struct buf out = BUF_INIT;
    enum status st = level_log_salvage(from, keep_batch, &out, e);

    if (st == ST_OK)
        st = files_write(to, buf_slice(&out), e);
    buf_fini(&out);
    return st;
}

static enum status
gather_one(struct engine_check *x, const char *to, const char *name,
           struct error *e)
{
    char *a = files_path(x->inspection.dir, name), *b = files_path(to, name);
    uint64_t number;
    enum level_file file = level_file_of(name, &number);
    enum status st = ST_OK;

    if (level_inspection_needs(&x->inspection, file, number)) {
        if (file == LEVEL_FILE_LOG)
            st = purify_log(a, b, e);
        else if (link(a, b) != 0)
            st = error_set(e, ST_IO, "link %s: %m", a);
    }
    free(a);
    free(b);
    return st;
}

static enum status
gather(struct engine_check *x, const char *to, struct error *e)
{
    const struct dirent *entry;
    enum status st = ST_OK;
    DIR *d;

    if (mkdir(to, 0777) != 0)
        return error_set(e, ST_IO, "make %s: %m", to);
    d = opendir(x->inspection.dir);
    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", x->inspection.dir);
    while (st == ST_OK &&
           (st = dir_next(d, x->inspection.dir, &entry, e)) == ST_OK &&
           entry != NULL)
        st = gather_one(x, to, entry->d_name, e);
    (void)closedir(d);
    return st;
}

/* What a repair makes on its way, in the data folder:
 *
 *     engine.parts   the files that the new engine is made of
 *     engine.making  the new engine, not complete
 *     engine.new     the same, complete and on the disk
 *
 * Only then the old one is moved aside, and engine.new becomes 'engine'.  So
 * without 'engine' an engine.new is complete. */
struct paths {
    char *engine, *parts, *making, *whole;
};

static struct paths
paths_of(const char *dir)
{
    return (struct paths){ .engine = files_path(dir, "engine"),
                           .parts = files_path(dir, "engine.parts"),
                           .making = files_path(dir, "engine.making"),
                           .whole = files_path(dir, "engine.new") };
}

static void
paths_fini(struct paths *p)
{
    free(p->engine);
    free(p->parts);
    free(p->making);
    free(p->whole);
}

static enum status
make_anew(struct engine_check *x, const char *dir, const struct paths *p,
          struct error *e)
{
    uint64_t keys = 0;
    enum status st = folder_delete_leftovers(dir, e);

    if (st == ST_OK)
        st = gather(x, p->parts, e);
    if (st == ST_OK)
        st = kv_salvage(p->parts, p->making, &keys, e);
    if (st == ST_OK)
        st = folder_rename(p->making, p->whole, e);
    if (st == ST_OK)
        st = check_move_aside(x->c, dir, "engine", e);
    if (st == ST_OK)
        st = folder_rename(p->whole, p->engine, e);
    if (st == ST_OK)
        st = folder_delete_leftovers(dir, e);
    if (st == ST_OK)
        check_note(x->c, "engine-anew", "%s was made anew of %" PRIu64 " keys",
                   p->engine, keys);
    return st;
}

/* The engine's folder is not there: the repair that moved it aside ended before
 * the new one had its name. */
static enum status
take_whole(const char *dir, const struct paths *p, struct check *c, bool whole,
           struct error *e)
{
    enum status st = ST_OK;

    if (c->aside == NULL)
        c->rejected = true;
    else if (!whole)
        st = error_set(e, ST_IO,
                       "%s is missing, and nothing is there to make it of: put "
                       "one there from a copy of the folder",
                       p->engine);
    else
        st = folder_rename(p->whole, p->engine, e);
    if (st == ST_OK && c->aside != NULL)
        st = folder_delete_leftovers(dir, e);
    if (st != ST_OK)
        return st;
    return check_found(
        c, "engine-missing", no_key,
        whole ? "the engine that it had made is there now" : NULL,
        "%s is missing%s", p->engine, whole ? ": a repair was cut short" : "");
}

/* False, too, when it cannot be known: then '*st' says why. */
static bool
is_missing(const char *path, enum status *st, struct error *e)
{
    struct stat info;

    if (*st != ST_OK || stat(path, &info) == 0)
        return false;
    if (errno != ENOENT)
        *st = error_set(e, ST_IO, "%s: %m", path);
    return *st == ST_OK;
}

static enum status
inspect(const char *dir, const struct paths *p, struct check *c,
        struct error *e)
{
    struct engine_check x = {
        .c = c,
        .inspection = { .dir = p->engine,
                        .report = report,
                        .reads_tables = true },
    };
    enum status st = level_inspect(&x.inspection, e);

    c->files += x.inspection.files;
    c->bytes += x.inspection.bytes;
    if (st == ST_OK && x.found > 0 && c->aside != NULL)
        st = make_anew(&x, dir, p, e);
    else if (x.found > 0)
        c->rejected = true;
    level_inspection_fini(&x.inspection);
    return st;
}

enum status
check_engine(const char *dir, struct check *c, struct error *e)
{
    struct paths p = paths_of(dir);
    enum status st = ST_OK;
    bool missing = is_missing(p.engine, &st, e);
    bool whole = missing && !is_missing(p.whole, &st, e) && st == ST_OK;

    if (missing && st == ST_OK)
        st = take_whole(dir, &p, c, whole, e);
    if (st == ST_OK && (!missing || c->aside != NULL))
        st = inspect(dir, &p, c, e);
    paths_fini(&p);
    return st;
}
