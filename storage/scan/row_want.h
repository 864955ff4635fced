/* What a reader wants of the rows of a scan.  The scan may leave out what is
 * not wanted, and it may lend a summary or the days of a week instead of rows;
 * but it does not have to.  All zeros mean: every point, from rows. */
#pragma once

#include <stddef.h>

#include "storage/week/week.h"

/* Points from 'from_ms' to 'to_ms', both included, and 'around' buckets that
 * have points before them and after them: a rate needs two of these, other
 * numbers one.  Buckets are wanted whole. */
struct column_window {
    int64_t from_ms, to_ms;
    size_t around;
    int64_t bucket_ms; /* 1: single points */
};

struct row_want {
    bool crops; /* points outside of 'window' are not wanted */
    struct column_window window;
    bool summaries;        /* the summary of a row can replace its points */
    bool weeks;            /* whole days of weeks can replace rows ... */
    enum week_hours hours; /* ... and these values of their hours are needed */
};
