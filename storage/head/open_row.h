/* An open row: the points of one series and one hour, in the order in which
 * they came, in about two bytes each for a regular integer series.  It is
 * sorted and made unique when it is unpacked, and flushed into a block
 * (block.h) later.
 *
 *     control byte: bit 0  the time step is not the last one: the zig-zag step
 *                          and, below it, a bit that says if it is in seconds
 *                          or in ms, follow as a varint
 *                   bit 1  a double
 *     integer:  bits 2-7 z < 60: the zig-zag delta itself; 60..63: 1, 2, 4 or 8
 *               bytes of it follow
 *     double:   bits 2-4, 5-7: zero bytes at the top and at the bottom of the
 *               XOR with the last value; the bytes between follow
 *
 * The last value counts as 0 where it was of the other kind.
 *
 * A row that is not small remembers where every 24th point begins, so that its
 * end is read without the rest: a query of five minutes takes half the CPU.
 *
 * Owns:    its bytes, and behind them these marks, and, once it was asked for a
 *          block summary, what it remembers of it.
 * Threads: owner (a head bucket's lock guards it). */
#pragma once

#include "base/slice.h"
#include "storage/block/block.h"
#include "storage/block/point.h"

struct open_row {
    uint8_t *bytes;
    uint32_t size, cap;
    uint32_t count : 27; /* points, repeated times included */
    bool last_is_double : 1;
    bool marked : 1;    /* there are marks */
    bool summed : 1;    /* there is a summary */
    bool uneven : 1;    /* of both kinds, or not at equal distances */
    bool unordered : 1; /* a point was not later than the one before it */
    uint32_t base;      /* s */
    int32_t last_offset_ms;
    int32_t last_step_ms;
    uint32_t tail; /* behind so many bytes each point is one, an integer */
    uint32_t compact_at; /* points; 0: it was never compacted */
    uint64_t last;       /* the bits of the last value */
};

#define OPEN_ROW_POINTS_MAX ((UINT32_C(1) << 27) - 1)

/* Appends 'p', which must be in the row's hour.  Returns false if there is no
 * memory, or if the row has OPEN_ROW_POINTS_MAX points. */
bool open_row_append(struct open_row *r, struct point p);
void open_row_fini(struct open_row *r);

/* Compaction.
 *
 * A client may send points of one hour again and again.  A row that is not in
 * order is compacted whenever it has doubled: its points are sorted, and of
 * points with the same time only the last stays.  So a row has about twice as
 * many points as its hour has times, and appending takes constant time on
 * average.
 *
 * Sorting some million points takes most of a second, so it is done without the
 * lock that guards the row:
 *
 *     lock       open_row_is_crowded(), compaction_begin(): copies the bytes
 *     no lock    compaction_sort()
 *     lock       compaction_end(): appends what came since, replaces the row */
struct compaction {
    uint8_t *bytes; /* of the row when it began; owned */
    uint32_t size, count, base;
    struct point_reader {
        const uint8_t *at;
        int64_t ts_ms, step;
        uint64_t last_int, last_double; /* the one that was not last is 0 */
    } reader;                           /* behind the last of 'bytes' */
    struct open_row sorted;
};

/* A row of fewer points is not compacted: it costs little in any case. */
#define OPEN_ROW_WORTH_COMPACTING 16384

/* Returns whether 'r' should be compacted.  Asked for each point, so inline. */
static inline bool
open_row_is_crowded(const struct open_row *r)
{
    return r->unordered && r->count >= OPEN_ROW_WORTH_COMPACTING &&
           r->count >= r->compact_at;
}

/* The row is not crowded any more until it has doubled.  Returns false if there
 * is no memory.  In any case compaction_fini() is called in the end. */
bool compaction_begin(struct compaction *c, struct open_row *r);
bool compaction_sort(struct compaction *c);
/* 'r' is the row of the same series and hour, which may be another one now.
 * Returns false if it does not begin with the bytes that were sorted, or if
 * there is no memory: then it has not changed. */
bool compaction_end(struct compaction *c, struct open_row *r);
void compaction_fini(struct compaction *c);

/* Are these bytes, which another process sent, those of such a row?  The rest
 * below takes that for granted. */
bool open_row_check(struct slice bytes, uint32_t count);

/* Appends what 'bytes' (of an open row with this base and count) hold to 'out',
 * as they came.  False when there is no memory. */
bool open_row_unpack(struct slice bytes, uint32_t count, uint32_t base,
                     struct points *out);

/* The same of points at equal distances, all of one kind, of which only the
 * values are written, and '*s' has the rest.  False if they are no such, or
 * there is no memory; nothing has been appended then. */
bool open_row_unpack_even(struct slice bytes, uint32_t count, uint32_t base,
                          struct points *out, struct spacing *s);

/* What open_row_unpack_even() would say, but for 'greatest', and all times:
 * '*times' is widened. */
void open_row_describe(struct slice bytes, uint32_t base, struct spacing *s,
                       struct point_times *times);

/* The same, without looking at its points, of a row that is even; other rows
 * come out as not even. */
struct spacing open_row_spacing(const struct open_row *r);

/* Where the bytes of point '*n' of an even row begin, or of one before it, at
 * most 23 where there are marks: '*n' is its number then. */
uint32_t open_row_seek(const struct open_row *r, uint32_t *n);

/* Appends the values of the last 'count' points of an even row, whose bytes
 * these are, and which ends with 'last'; '*s' is their spacing, but for
 * 'greatest', which is set.  False when there is no memory. */
bool open_row_unpack_end(struct slice bytes, uint32_t count, union number last,
                         struct points *out, struct spacing *s);

/* The block summary that the block of these points would have, to the bit.
 * False if there are none, or if they are not in the order of time.  With
 * 'keep' a row that is not small keeps it, and only what was appended since is
 * looked at the next time; without, nothing of the row changes. */
bool open_row_summary(struct open_row *r, bool keep, struct summary *out);

/* Bytes of the heap. */
uint32_t open_row_held(const struct open_row *r);
