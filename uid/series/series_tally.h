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

/* Only series that have one of these values under the tagk. */
struct series_pick {
    uint64_t tagk;
    const uint64_t *tagvs; /* ascending; NULL: any */
    size_t tagvs_len;
};

/* Counts the values of 'tagk', or, when it is 0, the tagks.  Series of kinds do
 * not count.  Without picks tagks come from memory, and values from the index
 * where the metric has one; else series are looked at one by one, those alone
 * that a pick's values have where the index tells.  When it is cancelled
 * the counts are of what came until then. */
MUST_CHECK enum status series_tally(struct series_directory *d, uint64_t metric,
                                    uint64_t tagk,
                                    const struct series_pick *picks,
                                    size_t picks_len, struct cancel cancel,
                                    struct arena *a, struct series_tally **out,
                                    size_t *len, struct error *e);

/* Of each metric (0: of all metrics; ascending) with any, how many series were
 * entered at or after 'since_s', rollups too.  Looks at each entry. */
MUST_CHECK enum status series_added(struct series_directory *d, uint64_t metric,
                                    uint32_t since_s, struct cancel cancel,
                                    struct arena *a, struct series_tally **out,
                                    size_t *len, struct error *e);
