/* Annotations: what decodes encodes again, to a note that decodes alike; and a
 * key that parses is written back byte for byte.
 *
 *     <key size> <key> <note> */
#include "base/cursor.h"
#include "base/obj.h"
#include "uid/meta/annotation.h"
#include "tests/fuzz/target.h"

static void
check_key(struct slice key)
{
    uint8_t again[ANNOTATION_KEY_MAX];
    struct slice tsuid;
    int64_t ms;

    if (annotation_key_parse(key, &tsuid, &ms, NULL) != ST_OK ||
        tsuid.size > TSUID_MAX || key.data[0] != TABLE_ANNOTATIONS)
        return;
    INSIST(slice_eq(slice_of(again, annotation_key(tsuid, ms, again)), key));
}

static void
check_same(const struct annotation *a, const struct annotation *b)
{
    INSIST(a->start == b->start && a->end == b->end);
    INSIST(slice_eq(a->description, b->description));
    INSIST(slice_eq(a->notes, b->notes));
    INSIST(annotation_is_null(a->notes) == annotation_is_null(b->notes));
    INSIST(a->custom.has == b->custom.has && a->custom.len == b->custom.len);
    for (size_t i = 0; i < a->custom.len; i++) {
        INSIST(slice_eq(a->custom.pairs[i].key, b->custom.pairs[i].key));
        INSIST(slice_eq(a->custom.pairs[i].value, b->custom.pairs[i].value));
    }
}

FUZZ_TARGET(data, size)
{
    struct cursor c = cursor_of(slice_of(data, size));
    struct arena *arena = arena_new(1 << 20);
    struct annotation n = { 0 }, again = { 0 };
    struct buf b = BUF_INIT;

    check_key(cursor_bytes(&c, cursor_u8(&c)));
    if (annotation_decode(cursor_bytes(&c, cursor_left(&c)), arena, &n, NULL) ==
        ST_OK) {
        record_encode(&annotation_format, &n, &b);
        INSIST(annotation_decode(buf_slice(&b), arena, &again, NULL) == ST_OK);
        check_same(&n, &again);
    }
    buf_fini(&b);
    arena_free(&arena);
    return 0;
}
