/* Whole files and descriptors in one call, which a signal does not interrupt;
 * and the entries of a folder.
 *
 * Fails:   ST_LIMIT: larger than allowed, or there is no memory for it; ST_IO;
 *          file_read(): ST_NOT_FOUND.
 * Threads: any. */
#pragma once

#include <dirent.h>

#include "base/buf.h"
#include "base/error.h"

/* Appends all bytes of the file, 'max' of them at the most. */
MUST_CHECK enum status file_read(const char *path, size_t max, struct buf *out,
                                 struct error *e);

/* The same of a descriptor, which stays open; 'name' for the text. */
MUST_CHECK enum status file_read_fd(int fd, const char *name, size_t max,
                                    struct buf *out, struct error *e);

/* Writes all of 'bytes'; the descriptor stays open. */
MUST_CHECK enum status file_write_fd(int fd, const char *name,
                                     struct slice bytes, struct error *e);

/* The next entry of a folder but "." and ".."; NULL behind the last one.  The
 * folder's name is for the text. */
MUST_CHECK enum status dir_next(DIR *d, const char *dir,
                                const struct dirent **out, struct error *e);
