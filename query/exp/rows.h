/* Rows of several series: there is a row for each time at which one of them has
 * a point.  An operand that was computed before is read by place instead: it
 * gives its next point to each row, whatever the time of that point is, as in
 * OpenTSDB.
 *
 * Threads: owner. */
#pragma once

#include "query/exp/join.h"

struct row_series {
    const struct dps *dps; /* NULL: it has no points */
    size_t at;             /* its next point */
    bool by_place;
    bool has_value;     /* 'value' is a point of it */
    double fill, value; /* of this row; 'fill' where it has no point */
};

/* Goes to the next row; false after the last. */
static inline bool
rows_next(struct row_series *series, size_t len, int64_t *ts_ms)
{
    bool found = false;

    for (size_t i = 0; i < len; i++) {
        const struct row_series *s = &series[i];

        if (s->dps == NULL || s->at == s->dps->len ||
            (found && s->dps->ts_ms[s->at] >= *ts_ms))
            continue;
        found = true;
        *ts_ms = s->dps->ts_ms[s->at];
    }
    for (size_t i = 0; i < len && found; i++) {
        struct row_series *s = &series[i];

        s->has_value = s->dps != NULL && s->at < s->dps->len &&
                       (s->by_place || s->dps->ts_ms[s->at] == *ts_ms);
        s->value = s->has_value ? exp_double(s->dps, s->at++) : s->fill;
    }
    return found;
}
