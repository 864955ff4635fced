/* Points: a time in milliseconds since 1970 and a number, 64-bit integer or
 * double.  A column set holds many of them, one array per member, which is
 * what decoders fill and what the query engine reads.
 *
 * Owns:    struct points owns its arrays (heap); a NULL member is fine when
 *          'cap' is 0.
 * Threads: owner. */
#pragma once

#include "base/budget.h"
#include "base/error.h"
#include "base/slice.h"

#define POINT_MAX_TS_MS (INT64_C(4294967295) * 1000 + 999)
#define HOUR_S          3600
#define HOUR_MS         (INT64_C(3600) * 1000)
#define DAY_S           UINT32_C(86400)
#define DAY_MS          INT64_C(86400000)
#define EXACT_MAX       0x1p53 /* up to it doubles hold each integer */

union number {
    int64_t i;
    double d;
};

struct point {
    int64_t ts_ms;
    union number v;
    bool is_float;
};

struct points {
    int64_t *ts_ms;
    union number *v;
    uint8_t *is_float; /* 0 or 1 */
    size_t len;
    size_t cap;
    /* That their memory counts in, or NULL; it outlives them.  Of what only
     * borrows arrays: NULL. */
    struct budget *budget;
};

/* False, and nothing changed, when there is no memory, or the budget has less.
 */
bool points_reserve(struct points *p, size_t more);
bool points_add(struct points *p, struct point x);
/* Appends all of 'more'. */
bool points_append(struct points *p, const struct points *more);
/* Appends those of 'all' with from_ms <= time <= to_ms to 'within', the others
 * to 'outside'.  False when there is no memory. */
bool points_split(const struct points *all, int64_t from_ms, int64_t to_ms,
                  struct points *within, struct points *outside);
void points_clear(struct points *p);
void points_fini(struct points *p);

/* Sorts by time and keeps of equal times the point that was added last.
 * Allocates 16 bytes for each of more than a few points; returns false, and
 * changes nothing, when there is no memory for them. */
MUST_CHECK bool points_sort_unique(struct points *p);

/* 'out' gets the union of 'older' and 'newer', both ascending and unique;
 * where both have a time, 'newer' wins.  False when there is no memory. */
bool points_merge(const struct points *older, const struct points *newer,
                  struct points *out);

/* Of ascending points those from 'from' on that are of the hour of that one;
 * lent. */
struct points points_of_hour(const struct points *p, size_t from);

static inline struct point
points_at(const struct points *p, size_t i)
{
    return (struct point){ p->ts_ms[i], p->v[i], p->is_float[i] != 0 };
}

/* The oldest and the newest of some times; of none at first. */
struct point_times {
    int64_t oldest_ms, newest_ms;
};
#define POINT_TIMES_NONE ((struct point_times){ INT64_MAX, INT64_MIN })

static inline bool
point_times_are_none(const struct point_times *t)
{
    return t->oldest_ms > t->newest_ms;
}

static inline void
point_times_widen(struct point_times *t, int64_t oldest_ms, int64_t newest_ms)
{
    t->oldest_ms = oldest_ms < t->oldest_ms ? oldest_ms : t->oldest_ms;
    t->newest_ms = newest_ms > t->newest_ms ? newest_ms : t->newest_ms;
}

/* Of the least integer, too. */
static inline uint64_t
magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* Of 'len' points at equal distances (one alone has a step of 0) the first one
 * at or behind 'ms'; 'len' when there is none. */
static inline size_t
even_seek(int64_t first_ms, int64_t step_ms, size_t len, int64_t ms)
{
    uint64_t n;

    if (ms <= first_ms)
        return 0;
    if (step_ms == 0)
        return len;
    n = ((uint64_t)ms - (uint64_t)first_ms - 1) / (uint64_t)step_ms + 1;
    return n < len ? (size_t)n : len;
}

/* The same of ascending times. */
size_t times_seek(const int64_t *ts, size_t len, int64_t ms);

/* Ascending times: a list, or a sequence with equal steps. */
struct times {
    const int64_t *list; /* NULL: a sequence */
    int64_t first_ms,
        step_ms; /* of a sequence; one time alone has no step: 0 */
    size_t len;
};

static inline int64_t
times_at(const struct times *t, size_t i)
{
    return t->list != NULL ? t->list[i] : t->first_ms + (int64_t)i * t->step_ms;
}

/* Returns the place of the first time at or after 'ms'; 'len' if there is none.
 */
static inline size_t
times_find(const struct times *t, int64_t ms)
{
    return t->list != NULL ? times_seek(t->list, t->len, ms)
                           : even_seek(t->first_ms, t->step_ms, t->len, ms);
}

/* Returns 'len' of the times, from the place 'from' on. */
static inline struct times
times_part(const struct times *t, size_t from, size_t len)
{
    if (t->list != NULL)
        return (struct times){ .list = t->list + from, .len = len };
    return (struct times){ .first_ms = t->first_ms + (int64_t)from * t->step_ms,
                           .step_ms = t->step_ms,
                           .len = len };
}

/* The start of the hour that holds 'ts_ms', in seconds: an open row's base
 * time, and a block's. */
static inline uint32_t
hour_base(int64_t ts_ms)
{
    return (uint32_t)(ts_ms / HOUR_MS * HOUR_S);
}

/* Does the hour that begins at 'base' have a time between these, both
 * included? */
static inline bool
hour_overlaps(uint32_t base, int64_t from_ms, int64_t to_ms)
{
    int64_t base_ms = (int64_t)base * 1000;

    return base_ms <= to_ms && base_ms + HOUR_MS > from_ms;
}
