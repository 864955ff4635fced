/* Lines of a file or of standard input, as they stand there or packed by gzip,
 * xz or zstd, lent in blocks of whole lines.  "\n", "\r\n" and "\r" end a line;
 * the last is lent as "\n".
 *
 *     source_open() -> source_next() ... -> source_status() -> source_close()
 *
 * Owns:    its descriptor and its buffers; a block dies at the next call.
 * Bounds:  a block is some SOURCE_BLOCK bytes, or one line, which has at most
 *          SOURCE_LINE_MAX.
 * Threads: owner.
 * Fails:   ST_NOT_FOUND: no such file; ST_CORRUPT: bytes that do not unpack, or
 *          end too early; ST_LIMIT: a line that is too long; ST_IO, also where
 * a signal interrupts the wait for a pipe.  It sticks; the lines before it were
 * lent. */
#pragma once

#include "base/error.h"
#include "base/slice.h"

#define SOURCE_BLOCK    ((size_t)256 << 10)
#define SOURCE_LINE_MAX ((size_t)32 << 20)

/* Whether a file is packed: by its first bytes, or as OpenTSDB decides it, by a
 * name that ends in ".gz". */
enum source_unpack { SOURCE_BY_CONTENT, SOURCE_BY_NAME };

struct source; /* opaque */

/* 'path' "-" is standard input. */
MUST_CHECK enum status source_open(const char *path, enum source_unpack how,
                                   struct source **out, struct error *e);
void source_close(struct source **s);

/* The next block: lines with their ends, which the last line of all may lack.
 * False at the end, or after a failure. */
bool source_next(struct source *s, struct slice *block);
MUST_CHECK enum status source_status(const struct source *s, struct error *e);

/* Cuts '*block' behind its first line; returns that without "\n" or "\r\n". */
struct slice source_cut_line(struct slice *block);

size_t source_count_lines(struct slice block);

/* The line of a block that begins at 'offset', and its number, the first of all
 * being 1; 'before' lines came in earlier blocks. */
struct source_line {
    uint64_t number;
    struct slice text; /* without "\n" or "\r\n" */
};
struct source_line source_line_at(struct slice block, uint64_t before,
                                  size_t offset);

/* Bytes of the file that were read so far. */
uint64_t source_bytes_read(const struct source *s);
