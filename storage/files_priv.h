/*
 * What POSIX asks for beyond fsync of a file, so that the file is still there
 * after a power cut: the folder that names it must reach the disk too.
 *
 * Threads: any.
 */
#ifndef STORAGE_FILES_PRIV_H
#define STORAGE_FILES_PRIV_H

#include "base/error.h"

/* Makes the names in the folder durable. */
MUST_CHECK enum status files_sync_dir(const char *dir, struct error *e);

/* The same for the folder that 'path' is in. */
MUST_CHECK enum status files_sync_parent(const char *path, struct error *e);

/* fsync(), again when a signal interrupted it; 'name' for the text. */
MUST_CHECK enum status files_sync_fd(int fd, const char *name, struct error *e);

/* Makes one folder, whose parent must be there; an old one is fine. */
MUST_CHECK enum status files_make_dir(const char *dir, struct error *e);

#endif
