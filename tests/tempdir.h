/* A folder of the test's own, and its removal.
 *
 *     char *dir = tempdir_new();
 *     ...
 *     tempdir_free(&dir); */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline char *
tempdir_new(void)
{
    const char *where = getenv("TMPDIR");
    char *dir = NULL;

    if (asprintf(&dir, "%s/halite-XXXXXX", where == NULL ? "/tmp" : where) <
            0 ||
        mkdtemp(dir) == NULL) {
        perror("tempdir_new");
        abort();
    }
    return dir;
}

static inline int
tempdir_remove_one(const char *path, const struct stat *st, int type,
                   struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void
tempdir_free(char **dir)
{
    (void)nftw(*dir, tempdir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(*dir);
    *dir = NULL;
}

/* "dir/name", to be free()d. */
static inline char *
tempdir_path(const char *dir, const char *name)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%s", dir, name) < 0)
        abort();
    return path;
}
