/*
 * Annotations as bytes (docs/FORMAT.md, "Annotations").
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef UID_META_ANNOTATION_CODEC_H
#define UID_META_ANNOTATION_CODEC_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "storage/row/key.h"
#include "uid/series/tag_set.h"

/* A text may be JSON's null, which is not the empty one: it has no bytes, not
 * even none of them. */
static inline bool
annotation_is_null(struct slice text)
{
    return text.data == NULL;
}

struct annotation {
    struct slice tsuid; /* bytes; empty: global */
    int64_t start, end; /* as written; end 0: none */
    struct slice description, notes;
    struct tag *custom; /* when stored: by key, keys unique */
    size_t custom_len;
    bool has_custom; /* false: null; an empty map is something else */
};

#define ANNOTATION_KEY_MAX (1 + 2 + TSUID_MAX + 8)

/* Writes a key of at most ANNOTATION_KEY_MAX bytes; returns its size. */
size_t annotation_key(struct slice tsuid, int64_t ms, uint8_t *out);
/* Splits a key; ST_CORRUPT. */
MUST_CHECK enum status annotation_key_parse(struct slice key,
                                            struct slice *tsuid, int64_t *ms,
                                            struct error *e);

void annotation_encode(const struct annotation *n, struct buf *out);
/* Texts are lent from 'bytes', the array of pairs is in the arena; the TSUID is
 * not among the bytes and stays as it is. */
MUST_CHECK enum status annotation_decode(struct slice bytes,
                                         struct arena *arena,
                                         struct annotation *out,
                                         struct error *e);

/* -- texts that may be JSON's null ------------------------------------------
 */

/* A record of an annotation or of metadata with any null in it has another
 * version, and sizes one more than they are: 0 is null there. */
static inline void
null_text_put(struct buf *b, struct slice s, bool nulls)
{
    if (nulls)
        buf_put_varint(b, annotation_is_null(s) ? 0 : s.size + 1);
    else
        buf_put_varint(b, s.size);
    buf_put_slice(b, s);
}

static inline struct slice
null_text_take(struct cursor *c, bool nulls)
{
    uint64_t size = cursor_varint(c);

    if (nulls && size == 0)
        return (struct slice){ NULL, 0 };
    return cursor_bytes(c, nulls ? size - 1 : size);
}

#endif
