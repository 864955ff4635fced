/* The medium of a WAL whose segments are files of a folder, and the names of
 * those files (docs/FORMAT.md, "Write-ahead log").
 *
 * Threads: the functions of a folder: any. */
#pragma once

#include <sys/types.h>

#include "storage/wal/wal_medium.h"

/* The kernel, or what a test puts in its place. */
struct wal_io {
    ssize_t (*write)(int fd, const void *data, size_t size);
    int (*sync)(int fd);
};

/* Segments as files of 'dir', which open() makes if it is absent. */
struct wal_medium *wal_files_new(const char *dir);

/* For tests. */
struct wal_io *wal_files_io(struct wal_medium *m);

/* "00000000000000000001.wal" and a NUL. */
#define WAL_NAME_SIZE 25

void wal_name(uint64_t segment, char out[WAL_NAME_SIZE]);

/* All of a segment's file; 'last': none was made after it.  To be given to
 * wal_segment_fini(), after a failure too. */
MUST_CHECK enum status wal_files_load(const char *dir, uint64_t segment,
                                      bool last, struct wal_segment *out,
                                      struct error *e);

/* The numbers of the segments that a folder holds, ascending. */
struct wal_segments {
    uint64_t *numbers; /* to be free()d */
    size_t len;
};
MUST_CHECK enum status wal_list(const char *dir, struct wal_segments *out,
                                struct error *e);
