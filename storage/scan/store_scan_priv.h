/* The insides of a scan, for store_scan*.c alone.
 *
 * A scan reads one *stretch* of hours after the other: one alone, or where
 * weeks are lent
 *
 *     rows | week, what of it must be rows | week, ... | rows
 *
 * Of the head's copies those of the stretch are head_at .. head_end - 1. */
#pragma once

#include "base/cursor.h"
#include "storage/block/row_parts.h"
#include "storage/head/head.h"
#include "storage/kv/kv.h"
#include "storage/scan/column.h"
#include "storage/scan/store_scan.h"
#include "storage/store/store_state.h"

#define SCAN_MAGIC FOURCC('S', 'C', 'A', 'N')

struct scan_weeks; /* store_scan_weeks.c */

/* A walk over one table finds the keys that a scan takes: the rows of a
 * stretch, or the entries of a week.  To the masks, the key of an entry looks
 * like that of a row of the stretch's first span. */
struct key_walk {
    struct kv_iter *it;
    uint8_t table;
    enum access_path path;
    const struct slice *series; /* for SCAN_SEEKS */
    size_t series_len;
    uint32_t from, to; /* the first and the last span; for entries, the week */
    bool begun;
    bool on_key; /* the iterator is on a key of the walk */
    bool ended;  /* nothing is behind the last key */
    uint32_t seek_base;
    size_t seek_at;           /* of 'series' */
    uint8_t end[ROW_KEY_MAX]; /* behind all keys */
};

struct store_scan {
    uint32_t magic;
    struct store *s;
    const struct key_layout *layout;
    struct scan_spec spec;
    struct arena *arena;
    /* While they are collected: of the heap, where it can grow in place. */
    struct buf copies;
    struct open_copy *head; /* in order of keys, hours and making */
    size_t head_len, head_at, head_end;
    struct key_walk rows;
    bool shares; /* the iterator is closed with a later scan */
    bool on_row; /* the iterator stands on a row whose hours are lent */
    struct row_hours hours; /* of it, that are to come */
    bool has_block;         /* the one to be lent next */
    struct slice block;
    struct block_part part;      /* of it */
    uint32_t span, block_base;   /* of the row, and of the block in it */
    struct slice tsuid;          /* of the row that the iterator stands on */
    uint32_t from_base, to_base; /* the stretch: hours, both included */
    uint8_t begin[ROW_KEY_MAX];  /* at its first row */
    size_t end_size;             /* of this, and of the ends of walks */
    struct tsuid engine_tsuid;
    struct scan_weeks *weeks; /* NULL: none are lent */
    struct points scratch;
    struct buf part_value; /* of the part that has 'block' */
    struct scan_counts counts;
    size_t unchecked;   /* steps since 'spec.cancel' was asked */
    struct error error; /* ST_OK: none */
};

/* Counts steps of work, of some hundred nanoseconds each: a key that is walked,
 * a row that is copied.  True: the scan is cancelled, and has failed. */
bool store_scan_is_over(struct store_scan *scan, unsigned steps);
#define STEPS_OF_A_SEEK 64

/* Moves the walk to the next key that the scan takes.  Returns false if there
 * is none, or if the scan is cancelled. */
bool store_scan_walk(struct store_scan *scan, struct key_walk *w);

/* Begins a stretch behind the one before. */
void store_scan_stretch(struct store_scan *scan, uint32_t from_base,
                        uint32_t to_base);

/* Whatever bucket moves meanwhile: all that was acknowledged before this began
 * is in a copy, or in the engine. */
MUST_CHECK enum status store_scans_copy_heads(struct store *s,
                                              const struct scan_spec *specs,
                                              struct store_scan **scans,
                                              size_t len, struct error *e);

/* Behind the copying of heads: those scans that may lend weeks begin to. */
MUST_CHECK enum status store_scans_begin_weeks(struct store *s,
                                               struct store_scan **scans,
                                               size_t len, struct error *e);
void store_scan_end_weeks(struct store_scan *scan);

/* The next week to be lent; false: rows of the stretch are next. */
bool store_scan_next_week(struct store_scan *scan, struct store_row *row);

/* Moves on when all rows of a stretch were lent; false: it was the last. */
bool store_scan_next_stretch(struct store_scan *scan);

/* Returns whether a row, or an entry, that a mask takes is still to be lent. */
bool store_scan_takes(const struct store_scan *scan, struct slice row);

/* -- open rows as bytes, from a bucket's owner ----------------------------- */

/* The next row of what store_head_copy() made, lent, or a malformed one: then
 * false, and the cursor has failed.  'row' is NULL. */
bool store_head_next(struct cursor *c, const struct key_layout *layout,
                     const struct scan_spec *spec, struct head_row_view *out);
