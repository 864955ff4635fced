/* Rows of several series: there is a row for each time at which one of them has
 * a point.  An operand that was computed before is read by place instead: it
 * gives its next point to each row, whatever the time of that point is, as in
 * OpenTSDB.
 *
 * Threads: owner. */
#pragma once

#include "query/exp/join.h"

#define ROWS_END INT64_MAX

struct row_series {
    const struct dps *dps; /* NULL: it has no points */
    size_t at;             /* its next point, */
    int64_t next_ms;       /* and the time of that; ROWS_END: there is none */
    bool by_place;
    bool has_value;     /* 'value' is a point of it */
    double fill, value; /* of this row; 'fill' where it has no point */
};

static inline void
rows_look_ahead(struct row_series *s)
{
    s->next_ms =
        s->dps != NULL && s->at < s->dps->len ? s->dps->ts_ms[s->at] : ROWS_END;
}

/* Goes before the first row. */
static inline void
rows_open(struct row_series *series, size_t len)
{
    for (size_t i = 0; i < len; i++)
        rows_look_ahead(&series[i]);
}

/* Goes to the next row; false after the last. */
static inline bool
rows_next(struct row_series *series, size_t len, int64_t *ts_ms)
{
    int64_t first = ROWS_END;

    for (size_t i = 0; i < len; i++)
        first = series[i].next_ms < first ? series[i].next_ms : first;
    for (size_t i = 0; i < len && first != ROWS_END; i++) {
        struct row_series *s = &series[i];

        s->has_value =
            s->by_place ? s->next_ms != ROWS_END : s->next_ms == first;
        s->value = s->fill;
        if (!s->has_value)
            continue;
        s->value = exp_double(s->dps, s->at++);
        rows_look_ahead(s);
    }
    *ts_ms = first;
    return first != ROWS_END;
}
