/* What a sub-query reads: the hours that are scanned, what is wanted of each
 * row, and in which form the points of a series are kept until they are
 * aggregated.  A reading depends only on the query.  It is made once; the plan,
 * the scan, the fetch, the aggregation and the dry run read it.  Sub-queries
 * whose readings agree can share a scan: reading_join().
 *
 * More is scanned than is shown: points in between take part in interpolation,
 * in rates and in the last bucket.  Both ranges are OpenTSDB's to the second.
 *
 * Owns:    nothing; the downsampling in 'buckets' is the sub-query's.
 * Threads: frozen once made. */
#pragma once

#include "query/downsample/buckets.h"
#include "storage/scan/column.h"
#include "storage/scan/store_row.h"

enum reading_form {
    READ_POINTS, /* the points themselves are kept */
    READ_FOLDED, /* each row is added to running numbers of its buckets */
    /* The functions need all points of a bucket at once.  Each row has ... */
    READ_ROWS,  /* ... whole buckets */
    READ_WHOLE, /* ... parts of buckets: rows wait until theirs is complete */
};

#define READING_FUNCTIONS_MOST 40 /* more than there are */

struct query_reading {
    uint32_t from_base, to_base; /* hours to be scanned, both included */
    struct window window;
    enum reading_form form;
    struct buckets buckets; /* zeros without downsampling */
    /* The functions that downsample while rows are read; none of READ_POINTS.
     * Each makes its own buckets. */
    const struct aggregator *functions[READING_FUNCTIONS_MOST];
    size_t functions_len;
    struct row_want want;
};

/* Makes the reading of a sub-query, without a list of its buckets. */
void reading_make(struct query_reading *r, const struct query *q,
                  const struct sub_query *sq);

/* Does another sub-query, of the same series, read the same?  If so, its
 * function is added to 'r'; otherwise 'r' is not changed. */
bool reading_join(struct query_reading *r, const struct query *q,
                  const struct sub_query *sq);

/* Returns the place among r->functions of the one that makes the buckets of the
 * sub-query; functions_len if there is none. */
size_t reading_function(const struct query_reading *r,
                        const struct sub_query *sq);

/* Does a series have points in the scanned range, which the scanned rows can
 * exceed?  Otherwise it is not part of its group: it counts neither for tags
 * nor for numbers.  A group without series has no metric and no tags, but it is
 * answered. */
bool reading_has(const struct query_reading *r, const struct column *s);

/* Returns the time of the first point that the shown numbers can depend on, in
 * ms.  It is earlier than the start of the query if an earlier bucket is needed
 * for the first rate, or to interpolate the series of a group ('joins_series':
 * a group has several). */
int64_t reading_needs_from(const struct query_reading *r,
                           const struct sub_query *sq, bool joins_series);
