/* See uid/meta/annotation_codec.h. */
#include "config.h"

#include "uid/meta/annotation_codec.h"

#include "base/cursor.h"
#include "base/obj.h"

#define NOTE_VERSION       1
#define NOTE_VERSION_NULLS 2 /* some text is null */

size_t
annotation_key(struct slice tsuid, int64_t ms, uint8_t *out)
{
    size_t n = 0;

    INSIST(tsuid.size <= TSUID_MAX);
    out[n++] = TABLE_ANNOTATIONS;
    key_put_uint(out + n, tsuid.size, 2);
    n += 2;
    if (tsuid.size > 0)
        memcpy(out + n, tsuid.data, tsuid.size);
    n += tsuid.size;
    key_put_uint(out + n, (uint64_t)ms, 8);
    return n + 8;
}

enum status
annotation_key_parse(struct slice key, struct slice *tsuid, int64_t *ms,
                     struct error *e)
{
    struct cursor c = cursor_of(key);

    (void)cursor_u8(&c);
    *tsuid = cursor_bytes(&c, cursor_u16(&c));
    *ms = (int64_t)cursor_u64(&c);
    if (c.failed || cursor_left(&c) > 0 || *ms < 0)
        return error_set(e, ST_CORRUPT, "annotation key of %zu bytes",
                         key.size);
    return ST_OK;
}

static bool
has_nulls(const struct annotation *n)
{
    for (size_t i = 0; n->has_custom && i < n->custom_len; i++)
        if (annotation_is_null(n->custom[i].value))
            return true;
    return annotation_is_null(n->description) || annotation_is_null(n->notes);
}

void
annotation_encode(const struct annotation *n, struct buf *out)
{
    bool nulls = has_nulls(n);

    buf_put_u8(out, nulls ? NOTE_VERSION_NULLS : NOTE_VERSION);
    buf_put_varint(out, (uint64_t)n->start);
    buf_put_zigzag(out, n->end);
    null_text_put(out, n->description, nulls);
    null_text_put(out, n->notes, nulls);
    buf_put_varint(out, n->has_custom ? n->custom_len + 1 : 0);
    for (size_t i = 0; n->has_custom && i < n->custom_len; i++) {
        null_text_put(out, n->custom[i].key, nulls);
        null_text_put(out, n->custom[i].value, nulls);
    }
}

enum status
annotation_decode(struct slice bytes, struct arena *arena,
                  struct annotation *out, struct error *e)
{
    struct cursor c = cursor_of(bytes);
    uint8_t version = cursor_u8(&c);
    bool nulls = version == NOTE_VERSION_NULLS;
    uint64_t custom;

    out->start = (int64_t)cursor_varint(&c);
    out->end = cursor_zigzag(&c);
    out->description = null_text_take(&c, nulls);
    out->notes = null_text_take(&c, nulls);
    custom = cursor_varint(&c);
    out->has_custom = custom > 0;
    out->custom_len = out->has_custom ? (size_t)custom - 1 : 0;
    /* Each pair takes two bytes at least. */
    if ((version != NOTE_VERSION && !nulls) || c.failed || out->start < 1 ||
        out->custom_len > cursor_left(&c) / 2)
        return error_set(e, ST_CORRUPT,
                         "annotation of version %u and %zu bytes", version,
                         bytes.size);
    out->custom = arena_array(arena, out->custom_len, sizeof *out->custom);
    if (out->custom == NULL)
        return error_set(e, ST_LIMIT, "the request needs too much memory");
    for (size_t i = 0; i < out->custom_len; i++) {
        out->custom[i].key = null_text_take(&c, nulls);
        out->custom[i].value = null_text_take(&c, nulls);
    }
    if (c.failed || cursor_left(&c) > 0)
        return error_set(e, ST_CORRUPT, "annotation of %zu bytes: bad pairs",
                         bytes.size);
    return ST_OK;
}
