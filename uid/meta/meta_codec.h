/*
 * Metadata as bytes (docs/FORMAT.md, "Metadata").
 *
 * Threads: any.
 */
#ifndef UID_META_META_CODEC_H
#define UID_META_META_CODEC_H

#include "uid/meta/meta.h"

/* The bytes are in the arena.  ST_NOT_FOUND: a tombstone. */
MUST_CHECK enum status meta_decode(struct slice bytes, bool of_series,
                                   struct arena *arena, struct meta *out,
                                   struct error *e);

#endif
