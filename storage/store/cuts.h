/* Cuts: of each metric the time before which its raw points are dropped, or
 * are being dropped, because they expired, and the one before which their
 * hourly values, which the table of weeks has, are, too (docs/FORMAT.md,
 * "Retention").  A cut is written before the first row goes, and only ever
 * rises, so that a query for older points can say why they are
 * missing.  Only a cut in the future of the clock falls again: a wrong clock
 * raised it.
 *
 *     <'c'> <metric>  ->  <raw in s:4>              a span begins at it
 *                     or  <raw in s:4> <hourly:4>   a week begins at 'raw'
 *                     or  <raw in s:4> <hourly:4> <alone:4>   it has fallen
 *
 * Where several processes have the engine, each reads the table again now and
 * then; so a cut that is raised counts for dropping a while later, when all
 * know of it.
 *
 * Owns:    some 32 bytes a metric that has a cut.
 * Threads: any. */
#pragma once

#include "base/process/lock.h"
#include "storage/kv/kv.h"
#include "storage/row/key.h"

/* In seconds since 1970; 0: there is none.  hourly_s <= raw_s <= alone_s. Where
 * hourly_s == alone_s nothing is kept for longer than points.  Rows of weeks
 * before 'alone_s' may have been dropped whose hourly values stay: it is raw_s,
 * or what that was before it fell, so that what is known of a week survives a
 * clock that was wrong. */
struct cut_times {
    uint32_t raw_s, hourly_s, alone_s;
};

struct cut {
    uint64_t metric;
    struct cut_times now; /* what queries say */
    struct cut_times
        droppable;    /* what rows may be dropped by until 'since_us' */
    int64_t since_us; /* monotonic; 'now' is known everywhere from then */
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

/* May the rows of this time be dropped already whose hourly values stay? */
static inline bool
cut_times_are_alone(const struct cut_times *t, uint32_t time_s)
{
    return time_s >= t->hourly_s && time_s < t->alone_s;
}

/* Are hourly values of that time kept whose points are not? */
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

void cuts_init(struct cuts *c);
void cuts_fini(struct cuts *c);

struct cut_times cuts_get(struct cuts *c, uint64_t metric);
/* Those that rows may be dropped by. */
struct cut_times cuts_droppable(struct cuts *c, uint64_t metric);
/* Rows may be dropped by them from 'since_us' on.  A lower one changes nothing.
 */
void cuts_raise(struct cuts *c, uint64_t metric, const struct cut_times *to,
                int64_t since_us);

/* The first metric from 'metric' on one of whose cuts is later than 'now_s';
 * 'to' is what it falls to.  False: there is none. */
bool cuts_find_future(struct cuts *c, const struct key_layout *layout,
                      uint32_t now_s, uint64_t *metric, struct cut_times *to);
/* Lowers those cuts of 'metric' that are later than 'to'. */
void cuts_lower(struct cuts *c, uint64_t metric, const struct cut_times *to);

/* At most CUTS_KEY_MAX bytes; returns how many. */
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

size_t cuts_key(const struct key_layout *layout, uint64_t metric,
                uint8_t out[CUTS_KEY_MAX]);
/* ST_CORRUPT when it is no entry of a cut. */
MUST_CHECK enum status cuts_parse(const struct key_layout *layout,
                                  struct slice key, struct slice value,
                                  uint64_t *metric, struct cut_times *out,
                                  struct error *e);
/* Appends the value. */
void cuts_put(struct buf *out, const struct cut_times *t);

/* Reads the table.  A damaged entry is logged and left to fsck. */
MUST_CHECK enum status cuts_read(struct cuts *c,
                                 const struct key_layout *layout, struct kv *kv,
                                 int64_t since_us, struct error *e);
