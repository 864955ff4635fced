/* The table of weeks, which long queries read instead of rows
 * (storage/week/week.h).
 *
 * Each salt bucket has a time 'done'. For every week before it, each series
 * with points in that week has an entry. If the entry is empty (*stale*) or
 * unfit, readers read the rows. Rollups have no entries.
 *
 * Whoever writes or deletes rows of a week before 'watched' first makes the
 * entries of that week stale, in a write of its own. A thread, the summariser,
 * sums up a week that is over when no late row has come to it for a while, or
 * when late rows have been coming for long.
 *
 * While the summariser works, 'watched' is the time that it is going to reach,
 * and 'done' is where it began. It holds the flush lock while it reads the rows
 * of some series' week and writes their entries, so that neither change
 * meanwhile.
 *
 * Days before a metric's cut are not read, and weeks before it are deleted
 * together with the rows (cuts.h). If hourly values are kept for longer than
 * raw points, an entry of a week before 'alone_s' is *final* once rows of its
 * series and week were dropped. A final entry never becomes stale, is never
 * made from rows again, and counts whatever 'done' is (a copy has entries
 * before it has any state). Until rows were dropped, late rows make it stale
 * like any other. Late hours of a final entry stay in rows, and the entry says
 * so (WEEK_ROWS_LATE): readers add these rows to the entry, and a pass of
 * retention merges them into it (store_retention_merge.c).
 *
 * Apart from final entries, the table follows from the rows alone: if the
 * entries of a bucket are deleted together with its state, it is made again. */
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
    uint32_t done;    /* as the engine has it */
    uint32_t watched; /* >= done */
    uint32_t *stale;  /* weeks with stale entries, ascending */
    size_t stale_len, stale_cap;
    bool unwritten;     /* 'stale' has weeks that the engine does not know of */
    int64_t old_row_us; /* when a row of a week that is over was written */
    struct late_week *late; /* ascending */
    size_t late_len, late_cap;
    int64_t loaded_us;   /* when the bucket came */
    int64_t passed_us;   /* when the last pass ended, or the bucket came */
    uint32_t next_stale; /* of the pass over 'stale' under way; 0: none is */
    unsigned loaded;     /* how often the bucket came */
};

void store_weeks_init(struct store *s);
void store_weeks_fini(struct store *s);

/* Reads the state of a bucket from the engine. */
MUST_CHECK enum status store_weeks_load(struct store *s, unsigned bucket,
                                        struct error *e)
    REQUIRES(s->flush_lock);

/* To be called before a row of this span is written or deleted. Adds the
 * operation that makes the week's entry stale to 'stale', if one is needed. */
void store_weeks_collect_stale(struct store *s, struct slice tsuid,
                               uint32_t span, struct kv_batch *stale)
    REQUIRES(s->flush_lock);

/* Reads the entry with this key, and returns whether it is final. An entry that
 * cannot be read counts as final, so that it is left as it is. */
bool store_weeks_is_final(struct store *s, struct slice key, uint32_t week,
                          const struct cut_times *cut);

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

/* Returns false if the week was noted already. */
bool store_weeks_note_stale(struct weeks *w, uint32_t week);
void store_weeks_put_state(struct store *s, unsigned bucket, struct kv_batch *b)
    REQUIRES(s->flush_lock);

/* Writes and clears what store_weeks_collect_stale() added. To be called before
 * the rows are written. */
MUST_CHECK enum status
store_weeks_mark_stale(struct store *s, struct kv_batch *stale, struct error *e)
    REQUIRES(s->flush_lock);

/* The summariser: makes and corrects entries until the store is stopping. */
void *store_weeks_summarise(void *store);
