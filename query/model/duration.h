/* Durations as requests and the rollup configuration write them: "10m", "1d",
 * "500ms"; as in OpenTSDB, "1.5h" is an hour.
 *
 * Threads: any.
 * Fails:   ST_INVALID with OpenTSDB's text. */
#pragma once

#include "base/error.h"
#include "base/slice.h"

/* "10m" -> 600000 */
MUST_CHECK enum status parse_duration(struct slice text, int64_t *out_ms,
                                      struct error *e);
