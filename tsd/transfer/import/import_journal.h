/* How far a large file was imported, kept beside it, "FILE.halite-import": an
 * import that was broken off goes on there.  It holds for one file, told by
 * source_identity(), and one store; anything else begins anew.
 *
 * Threads: owner.
 * Fails:   ST_IO: it cannot be written; the import goes on without. */
#pragma once

#include "base/error.h"
#include "tsd/transfer/import/source.h"

struct import_mark {
    uint64_t offset; /* of unpacked text: all before it is durable */
    uint64_t lines, points, records, bad;
};

/* '*mark' is all zero when there is no journal that fits. */
void import_journal_read(const char *path, const char *identity,
                         const char *store, struct import_mark *mark);
MUST_CHECK enum status
import_journal_write(const char *path, const char *identity, const char *store,
                     const struct import_mark *mark, struct error *e);
/* All was taken. */
void import_journal_remove(const char *path);
