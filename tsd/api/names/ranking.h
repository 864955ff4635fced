/* The names that have the most series, or the most new ones, best first; of
 * equals in byte order.
 *
 * Owns:    nothing; names are copied to the request's arena.
 * Bounds:  RANKING_MAX names.
 * Threads: one at a time. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "uid/series/series_tally.h"

#define RANKING_MAX 1000

struct ranked {
    struct slice name;
    uint64_t series;
    uint64_t added; /* of these, lately */
};

struct ranking {
    struct ranked top[RANKING_MAX];
    size_t len, max; /* 'max' 1 to RANKING_MAX */
    bool by_added;
    struct slice part;
    struct arena *arena;
    bool no_memory;
};

/* Of names that contain 'part', letters of ASCII in either case; 'max' as a
 * client asks for it: 0 and less mean 25.  NULL: no memory in the arena. */
struct ranking *ranking_new(struct arena *a, struct slice part, int64_t max);

void ranking_add(struct ranking *r, struct slice name, uint64_t series,
                 uint64_t added);

/* Adds the names of ids.  ST_LIMIT past the arena. */
MUST_CHECK enum status ranking_add_ids(struct ranking *r, struct uid_table *u,
                                       enum uid_kind kind,
                                       const struct series_tallies *ids,
                                       struct cancel cancel, struct error *e);

/* [{"name":..,"series":..},..]; 'with_added': with the member "new". */
void ranking_write(const struct ranking *r, bool with_added, struct buf *b);
