/* A column: the points of one series, ascending and unique, on their way from a
 * scan to a sum.  It is made of hours as they are stored, and stays packed
 * until its points are wanted:
 *
 *     even     points of one kind at equal distances: the first time, the step
 *              and the values
 *     uneven   times, values and kinds, each written out
 *     packed   hours instead of values; of uneven ones times are not known, and
 *              'len' counts repeated ones too
 *
 * Owns:    nothing: hours and arrays are an arena's, or lent by who unpacks.
 * Threads: owner.
 * Fails:   what unpacks: ST_CORRUPT, with the series and the hour. */
#pragma once

#include "base/arena.h"
#include "storage/scan/store_row.h"

/* An hour that a scan lent, kept.  A query may hold one for each of a million
 * series, so this has only what unpacking needs of a struct store_row. */
struct packed_hour {
    struct packed_hour *next; /* the next later hour of the column, or NULL */
    const struct open_copy *open;
    const uint8_t *tsuid, *block;
    const struct block_part *part; /* NULL: all of the block */
    uint32_t block_size, open_len;
    uint32_t base;
    uint32_t count;
    uint32_t unpacked; /* points that are unpacked for it */
    uint16_t tsuid_size;
    bool is_float; /* its points are even, and doubles */
};

/* Which of 'len' points at equal distances, one at least, are in it: one at
 * least. */
struct value_range column_window_range(const struct column_window *w,
                                       int64_t first_ms, int64_t step_ms,
                                       size_t len);

struct column {
    const int64_t *ts_ms;    /* NULL: even, or packed */
    const union number *v;   /* NULL: packed */
    const uint8_t *is_float; /* NULL: all are integers, or all doubles */
    size_t len;
    int64_t first_ms, last_ms; /* without 'ts_ms' */
    int64_t step_ms;           /* even; one point alone has none: 0 */
    struct packed_hour *hours; /* packed, in the order of time */
    union {
        struct packed_hour *newest; /* packed: the last of 'hours' */
        /* Not packed: how many points each sum of an average over rollups is
         * made of; else NULL. */
        const int64_t *counts;
    };
    uint32_t skip;    /* values that are left out of the first hour */
    bool all_int : 1; /* without 'is_float' */
    bool uneven : 1;  /* though packed */
    /* Packed, and even: the hours have points of which these are the rates, all
     * doubles.  Who unpacks them takes the rates. */
    enum { RATES_NONE, RATES_OF_INTS, RATES_OF_DOUBLES } rates : 8;
    /* Buckets instead of points, all doubles: what a fold made of
     * points from first_ms to last_ms, if the series 'has_points' in the
     * scanned rows. */
    bool downsampled : 1, has_points : 1;
};

static inline bool
column_is_packed(const struct column *c)
{
    return c->v == NULL && c->hours != NULL;
}

/* Not of packed and uneven ones, as are the next two. */
static inline int64_t
column_time(const struct column *c, size_t i)
{
    return c->ts_ms != NULL ? c->ts_ms[i]
                            : c->first_ms + (int64_t)i * c->step_ms;
}

static inline bool
column_is_float(const struct column *c, size_t i)
{
    return c->is_float != NULL ? c->is_float[i] != 0 : !c->all_int;
}

/* The first point at or behind 'ms'; 'len' when there is none. */
size_t column_seek(const struct column *c, int64_t ms);

/* Adds a later hour to a column of hours; a column of zeros has none yet.  The
 * TSUID and the open rows of 'row' must live as long as the arena does; its
 * block is copied, and nothing is unpacked.  'read' is set to the number of
 * points, with those that the scan left out.  ST_LIMIT: the arena is full. */
MUST_CHECK enum status column_add_row(struct column *c,
                                      const struct store_row *row,
                                      struct arena *a, uint32_t *read,
                                      struct error *e);

/* Points from .. from + len - 1, one at least, of a packed, even column, which
 * stays as it is. */
struct column column_part(const struct column *c, size_t from, size_t len);

/* Leaves out what is not in the window; nothing of an uneven column. */
void column_crop(struct column *c, const struct column_window *w);

/* Fetches into the cache what unpacking it will look at first, in steps from 0
 * to 2: each needs what the one before has fetched.  Always inline: gcc takes
 * a function that only fetches for one without effects. */
#define COLUMN_FETCH_STEPS 3
static inline __attribute__((always_inline)) void
column_fetch(const struct column *c, unsigned step)
{
    const struct packed_hour *h = c->hours;

    if (!column_is_packed(c)) {
        if (step == 0)
            __builtin_prefetch(c->v);
    } else if (step == 0) {
        __builtin_prefetch(h);
    } else if (step == 1) {
        __builtin_prefetch(h->block);
        if (h->open_len > 0) {
            __builtin_prefetch(h->open);
            __builtin_prefetch((const char *)h->open + 64);
        }
    } else if (h->open_len > 0) {
        __builtin_prefetch(h->open->bytes.data);
    }
}

/* The values of a packed, even column, in 'scratch' until it is used again. */
MUST_CHECK enum status column_values(const struct column *c,
                                     struct points *scratch, union number **v,
                                     struct error *e);

/* A packed column written out, kinds too, in 'scratch', until that is used
 * again; others as they are. */
MUST_CHECK enum status column_unpack(const struct column *c,
                                     struct points *scratch, struct column *out,
                                     struct error *e);
