/* See storage/fsck/fsck.h.  FORMAT, and the order of things. */
#include "storage/fsck/fsck.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/fsck/fsck_priv.h"
#include "base/file/durable.h"
#include "storage/place/format.h"

enum status
check_found(struct check *c, const char *code, struct slice key,
            const char *repaired, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    if (c->aside == NULL)
        repaired = NULL;
    if (c->again && repaired == NULL)
        return ST_OK;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->found++;
    c->repaired += repaired != NULL;
    c->say(c->ctx,
           &(struct finding){
               .code = code, .key = key, .text = text, .repaired = repaired });
    return ST_OK;
}

void
check_note(struct check *c, const char *code, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->say(c->ctx,
           &(struct finding){ .code = code, .text = text, .is_note = true });
}

/* A path that is free in the folder of what is kept aside, to be free()d. */
static char *
free_path(const struct check *c, const char *name)
{
    char *path = files_path(c->aside, name);

    for (unsigned i = 1; access(path, F_OK) == 0; i++) {
        char numbered[300];

        (void)snprintf(numbered, sizeof numbered, "%.250s.%u", name, i);
        free(path);
        path = files_path(c->aside, numbered);
    }
    return path;
}

enum status
check_move_aside(struct check *c, const char *dir, const char *name,
                 struct error *e)
{
    char *from = files_path(dir, name), *to = free_path(c, name);
    enum status st = files_make_dir(c->aside, e);

    if (st == ST_OK && rename(from, to) != 0)
        st = error_set(e, ST_IO, "rename %s to %s: %m", from, to);
    if (st == ST_OK)
        st = files_sync_dir(c->aside, e);
    free(from);
    free(to);
    return st == ST_OK ? files_sync_dir(dir, e) : st;
}

enum status
check_write_aside(struct check *c, const char *name, struct slice bytes,
                  struct error *e)
{
    char *to = free_path(c, name);
    enum status st = files_make_dir(c->aside, e);

    if (st == ST_OK)
        st = files_write(to, bytes, e);
    free(to);
    return st == ST_OK ? files_sync_dir(c->aside, e) : st;
}

/* '*made': was the making of the store completed? */
static enum status
check_format(const char *dir, struct check *c, bool *made, struct error *e)
{
    const struct slice none = { NULL, 0 };
    bool repairs = c->aside != NULL;
    struct format f;
    struct error why;
    enum status st = format_read(dir, &f, &why);

    *made = true;
    c->files += 2;
    if (st == ST_NOT_FOUND)
        return error_set(e, ST_INVALID, "%s", why.text);
    if (st == ST_CORRUPT && f.version == 0) {
        c->rejected = true;
        check_found(c, "format-damaged", none, NULL, "%s", why.text);
        return ST_OK;
    }
    if (st != ST_OK)
        return error_set(e, ST_INVALID, "%s", why.text);
    if (f.unread)
        return error_set(e, ST_IO, "%s", why.text);
    *made = f.complete;
    if (!f.complete)
        check_note(c, "format-incomplete",
                   "%s: the making of the store was cut short, before anything "
                   "was stored: the next start goes on with it",
                   dir);
    if (!f.damaged || !f.complete)
        return ST_OK;
    check_found(c, "format-damaged", none,
                repairs ? "both were written again" : NULL,
                "'%s': FORMAT or its copy FORMAT.1 does not check, the other "
                "one does",
                dir);
    return repairs ? format_write(dir, &f, e) : ST_OK;
}

enum status
check_files(const char *dir, struct check *c, struct error *e)
{
    bool made;
    enum status st;

    c->rejected = false;
    st = check_format(dir, c, &made, e);
    if (!made) /* what there is of WAL and engine may end anywhere */
        return st;
    if (st == ST_OK && !c->rejected)
        st = check_wal(dir, c, e);
    return st == ST_OK ? check_engine(dir, c, e) : st;
}
