/* What requests between daemons carry, as bytes (docs/PROTOCOL.md, "Between
 * daemons"): scan specs, series, points.  PUTs are opaque here: records of the
 * write-ahead log.
 *
 * Owns:    what a struct payload_head holds; slices in it are lent from the
 *          bytes that were read.
 * Threads: owner.
 * Fails:   readers: ST_CORRUPT, malformed. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "storage/block/point.h"
#include "storage/row/key.h"
#include "storage/scan/store_scan.h"

/* -- HEAD ------------------------------------------------------------------ */

/* Appends specs[which[0..len)] with what the open rows of a head depend on. */
void payload_put_head(struct buf *out, const struct scan_spec *specs,
                      const size_t *which, size_t len);

struct payload_head {
    struct scan_spec *specs;
    size_t len;
    struct mask_set **sets; /* that the specs share */
    size_t sets_len;
    struct slice *series; /* of all specs */
};

/* Every bucket, width and TSUID fits the layout afterwards.  fini also after a
 * failure. */
MUST_CHECK enum status payload_read_head(struct slice in,
                                         const struct key_layout *layout,
                                         struct payload_head *out,
                                         struct error *e);
void payload_head_fini(struct payload_head *h);

/* The answer has a text of bytes for each spec, in their order: buf_put_sized()
 * writes them. */
MUST_CHECK enum status payload_read_bytes(struct slice in, struct slice *out,
                                          size_t len, struct error *e);

/* -- LAST, DELETE ---------------------------------------------------------- */

/* A series and a range of time; LAST has 'to_ms' alone. */
struct payload_series {
    struct slice tsuid;
    int64_t from_ms, to_ms;
};
void payload_put_series(struct buf *out, const struct payload_series *s);
MUST_CHECK enum status payload_read_series(struct slice in,
                                           const struct key_layout *layout,
                                           struct payload_series *out,
                                           struct error *e);

/* 'p' NULL: there is none; '*found' says so. */
void payload_put_point(struct buf *out, const struct point *p);
MUST_CHECK enum status payload_read_point(struct slice in, struct point *out,
                                          bool *found, struct error *e);

void payload_put_number(struct buf *out, uint64_t n);
MUST_CHECK enum status payload_read_number(struct slice in, uint64_t *out,
                                           struct error *e);
