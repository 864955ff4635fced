/* A week of one series, summarised: what long queries need of its blocks, the
 * same to the last bit (docs/FORMAT.md, "Weeks"): of each day in UTC all that a
 * block summary has, of each hour all of that but times.
 *
 * A week begins at a multiple of seven days since 1970.  Some weeks cannot be
 * summarised ('unfit'): a value is no finite number, or so large that a sum of
 * integers depends on its order as doubles.  Points of both kinds are taken
 * for doubles, as sums of them are.
 *
 * Threads: any; these are functions of their arguments.
 * Fails:   ST_CORRUPT on bytes that week_encode() does not write. */
#pragma once

#include "storage/block/block.h"
#include "storage/block/row_parts.h"
#include "storage/row/key.h"

#define WEEK_DAYS  7
#define DAY_HOURS  24
#define WEEK_HOURS (7 * 24)

/* Of hours, or of days, one in each column: integers, or doubles. */
struct week_values {
    union number sum[WEEK_HOURS];
    union number first[WEEK_HOURS], last[WEEK_HOURS];
    union number min[WEEK_HOURS], max[WEEK_HOURS];
};

static inline void
week_values_set(struct week_values *v, size_t i, const struct summary *s)
{
    v->sum[i] = s->sum;
    v->first[i] = s->first;
    v->last[i] = s->last;
    v->min[i] = s->min;
    v->max[i] = s->max;
}

/* What of hours is wanted, and there: nothing, count and sum, or all. */
enum week_hours { HOURS_NONE, HOURS_SUMS, HOURS_ALL };

#define WEEK_LATE_BIT 16 /* in an entry's second byte */

/* What became of the rows from which an entry was made. */
enum row_state {
    WEEK_ROWS_DROPPED, /* the entry is the only source */
    WEEK_ROWS_KEPT, /* in the engine: the entry can be made again from them */
    WEEK_ROWS_LATE, /* dropped, and rows of other hours came later: queries
                     * add these rows to the entry */
};

struct week {
    uint32_t base; /* its first second */
    bool unfit;    /* then nothing else is set */
    enum row_state rows;
    bool all_int; /* all values, or all are taken for doubles */
    /* A day, and an hour, without points has a count of 0, and no values. */
    struct summary day[WEEK_DAYS];
    enum week_hours hours; /* that week_decode() was to read */
    uint32_t count[WEEK_HOURS];
    struct week_values hour;
};

/* Were rows dropped from which the entry was made? Then it is final: it cannot
 * be made again (storage/store/store_weeks_priv.h). */
static inline bool
week_is_final(const struct week *w)
{
    return !w->unfit && w->rows != WEEK_ROWS_KEPT;
}

static inline uint32_t
week_base(uint32_t time_s)
{
    return time_s - time_s % WEEK_S;
}

/* Of an hour, but for its times. */
static inline struct summary
week_hour(const struct week *w, size_t i)
{
    return (struct summary){ .count = w->count[i],
                             .all_int = w->all_int,
                             .sum = w->hour.sum[i],
                             .first = w->hour.first[i],
                             .last = w->hour.last[i],
                             .min = w->hour.min[i],
                             .max = w->hour.max[i] };
}

/* The first ms of its i-th day; of day 7, that of the week after. */
static inline int64_t
week_day_ms(const struct week *w, unsigned day)
{
    return ((int64_t)w->base + (int64_t)day * DAY_S) * 1000;
}

/* A week without points. */
void week_init(struct week *w, uint32_t base);

/* Adds the block of an hour, later than those before.  What is unpacked lies
 * in 'scratch', here and below. */
MUST_CHECK enum status week_add(struct week *w, struct slice block,
                                uint32_t base, struct points *scratch,
                                struct error *e);

/* Adds the hours of a row that has 'value', its parts included.  A damaged row
 * makes the week unfit: who reads the row is to see the damage. */
MUST_CHECK enum status week_add_row(struct week *w,
                                    const struct row_of_parts *row,
                                    struct slice value, struct points *scratch,
                                    struct error *e);

/* Adds the points of one hour, which ascend and are unique. */
MUST_CHECK enum status week_add_points(struct week *w, struct points *hour,
                                       struct error *e);

/* Moves those hours of 'late' for which 'w' has no points to 'w'. Both weeks
 * must have all their hours. The sum of a day with points of both is the sum of
 * the two sums, so a sum of doubles may differ in its last bit. Returns false
 * if the result cannot be summarised; then both weeks are undefined. */
MUST_CHECK bool week_merge(struct week *w, struct week *late);

bool week_is_empty(const struct week *w);

/* Leaves hours out that do not lie within from_ms .. end_ms - 1, of a week that
 * was decoded with all of them.  A day of which some are left has their sum,
 * which of doubles may be another in the last bit, and times no closer than
 * theirs. */
void week_crop(struct week *w, int64_t from_ms, int64_t end_ms);

/* Appends a week that is not empty and has hours. */
void week_encode(const struct week *w, struct buf *out);

/* Checks the checksum. */
MUST_CHECK enum status week_decode(struct slice bytes, uint32_t base,
                                   enum week_hours hours, struct week *out,
                                   struct error *e);

/* Does it say that rows came late?  Of the bytes alone: it may be damaged. */
static inline bool
week_is_late(struct slice entry)
{
    return entry.size > 2 && (entry.data[1] & WEEK_LATE_BIT) != 0;
}

/* Changes what an entry, which is neither stale nor unfit, says of its rows. */
void week_set_rows(struct buf *entry, uint32_t base, enum row_state rows);

/* Does this entry, which may be stale, have the hourly values of its week? Does
 * it say that the week cannot be summarised? */
bool week_answers(struct slice entry, uint32_t base);
bool week_is_unfit(struct slice entry, uint32_t base);
