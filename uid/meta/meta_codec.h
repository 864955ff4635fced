/*
 * Metadata as bytes (docs/FORMAT.md, "Metadata").
 *
 * Threads: any.
 */
#ifndef UID_META_META_CODEC_H
#define UID_META_META_CODEC_H

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

#endif
