/*
 * Metadata: what people say about a metric, a tagk, a tagv or a series, and
 * when it was first seen (docs/FORMAT.md, "Metadata").
 *
 *     <'m'> <kind> <id or TSUID>  -> the texts and numbers, or a tombstone
 *
 * Every name and every series has metadata; a record exists only where a client
 * wrote or deleted some.  Deleted metadata of a name is empty, its creation
 * forgotten; that of a series is gone until it is created anew.
 *
 * Owns:    what it hands out is in the caller's arena.
 * Threads: any; a lock is held from the reading of a record to its rewriting,
 *          across one WAL append.
 * Fails:   ST_NOT_FOUND; ST_LIMIT past RECORD_BYTES or the arena; ST_IO,
 *          ST_CORRUPT.
 */
#ifndef UID_META_META_H
#define UID_META_META_H

#include "uid/meta/record.h"
#include "uid/series/series.h"

/* Which members a request gave a value. */
enum meta_field {
    META_DISPLAY_NAME = 1,
    META_DESCRIPTION = 2,
    META_NOTES = 4,
    META_CUSTOM = 8,
    META_CREATED = 16,
    META_UNITS = 32,
    META_DATA_TYPE = 64,
    META_RETENTION = 128,
    META_MAX = 256,
    META_MIN = 512,
};

/* Texts may be null (annotation_is_null()). */
struct meta {
    struct slice display_name, description, notes;
    struct text_pairs custom;
    int64_t created; /* s; 0: unknown */
    /* Of a series alone. */
    struct slice units, data_type;
    int64_t retention;
    double max, min; /* NaN: none */
};

/* Texts are lent from 'bytes'.  ST_NOT_FOUND: a tombstone. */
MUST_CHECK enum status meta_decode(struct slice bytes, bool of_series,
                                   struct arena *arena, struct meta *out,
                                   struct error *e);

struct metas; /* opaque */

/* The first three are those of enum uid_kind. */
enum meta_kind { META_METRIC, META_TAGK, META_TAGV, META_SERIES };
#define META_KINDS 4

/* Whose: the bytes of an id, or a TSUID. */
struct meta_of {
    enum meta_kind kind;
    struct slice id;
};

void metas_open(struct store *s, struct uid_table *u,
                struct series_directory *d, struct metas **out);
void metas_close(struct metas **m);

/* Says nothing: no texts, no limits, no creation. */
struct meta meta_empty(void);

/* ST_NOT_FOUND: for a name with the text of uid_name(); for a series when it
 * does not exist, or its metadata was deleted. */
MUST_CHECK enum status meta_get(struct metas *m, struct meta_of of,
                                struct arena *arena, struct meta *out,
                                struct error *e);

/* Was some written, or deleted? */
MUST_CHECK enum status meta_has_record(struct metas *m, struct meta_of of,
                                       bool *out, struct error *e);

/* Writes '*n' and sets it to what is stored now.  Members outside 'fields' keep
 * their stored values, or are emptied with 'overwrite'; of two creations the
 * earlier one stays.  ST_NOT_FOUND as meta_get(). */
MUST_CHECK enum status meta_put(struct metas *m, struct meta_of of,
                                struct meta *n, unsigned fields, bool overwrite,
                                struct arena *arena, struct error *e);

/* Writes '*n' as it stands for a series which may not exist yet. */
MUST_CHECK enum status meta_create(struct metas *m, struct meta_of of,
                                   const struct meta *n, struct error *e);

/* What does not exist is no error. */
MUST_CHECK enum status meta_delete(struct metas *m, struct meta_of of,
                                   struct error *e);

/* Calls f with each TSUID that begins with 'prefix' and has a record,
 * ascending, until f returns false.  No lock is held. */
MUST_CHECK enum status meta_each_series(struct metas *m, struct slice prefix,
                                        bool (*f)(void *ctx,
                                                  struct slice tsuid),
                                        void *ctx, struct error *e);

#endif
