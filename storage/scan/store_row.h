/* A row as a scan lends it: a block, and what is over it in the head.
 *
 * Owns:    nothing; what it points to is the scan's, until its next step.
 * Threads: as the scan.
 * Fails:   ST_CORRUPT, with the row's key in front; ST_LIMIT, no memory. */
#pragma once

#include "storage/week/week.h"

/* An open row of the head, as a scan copied it; or its end, of what is in the
 * scan's window; or a block of the head, which is older than the open rows of
 * its hour. */
struct open_copy {
    struct slice tsuid;
    uint32_t span, base; /* the first seconds of the row and of the hour */
    uint32_t count;      /* points, repeated ones included */
    uint32_t row_count;  /* those of the row */
    uint32_t order;      /* of making, within an hour */
    bool is_block;       /* 'bytes' are one, and 'spacing' is not set */
    bool is_end;         /* of an even row that ends with 'last' */
    union number last;
    struct slice bytes;            /* packed points (open_row.h), or a block */
    struct spacing spacing;        /* not even: it may be so, or not be known */
    const struct summary *summary; /* NULL: not known */
};

/* What a scan wants of a block: so many of its points. */
struct block_part {
    uint32_t count; /* 0: all of them, and the rest is 0, too */
    uint32_t skip;  /* before them */
    uint32_t of;    /* points of the block */
    int64_t first_ms, last_ms;
};

/* One hour of a row as a scan lends it, until the scan's next step; or all of a
 * row whose hours are one block. */
struct store_row {
    struct slice tsuid;
    uint32_t base;
    struct slice block; /* empty: only in open rows */
    struct block_part part;
    const struct open_copy *open; /* over it, in the order of making */
    size_t open_len;              /* 0: all points are in the block */
    /* Instead of hours, days of a week: from 'day' to 'day_end' - 1. */
    const struct week *week;
    unsigned day, day_end;
    bool is_only_source; /* rows of the week may be dropped: it is all there is
                          */
};

/* Appends the row's points, head over block, ascending and unique. */
MUST_CHECK enum status store_row_points(const struct store_row *row,
                                        struct points *out, struct error *e);

/* The same, but where '*s' comes out even, only the values are written, and
 * those that are not wanted may be anything.  A part's first value is 0. */
MUST_CHECK enum status store_row_spaced(const struct store_row *row,
                                        struct value_range wanted,
                                        struct points *out, struct spacing *s,
                                        struct error *e);

/* The row's block summary, without unpacking anything.  '*known' is false when
 * there is none: a part of a block is wanted, some of its points are in the
 * head, and some are not or they came in no order; or the scan was not to have
 * any of the head's. */
MUST_CHECK enum status store_row_summary(const struct store_row *row,
                                         struct summary *out, bool *known,
                                         struct error *e);

/* -- what a reader wants ----------------------------------------------------
 */

/* Points from 'from_ms' to 'to_ms', both included, and 'around' buckets that
 * have points before them and after them: a rate needs two of these, other
 * numbers one.  Buckets are wanted whole. */
struct column_window {
    int64_t from_ms, to_ms;
    size_t around;
    int64_t bucket_ms; /* 1: single points */
};

/* What a reader wants of the rows of a scan.  The scan may leave out what is
 * not wanted, and it may lend a summary or the days of a week instead of rows;
 * but it does not have to.  All zeros mean: every point, from rows. */
struct row_want {
    bool crops; /* points outside of 'window' are not wanted */
    struct column_window window;
    bool summaries;        /* the summary of a row can replace its points */
    bool weeks;            /* whole days of weeks can replace rows ... */
    enum week_hours hours; /* ... and these values of their hours are needed */
};
