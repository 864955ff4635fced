/* Rows as 'scan' prints them: in OpenTSDB's raw format, a line a row and a line
 * a cell, or as lines for 'import'.  A row is here an hour of a series, as it
 * was with OpenTSDB; cells are written as OpenTSDB would have stored them.
 *
 *     metric 1356998400 10 host=web01 cpu=0
 *
 * Owns:    nothing; all is lent.
 * Threads: any; these are functions of their arguments.
 * Fails:   the buffer's failures stick (base/buf.h). */
#pragma once

#include "base/buf.h"
#include "base/time/timezone.h"
#include "storage/block/point.h"
#include "uid/series/tag_set.h"

struct scan_series {
    struct slice metric;
    const struct tag *tags;
    size_t tags_len;
};

/* A time as it was put: seconds, or milliseconds where there are any. */
void scan_put_time(struct buf *out, int64_t ts_ms);
/* An integer, or a double as Java prints it. */
void scan_put_value(struct buf *out, const struct point *p);

/* Can lines express the names of the series?  They cannot express blanks, line
 * ends, or a '=' in a tag. */
bool scan_lines_can_name(const struct scan_series *s);
/* One line per point, in order of time.  Lines whose metric would be misread at
 * the beginning of a line (as a comment, a byte order mark or "put") begin with
 * "put ". */
void scan_put_lines(struct buf *out, const struct scan_series *s,
                    const struct points *p);

/* "[0, 0, 1, ..] metric base (date) {host=web01}": the key is OpenTSDB's, with
 * 'tsuid' around the time, whose first 'metric_width' bytes are the metric's;
 * 'salt' < 0: none.  Then the cells, those in seconds first, as their bytes
 * order them.  Dates are of the zone. */
void scan_put_row(struct buf *out, const struct scan_series *s, int salt,
                  struct slice tsuid, size_t metric_width, uint32_t base,
                  const struct points *p, const struct timezone *zone);
