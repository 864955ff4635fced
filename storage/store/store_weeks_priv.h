/* The table of weeks, which long queries read instead of rows
 * (storage/week/week.h). docs/WEEKS.md has a drawing of the states of an entry
 * and of a salt bucket, and a table of what changes them.
 *
 * Each salt bucket has two times, 'done' and 'until'. For every week before
 * 'done', each series with points in that week has an entry. A week between
 * 'done' and 'until' may have entries, because a pass of the summariser is
 * under way or ended early. No week from 'until' on has entries. Whoever writes
 * or deletes rows of a week before 'until' first makes the entries of that week
 * empty (*stale*), in a write of its own. So every entry is stale or says what
 * its rows say, also after a crash. If an entry is stale or unfit, readers read
 * the rows. Rollups have no entries.
 *
 * A thread, the summariser, sums up a week that is over when no late row has
 * come to it for a while, or when late rows have been coming for long. It
 * raises 'until' first, then writes entries, and then raises 'done'. It holds
 * the flush lock while it reads the rows of some series' week and writes their
 * entries, so that neither change meanwhile.
 *
 * Days before a metric's cut are not read, and weeks before it are deleted
 * together with the rows (cuts.h). If hourly values are kept for longer than
 * raw points, an entry becomes *final* when rows of its series and week are
 * dropped, in the same batch (week_is_final()). A final entry never becomes
 * stale, is never made from rows again, and counts whatever 'done' is (a copy
 * has entries before it has any state). Until rows are dropped, late rows make
 * it stale like any other. Late hours of a final entry stay in rows, and the
 * entry says so (WEEK_ROWS_LATE): readers add these rows to the entry, and a
 * pass of retention merges them into it (store_retention_merge.c).
 *
 * Apart from final entries, the table follows from the rows alone. If a bucket
 * has entries and no state, those that are not final are deleted when the
 * bucket is loaded. A copy has final entries and no state. */
#pragma once

#include "storage/store/store_priv.h"

struct store_dropped;

/* A week to which rows came after it was over. */
struct late_week {
    uint32_t week;
    int64_t flushed_us; /* monotonic; when the last of them was written */
};

/* The state of one salt bucket. Guarded by the flush lock. */
struct weeks {
    uint32_t done, until; /* as the engine has them; done <= until */
    uint32_t *stale;      /* weeks with stale entries, ascending */
    size_t stale_len, stale_cap;
    bool unwritten;     /* 'stale' has weeks that the engine does not know of */
    bool unknown;       /* entries cannot be read: nothing is summed up */
    int64_t old_row_us; /* when a row of a week that is over was written */
    struct late_week *late;
    size_t late_len, late_cap;
    int64_t loaded_us;   /* when the bucket came */
    int64_t passed_us;   /* when the last pass ended, or the bucket came */
    uint32_t next_stale; /* of the pass over 'stale' under way; 0: none is */
    bool stale_again;    /* the week before 'next_stale' became stale again */
};

/* Reads the state of a bucket from the engine. */
MUST_CHECK enum status store_weeks_load(struct store *s, unsigned bucket,
                                        struct error *e)
    REQUIRES(s->flush_lock);

/* To be called before a row of this span is written or deleted. Adds the
 * operation that makes the week's entry stale to 'stale', if one is needed. */
void store_weeks_collect_stale(struct store *s, struct slice tsuid,
                               uint32_t span, struct kv_batch *stale)
    REQUIRES(s->flush_lock);

/* Returns whether the entry with this value is final. Where final entries may
 * be, an entry that cannot be read counts as final, so that it is left as it
 * is. */
bool store_weeks_is_final(struct slice value, uint32_t week,
                          const struct cut_times *cut);
/* Reads the entry with this key into 'value', and returns the same. */
bool store_weeks_read_final(struct store *s, struct slice key, uint32_t week,
                            const struct cut_times *cut, struct buf *value);

/* Returns whether no rows of this week may be dropped yet, because more late
 * rows are expected: clients send their history in portions. That is so until
 * MOST_DELAYS summary delays have passed since the last late row, and since the
 * bucket was loaded. */
bool store_weeks_held(struct store *s, unsigned bucket, uint32_t week)
    REQUIRES(s->flush_lock);

/* Merges the late rows of a week into its final entry and deletes these rows,
 * in one batch. Only hours for which the entry has no points are merged; rows
 * that cannot be merged stay. The head must have no row of that series and
 * week. */
MUST_CHECK enum status
store_weeks_merge(struct store *s, struct slice tsuid, uint32_t week,
                  struct store_dropped *dropped, struct error *e)
    REQUIRES(s->flush_lock, s->late_lock);

/* Deletes the hourly values of all days that lie wholly in the range from the
 * series' final entries, whose rows are gone. */
MUST_CHECK enum status store_weeks_delete(struct store *s, struct slice tsuid,
                                          int64_t from_ms, int64_t to_ms,
                                          struct error *e)
    REQUIRES(s->flush_lock);

/* For how many summary delays late rows postpone the summary of their week, and
 * the dropping of its rows. */
#define MOST_DELAYS 10

/* Returns the first week that is not over: rows of live points may still be
 * written to it. */
uint32_t store_weeks_over(const struct store *s);

/* Adds the week to those with stale entries. */
void store_weeks_note_stale(struct weeks *w, uint32_t week);
void store_weeks_put_state(struct store *s, unsigned bucket, struct kv_batch *b)
    REQUIRES(s->flush_lock);

/* Writes and clears what store_weeks_collect_stale() added, together with the
 * state if that has changed. To be called before the rows are written. */
MUST_CHECK enum status
store_weeks_mark_stale(struct store *s, struct kv_batch *stale, struct error *e)
    REQUIRES(s->flush_lock);

/* The summariser: makes and corrects entries until the store is stopping. */
void *store_weeks_summarise(void *store);
