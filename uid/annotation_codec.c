/* See uid/annotation_priv.h. */
#include "config.h"

#include "uid/annotation_priv.h"

#include "base/cursor.h"
#include "base/obj.h"

#define NOTE_VERSION 1

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

static void
put_text(struct buf *out, struct slice s)
{
    buf_put_varint(out, s.size);
    buf_put_slice(out, s);
}

static struct slice
take_text(struct cursor *c)
{
    return cursor_bytes(c, cursor_varint(c));
}

void
annotation_encode(const struct annotation *n, struct buf *out)
{
    buf_put_u8(out, NOTE_VERSION);
    buf_put_varint(out, (uint64_t)n->start);
    buf_put_zigzag(out, n->end);
    put_text(out, n->description);
    put_text(out, n->notes);
    buf_put_varint(out, n->has_custom ? n->custom_len + 1 : 0);
    for (size_t i = 0; n->has_custom && i < n->custom_len; i++) {
        put_text(out, n->custom[i].key);
        put_text(out, n->custom[i].value);
    }
}

enum status
annotation_decode(struct slice bytes, struct arena *arena,
                  struct annotation *out, struct error *e)
{
    struct cursor c = cursor_of(bytes);
    uint8_t version = cursor_u8(&c);
    uint64_t custom;

    out->start = (int64_t)cursor_varint(&c);
    out->end = cursor_zigzag(&c);
    out->description = take_text(&c);
    out->notes = take_text(&c);
    custom = cursor_varint(&c);
    out->has_custom = custom > 0;
    out->custom_len = out->has_custom ? (size_t)custom - 1 : 0;
    /* Each pair takes two bytes at least. */
    if (version != NOTE_VERSION || c.failed || out->start < 1 ||
        out->custom_len > cursor_left(&c) / 2)
        return error_set(e, ST_CORRUPT,
                         "annotation of version %u and %zu bytes", version,
                         bytes.size);
    out->custom = arena_array(arena, out->custom_len, sizeof *out->custom);
    if (out->custom == NULL)
        return error_set(e, ST_LIMIT, "the request needs too much memory");
    for (size_t i = 0; i < out->custom_len; i++) {
        out->custom[i].key = take_text(&c);
        out->custom[i].value = take_text(&c);
    }
    if (c.failed || cursor_left(&c) > 0)
        return error_set(e, ST_CORRUPT, "annotation of %zu bytes: bad pairs",
                         bytes.size);
    return ST_OK;
}
