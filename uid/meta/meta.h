/* Metadata: what people say about a metric, a tagk, a tagv or a series, and
 * when it was first seen (docs/FORMAT.md, "Metadata").
 *
 *     <'m'> <kind> <id or TSUID>  -> the texts and numbers
 *
 * Every name and every series has metadata; a record exists only where a client
 * wrote or deleted some.  Deleted metadata of a name is empty, its creation
 * forgotten; that of a series is gone until it is created anew.
 *
 * Threads: any.
 * Fails:   ST_NOT_FOUND; ST_LIMIT past RECORD_BYTES or the arena; ST_IO,
 *          ST_CORRUPT. */
#pragma once

#include "uid/meta/record.h"

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
    bool deleted; /* in the store alone */
    struct slice display_name, description, notes;
    struct text_pairs custom;
    int64_t created; /* s; 0: unknown */
    /* Of a series alone. */
    struct slice units, data_type;
    int64_t retention;
    double max, min; /* NaN: none */
};

extern const struct record_format meta_name_format, meta_series_format;

/* The first three are those of enum uid_kind. */
enum meta_kind { META_METRIC, META_TAGK, META_TAGV, META_SERIES };
#define META_KINDS 4

/* Whose: the bytes of an id, or a TSUID. */
struct meta_of {
    enum meta_kind kind;
    struct slice id;
};

#define META_KEY_MAX (2 + TSUID_MAX)

struct slice meta_key(struct meta_of of, uint8_t out[META_KEY_MAX]);
/* ST_CORRUPT; the id is lent. */
MUST_CHECK enum status meta_key_parse(struct slice key, struct meta_of *out,
                                      struct error *e);

/* Says nothing: no texts, no limits, no creation. */
struct meta meta_empty(void);

/* ST_NOT_FOUND: for a name with the text of uid_name(); for a series when it
 * does not exist, or its metadata was deleted. */
MUST_CHECK enum status meta_get(struct records *r, struct meta_of of,
                                struct arena *arena, struct meta *out,
                                struct error *e);

/* Was some written, or deleted? */
MUST_CHECK enum status meta_has_record(struct records *r, struct meta_of of,
                                       bool *out, struct error *e);

/* Writes '*n' and sets it to what is stored now.  Of two creation times the
 * earlier one stays.  ST_NOT_FOUND as meta_get(). */
MUST_CHECK enum status meta_put(struct records *r, struct meta_of of,
                                struct meta *n, const struct record_change *c,
                                struct error *e);

/* Writes '*n' as it stands for a series which may not exist yet. */
MUST_CHECK enum status meta_create(struct records *r, struct meta_of of,
                                   const struct meta *n, struct error *e);

/* What does not exist is no error. */
MUST_CHECK enum status meta_delete(struct records *r, struct meta_of of,
                                   struct error *e);

/* Calls f with each TSUID that begins with 'prefix' and has a record, be it of
 * deleted metadata, ascending, until f returns false.  No lock is held. */
MUST_CHECK enum status meta_each_series(struct records *r, struct slice prefix,
                                        bool (*f)(void *ctx,
                                                  struct slice tsuid),
                                        void *ctx, struct error *e);
