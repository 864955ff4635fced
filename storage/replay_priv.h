/*
 * Replay of the journal's records of points, for replay_points*.c alone: what
 * is known so far of each bucket, and of the indexes in it.
 *
 * Threads: owner; a bucket's lock is held while its records are applied.
 */
#ifndef STORAGE_REPLAY_PRIV_H
#define STORAGE_REPLAY_PRIV_H

#include "storage/store_priv.h"

/* What an index means, and what the series' next point builds on. */
struct replay_series {
    struct head_series *series; /* NULL: unknown */
    struct journaled_series journaled;
};

/* The same of a bucket, so far.  By pages: a bad index takes little memory. */
struct replay_bucket {
    struct replay_series **pages; /* of some series, NULL: all unknown */
    size_t pages_len;
    struct journaled_course course;
    struct replay_series *last; /* in this record; NULL: none yet */
    uint32_t last_index;
    bool begun;
    uint64_t segment; /* in which it was begun anew */
};

/* A record, while it is read. */
struct reading {
    struct replay *r;
    struct head_bucket *bucket;
    struct replay_bucket *m;
    uint64_t segment; /* that its rows need */
    uint32_t now_s;
    uint64_t points; /* taken */
};

/* A bucket begins anew.  What goes on from here, be it in a later segment,
 * needs this one. */
static inline void
replay_begin(struct reading *x)
{
    x->m->begun = true;
    x->m->segment = x->segment;
}

/* NULL when nothing near it is known. */
struct replay_series *replay_meaning(const struct replay_bucket *m,
                                     uint64_t index);

/* False when the TSUID is none, or not of this bucket. */
bool replay_define(struct reading *x, uint64_t index, struct slice tsuid)
    REQUIRES(x->bucket->lock);

/* False when the point is none, or there is no memory. */
bool replay_take(struct reading *x, struct head_series *s, struct point p)
    REQUIRES(x->bucket->lock);

/* Records up to version 6: of nibbles; up to version 4: plain. */
bool replay_nibbles(struct reading *x, struct slice entries)
    REQUIRES(x->bucket->lock);
bool replay_plain(struct reading *x, struct slice entries)
    REQUIRES(x->bucket->lock);

#endif
