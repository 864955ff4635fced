/* The files of LevelDB (storage/kv/leveldb/level_inspect.h), reported.
 *
 * Repaired, the engine is made anew of all that checks: records of the logs and
 * blocks of the tables.  The old one is kept aside as a whole. */
#include <dirent.h>
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

static enum status
make_anew(struct engine_check *x, const char *dir, struct error *e)
{
    char *parts = files_path(dir, "engine.parts");
    char *whole = files_path(dir, "engine.new");
    uint64_t keys = 0;
    enum status st = folder_delete(parts, e);

    if (st == ST_OK)
        st = folder_delete(whole, e);
    if (st == ST_OK)
        st = gather(x, parts, e);
    if (st == ST_OK)
        st = kv_salvage(parts, whole, &keys, e);
    if (st == ST_OK)
        st = check_move_aside(x->c, dir, "engine", e);
    if (st == ST_OK)
        st = folder_rename(whole, x->inspection.dir, e);
    if (st == ST_OK)
        st = folder_delete(parts, e);
    if (st == ST_OK)
        check_note(x->c, "engine-anew", "%s was made anew of %" PRIu64 " keys",
                   x->inspection.dir, keys);
    free(parts);
    free(whole);
    return st;
}

enum status
check_engine(const char *dir, struct check *c, struct error *e)
{
    char *path = files_path(dir, "engine");
    struct engine_check x = {
        .c = c,
        .inspection = { .dir = path, .report = report, .reads_tables = true },
    };
    enum status st = level_inspect(&x.inspection, e);

    c->files += x.inspection.files;
    c->bytes += x.inspection.bytes;
    if (st == ST_OK && x.found > 0 && c->aside != NULL)
        st = make_anew(&x, dir, e);
    else if (x.found > 0)
        c->rejected = true;
    level_inspection_fini(&x.inspection);
    free(path);
    return st;
}
