/* Hours that are over become blocks:
 *
 *     bucket lock   mark some open rows immutable
 *     no lock       encode them
 *     bucket lock   put the blocks into encoded rows, drop the open ones
 *
 * The first open row of a span that is encoded becomes the encoded row itself;
 * the others are dropped.  The bucket's rows must stay in the order of their
 * segments of the log, so of an open row and an encoded one the older stays. */
#include "storage/head/head_priv.h"

#include <stdlib.h>

#include "base/process/crash.h"
#include "base/obj.h"
#include "storage/block/row_value.h"

/* What is done under one lock: some 0.1 ms of looking, of putting 0.05. */
#define STEP_LOOKS 1024
#define STEP_ROWS  64

/* Larger open rows stay open, and so do those that would make an encoded row
 * larger: its value is copied, and its checksum is computed, under the bucket's
 * lock. */
#define ENCODED_MOST ((uint32_t)4 << 20)
#define STEP_BYTES   ((size_t)1 << 20) /* of such values under one lock */

struct encoding {
    struct head *h;
    struct head_bucket *b;
    const struct encode_rule *rule;
    struct head_row *at; /* the next one to look at */
    size_t left;
    struct head_row *rows[STEP_ROWS]; /* of a step */
    struct buf blocks[STEP_ROWS];
    uint32_t counts[STEP_ROWS];
    size_t len;
    struct points points;
    struct buf value;
};

static struct row_blocks
parts_of(const struct head *h, const struct head_row *encoded)
{
    struct row_blocks parts = { .blocks = { { NULL, 0 } } };

    if (encoded != NULL)
        INSIST(row_blocks_of(h->layout, encoded->open.base - 1,
                             slice_of(encoded->open.bytes, encoded->open.size),
                             &parts, NULL) == ST_OK);
    return parts;
}

/* Returns whether the encoded row of the span has neither a block of this hour
 * nor too many bytes already. */
static bool
has_encoded_room(const struct encoding *x, const struct head_row *r)
    REQUIRES(x->b->lock)
{
    uint32_t span = key_span_base(x->h->layout, r->open.base);
    const struct head_row *other =
        head_encoded_row(x->h, x->b, r->series, span);
    struct row_blocks parts;

    if (other != NULL && other->open.size + r->open.size > ENCODED_MOST)
        return false;
    parts = parts_of(x->h, other);
    return parts.blocks[row_hour_of(x->h->layout, r->open.base)].size == 0;
}

static bool
takes(const struct encoding *x, const struct head_row *r) REQUIRES(x->b->lock)
{
    const struct encode_rule *rule = x->rule;

    return !r->encoded && !r->immutable &&
           (int64_t)r->open.base + HOUR_S + rule->delay_s <= rule->wall_s &&
           head_idle_s(rule->now_s, r->touched_s) >= rule->delay_s &&
           r->open.size <= ENCODED_MOST && head_predecessor(r) == NULL &&
           has_encoded_room(x, r);
}

/* The rows of the next step; false when all were looked at. */
static bool
mark(struct encoding *x)
{
    size_t looks = STEP_LOOKS;
    bool more;

    x->len = 0;
    lock_take(&x->b->lock);
    for (; x->at != NULL && x->left > 0 && looks > 0 && x->len < STEP_ROWS;
         x->at = x->at->younger) {
        x->left--;
        looks--;
        if (!takes(x, x->at))
            continue;
        x->at->immutable = true;
        x->rows[x->len++] = x->at;
    }
    more = x->at != NULL && x->left > 0;
    lock_drop(&x->b->lock);
    return more;
}

static void
encode(struct encoding *x, size_t i)
{
    const struct open_row *r = &x->rows[i]->open;
    struct buf *block = &x->blocks[i];

    buf_clear(block);
    points_clear(&x->points);
    block->failed |= !open_row_unpack(slice_of(r->bytes, r->size), r->count,
                                      r->base, &x->points);
    block->failed |= !block->failed && !points_sort_unique(&x->points);
    if (block->failed)
        return;
    block_encode(&x->points, r->base, block);
    x->counts[i] = (uint32_t)x->points.len;
}

/* True if it is encoded now; otherwise it takes points again. */
static bool
put_block(struct encoding *x, size_t i) REQUIRES(x->b->lock)
{
    struct head_row *r = x->rows[i], *other, *stays = r;
    uint32_t span = key_span_base(x->h->layout, r->open.base);
    uint32_t count = x->counts[i], touched_s = r->touched_s;
    struct slice value;

    other = head_encoded_row(x->h, x->b, r->series, span);
    if (other != NULL && other->open.size + x->blocks[i].size > ENCODED_MOST)
        value = (struct slice){ NULL, 0 };
    else {
        const struct buf *block = &x->blocks[i];
        const struct key_layout *layout = x->h->layout;
        struct row_blocks parts = parts_of(x->h, other);

        /* The value has the new block of 'r' and the blocks of 'other', which
         * may be NULL.  It is empty if there is no memory. */
        parts.blocks[row_hour_of(layout, r->open.base)] = buf_slice(block);
        buf_clear(&x->value);
        row_value_put(layout, key_span_base(layout, r->open.base), &parts,
                      &x->value);
        value = block->failed ? (struct slice){ NULL, 0 }
                              : head_copy_value(&x->value);
    }
    if (value.data == NULL) {
        r->immutable = false;
        return false;
    }
    if (other != NULL) {
        struct head_row *goes = other;

        count += other->open.count;
        if (other->touched_s > touched_s)
            touched_s = other->touched_s;
        if (other->segment <= r->segment) {
            stays = other;
            goes = r;
        }
        if (x->at == goes)
            x->at = goes->younger;
        head_drop_row(x->h, x->b, goes);
    }
    head_set_encoded(x->h, x->b, stays, value, count);
    stays->touched_s = touched_s & TOUCHED_MASK;
    return true;
}

static size_t
put_blocks(struct encoding *x)
{
    size_t done = 0;

    for (size_t i = 0; i < x->len;) {
        size_t bytes = 0;

        lock_take(&x->b->lock);
        for (; i < x->len && bytes < STEP_BYTES; i++) {
            done += put_block(x, i);
            bytes += x->value.size;
        }
        lock_drop(&x->b->lock);
    }
    return done;
}

size_t
head_encode(struct head *h, unsigned bucket, const struct encode_rule *rule)
{
    struct encoding x = { .h = h, .b = &h->buckets[bucket], .rule = rule };
    size_t done = 0;
    bool more = true;

    lock_take(&x.b->lock);
    x.at = x.b->oldest;
    x.left = x.b->rows_len;
    lock_drop(&x.b->lock);
    while (more) {
        more = mark(&x);
        if (x.len == 0)
            continue;
        for (size_t i = 0; i < x.len; i++)
            encode(&x, i);
        crash_point("hours-encoded");
        done += put_blocks(&x);
    }
    atomic_fetch_add(&h->encoded, done);
    for (size_t i = 0; i < STEP_ROWS; i++)
        buf_fini(&x.blocks[i]);
    buf_fini(&x.value);
    points_fini(&x.points);
    return done;
}
