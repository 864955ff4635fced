/* The rows of a store, an hour of a series at a time, with their names: those
 * that a plan reads, or all.
 *
 * Owns:    what a row lends dies when the call returns.
 * Bounds:  copies of the open rows of one metric, or with 'whole' of a part of
 *          it; the points of a row of a series.
 * Threads: any; a dump is its caller's.
 * Fails:   ST_NOT_FOUND: an unknown name; ST_BUSY: cancelled; ST_IO,
 *          ST_CORRUPT; what the callback returns. */
#pragma once

#include "query/plan/plan.h"
#include "tsd/api/api.h"
#include "tsd/transfer/scan_text.h"

struct dump_row {
    struct slice tsuid; /* without a kind */
    struct slice kind;  /* of rollups (uid/series/series.h), else empty */
    struct scan_series series;
    uint32_t base; /* of the hour */
    const struct points *points;
};

typedef enum status dump_row_fn(void *ctx, const struct dump_row *row,
                                struct error *e);

struct dump {
    const struct api *a;
    uint32_t from_base, to_base; /* hours, both included */
    bool by_hours; /* all series of an hour, before those of the next one */
    bool kinds;    /* rollups too */
    dump_row_fn *f;
    void *ctx;
    struct cancel cancel;
    uint64_t nameless; /* out: rows left out, whose names were deleted */
};

/* What the plan reads, of its own hours: in order of time, then of TSUIDs, by
 * rows of the store or by hours. */
MUST_CHECK enum status dump_plan(struct dump *d, const struct plan *p,
                                 struct error *e);

/* Every metric, series by series in order of time. */
MUST_CHECK enum status dump_all(struct dump *d, struct error *e);

/* The names of a TSUID: the metric and the tags, in 'names', which a
 * kind leads if it has one.  ST_NOT_FOUND when one was deleted. */
struct dump_names {
    struct buf text, tsuid;
    struct slice kind;
    struct scan_series series;
    struct tag tags[KEY_MAX_TAGS];
};
MUST_CHECK enum status dump_find_names(const struct api *a, struct slice tsuid,
                                       struct dump_names *names,
                                       struct error *e);
void dump_names_fini(struct dump_names *names);
