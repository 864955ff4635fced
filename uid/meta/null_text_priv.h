/*
 * Texts that may be JSON's null, in records of notes and metadata.  A record
 * with any null in it has another version, and sizes one more than they are: 0
 * is null there.
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef UID_META_NULL_TEXT_PRIV_H
#define UID_META_NULL_TEXT_PRIV_H

#include "base/buf.h"
#include "base/cursor.h"
#include "uid/meta/annotation.h"

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
