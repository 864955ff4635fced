/*
 * Metadata as bytes (docs/FORMAT.md, "Metadata").
 *
 * Threads: any.
 */
#ifndef UID_META_META_CODEC_H
#define UID_META_META_CODEC_H

#include "uid/meta/annotation_codec.h"

/* Texts may be null (annotation_is_null()). */
struct meta {
    struct slice display_name, description, notes;
    struct tag *custom; /* keys unique */
    size_t custom_len;
    bool has_custom; /* false: null; an empty map is something else */
    int64_t created; /* s; 0: unknown */
    /* Of a series alone. */
    struct slice units, data_type;
    int64_t retention;
    double max, min; /* NaN: none */
};

/* The bytes are in the arena.  ST_NOT_FOUND: a tombstone. */
MUST_CHECK enum status meta_decode(struct slice bytes, bool of_series,
                                   struct arena *arena, struct meta *out,
                                   struct error *e);

#endif
