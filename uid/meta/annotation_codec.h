/*
 * Annotations as bytes (docs/FORMAT.md, "Annotations").
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef UID_META_ANNOTATION_CODEC_H
#define UID_META_ANNOTATION_CODEC_H

#include "storage/row/key.h"
#include "uid/meta/record.h"

/* Which fields a request named. */
enum annotation_field {
    ANNOTATION_END = 1,
    ANNOTATION_DESCRIPTION = 2,
    ANNOTATION_NOTES = 4,
    ANNOTATION_CUSTOM = 8,
};

struct annotation {
    struct slice tsuid; /* bytes; empty: global */
    int64_t start, end; /* as written; end 0: none */
    struct slice description, notes;
    struct text_pairs custom; /* when stored: by key */
};

extern const struct record_format annotation_format;

#define ANNOTATION_KEY_MAX (1 + 2 + TSUID_MAX + 8)

/* Writes a key of at most ANNOTATION_KEY_MAX bytes; returns its size. */
size_t annotation_key(struct slice tsuid, int64_t ms, uint8_t *out);
/* Splits a key; ST_CORRUPT. */
MUST_CHECK enum status annotation_key_parse(struct slice key,
                                            struct slice *tsuid, int64_t *ms,
                                            struct error *e);

/* Texts are lent from 'bytes', the array of pairs is in the arena; the TSUID is
 * not among the bytes and stays as it is. */
MUST_CHECK enum status annotation_decode(struct slice bytes,
                                         struct arena *arena,
                                         struct annotation *out,
                                         struct error *e);

#endif
