/* The files of LevelDB, looked at without it: CURRENT, the MANIFEST, and each
 * block of the tables that it names.
 *
 * Repaired, the engine is made anew of all blocks that check.  The old one is
 * kept aside as a whole. */
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
#include "storage/kv/leveldb/level_files.h"
#include "storage/kv/leveldb/level_manifest.h"
#include "storage/kv/leveldb/level_table.h"

static const struct slice no_key = { NULL, 0 };

struct engine_check {
    const char *dir;
    struct check *c;
    struct level_manifest manifest;
    uint64_t found; /* in the engine */
};

/* -- looking --------------------------------------------------------------- */

static void
report(struct engine_check *x, const char *code, const char *path, uint64_t at,
       const char *text)
{
    x->found++;
    check_found(x->c, code, no_key, "the engine is made anew of what is whole",
                "%s at offset %" PRIu64 ": %s", path, at, text);
}

static enum status
check_table(struct engine_check *x, const struct level_table *t,
            struct error *e)
{
    char *path = level_table_path(x->dir, t->number);
    struct buf bytes = BUF_INIT;
    uint64_t blocks;
    enum status st = file_read(path, SIZE_MAX, &bytes, e);

    if (st == ST_NOT_FOUND) {
        report(x, "engine-missing", path, 0, "it is missing");
        st = ST_OK;
    } else if (st == ST_OK) {
        struct table_fault fault =
            level_table_check(buf_slice(&bytes), &blocks);

        x->c->files++;
        x->c->bytes += bytes.size;
        if (fault.text == NULL && t->size != bytes.size)
            fault.text = "its size is not the MANIFEST's";
        if (fault.no_memory)
            st = error_set(e, ST_LIMIT, "%s: no memory for its index", path);
        else if (fault.text != NULL)
            report(x, "engine-table", path, fault.at, fault.text);
    }
    buf_fini(&bytes);
    free(path);
    return st;
}

static enum status
look(struct engine_check *x, struct error *e)
{
    struct level_manifest *m = &x->manifest;
    enum status st = level_manifest_read(x->dir, m, e);

    if (st == ST_OK) {
        x->c->files += 2;
        x->c->bytes += m->size;
        if (m->state == MANIFEST_UNNAMED)
            report(x, "engine-current", m->path, 0, m->text);
        else if (m->state == MANIFEST_DAMAGED)
            report(x, "engine-manifest", m->path, m->at, m->text);
        else if (m->state == MANIFEST_TORN)
            check_note(
                x->c, "engine-tail",
                "%s: bytes %" PRIu64 " to %" PRIu64
                " are an edit that was never synced: the next start cuts "
                "them off",
                m->path, m->at, m->size);
    }
    if (x->found > 0) /* which tables it has is not known */
        return st;
    for (size_t i = 0; i < x->manifest.len && st == ST_OK; i++)
        st = check_table(x, &x->manifest.tables[i], e);
    return st;
}

/* -- making it anew -------------------------------------------------------- */

/* Without a MANIFEST that can be trusted, all tables are needed. */
static bool
is_needed(const struct engine_check *x, const char *name)
{
    const struct level_manifest *m = &x->manifest;
    uint64_t number;

    if (level_file_of(name, &number) != LEVEL_FILE_TABLE)
        return false;
    return (m->state != MANIFEST_GOOD && m->state != MANIFEST_TORN) ||
           level_manifest_names(m, number);
}

static enum status
link_tables(const struct engine_check *x, const char *to, struct error *e)
{
    const struct dirent *entry;
    enum status st = ST_OK;
    DIR *d;

    if (mkdir(to, 0777) != 0)
        return error_set(e, ST_IO, "make %s: %m", to);
    d = opendir(x->dir);
    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", x->dir);
    while (st == ST_OK && (st = dir_next(d, x->dir, &entry, e)) == ST_OK &&
           entry != NULL) {
        char *a, *b;

        if (!is_needed(x, entry->d_name))
            continue;
        a = files_path(x->dir, entry->d_name);
        b = files_path(to, entry->d_name);
        if (link(a, b) != 0)
            st = error_set(e, ST_IO, "link %s: %m", a);
        free(a);
        free(b);
    }
    (void)closedir(d);
    return st;
}

/* What a repair makes on its way, in the data folder:
 *
 *     engine.parts   the tables that the new engine is made of
 *     engine.making  the new engine, not complete
 *     engine.new     the same, complete and on the disk
 *
 * Only then the old one is moved aside, and engine.new becomes 'engine'.  So
 * without 'engine' an engine.new is complete. */
struct paths {
    char *engine, *parts, *making, *whole;
};

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
    struct engine_check x = { .dir = p->engine, .c = c };
    enum status st = look(&x, e);

    if (st == ST_OK && x.found > 0 && c->aside != NULL) {
        uint64_t keys = 0;

        st = folder_delete_leftovers(dir, e);
        if (st == ST_OK)
            st = link_tables(&x, p->parts, e);
        if (st == ST_OK)
            st = kv_salvage(p->parts, p->making, &keys, e);
        if (st == ST_OK)
            st = folder_rename(p->making, p->whole, e);
        if (st == ST_OK)
            st = check_move_aside(x.c, dir, "engine", e);
        if (st == ST_OK)
            st = folder_rename(p->whole, p->engine, e);
        if (st == ST_OK)
            st = folder_delete_leftovers(dir, e);
        if (st == ST_OK)
            check_note(x.c, "engine-anew",
                       "%s was made anew of %" PRIu64 " keys", p->engine, keys);
    } else if (x.found > 0)
        c->rejected = true;
    level_manifest_fini(&x.manifest);
    return st;
}

enum status
check_engine(const char *dir, struct check *c, struct error *e)
{
    struct paths p = { .engine = files_path(dir, "engine"),
                       .parts = files_path(dir, "engine.parts"),
                       .making = files_path(dir, "engine.making"),
                       .whole = files_path(dir, "engine.new") };
    enum status st = ST_OK;
    bool missing = is_missing(p.engine, &st, e);
    bool whole = missing && !is_missing(p.whole, &st, e) && st == ST_OK;

    if (missing && st == ST_OK) {
        /* The engine's folder is not there: the repair that moved it aside
         * ended before the new one had its name. */
        if (c->aside == NULL)
            c->rejected = true;
        else if (!whole)
            st = error_set(
                e, ST_IO,
                "%s is missing, and nothing is there to make it of: put "
                "one there from a copy of the folder",
                p.engine);
        else
            st = folder_rename(p.whole, p.engine, e);
        if (st == ST_OK && c->aside != NULL)
            st = folder_delete_leftovers(dir, e);
        if (st == ST_OK)
            st = check_found(c, "engine-missing", no_key,
                             whole ? "the engine that it had made is there now"
                                   : NULL,
                             "%s is missing%s", p.engine,
                             whole ? ": a repair was cut short" : "");
    }
    if (st == ST_OK && (!missing || c->aside != NULL))
        st = inspect(dir, &p, c, e);
    free(p.engine);
    free(p.parts);
    free(p.making);
    free(p.whole);
    return st;
}
