#include "tsd/admin/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/file.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "storage/place/datadir.h"
#include "storage/place/format.h"
#include "tsd/admin/fsck.h"
#include "tsd/admin/pool_store.h"
#include "tsd/admin/recode.h"

/* DEST.partial, whatever blanks of a path DEST ends with. */
static char *
partial_of(const char *dest)
{
    size_t size = strlen(dest), room = size + sizeof ".partial";
    char *path = mem_new(room);

    while (size > 1 && dest[size - 1] == '/')
        size--;
    (void)snprintf(path, room, "%.*s.partial", (int)size, dest);
    return path;
}

static enum status
check_free(const struct backup *b, struct error *e)
{
    bool is_empty = false;
    enum status st = folder_is_empty(b->to.at, &is_empty, e);

    if (st != ST_OK)
        return st;
    if (!is_empty)
        return error_set(e, ST_INVALID, "%s is there already, and not empty",
                         b->to.at);
    return ST_OK;
}

/* Is nothing in the folder, or what a copy writes before there is FORMAT? */
static enum status
is_begun(const char *partial, bool *out, struct error *e)
{
    DIR *d = opendir(partial);
    const struct dirent *entry;
    enum status st;

    if (d == NULL)
        return error_set(e, ST_IO, "open %s: %m", partial);
    do
        st = dir_next(d, partial, &entry, e);
    while (st == ST_OK && entry != NULL &&
           (strcmp(entry->d_name, "FORMAT.1") == 0 ||
            strcmp(entry->d_name, "FORMAT.1.tmp") == 0));
    *out = st == ST_OK && entry == NULL;
    (void)closedir(d);
    return st;
}

/* Is there a store in the folder, or nothing: what a backup was killed in? */
static enum status
check_leftover(const char *partial, struct error *e)
{
    struct format f;
    bool ours = true;
    enum status st = format_read(partial, &f, e);

    if (st == ST_NOT_FOUND)
        st = is_begun(partial, &ours, e);
    if (st == ST_OK && !ours)
        return error_set(e, ST_INVALID,
                         "%s is there, and is no backup that was cut short: "
                         "it must be deleted first",
                         partial);
    /* A damaged FORMAT file is a store's. */
    return st == ST_CORRUPT ? ST_OK : st;
}

/* Makes DEST.partial and holds it, by '*fd', until the copy has its name.  What
 * a killed backup left there is replaced; a live one has it locked. */
static enum status
take_partial(const char *partial, int *fd, struct error *e)
{
    enum status st;

    if (mkdir(partial, 0700) != 0 && errno != EEXIST)
        return error_set(e, ST_IO, "make %s: %m", partial);
    *fd = open(partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0)
        return error_set(e, ST_INVALID, "open %s: %m", partial);
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        return error_set(e, ST_INVALID,
                         "%s is in use: another backup is under way", partial);
    st = check_leftover(partial, e);
    return st == ST_OK ? folder_clear(partial, e) : st;
}

struct first {
    char text[300];
};

static void
keep_first(void *ctx, const struct finding *f)
{
    struct first *first = ctx;

    if (!f->is_note && first->text[0] == '\0')
        (void)snprintf(first->text, sizeof first->text, "%s: %s", f->code,
                       f->text);
}

static enum status
judge(const struct fsck *f, const struct first *first, struct error *e)
{
    if (f->found == 0)
        return ST_OK;
    return error_set(e, ST_CORRUPT,
                     "the copy does not check, as halite fsck would find "
                     "in the original (%llu findings, the first: %s)",
                     (unsigned long long)f->found, first->text);
}

/* As fsck would: opened, replayed, and every entry looked at. */
static enum status
verify(const char *dir, struct check_counts *counts, struct error *e)
{
    struct first first = { "" };
    struct fsck f = {
        .dir = dir, .is_held = true, .say = keep_first, .ctx = &first
    };
    enum status st = fsck_look(&f, e);

    *counts = f.counts;
    return st == ST_OK ? judge(&f, &first, e) : st;
}

/* The same for what was copied into a pool. */
static enum status
verify_store(void *ctx, struct store *copy, struct error *e)
{
    struct backup *b = ctx;
    struct first first = { "" };
    struct fsck f = { .say = keep_first, .ctx = &first };
    enum status st = fsck_store(&f, copy, NULL, e);

    b->counts = f.counts;
    return st == ST_OK ? judge(&f, &first, e) : st;
}

/* -- copying ----------------------------------------------------------------
 */

static struct key_layout
layout_of(const struct store *s, const struct backup *b)
{
    struct key_layout layout = *store_layout(s);
    unsigned buckets = b->salt_buckets;

    if (buckets == 0 && b->to.kind == PLACE_POOL)
        buckets = POOL_STORE_BUCKETS;
    if (buckets != 0)
        layout.salt_buckets = (uint16_t)buckets;
    layout.salt_width = layout.salt_buckets > 1 || b->to.kind == PLACE_POOL;
    return layout;
}

/* Into the folder 'partial', or into the pool. */
static enum status
copy_store(struct store *s, const char *partial, struct backup *b,
           struct error *e)
{
    bool pool = b->to.kind == PLACE_POOL;
    struct kv_recode rules;
    struct kv_copying c = { &rules, b->cancel, 0 };
    const struct pool_filling f = { .at = b->to.at,
                                    .layout = layout_of(s, b),
                                    .copying = &c,
                                    .verify = verify_store,
                                    .ctx = b };
    struct recode *r;
    enum status st = recode_new(store_layout(s), &f.layout,
                                kv_traits(store_kv(s))->shared, &r, e);

    if (st != ST_OK)
        return st;
    rules = recode_rules(r);
    st = pool ? pool_store_fill(s, &f, e)
              : store_backup(s, partial, &f.layout, &c, e);
    recode_free(&r);
    return st;
}

/* Copies into DEST.partial, of the store 's' or of the backup 'from', which
 * becomes DEST where all goes well, and is deleted again elsewhere. */
static enum status
copy(struct store *s, const char *from, struct backup *b, struct error *e)
{
    char *partial = partial_of(b->to.at);
    struct error why;
    int fd = -1;
    enum status st = take_partial(partial, &fd, e);

    if (st != ST_OK)
        goto out;
    st = s != NULL ? copy_store(s, partial, b, e)
                   : folder_copy(from, partial, false, e);
    if (st == ST_OK)
        st = verify(partial, &b->counts, e);
    if (st == ST_OK)
        st = folder_rename(partial, b->to.at, e);
    if (st != ST_OK && folder_delete(partial, &why) != ST_OK)
        log_error("backup", "%s", why.text);
out:
    if (fd >= 0)
        (void)close(fd);
    free(partial);
    return st;
}

enum status
backup_make(struct store *s, struct backup *b, struct error *e)
{
    enum status st;

    if (b->to.kind == PLACE_POOL)
        return copy_store(s, NULL, b, e);
    st = check_free(b, e);
    return st == ST_OK ? copy(s, NULL, b, e) : st;
}

enum status
backup_idle(const struct place *from, struct backup *b, struct error *e)
{
    struct pool_store *p;
    struct error why;
    enum status st;

    if (from->kind == PLACE_MEMORY || b->to.kind == PLACE_MEMORY)
        return error_set(e, ST_INVALID,
                         "what is in memory goes with its process: a copy is "
                         "between folders and pools");
    if (from->kind != PLACE_POOL) {
        const struct store_options o = { .dir = from->at,
                                         .layout = KEY_LAYOUT_DEFAULT,
                                         .min_free_bytes = 1,
                                         .no_summaries = true };
        struct store *s = NULL;
        struct format f;

        st = format_read(from->at, &f, e);
        if (st == ST_OK)
            st = store_open(&o, &s, e);
        if (st == ST_OK)
            st = backup_make(s, b, e);
        if (store_close(&s, &why) != ST_OK && st == ST_OK)
            log_error("backup", "the copy is made; closing %s: %s", from->at,
                      why.text);
        return st;
    }
    st = pool_store_open(from->at, b->ca, &p, e);
    if (st == ST_OK)
        st = pool_store_flush(p, e);
    if (st == ST_OK)
        st = backup_make(pool_store_of(p), b, e);
    if (pool_store_close(&p, &why) != ST_OK && st == ST_OK)
        log_error("backup", "the copy is made; closing %s: %s", from->at,
                  why.text);
    return st;
}

void
backup_report(const char *to, const struct check_counts *n)
{
    (void)printf(
        "%s: %llu names, %llu series, %llu rows of %llu points, "
        "%llu histograms, %llu annotations\n",
        to, (unsigned long long)n->names, (unsigned long long)n->series,
        (unsigned long long)n->rows, (unsigned long long)n->points,
        (unsigned long long)n->histograms, (unsigned long long)n->notes);
}

enum status
backup_restore(const char *from, struct backup *b, struct error *e)
{
    struct format f;
    enum status st = format_read(from, &f, e);

    if (st == ST_NOT_FOUND)
        return error_set(e, st, "there is no backup in '%s': no FORMAT", from);
    if (st == ST_OK && !f.complete)
        st = error_set(e, ST_INVALID, "%s is not complete", from);
    if (st == ST_OK && b->to.kind != PLACE_FOLDER)
        return backup_idle(&(struct place){ PLACE_FOLDER, from }, b, e);
    if (st == ST_OK)
        st = check_free(b, e);
    if (st == ST_OK && folder_is_in(b->to.at, from))
        st = error_set(e, ST_INVALID, "%s is in the backup itself", b->to.at);
    return st == ST_OK ? copy(NULL, from, b, e) : st;
}
