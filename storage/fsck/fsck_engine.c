/*
 * The files of LevelDB: what CURRENT and the manifest lead to is there, every
 * record of the logs and every block of the tables has its checksum.
 *
 * Repaired, the engine is made anew of all that checks: entries of the logs and
 * blocks of the tables.  The old one is kept aside as a whole.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "storage/fsck/fsck_priv.h"
#include "base/durable.h"
#include "storage/store/datadir.h"
#include "storage/kv/kv.h"
#include "storage/kv/leveldb/level_files.h"
#include "storage/kv/leveldb/level_raw.h"

static const struct slice no_key = { NULL, 0 };

struct engine_check {
    struct check *c;
    char dir[FILES_PATH_MAX];
    bool knows; /* what the manifest says */
    struct level_history history;
    bool has_mark; /* how far it was synced */
    struct level_mark mark;
    struct buf bytes; /* of one file */
    uint64_t found;   /* in the engine */
    bool has_log;
};

static void PRINTF_LIKE(3, 4)
    say(struct engine_check *x, const char *code, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    x->found++;
    check_found(
        x->c, code, no_key,
        x->c->aside == NULL ? NULL : "the engine is made anew of what is whole",
        "%s", text);
}

/* -- looking -------------------------------------------------------------- */

static enum status
read_file(struct engine_check *x, const char *name, struct error *e)
{
    char path[FILES_PATH_MAX];
    enum status st = files_join(x->dir, name, path, e);

    if (st == ST_OK)
        st = files_read(path, SIZE_MAX, &x->bytes, e);
    if (st == ST_OK) {
        x->c->files++;
        x->c->bytes += x->bytes.size;
    }
    return st;
}

static enum status
check_manifest(struct engine_check *x, struct error *e)
{
    struct raw_fault fault;
    char name[64];
    uint64_t number;
    size_t size;
    size_t last = 0;
    bool torn;
    enum status st = read_file(x, "CURRENT", e);

    if (st == ST_NOT_FOUND) {
        say(x, "engine-current", "%s/CURRENT is missing", x->dir);
        return ST_OK;
    }
    if (st != ST_OK)
        return st;
    size = x->bytes.size < sizeof name ? x->bytes.size : sizeof name - 1;
    memcpy(name, x->bytes.data, size);
    name[size] = '\0';
    if (size == 0 || name[size - 1] != '\n' ||
        (name[size - 1] = '\0', raw_name(name, &number)) != RAW_MANIFEST) {
        say(x, "engine-current", "%s/CURRENT names no manifest", x->dir);
        return ST_OK;
    }
    st = read_file(x, name, e);
    if (st == ST_NOT_FOUND) {
        say(x, "engine-manifest", "%s/%s, which CURRENT names, is missing",
            x->dir, name);
        return ST_OK;
    }
    if (st != ST_OK)
        return st;
    fault = raw_manifest_read(buf_slice(&x->bytes), &x->history, &last, &torn);
    x->knows = fault.text == NULL;
    if (!x->knows)
        say(x, "engine-manifest", "%s/%s at offset %zu: %s", x->dir, name,
            fault.at, fault.text);
    else if (torn)
        check_note(x->c, "engine-tail", "%s/%s ends in the middle of an edit",
                   x->dir, name);
    if (x->knows && x->has_mark &&
        last >= level_mark_manifest(&x->mark, number) &&
        level_history_is_ahead(&x->history, x->dir)) {
        level_history_back(&x->history);
        check_note(x->c, "engine-tail",
                   "%s/%s at offset %zu, never synced, names a table that is "
                   "not there: the next start cuts it off",
                   x->dir, name, last);
    }
    return ST_OK;
}

static enum status
check_mark(struct engine_check *x, struct error *e)
{
    struct error why;
    enum status st = level_mark_read(x->dir, &x->mark, &why);

    x->c->files++;
    x->has_mark = st == ST_OK;
    if (st == ST_CORRUPT)
        say(x, "engine-synced", "%s", why.text);
    else if (st != ST_OK && st != ST_NOT_FOUND)
        return error_set(e, st, "%s", why.text);
    return ST_OK;
}

/* What was never synced may end anyhow; without a mark, what is not whole at
 * the very end. */
static bool
is_damaged(const struct engine_check *x, const struct raw_log *l,
           uint64_t number)
{
    uint64_t synced =
        x->has_mark ? level_mark_synced(&x->mark, number) : UINT64_MAX;

    if (synced != UINT64_MAX)
        return l->good < synced;
    return l->good < l->bytes.size && !(l->torn && !x->has_mark);
}

static void
check_log(struct engine_check *x, const char *name, uint64_t number)
{
    struct raw_log l = { .bytes = buf_slice(&x->bytes) };
    uint64_t operations;
    struct slice entry;

    while (raw_log_next(&l, &entry))
        if (!raw_batch_is_whole(entry, &operations)) {
            l.fault =
                (struct raw_fault){ "a batch that makes no sense", l.good };
            break;
        }
    if (l.fault.text == NULL)
        l.fault = (struct raw_fault){ "it ends too soon", l.good };
    if (is_damaged(x, &l, number))
        say(x, "engine-log", "%s/%s at offset %zu of %zu: %s", x->dir, name,
            l.fault.at, x->bytes.size, l.fault.text);
    else if (l.good < x->bytes.size)
        check_note(x->c, "engine-tail",
                   "%s/%s is not whole from offset %zu of %zu on, which was "
                   "never synced: the next start cuts it off",
                   x->dir, name, l.good, x->bytes.size);
    raw_log_fini(&l);
}

/* Its place in the manifest, or NULL. */
static struct level_table *
in_manifest(const struct engine_check *x, uint64_t number)
{
    for (size_t i = 0; i < x->history.now.len; i++)
        if (x->history.now.tables[i].number == number)
            return &x->history.now.tables[i];
    return NULL;
}

static enum status
check_one(struct engine_check *x, const char *name, struct error *e)
{
    struct raw_fault fault;
    struct level_table *t;
    uint64_t number, blocks = 0;
    enum raw_kind kind = raw_name(name, &number);
    enum status st;

    if (kind != RAW_LOG && kind != RAW_TABLE)
        return ST_OK;
    if (kind == RAW_LOG && x->knows &&
        !level_version_needs(&x->history.now, number))
        return ST_OK; /* LevelDB deletes it when it is opened */
    t = kind == RAW_TABLE ? in_manifest(x, number) : NULL;
    if (kind == RAW_TABLE && x->knows && t == NULL)
        return ST_OK; /* the same */
    st = read_file(x, name, e);
    if (st != ST_OK)
        return st;
    if (kind == RAW_LOG) {
        x->has_log |= number == x->history.now.log;
        check_log(x, name, number);
        return ST_OK;
    }
    fault = raw_table_check(buf_slice(&x->bytes), &blocks);
    if (fault.text != NULL)
        say(x, "engine-table", "%s/%s at offset %zu of %zu: %s", x->dir, name,
            fault.at, x->bytes.size, fault.text);
    else if (t != NULL && t->size != x->bytes.size)
        say(x, "engine-table", "%s/%s has %zu bytes, not %" PRIu64, x->dir,
            name, x->bytes.size, t->size);
    if (t != NULL)
        t->size = UINT64_MAX; /* it is there */
    return ST_OK;
}

/* The log that the manifest names is there, and those that had been synced. */
static void
check_logs(struct engine_check *x)
{
    if (!x->has_log)
        say(x, "engine-missing", "%s/%06" PRIu64 ".log is missing", x->dir,
            x->history.now.log);
    for (size_t i = 0; i < x->mark.len; i++) {
        const struct level_log *l = &x->mark.logs[i];
        char name[32], path[FILES_PATH_MAX];
        struct stat info;

        (void)snprintf(name, sizeof name, "%06" PRIu64 ".log", l->number);
        if (l->number <= x->history.now.log ||
            files_join(x->dir, name, path, NULL) != ST_OK)
            continue;
        if (stat(path, &info) != 0)
            say(x, "engine-missing", "%s is missing", path);
    }
}

static enum status
look(struct engine_check *x, struct error *e)
{
    enum status st = check_mark(x, e);
    const struct dirent *entry;
    DIR *d;

    if (st == ST_OK)
        st = check_manifest(x, e);
    if (st != ST_OK)
        return st;
    d = opendir(x->dir);
    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", x->dir);
    while (st == ST_OK && (entry = readdir(d)) != NULL)
        st = check_one(x, entry->d_name, e);
    (void)closedir(d);
    for (size_t i = 0; i < x->history.now.len && st == ST_OK && x->knows; i++)
        if (x->history.now.tables[i].size != UINT64_MAX)
            say(x, "engine-missing", "%s/%06" PRIu64 ".ldb is missing", x->dir,
                x->history.now.tables[i].number);
    if (st == ST_OK && x->knows)
        check_logs(x);
    return st;
}

/* -- repairing --------------------------------------------------------------
 */

/* The whole entries of a log, in a log of their own. */
static enum status
purify_log(struct engine_check *x, const char *to, struct error *e)
{
    struct raw_log l = { .bytes = buf_slice(&x->bytes) };
    struct buf out = BUF_INIT;
    uint64_t operations;
    struct slice entry;
    enum status st = ST_OK;
    FILE *f;

    do {
        while (raw_log_next(&l, &entry))
            if (raw_batch_is_whole(entry, &operations))
                raw_log_put(&out, entry);
    } while (raw_log_resume(&l));
    raw_log_fini(&l);
    f = out.failed ? NULL : fopen(to, "wbe");
    if (f == NULL || fwrite(out.data, 1, out.size, f) != out.size)
        st = error_set(e, ST_IO, "write %s: %m", to);
    if (f != NULL && fclose(f) != 0 && st == ST_OK)
        st = error_set(e, ST_IO, "write %s: %m", to);
    buf_fini(&out);
    return st;
}

static enum status
gather_one(struct engine_check *x, const char *to, const char *name,
           struct error *e)
{
    char a[FILES_PATH_MAX], b[FILES_PATH_MAX];
    uint64_t number;
    enum raw_kind kind = raw_name(name, &number);
    enum status st;

    if (kind != RAW_LOG && kind != RAW_TABLE)
        return ST_OK;
    if (x->knows &&
        (kind == RAW_TABLE ? in_manifest(x, number) == NULL
                           : !level_version_needs(&x->history.now, number)))
        return ST_OK;
    st = files_join(x->dir, name, a, e);
    if (st == ST_OK)
        st = files_join(to, name, b, e);
    if (st == ST_OK && kind == RAW_TABLE)
        return link(a, b) == 0 ? ST_OK : error_set(e, ST_IO, "link %s: %m", a);
    if (st == ST_OK)
        st = read_file(x, name, e);
    return st == ST_OK ? purify_log(x, b, e) : st;
}

static enum status
gather(struct engine_check *x, const char *to, struct error *e)
{
    const struct dirent *entry;
    enum status st = ST_OK;
    DIR *d;

    if (mkdir(to, 0777) != 0)
        return error_set(e, ST_IO, "make %s: %m", to);
    d = opendir(x->dir);
    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", x->dir);
    while (st == ST_OK && (entry = readdir(d)) != NULL)
        st = gather_one(x, to, entry->d_name, e);
    (void)closedir(d);
    return st;
}

static enum status
make_anew(struct engine_check *x, const char *dir, struct error *e)
{
    char parts[FILES_PATH_MAX], whole[FILES_PATH_MAX];
    uint64_t keys = 0;
    enum status st = files_join(dir, "engine.parts", parts, e);

    if (st == ST_OK)
        st = files_join(dir, "engine.new", whole, e);
    if (st == ST_OK)
        st = folder_delete(parts, e);
    if (st == ST_OK)
        st = folder_delete(whole, e);
    if (st == ST_OK)
        st = gather(x, parts, e);
    if (st == ST_OK)
        st = kv_salvage(parts, whole, &keys, e);
    if (st == ST_OK)
        st = check_move_aside(x->c, dir, "engine", e);
    if (st == ST_OK)
        st = folder_rename(whole, x->dir, e);
    if (st == ST_OK)
        st = folder_delete(parts, e);
    if (st == ST_OK)
        check_note(x->c, "engine-anew", "%s was made anew of %" PRIu64 " keys",
                   x->dir, keys);
    return st;
}

enum status
check_engine(const char *dir, struct check *c, struct error *e)
{
    struct engine_check x = { .c = c, .history = { .last = BUF_INIT } };
    enum status st = files_join(dir, "engine", x.dir, e);

    if (st == ST_OK)
        st = look(&x, e);
    if (st == ST_OK && x.found > 0 && c->aside != NULL)
        st = make_anew(&x, dir, e);
    else if (x.found > 0)
        c->rejected = true;
    level_mark_fini(&x.mark);
    level_history_fini(&x.history);
    buf_fini(&x.bytes);
    return st;
}
