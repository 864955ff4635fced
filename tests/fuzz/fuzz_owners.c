/* What processes that share a store send each other, as arbitrary bytes: rows
 * of heads for a scan, and records of points.  Whatever is taken can be read.
 *
 *     <0> open rows, <1> { <size:2> record }... */
#include "storage/store/store_priv.h"

#include "base/cursor.h"
#include "base/obj.h"
#include "storage/head/open_row.h"
#include "storage/scan/store_scan_priv.h"
#include "tests/fuzz/target.h"

static const struct key_layout layout = KEY_LAYOUT_DEFAULT;

/* All rows of metric 1 in one bucket. */
static void
read_rows(struct slice bytes)
{
    struct mask_set *set = mask_set_new();
    struct mask *m = mask_new();
    uint8_t metric[3] = { 0, 0, 1 }, t[9] = { 0, 0, 1, 0, 0, 1, 0, 0, 1 };
    struct scan_spec spec = {
        .masks = set,
        .bucket = key_salt(&layout, slice_of(t, 9)),
        .to_base = UINT32_MAX / HOUR_S * HOUR_S,
        .metric = slice_of(metric, 3),
    };
    struct cursor c = cursor_of(bytes);
    struct points p = { 0 };
    struct head_row_view v;

    mask_add_any(m, 15);
    mask_set_give(set, &m);
    while (store_head_next(&c, &layout, &spec, &v)) {
        struct open_row r = { .bytes = (uint8_t *)(uintptr_t)v.bytes.data,
                              .size = (uint32_t)v.bytes.size,
                              .base = v.base };
        struct summary sum;
        struct spacing s;
        bool known;

        points_clear(&p);
        if (v.is_block) { /* of which only the header was looked at */
            enum status st = block_decode(v.bytes, v.base, &p, NULL);

            INSIST(st != ST_OK || p.len == v.count);
            continue;
        }
        known = open_row_summary(&r, false, &sum);
        INSIST(open_row_unpack(v.bytes, v.count, v.base, &p));
        INSIST(p.len == v.count);
        for (size_t i = 0; i < p.len; i++)
            INSIST(hour_base(p.ts_ms[i]) == v.base);
        INSIST(!known ||
               (sum.count == p.len && sum.last_ms == p.ts_ms[p.len - 1]));
        points_clear(&p);
        (void)open_row_unpack_even(v.bytes, v.count, v.base, &p, &s);
    }
    points_fini(&p);
    mask_set_free(&set);
}

static void
put_records(struct cursor c)
{
    struct store_options o = { .layout = layout };
    struct store_session *ss;
    struct store *s;
    struct error e;
    size_t size = cursor_left(&c);
    uint64_t lsn;

    INSIST(store_open(&o, &s, &e) == ST_OK);
    ss = store_session_new(s);
    while (cursor_left(&c) > 2) {
        size_t want = cursor_u16(&c), left = cursor_left(&c);
        struct slice record = cursor_bytes(&c, want < left ? want : left);
        enum status st = store_session_put(ss, record, &lsn, &e);

        INSIST(st == ST_OK || st == ST_MOVED || st == ST_CORRUPT);
    }
    INSIST(store_counts(s).points_added <= size * 8);
    store_session_free(&ss);
    INSIST(store_close(&s, &e) == ST_OK);
}

FUZZ_TARGET(data, size)
{
    struct slice rest;

    if (size == 0)
        return 0;
    rest = slice_of(data + 1, size - 1);
    if (data[0] % 2 == 0)
        read_rows(rest);
    else
        put_records(cursor_of(rest));
    return 0;
}
