/* What the files of the series directory share.
 *
 *     series.c         names to TSUIDs, series by masks
 *     series_values.c  series by the values of their tags
 *     series_enter.c   new series
 *     series_events.c  what other processes must hear of new series
 *     series_purge.c   series that have nothing left
 *     series_purge_series.c   their removal, here and where others use them
 *     series_purge_watch.c   what the purges of all processes ask of this one
 */
#pragma once

#include <stdatomic.h>

#include "base/numbers.h"
#include "base/process/lock.h"
#include "uid/series/series.h"

#define SERIES_MAGIC FOURCC('S', 'E', 'R', 'D')

#define SERIES_KEY_MAX (1 + TSUID_MAX)

/* Keys between two looks whether it is cancelled: some 100 us. */
#define KEYS_UNCHECKED 512

struct series_directory {
    uint32_t magic;
    struct store *store;
    struct uid_table *uids;
    struct key_layout widths;
    struct tagk_sets *tagk_sets;
    struct series_index *index;
    struct series_limits limits;
    bool shared; /* other processes enter series, too */
    /* How often events were missed, and how many of these times the tag-key
     * sets were read again since. */
    _Atomic uint64_t missed, read_again;
    struct lock refresh_lock;
    _Atomic int64_t recent_until_us; /* what is found may be news to others */
    struct lock lock;                /* enters series; across one WAL append */
    _Atomic uint64_t entered;        /* so many since the start */
    /* Of purges (series_purge.h): whether one works; how many batches of series
     * were taken out of the directory; ids that were entered since it began;
     * and ids whose names it took away. */
    bool purging GUARDED_BY(lock);
    _Atomic uint64_t purged;
    struct numbers entered_ids[UID_KINDS] GUARDED_BY(lock);
    struct numbers gone_ids[UID_KINDS] GUARDED_BY(lock);
    /* Of the purge of this process, on a shared engine: its mark, until when it
     * may remove names, and how many processes heard of its beginning. */
    uint32_t mark;
    int64_t mark_until_us;
    size_t watchers;
    /* The mark of the newest purge of any process, if this one notes since its
     * beginning which series are used; 0: it does not. */
    struct lock watch_lock;
    uint64_t watch_mark GUARDED_BY(watch_lock);
    int64_t watch_until_us GUARDED_BY(watch_lock);
    uint64_t evictions GUARDED_BY(lock); /* store_has_series(), the last time */
};

/* Is there room for one series more of the metric (0: of a new one)?  Beside so
 * many that are on their way, of all, and of the metric. */
bool series_has_room(struct series_directory *d, uint64_t metric, uint64_t all,
                     uint64_t of_metric);

/* Is there no room for one more of the metric, which may have no id yet? */
bool series_is_full(struct series_directory *d, struct slice metric);

/* A new series is about to be entered: false when the name of one of its ids
 * was taken away meanwhile.  Else its ids are noted, if a purge works. */
bool series_purge_admits(struct series_directory *d, struct slice tsuid)
    REQUIRES(d->lock);

/* Reads the tag-key sets again, if events were missed.  Before each use. */
MUST_CHECK enum status series_refresh(struct series_directory *d,
                                      struct error *e);

/* Tag-key sets and the index are read again before their next use. */
void series_read_again(struct series_directory *d);
/* Ends the watch for the purge with this mark, or for any (0).  Returns whether
 * there was one. */
bool series_end_watch(struct series_directory *d, uint64_t mark);

/* A payload of UID_EVENT_PURGE: <what> <mark>, then some TSUIDs, each with its
 * size. */
enum { PURGE_BEGIN = 'b', PURGE_DROP = 'd', PURGE_END = 'e' };

/* Tell all processes, or this one, that a purge begins or ends. */
MUST_CHECK enum status series_begin_removals(struct series_directory *d,
                                             struct error *e);
void series_end_removals(struct series_directory *d);
/* Removes series from the directory that this process entered at 'created_s',
 * because the name of one of their ids was purged meanwhile.  Entries that have
 * changed since stay. */
MUST_CHECK enum status series_take_back(struct series_directory *d,
                                        const struct slice *tsuids, size_t len,
                                        uint32_t created_s, struct error *e);
/* Takes the marks of purges off the names of these series.  Where a name is
 * gone, 'rejected' becomes ST_CONFLICT: the names must be looked up again. */
MUST_CHECK enum status series_keep_names(struct series_directory *d,
                                         struct series_entry *entries,
                                         size_t len, struct error *e);

/* Something was heard, or read at once: for a while others may not know all
 * that this process knows. */
void series_was_recent(struct series_directory *d);

/* series_each(), and how many keys it looked at. */
MUST_CHECK enum status series_scan(struct series_directory *d, uint64_t metric,
                                   const struct mask_set *masks,
                                   const struct series_visit *visit,
                                   uint64_t *steps, struct error *e);

/* From the engine; no entry is no error. */
MUST_CHECK enum status series_read_entry(struct series_directory *d,
                                         struct slice tsuid, bool *exists,
                                         uint32_t *created_s, struct error *e);
