/* What POSIX asks for beyond fsync of a file, so that the file is still there
 * after a power cut: the folder that names it must reach the disk too.
 *
 * Threads: any. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

/* Makes the names in the folder durable. */
MUST_CHECK enum status files_sync_dir(const char *dir, struct error *e);

/* The same for the folder that 'path' is in. */
MUST_CHECK enum status files_sync_parent(const char *path, struct error *e);

/* fsync(), again when a signal interrupted it; 'name' for the text. */
MUST_CHECK enum status files_sync_fd(int fd, const char *name, struct error *e);

/* Makes one folder, whose parent must be there; an old one is fine. */
MUST_CHECK enum status files_make_dir(const char *dir, struct error *e);

/* "dir/name", to be free()d. */
char *files_path(const char *dir, const char *name);

/* The folder that names 'path', to be free()d. */
char *files_parent(const char *path);

/* Makes a new file of these bytes, in the place of one or of a link that has
 * the name, and syncs it, but not its name. */
MUST_CHECK enum status files_write(const char *path, struct slice bytes,
                                   struct error *e);

/* Makes 'text' the whole file, durably: a power cut leaves the old one or the
 * new one.  Writes "name.tmp" and renames it. */
MUST_CHECK enum status files_replace(const char *dir, const char *name,
                                     struct slice text, struct error *e);

/* Small texts with a last line "crc32c 0123abcd", so that an edit is noticed.
 * The writer appends it to 'text', and replaces DIR/NAME; the reader takes it
 * off again, with what is behind it: ST_NOT_FOUND, or ST_CORRUPT when the
 * checksum does not fit. */
MUST_CHECK enum status files_put_text(const char *dir, const char *name,
                                      struct buf *text, struct error *e);
MUST_CHECK enum status files_get_text(const char *dir, const char *name,
                                      struct buf *text, struct error *e);
