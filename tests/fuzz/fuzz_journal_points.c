/* Applies arbitrary bytes as the journal's records of points:
 *
 *     { <type:1> <size:1> <record> }...
 *
 * Whatever they say, the head holds what was counted, and it can be read. */
#include "config.h"

#include "storage/store_priv.h"

#include "base/cursor.h"
#include "base/obj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t
count_points(const struct store *s) NO_TS_CHECK
{
    struct points p = { 0 };
    uint64_t n = 0;

    for (size_t i = 0; i < s->head.buckets_len; i++)
        for (const struct head_row *r = s->head.buckets[i].oldest; r != NULL;
             r = r->younger) {
            points_clear(&p);
            INSIST(open_row_unpack(slice_of(r->open.bytes, r->open.size),
                                   r->open.count, r->open.base, &p));
            n += p.len;
        }
    points_fini(&p);
    return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store_options o = { .shape = KEY_SHAPE_DEFAULT };
    struct cursor c = cursor_of(slice_of(data, size));
    struct replay r;
    struct store *s;
    struct error e;

    /* Any TSUID is of bucket 0. */
    o.shape.salt_width = 0;
    o.shape.salt_buckets = 1;
    INSIST(store_open(&o, &s, &e) == ST_OK);
    replay_init(&r, s);
    while (cursor_left(&c) > 0) {
        uint8_t type = cursor_u8(&c);
        size_t most = cursor_u8(&c);
        struct slice record =
            cursor_bytes(&c, most < cursor_left(&c) ? most : cursor_left(&c));
        enum status status = record_points_replay(
            &r, 1, record_is_points(type) ? type : RECORD_POINTS_OF, record,
            &e);

        INSIST(status == ST_OK || status == ST_CORRUPT);
    }
    INSIST(count_points(s) == r.points);
    replay_fini(&r);
    INSIST(store_close(&s, &e) == ST_OK);
    return 0;
}
