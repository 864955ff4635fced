/* See uid/meta/annotation_codec.h. */
#include "config.h"

#include "uid/meta/annotation_codec.h"

#include "base/cursor.h"
#include "base/obj.h"

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

static const struct record_field fields[] = {
    RECORD(UINT, annotation, start, 0),
    RECORD(INT, annotation, end, ANNOTATION_END),
    RECORD(TEXT_OR_NULL, annotation, description, ANNOTATION_DESCRIPTION),
    RECORD(TEXT_OR_NULL, annotation, notes, ANNOTATION_NOTES),
    RECORD(PAIRS, annotation, custom, ANNOTATION_CUSTOM),
};

const struct record_format annotation_format = {
    "annotation",
    fields,
    sizeof fields / sizeof fields[0],
};

enum status
annotation_decode(struct slice bytes, struct arena *arena,
                  struct annotation *out, struct error *e)
{
    enum status st = record_decode(&annotation_format, bytes, arena, out, e);

    return st == ST_OK && out->start < 1
               ? error_set(e, ST_CORRUPT, "annotation that starts at 0")
               : st;
}
