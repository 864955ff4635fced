/* What the files of the series directory share.
 *
 *     series.c        names to TSUIDs, series by masks
 *     series_values.c series by the values of their tags
 *     series_enter.c  new series */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "uid/series/series.h"

#define SERIES_MAGIC FOURCC('S', 'E', 'R', 'D')

#define SERIES_KEY_MAX (1 + TSUID_MAX)

struct series_directory {
    uint32_t magic;
    struct store *store;
    struct uid_table *uids;
    struct key_layout widths;
    struct tagk_sets *tagk_sets;
    struct series_index *index;
    struct series_limits limits;
    struct lock lock;             /* enters series; across one WAL append */
    _Atomic uint64_t entered;     /* so many since the start */
    bool failed GUARDED_BY(lock); /* memory may know what the engine lacks */
};

/* Is there room for one series more of the metric (0: of a new one)? */
bool series_has_room(struct series_directory *d, uint64_t metric);

/* series_each(), and how many keys it looked at. */
MUST_CHECK enum status series_scan(struct series_directory *d, uint64_t metric,
                                   const struct mask_set *masks,
                                   const struct series_visit *visit,
                                   uint64_t *steps, struct error *e);

/* From the engine; no entry is no error. */
MUST_CHECK enum status series_read_entry(struct series_directory *d,
                                         struct slice tsuid, bool *exists,
                                         uint32_t *created_s, struct error *e);
