/* Rollups: points that a client has summed up beforehand, for each interval and
 * aggregator a series of its own (docs/PROTOCOL.md, "Rollups").  This header
 * has the configuration (tsd.rollups.config) and the times of rollups;
 * query/plan/rollup_candidates.h chooses which of them a query reads.
 *
 * A rollup's time is the start of its interval, counted from the start of the
 * span ("1h", "1d", a month, a year) that holds it.
 *
 * Threads: struct rollups is frozen once read; the rest, one at a time.
 * Fails:   ST_INVALID with OpenTSDB's sentences; ST_IO. */
#pragma once

#include "query/model/query.h"
#include "uid/series/series.h"

#define ROLLUP_INTERVALS_MAX 64
#define ROLLUP_NAME_MAX      64 /* of a kind: see series_kind() */

struct rollup_interval {
    char text[24]; /* "1h", as configured */
    int64_t seconds;
    char span_unit; /* h, d, n or y */
    int64_t span_count;
    int64_t slots;   /* intervals in a span, at most */
    int64_t delay_s; /* so long the newest may be missing; 0: none is */
    bool is_default; /* these are the points themselves */
    bool dense;      /* stored one a minute: see rollup_store_ms() */
};

struct rollups {
    struct rollup_interval *intervals;
    size_t len;
    const struct aggregator **aggregators; /* those that have an id */
    size_t aggregators_len;
    /* Who reads the configuration sets these, borrowed. */
    const char *agg_tag_key, *raw_tag_value;
    bool tag_raw, block_derived;
    bool split; /* points where rollups may be missing yet:
                   query/answer/rollup_raw_merge.h */
};

/* 'config' is JSON, or the name of a file with it. */
MUST_CHECK enum status rollups_open(const char *config, struct rollups **out,
                                    struct error *e);
void rollups_close(struct rollups **r);

/* NULL: none such is configured. */
const struct rollup_interval *rollups_find(const struct rollups *r,
                                           struct slice interval);
/* The aggregator of a rollup, case ignored; NULL: it has no id. */
const struct aggregator *rollups_aggregator(const struct rollups *r,
                                            struct slice name);
/* The aggregator whose rollups are read for 'a': zimsum, mimmin and mimmax,
 * which ignore what is missing, are stored and read as sum, min and max. */
const struct aggregator *rollup_stored_aggregator(const struct aggregator *a);
/* Are rollups of a stored aggregator configured, under any of its names? */
bool rollups_store(const struct rollups *r, const struct aggregator *stored);
/* The intervals that divide 'seconds', largest first; returns how many. */
size_t rollups_best(const struct rollups *r, int64_t seconds,
                    const struct rollup_interval *out[ROLLUP_INTERVALS_MAX]);

/* The name of a kind of series.  'interval' NULL: points that were aggregated
 * over series only ('pre' is set then). */
void rollup_kind_name(const struct rollup_interval *i,
                      const struct aggregator *a, bool pre,
                      char out[ROLLUP_NAME_MAX]);

/* -- times ----------------------------------------------------------------- */

/* The start of the span that holds a second. */
int64_t rollup_base_s(const struct rollup_interval *i, int64_t s);
/* The time under which the rollup of a second is stored; false when its span
 * has no such slot (which is '*slot' then).  A dense one takes a minute for
 * each interval, so that a row holds 60 of them. */
bool rollup_store_ms(const struct rollup_interval *i, int64_t s,
                     int64_t *stored_ms, int64_t *slot);
/* Back to the start of the interval. */
int64_t rollup_real_ms(const struct rollup_interval *i, int64_t stored_ms);
/* The stored times whose real ones lie in [from, to]; may be empty. */
void rollup_stored_range(const struct rollup_interval *i, int64_t from_ms,
                         int64_t to_ms, int64_t *stored_from_ms,
                         int64_t *stored_to_ms);
