/* Cuts: of each metric the time before which its raw points are dropped, or
 * are being dropped, because they expired (docs/FORMAT.md, "Retention").  A cut
 * is written before the first row goes, and only ever rises, so that whoever
 * asks for older points can be told why they are missing.
 *
 *     <'c'> <metric>  ->  <cut in s:4>      a span begins at it
 *
 * Where several processes have the engine, each reads the table again now and
 * then; so a cut that is raised counts for dropping a while later, when all
 * know of it.
 *
 * Owns:    some 32 bytes a metric that has a cut.
 * Threads: any. */
#pragma once

#include "base/lock.h"
#include "storage/kv/kv.h"
#include "storage/row/key.h"

struct cut {
    uint64_t metric;
    uint32_t cut_s;     /* what queries are told */
    uint32_t settled_s; /* what rows may be dropped by until 'since_us' */
    int64_t since_us;   /* monotonic; 'cut_s' is known everywhere from then */
};

struct cuts {
    struct lock lock;
    struct cut *list GUARDED_BY(lock); /* by metric */
    size_t len GUARDED_BY(lock), cap GUARDED_BY(lock);
    _Atomic int64_t read_us; /* monotonic, when the table was read */
};

void cuts_init(struct cuts *c);
void cuts_fini(struct cuts *c);

/* Seconds since 1970; 0: there is none. */
uint32_t cuts_get(struct cuts *c, uint64_t metric);
/* The one that rows may be dropped by. */
uint32_t cuts_settled(struct cuts *c, uint64_t metric);
/* Rows may be dropped by it from 'since_us' on.  A lower one changes nothing.
 */
void cuts_raise(struct cuts *c, uint64_t metric, uint32_t cut_s,
                int64_t since_us);

/* At most CUTS_KEY_MAX bytes; returns how many. */
#define CUTS_KEY_MAX (1 + 8)
size_t cuts_key(const struct key_layout *layout, uint64_t metric,
                uint8_t out[CUTS_KEY_MAX]);
/* ST_CORRUPT when it is no entry of a cut. */
MUST_CHECK enum status cuts_parse(const struct key_layout *layout,
                                  struct slice key, struct slice value,
                                  uint64_t *metric, uint32_t *cut_s,
                                  struct error *e);

/* Reads the table.  A damaged entry is logged and left to fsck. */
MUST_CHECK enum status cuts_read(struct cuts *c,
                                 const struct key_layout *layout, struct kv *kv,
                                 int64_t since_us, struct error *e);
