/* Faults of parts of rows and of their hours, which test_uid_fsck.c plants with
 * its rig.  It includes this file after the rig. */
#pragma once

#include "storage/block/row_parts.h"

/* A part of the row's second hour, to which the row does not refer. */
static void
unused_part(struct rig *r)
{
    struct points one = { 0 };
    struct buf block = BUF_INIT, value = BUF_INIT;
    uint8_t bytes[100], key[ROW_KEY_MAX];
    size_t size =
        key_row_part(&layout_default, slice_of(bytes, hex(TSUID_A, bytes)),
                     BASE + HOUR_S, key);
    struct slice v;

    ck_assert(points_add(
        &one, (struct point){ .ts_ms = (BASE + HOUR_S) * INT64_C(1000) }));
    block_encode(&one, BASE + HOUR_S, &block);
    row_part_encode(&layout_default, BASE + HOUR_S, buf_slice(&block), &value);
    v = buf_slice(&value);
    write_one(r, slice_of(key, size), &v);
    points_fini(&one);
    buf_fini(&block);
    buf_fini(&value);
}

/* The row refers to a part of its second hour that is not there. */
static void
missing_part(struct rig *r)
{
    struct row_blocks parts = { .blocks = { { NULL, 0 } } };
    struct buf value = BUF_INIT, refers = BUF_INIT;
    uint8_t key[ROW_KEY_MAX];
    struct slice k = slice_of(key, row_key(TSUID_A, key)), v;

    OK(kv_get(store_kv(r->f.store), k, &value, &e));
    OK(row_blocks_of(&layout_default, BASE, buf_slice(&value), &parts, &e));
    parts.blocks[1] = row_hour_elsewhere();
    row_value_put(&layout_default, BASE, &parts, &refers);
    v = buf_slice(&refers);
    write_one(r, k, &v);
    row_blocks_fini(&parts);
    buf_fini(&value);
    buf_fini(&refers);
}

static void
no_hour(struct rig *r)
{
    move_block(r, 8, 1, false);
}
