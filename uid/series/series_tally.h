/* How many series of a metric have each tagk, or each value of a tagk: for who
 * looks through names, without a query.
 *
 * Bounds:  some 40 bytes of the arena for each tagk or value.
 * Threads: any. */
#pragma once

#include "uid/series/series.h"

struct series_tally {
    uint64_t id, series;
};
struct series_tallies {
    struct series_tally *all;
    size_t len;
};

struct series_tally_query {
    uint64_t metric;
    uint64_t tagk;                   /* 0: count tagks, not values */
    const struct series_pick *picks; /* only series that all of them pick */
    size_t picks_len;
    struct cancel cancel; /* the counts are then of what came before */
    struct arena *arena;  /* of the result */
};

/* Counts the values of a tagk, or the tagks.  Series of kinds do not count.
 * Without picks tagks come from memory, and values from the index if the metric
 * has one; otherwise series are looked at one by one, and if the index tells,
 * only those that have the values of a pick. */
MUST_CHECK enum status series_tally(struct series_directory *d,
                                    const struct series_tally_query *q,
                                    struct series_tallies *out,
                                    struct error *e);

/* Counts for the metric (0: for each metric, ascending) the series that were
 * entered at or after 'since_s', including rollups.  Metrics without any are
 * left out.  Looks at each entry; the tagk and the picks are not used. */
MUST_CHECK enum status
series_added(struct series_directory *d, const struct series_tally_query *q,
             uint32_t since_s, struct series_tallies *out, struct error *e);
