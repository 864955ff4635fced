#include "tsd/transfer/import/import_journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file/durable.h"

#define SUFFIX ".halite-import"

/* "dir" and "name.halite-import", both to be free()d. */
static void
journal_place(const char *path, char **dir, char **name)
{
    const char *slash = strrchr(path, '/');

    *dir = files_parent(path);
    if (asprintf(name, "%s%s", slash == NULL ? path : slash + 1, SUFFIX) < 0)
        abort();
}

static void
journal_head(struct buf *text, const char *identity, const char *store)
{
    buf_printf(text, "file %s\nstore %s\n", identity, store);
}

void
import_journal_read(const char *path, const char *identity, const char *store,
                    struct import_mark *mark)
{
    struct buf text = BUF_INIT, head = BUF_INIT;
    char *dir, *name;

    *mark = (struct import_mark){ 0 };
    journal_place(path, &dir, &name);
    journal_head(&head, identity, store);
    if (files_get_text(dir, name, &text, NULL) != ST_OK ||
        !slice_starts(buf_slice(&text), buf_slice(&head)) ||
        sscanf(buf_cstr(&text) + head.size,
               "offset %" SCNu64 " lines %" SCNu64 " points %" SCNu64
               " records %" SCNu64 " bad %" SCNu64,
               &mark->offset, &mark->lines, &mark->points, &mark->records,
               &mark->bad) != 5)
        *mark = (struct import_mark){ 0 };
    free(dir);
    free(name);
    buf_fini(&text);
    buf_fini(&head);
}

enum status
import_journal_write(const char *path, const char *identity, const char *store,
                     const struct import_mark *mark, struct error *e)
{
    struct buf text = BUF_INIT;
    char *dir, *name;
    enum status st;

    journal_place(path, &dir, &name);
    journal_head(&text, identity, store);
    buf_printf(&text,
               "offset %" PRIu64 " lines %" PRIu64 " points %" PRIu64
               " records %" PRIu64 " bad %" PRIu64 "\n",
               mark->offset, mark->lines, mark->points, mark->records,
               mark->bad);
    st = files_put_text(dir, name, &text, e);
    free(dir);
    free(name);
    buf_fini(&text);
    return st;
}

void
import_journal_remove(const char *path)
{
    char *dir, *name, *file;

    journal_place(path, &dir, &name);
    file = files_path(dir, name);
    (void)unlink(file);
    free(dir);
    free(name);
    free(file);
}
