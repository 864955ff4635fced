/* A store's folder as a whole: copied, emptied, given to another name.
 *
 * Tables of the engine are never changed once they are written, only deleted;
 * so a copy on the same file system may share them (hard links) and costs
 * nothing.  All other files are copied.
 *
 * Threads: any; these are functions of their arguments.  No other process may
 * use the folder meanwhile: hold its lock. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* FORMAT, engine and WAL, into a folder that is absent or empty; else
 * ST_INVALID, as for what is no regular file, a symbolic link too.  With
 * 'share' tables are links, where that is possible.  All is on the disk when it
 * returns. */
MUST_CHECK enum status folder_copy(const char *from, const char *to, bool share,
                                   struct error *e);

/* Is the folder on a file system that is read-only? */
bool folder_is_read_only(const char *dir);
/* Makes a folder in TMPDIR (/tmp) in which the store can be opened as if it
 * were this one, and to which all writes go: tables are symbolic links, what
 * else there is, the WAL and the engine's log, is copied.  '*shadow' is its
 * path, for folder_shadow_delete(); NULL when nothing was made. */
MUST_CHECK enum status folder_shadow(const char *dir, char **shadow,
                                     struct error *e);
void folder_shadow_delete(char **shadow);

/* Is it absent, or an empty folder? */
MUST_CHECK enum status folder_is_empty(const char *dir, bool *out,
                                       struct error *e);

/* Deletes a folder with its files and folders, three deep; an absent one is
 * gone already. */
MUST_CHECK enum status folder_delete(const char *dir, struct error *e);

/* The same for what is in it; the folder stays. */
MUST_CHECK enum status folder_clear(const char *dir, struct error *e);

/* What a repair of the engine left that was cut short.  Once there is an engine
 * it is of no use, and older than the engine soon: a later repair must not find
 * it. */
MUST_CHECK enum status folder_delete_leftovers(const char *dir,
                                               struct error *e);

/* Would 'path', whose parent is there, lie in the folder, at any depth? */
bool folder_is_in(const char *path, const char *dir);

/* Renames a folder, durably, or else not; the new name is absent, or an empty
 * folder. */
MUST_CHECK enum status folder_rename(const char *from, const char *to,
                                     struct error *e);
