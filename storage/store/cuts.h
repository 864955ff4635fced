/* Cuts: for each metric, the time before which its expired raw points are
 * dropped or being dropped, and the time before which its hourly values are
 * dropped (docs/FORMAT.md, "Retention"). Hourly values are in the table of
 * weeks. A cut is written before the first row is dropped, so that a query for
 * older points can say why they are missing. Cuts only rise, with one
 * exception: a cut in the future was raised by a wrong clock, and is lowered
 * again.
 *
 *     <'c'> <metric>  ->  <raw in s:4>              a span begins at it
 *                     or  <raw in s:4> <hourly:4>   a week begins at 'raw'
 *                     or  <raw in s:4> <hourly:4> <alone:4>   it has fallen
 *
 * If several processes share the engine, each reads the table again now and
 * then. Rows are dropped by a cut only after all of them have had time to read
 * it.
 *
 * Owns:    some 32 bytes for each metric that has a cut.
 * Threads: any. */
#pragma once

#include "base/process/lock.h"
#include "storage/kv/kv.h"
#include "storage/row/key.h"

/* Seconds since 1970; 0: there is no cut. hourly_s <= raw_s <= alone_s. If
 * hourly_s == alone_s, no hourly values outlive their points. Before 'alone_s',
 * rows may have been dropped although their hourly values are kept. It equals
 * raw_s, unless raw_s was lowered after a wrong clock: then it is the earlier
 * raw_s, because rows were dropped by that. */
struct cut_times {
    uint32_t raw_s, hourly_s, alone_s;
};

struct cut {
    uint64_t metric;
    struct cut_times now; /* reported by queries */
    /* Rows are dropped by this one until 'since_us', then by 'now'. */
    struct cut_times droppable;
    int64_t since_us; /* monotonic; all processes know 'now' from then on */
};

static inline struct cut_times
cut_times_max(const struct cut_times *a, const struct cut_times *b)
{
    return (struct cut_times){
        .raw_s = a->raw_s > b->raw_s ? a->raw_s : b->raw_s,
        .hourly_s = a->hourly_s > b->hourly_s ? a->hourly_s : b->hourly_s,
        .alone_s = a->alone_s > b->alone_s ? a->alone_s : b->alone_s,
    };
}

static inline bool
cut_times_equal(const struct cut_times *a, const struct cut_times *b)
{
    return a->raw_s == b->raw_s && a->hourly_s == b->hourly_s &&
           a->alone_s == b->alone_s;
}

/* Returns whether hourly values of this time are kept, and its rows may have
 * been dropped already. */
static inline bool
cut_times_are_alone(const struct cut_times *t, uint32_t time_s)
{
    return time_s >= t->hourly_s && time_s < t->alone_s;
}

/* Returns whether hourly values of this time are kept, but its points are not.
 */
static inline bool
cut_times_keep_hours(const struct cut_times *t, uint32_t time_s)
{
    return time_s >= t->hourly_s && time_s < t->raw_s;
}

/* Returns whether hourly values are the only source for the week that begins at
 * 'week', which may be before the hourly cut. */
static inline bool
cut_times_are_alone_in(const struct cut_times *t, uint32_t week)
{
    return t->hourly_s < t->alone_s && week < t->alone_s;
}

struct cuts {
    struct lock lock;
    struct cut *list GUARDED_BY(lock); /* by metric */
    size_t len GUARDED_BY(lock), cap GUARDED_BY(lock);
    _Atomic int64_t read_us; /* monotonic, when the table was read */
    /* The youngest 'alone_s' of a metric that keeps hourly values for longer,
     * in ms. */
    _Atomic int64_t youngest_ms;
};

void cuts_fini(struct cuts *c);

#define CUTS_KEY_MAX (1 + 8)

/* Keys of the table of cuts that are no cut: the list of policies, and the
 * clock of the last pass (tsd/retention). */
#define CUTS_CLOCK_KEY \
    ((struct slice){ (const uint8_t *)"clast clock", sizeof "clast clock" - 1 })
static inline bool
cuts_is_other_key(struct slice key)
{
    return key.size == 1 || key.size > CUTS_KEY_MAX;
}

/* Writes the key of the metric's cut, of at most CUTS_KEY_MAX bytes, and
 * returns its size. */
size_t cuts_key(const struct key_layout *layout, uint64_t metric,
                uint8_t out[CUTS_KEY_MAX]);
/* Fails with ST_CORRUPT if these bytes are no cut. */
MUST_CHECK enum status cuts_parse(const struct key_layout *layout,
                                  struct slice key, struct slice value,
                                  uint64_t *metric, struct cut_times *out,
                                  struct error *e);
