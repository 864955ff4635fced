/* For how long points are kept, by patterns of metrics: halite.retention, and
 * /api/retention (docs/RETENTION.md).
 *
 *     sys.* 90d 2y; debug.* 7d; * forever
 *
 * A policy is PATTERN RAW [HOURLY]; a semicolon or the end of a line ends it.
 * The first one whose pattern matches a metric counts; one that none matches is
 * kept for ever.  '*' in a pattern stands for any characters.  RAW and HOURLY
 * are whole numbers with a unit (h, d, w, n: 30 days, y: 365 days; also s, m,
 * ms) or "forever"; HOURLY is as long as RAW if it is not there.
 *
 * Owns:    a copy of the text.
 * Threads: frozen once parsed.
 * Fails:   ST_INVALID with a sentence that names the policy. */
#pragma once

#include "base/error.h"
#include "base/slice.h"

#define RETENTION_FOREVER      INT64_MAX
#define RETENTION_RAW_MIN_MS   INT64_C(3600000)
#define RETENTION_POLICIES_MAX 1000
#define RETENTION_TEXT_MAX     65536 /* bytes */

struct retention_policy {
    struct slice pattern, raw, hourly; /* as written */
    int64_t raw_ms, hourly_ms;         /* or RETENTION_FOREVER */
};

struct retention_policies {
    char *text;
    struct retention_policy *list;
    size_t len;
};

/* '*out' is all zero after a failure. */
MUST_CHECK enum status retention_policies_parse(struct slice text,
                                                struct retention_policies *out,
                                                struct error *e);
void retention_policies_fini(struct retention_policies *p);

/* Which policy counts for a metric; 'len': none does. */
size_t retention_policies_find(const struct retention_policies *p,
                               struct slice metric);

/* What is older than this is expired, of data that is kept for 'keep_ms'; 0:
 * nothing is. */
int64_t retention_expired_ms(int64_t keep_ms, int64_t now_ms);
