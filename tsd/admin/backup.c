#include "tsd/admin/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/store/datadir.h"
#include "storage/store/format.h"
#include "tsd/admin/fsck.h"

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
    enum status st = folder_is_empty(b->to, &is_empty, e);

    if (st != ST_OK)
        return st;
    if (!is_empty)
        return error_set(e, ST_INVALID, "%s is there already, and not empty",
                         b->to);
    return ST_OK;
}

/* Is there a store in the folder, or nothing: what a backup was killed in? */
static bool
is_leftover(const char *partial)
{
    struct format f;
    bool empty;

    return format_read(partial, &f, NULL) != ST_NOT_FOUND ||
           (folder_is_empty(partial, &empty, NULL) == ST_OK && empty);
}

/* Makes DEST.partial and holds it, by '*fd', until the copy has its name.  What
 * a killed backup left there is replaced; a live one has it locked. */
static enum status
take_partial(const char *partial, int *fd, struct error *e)
{
    if (mkdir(partial, 0700) != 0 && errno != EEXIST)
        return error_set(e, ST_IO, "make %s: %m", partial);
    *fd = open(partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0)
        return error_set(e, ST_INVALID, "open %s: %m", partial);
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        return error_set(e, ST_INVALID,
                         "%s is in use: another backup is under way", partial);
    if (!is_leftover(partial))
        return error_set(e, ST_INVALID,
                         "%s is there, and is no backup that was cut short: "
                         "it must be deleted first",
                         partial);
    return folder_clear(partial, e);
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

/* As fsck would: opened, replayed, and every entry looked at. */
static enum status
verify(const char *dir, struct check_counts *counts, struct error *e)
{
    struct first first = { "" };
    struct fsck f = { .dir = dir, .say = keep_first, .ctx = &first };
    enum status st = fsck_look(&f, e);

    *counts = f.counts;
    if (st == ST_OK && f.found > 0)
        st = error_set(e, ST_CORRUPT,
                       "the copy does not check, as halite fsck would find "
                       "in the original (%llu findings, the first: %s)",
                       (unsigned long long)f.found, first.text);
    return st;
}

/* Copies into DEST.partial, of the store 's' or of the backup 'from', which
 * becomes DEST where all goes well, and is deleted again elsewhere. */
static enum status
copy(struct store *s, const char *from, struct backup *b, struct error *e)
{
    char *partial = partial_of(b->to);
    struct error why;
    uint64_t keys = 0;
    int fd = -1;
    enum status st = take_partial(partial, &fd, e);

    if (st != ST_OK)
        goto out;
    st = s != NULL ? store_backup(s, partial, b->gone, b->gone_ctx, &keys, e)
                   : folder_copy(from, partial, false, e);
    if (st == ST_OK)
        st = verify(partial, &b->counts, e);
    if (st == ST_OK)
        st = folder_rename(partial, b->to, e);
    if (st != ST_OK && folder_delete(partial, &why) != ST_OK)
        log_error("backup", "%s", why.text);
out:
    format_unlock(&fd);
    free(partial);
    return st;
}

enum status
backup_make(struct store *s, struct backup *b, struct error *e)
{
    enum status st = check_free(b, e);

    return st == ST_OK ? copy(s, NULL, b, e) : st;
}

enum status
backup_restore(const char *from, struct backup *b, struct error *e)
{
    struct format f;
    enum status st = format_read(from, &f, e);

    if (st == ST_OK && !f.complete)
        st = error_set(e, ST_INVALID, "%s is not complete", from);
    if (st == ST_OK)
        st = check_free(b, e);
    if (st == ST_OK && folder_is_in(b->to, from))
        st = error_set(e, ST_INVALID, "%s is in the backup itself", b->to);
    return st == ST_OK ? copy(NULL, from, b, e) : st;
}
