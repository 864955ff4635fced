/* The table of weeks: what long queries read in the place of rows
 * (storage/week/week.h).
 *
 * For each salt bucket there is a time 'done': of every week before it each
 * series that has points in it has an entry.  An empty entry is *stale*: read
 * the rows.  So is an entry that is unfit.  Rollups have no entries.
 *
 * Who writes or deletes rows makes entries of their weeks before 'watched'
 * stale, in a write before that of the rows.  The summariser, a thread,
 * sums up weeks that are over, once nothing has come to them for a while, or it
 * has for long.
 *
 * While that thread works, 'watched' is where it is going to, and 'done' where
 * it was.  It holds the flush lock while it reads some series' rows of a week
 * and writes their entries, so neither rows nor entries change meanwhile.
 *
 * Days before a metric's cut are not read, and weeks before it go with its rows
 * (cuts.h).  Where hourly values are kept for longer than raw points, an entry
 * of a week before 'alone_s' is *final* once rows of that series and week have
 * been dropped: it does not become stale, is not made again of rows, and counts
 * whatever 'done' is (a copy has entries, and no state yet).  Until then late
 * rows make it stale as any other.  Hours that come late to a final entry are
 * kept in rows, which the entry says (WEEK_ROWS_LATE): who reads the entry adds
 * them, and a pass of retention merges them into it (store_retention_merge.c).
 *
 * Else the table follows from the rows alone: without its entries of a bucket,
 * the state among them, it is made again. */
#pragma once

#include "storage/store/store_priv.h"

struct store_dropped;

/* A week to which rows came after it was over. */
struct late_week {
    uint32_t week;
    int64_t flushed_us; /* the last of them */
};

/* Of a salt bucket; guarded by the flush lock. */
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

/* Reads what the engine has of a bucket. */
MUST_CHECK enum status store_weeks_load(struct store *s, unsigned bucket,
                                        struct error *e)
    REQUIRES(s->flush_lock);

/* A row of this span is to be written or deleted: adds what makes its week
 * stale to 'stale', if it must be. */
void store_weeks_collect_stale(struct store *s, struct slice tsuid,
                               uint32_t span, struct kv_batch *stale)
    REQUIRES(s->flush_lock);

/* store_week_is_final() of the stored entry. One that cannot be read is left as
 * it is. */
bool store_weeks_is_final(struct store *s, struct slice key, uint32_t week,
                          const struct cut_times *cut);

/* Does this week wait for more late rows before any of its rows are dropped?
 * It does until MOST_DELAYS summary delays after the last late row, and as long
 * after the bucket came: a client may send its history in portions. */
bool store_weeks_held(struct store *s, unsigned bucket, uint32_t week)
    REQUIRES(s->flush_lock);

/* Merges the rows of a week into its final entry, the hours of which the entry
 * has no points, and deletes the rows, in one batch. Rows that cannot be merged
 * stay.  Only while the head has no row of that series and week. */
MUST_CHECK enum status
store_weeks_merge(struct store *s, struct slice tsuid, uint32_t week,
                  struct store_dropped *dropped, struct error *e)
    REQUIRES(s->flush_lock, s->late_lock);

/* Takes the hourly values of whole days of a range, which is deleted, out of
 * the weeks of which rows are not kept. */
MUST_CHECK enum status store_weeks_delete(struct store *s, struct slice tsuid,
                                          int64_t from_ms, int64_t to_ms,
                                          struct error *e)
    REQUIRES(s->flush_lock);

/* How many summary delays late rows hold up summaries, and the dropping of
 * their weeks' rows. */
#define MOST_DELAYS 10

/* The week in which rows may still come, in the ordinary course; what is before
 * it is over. */
uint32_t store_weeks_over(const struct store *s);

/* False: it is noted already. */
bool store_weeks_note_stale(struct weeks *w, uint32_t week);
void store_weeks_put_state(struct store *s, unsigned bucket, struct kv_batch *b)
    REQUIRES(s->flush_lock);

/* Writes and clears what store_weeks_collect_stale() added: before the rows. */
MUST_CHECK enum status
store_weeks_mark_stale(struct store *s, struct kv_batch *stale, struct error *e)
    REQUIRES(s->flush_lock);

/* The summariser: makes and corrects entries until the store is stopping. */
void *store_weeks_summarise(void *store);
