/* Rows: an hour of one series to a block and back, checked, merged. */
#include "bench/micro.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "bench/client.h"
#include "storage/block/block.h"

#define ROW_POINTS 360
#define ROWS       100

struct block_rig {
    struct points rows[ROWS];
    struct buf blocks[ROWS];
    struct points out;
    struct buf buf;
    uint8_t *copy;
    uint32_t base;
};

static uint64_t
next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *state >> 33;
}

static void
make_rows(struct block_rig *r, bool floats)
{
    uint64_t state = 1;

    memset(r, 0, sizeof *r);
    r->base = 1735689600;
    r->copy = mem_new(ROW_POINTS * sizeof(struct point) * 4);
    for (size_t i = 0; i < ROWS; i++) {
        int64_t walk = (int64_t)(next(&state) % 10000);

        for (int64_t k = 0; k < ROW_POINTS; k++) {
            struct point p = { .ts_ms = (r->base + k * 10) * INT64_C(1000),
                               .is_float = floats };

            walk += (int64_t)(next(&state) % 5) - 2;
            if (floats)
                p.v.d = (double)walk / 100;
            else
                p.v.i = walk / 10;
            if (!points_add(&r->rows[i], p))
                client_die("no memory");
        }
        block_encode(&r->rows[i], r->base, &r->blocks[i]);
    }
}

static void
free_rows(struct block_rig *r)
{
    for (size_t i = 0; i < ROWS; i++) {
        points_fini(&r->rows[i]);
        buf_fini(&r->blocks[i]);
    }
    points_fini(&r->out);
    buf_fini(&r->buf);
    free(r->copy);
}

static void
encode(void *ctx)
{
    struct block_rig *r = ctx;

    for (size_t i = 0; i < ROWS; i++) {
        buf_clear(&r->buf);
        block_encode(&r->rows[i], r->base, &r->buf);
    }
    micro_use(r->buf.size);
}

static void
decode(void *ctx)
{
    struct block_rig *r = ctx;

    for (size_t i = 0; i < ROWS; i++) {
        points_clear(&r->out);
        if (block_decode(buf_slice(&r->blocks[i]), r->base, &r->out, NULL) !=
            ST_OK)
            client_die("a block is damaged");
    }
    micro_use(r->out.len);
}

static void
copy_points(void *ctx)
{
    struct block_rig *r = ctx;

    for (size_t i = 0; i < ROWS; i++) {
        memcpy(r->copy, r->rows[i].ts_ms, ROW_POINTS * sizeof(int64_t));
        memcpy(r->copy + ROW_POINTS * 8, r->rows[i].v,
               ROW_POINTS * sizeof(union number));
        memcpy(r->copy + ROW_POINTS * 16, r->rows[i].is_float, ROW_POINTS);
        micro_use(r->copy[i]);
    }
}

static void
take_summaries(void *ctx)
{
    struct block_rig *r = ctx;
    struct summary s;

    for (size_t i = 0; i < ROWS; i++) {
        if (block_summary(buf_slice(&r->blocks[i]), r->base, &s, NULL) != ST_OK)
            client_die("a block is damaged");
        micro_use(s.count);
    }
}

static void
check_blocks(void *ctx)
{
    struct block_rig *r = ctx;

    for (size_t i = 0; i < ROWS; i++)
        micro_use(crc32c(buf_slice(&r->blocks[i])));
}

static void
merge(void *ctx)
{
    struct block_rig *r = ctx;

    for (size_t i = 0; i + 1 < ROWS; i += 2) {
        points_clear(&r->out);
        if (!points_merge(&r->rows[i], &r->rows[i + 1], &r->out))
            client_die("no memory");
    }
    micro_use(r->out.len);
}

static void
measure(bool floats, const char *to, const char *back)
{
    struct block_rig r;

    make_rows(&r, floats);
    micro_run(&(struct micro){ to, "point", ROWS * ROW_POINTS, encode,
                               "memcpy of the points", copy_points },
              &r);
    micro_run(&(struct micro){ back, "point", ROWS * ROW_POINTS, decode,
                               "memcpy of the points", copy_points },
              &r);
    if (!floats) {
        micro_run(&(struct micro){ "take a block's block summary", "block",
                                   ROWS, take_summaries, "CRC-32C of the block",
                                   check_blocks },
                  &r);
        micro_run(&(struct micro){ "merge two rows", "point", ROWS * ROW_POINTS,
                                   merge, "memcpy of the points", copy_points },
                  &r);
    }
    free_rows(&r);
}

void
micro_block(void)
{
    measure(false, "encode a block, whole numbers",
            "decode a block, whole numbers");
    measure(true, "encode a block, two decimals",
            "decode a block, two decimals");
}
