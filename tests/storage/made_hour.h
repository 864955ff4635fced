/* An hour of a series as a scan lends it, an open row or a block, and its
 * bytes. */
#pragma once

#include "storage/block/block_priv.h"
#include "storage/head/open_row.h"
#include "storage/scan/store_row.h"
#include "tests/harness.h"

struct made_hour {
    struct open_row open;
    struct open_copy copy;
    struct buf block;
};

/* 'h' is zeroed, and holds what the row points to. */
static inline struct store_row
make_hour(struct made_hour *h, struct slice tsuid, uint32_t base,
          const struct points *p, bool is_block)
{
    struct store_row row = { .tsuid = tsuid, .base = base };

    if (is_block) {
        block_encode(p, base, &h->block);
        row.block = buf_slice(&h->block);
        return row;
    }
    h->open.base = base;
    for (size_t i = 0; i < p->len; i++)
        ck_assert(open_row_append(&h->open, points_at(p, i)));
    h->copy =
        (struct open_copy){ .tsuid = tsuid,
                            .base = base,
                            .count = h->open.count,
                            .row_count = h->open.count,
                            .last.i = (int64_t)h->open.last,
                            .spacing = open_row_spacing(&h->open),
                            .bytes = slice_of(h->open.bytes, h->open.size) };
    row.open = &h->copy;
    row.open_len = 1;
    return row;
}

static inline void
made_hour_fini(struct made_hour *h)
{
    buf_fini(&h->block);
    open_row_fini(&h->open);
}
