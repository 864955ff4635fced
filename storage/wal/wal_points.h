/* The points of one salt bucket in a record of the write-ahead log
 * (docs/FORMAT.md, "Points").  A record can be read without any other but for
 * the TSUIDs: a series has an id in each segment, which is defined once, at
 * the first use in it, and belongs to no other series in that segment.
 *
 * Points come in rounds: the same series in the same order, at the same time.
 * So a point is expected to have the id after the last one and the same time,
 * or the same id and the same step where the last two had the same id, and is
 * only its value, Rice coded around the mean of the record's values.  What is
 * otherwise comes before the value, behind an escape and flags.
 *
 * Threads: owner. */
#pragma once

#include "storage/block/bits.h"
#include "storage/row/key.h"
#include "storage/block/point.h"

/* What values are, from a point on. */
enum wal_kind {
    WAL_INT,
    WAL_DECIMAL, /* and the next ones: doubles n / 10^0, n / 10^1, ... */
    WAL_DECIMAL_LAST = WAL_DECIMAL + 9,
    WAL_DOUBLE = 15, /* other doubles */
};

/* What the next point of a record is expected to be; the same in the writer
 * and in the reader. */
struct wal_points_state {
    int64_t ts_ms;
    int64_t step_ms; /* between the last two of the same id, or 0 */
    int64_t mean;    /* of the values of this kind */
    uint32_t id;     /* of the last point */
    uint32_t run;    /* points since the last escape */
    bool first;      /* no point came yet */
    bool has_mean;
    bool same; /* the last id was that of the one before */
    uint8_t kind;
    uint8_t decimal; /* the last kind of doubles */
    uint16_t width;  /* bits that values took: a mean, in sixteenths */
    uint16_t tsuid_size;
    uint8_t tsuid[TSUID_MAX]; /* the last one that was defined */
};

/* -- writing: begin, add..., end ------------------------------------------- */

struct wal_points_writer {
    struct buf record;   /* failed: there was no memory */
    struct bits_out out; /* to it */
    struct wal_points_state state;
};

void wal_points_begin(struct wal_points_writer *w, unsigned bucket);
/* 'tsuid' is empty unless the point defines the id. */
void wal_points_add(struct wal_points_writer *w, uint32_t id,
                    struct slice tsuid, const struct point *p);
/* The record, lent until the next begin. */
struct slice wal_points_end(struct wal_points_writer *w);

void wal_points_fini(struct wal_points_writer *w);

/* -- reading --------------------------------------------------------------- */

struct wal_points_reader {
    struct cursor c;
    struct bits_in in;
    unsigned bucket;
    struct wal_points_state state;
    /* The point read last. */
    struct point point;
    struct slice tsuid; /* lent until the next one; empty: defined before */
};

/* Fails with the first wal_points_next(), if at all. */
void wal_points_read(struct wal_points_reader *r, struct slice record);
/* False behind the last point, and when the record is malformed: then c.failed
 * is set.  The point's id is state.id. */
bool wal_points_next(struct wal_points_reader *r);
