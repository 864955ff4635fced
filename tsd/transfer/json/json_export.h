/* A store as lines of JSON, one record each; the member "type" comes first and
 * tells what it is (docs/PROTOCOL.md, "JSON lines").  Series are named, not
 * numbered, so that another store can take them.
 *
 * Threads: any.
 * Fails:   ST_IO, ST_CORRUPT; what the callback returns; the buffer's failures
 *          stick (base/buf.h). */
#pragma once

#include "tsd/transfer/dump.h"

/* Points of a row: {"type":"points","metric":..,"tags":{..},"times":[..],
 * "values":[..]}, a line for some thousands. */
void json_export_row(struct buf *out, const struct dump_row *row);

typedef enum status json_line_fn(void *ctx, struct slice line, struct error *e);

/* All else: names in the order of their ids, trees and their rules, metadata,
 * annotations, histograms.  '*nameless' grows by those left out that belong to
 * names which were deleted. */
MUST_CHECK enum status json_export_records(const struct api *a, json_line_fn *f,
                                           void *ctx, uint64_t *nameless,
                                           struct error *e);
