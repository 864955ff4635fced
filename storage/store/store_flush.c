/* Flushing: open rows become blocks in the engine, those of encoded rows as
 * they are.
 *
 *     head_pass_next()   makes rows immutable
 *     no lock            unpack, merge with older blocks, encode, write
 *     head_pass_done()   drops the rows
 *
 * A reader that copied the head before the drop and looks at the engine after
 * the write sees a row in both; they hold the same points, so that is harmless.
 * Readers look at the head first, so they never see it in neither.
 *
 * An open row is of one hour, a row in the engine of a span of them: all that
 * the head has of a span is written together, and with what is stored of it:
 *
 *     stored block  <  block of the encoded row  <  open row
 *
 * of each hour, where a later one wins.
 *
 * A row that cannot be written, for want of memory, is *set aside*: it stays
 * open, is counted and logged, and the pass goes on with the others.  Only what
 * concerns all rows, a failure of the engine, ends a pass. */
#include <stdlib.h>

#include "base/process/log.h"
#include "base/process/crash.h"
#include "base/mem.h"
#include "base/obj.h"
#include "storage/head/open_row.h"
#include "storage/block/row_parts.h"
#include "storage/store/row_values.h"
#include "storage/store/store_weeks_priv.h"

/* LevelDB stores a block of its own as it is unless that shrinks by an eighth.
 * A row's key shrinks by more than half, its value not at all: zeros behind the
 * value make up for it, three bytes for 64 of them, so that keys are compressed
 * where values are long.  They also make snappy look closely again, which it
 * does not after so many bytes that do not shrink, just before the next key.
 * That they alone are an eighth is more than it takes mostly, and costs little;
 * a bit less than it takes would cost all that was to be won.
 *
 * Queries profit as well: LevelDB caches blocks that it had to uncompress, but
 * not those that it lends from a mapped file, whose checksums it computes each
 * time.  Without zeros the queries of the bench take 1.17 times the CPU. */
#define PADDED_UP_TO 1536
#define ENTRY_BYTES  11 /* that LevelDB adds: three sizes, a number */

/* Rows are written before their batch is larger than this and one row. */
#define BATCH_BYTES ((size_t)8 << 20)

#define ASIDE_EVERY_US INT64_C(60000000) /* of lines in the log */

struct flush_batch {
    struct head_flushing *rows; /* put in order and written together */
    size_t len;
    size_t written; /* of 'rows', which are in the engine or were set aside */
    struct points fresh, stored, merged;
    struct row_blocks parts;       /* of the row at hand */
    struct row_values stored_rows; /* of the next rows in order */
    struct slice stored_value;     /* of the row at hand */
    struct buf value, padded, part;
    struct buf blocks[ROW_HOURS_MAX]; /* of the row at hand */
    uint32_t elsewhere; /* of the row at hand: 'blocks' that are parts, a bit
                           each */
    struct kv_batch *writes;
    struct kv_batch *stale;   /* weeks of their rows, written before them */
    struct kv_batch_mark row; /* of 'writes', where the row at hand begins */
    size_t quarantined, unreadable; /* rows in 'writes' */
    size_t aside;                   /* rows, of the pass */
    struct error why;               /* of the first one */
    bool engine_failed; /* the status of this flushing concerns all rows */
};

/* -- one batch ------------------------------------------------------------- */

/* Writes and clears the batch.  What was put for the row at hand so far is
 * right without the rest of it: parts, and damaged values. */
static enum status
write_batch(struct store *s, struct flush_batch *b, struct error *e)
    REQUIRES(s->flush_lock)
{
    enum status status = store_weeks_mark_stale(s, b->stale, e);

    if (status == ST_OK)
        status = store_write_owned(s, b->writes, e);
    b->engine_failed = status != ST_OK;
    if (status == ST_OK) {
        atomic_fetch_add(&s->rows_quarantined, b->quarantined);
        atomic_fetch_add(&s->rows_unreadable, b->unreadable);
    }
    kv_batch_clear(b->writes);
    b->quarantined = b->unreadable = 0;
    b->row = kv_batch_mark(b->writes);
    return status;
}

static enum status
put_row(struct store *s, struct flush_batch *b, struct slice key,
        struct error *e)
{
    struct slice value = buf_slice(&b->value);
    size_t size = key.size + value.size + ENTRY_BYTES;

    /* Where keys do not do it alone: with about half of each, and of the
     * entry's bytes, saved. */
    if (kv_traits(s->kv)->wants_padding && value.size <= PADDED_UP_TO &&
        size > (key.size / 2 + 4) * 8) {
        buf_clear(&b->padded);
        block_pad(value, size / 7 + 16, &b->padded);
        value = buf_slice(&b->padded);
    }
    if (b->value.failed || b->padded.failed)
        return error_set(e, ST_BUSY, "no memory for a row");
    kv_batch_put(b->writes, key, value);
    return kv_batch_check(b->writes, e);
}

/* Moves the large hours of the row at hand to parts. */
static enum status
put_parts(struct store *s, struct flush_batch *b, const struct head_flushing *x,
          struct error *e) REQUIRES(s->flush_lock)
{
    uint8_t key[ROW_KEY_MAX];
    uint32_t hours =
        b->elsewhere |
        row_parts_to_move(&s->layout, &b->parts, s->options.row_value_bytes);
    enum status status = ST_OK;

    for (; hours != 0 && status == ST_OK; hours &= hours - 1) {
        unsigned i = (unsigned)__builtin_ctz(hours);
        uint32_t base = x->span + i * HOUR_S;

        row_part_encode(&s->layout, base, b->parts.blocks[i], &b->part);
        if (b->part.failed)
            return error_set(e, ST_BUSY, "no memory for a part of a row");
        kv_batch_put(
            b->writes,
            slice_of(key, key_row_part(&s->layout, x->v.tsuid, base, key)),
            buf_slice(&b->part));
        b->parts.blocks[i] = row_hour_elsewhere();
        status = kv_batch_check(b->writes, e);
        if (status == ST_OK && kv_batch_bytes(b->writes) >= BATCH_BYTES)
            status = write_batch(s, b, e);
    }
    return status;
}

/* -- damage ---------------------------------------------------------------- */

/* A damaged row must not keep the WAL from being trimmed, so it makes way.  The
 * value that the engine has is put into the quarantine table, by the batch that
 * writes the row; once, even if several of its hours are damaged. */
static void
quarantine(struct store *s, struct flush_batch *b, struct slice key,
           struct slice value, const char *what, const struct error *why)
{
    uint8_t bytes[1 + ROW_KEY_MAX + 8] = { TABLE_QUARANTINE };

    memcpy(bytes + 1, key.data, key.size);
    key_put_uint(bytes + 1 + key.size, (uint64_t)clock_now_ms(s->options.clock),
                 8);
    kv_batch_put(b->writes, slice_of(bytes, 1 + key.size + 8), value);
    b->quarantined++;
    log_error("store",
              "%s is damaged; new points replace it, and the row's value is "
              "kept in quarantine (see: halite fsck): %s",
              what, why->text);
}

/* What the engine has of the i-th row that was read, hour by hour: nothing
 * where it is damaged. */
static enum status
take_stored(struct store *s, struct flush_batch *b, size_t i, uint32_t span,
            struct error *e)
{
    struct error why;
    enum status status =
        row_values_get(&b->stored_rows, s->kv, i, &b->stored_value, &why);

    if (status == ST_NOT_FOUND)
        return ST_OK;
    if (status == ST_CORRUPT) {
        b->unreadable++;
        log_error("store",
                  "a stored row is unreadable; new points replace it, and "
                  "nothing of it is kept: %s",
                  why.text);
        return ST_OK;
    }
    if (status != ST_OK)
        return error_set(e, status, "%s", why.text);
    atomic_fetch_add(&s->rows_rewritten, 1);
    status = row_blocks_of(&s->layout, span, b->stored_value, &b->parts, &why);
    if (status != ST_CORRUPT)
        return status == ST_OK ? ST_OK : error_set(e, status, "%s", why.text);
    quarantine(s, b, b->stored_rows.keys[i], b->stored_value, "a stored row",
               &why);
    return ST_OK;
}

static void
quarantine_part(struct store *s, struct flush_batch *b,
                const struct head_row_view *r, const struct error *why)
{
    uint8_t key[ROW_KEY_MAX];
    size_t size = key_row_part(&s->layout, r->tsuid, r->base, key);

    quarantine(s, b, slice_of(key, size), buf_slice(&b->part),
               "a part of a stored row", why);
}

/* What the engine has of an hour that is a part of its row: nothing where it is
 * damaged. */
static enum status
take_part(struct store *s, struct flush_batch *b, const struct head_row_view *r,
          struct slice *block, struct error *e)
{
    const struct row_of_parts row = { s->kv, &s->layout, r->tsuid,
                                      key_span_base(&s->layout, r->base) };
    struct error why;
    enum status status = row_part_read(&row, r->base, &b->part, block, &why);

    if (status != ST_CORRUPT)
        return status == ST_OK ? ST_OK : error_set(e, status, "%s", why.text);
    *block = slice_of(NULL, 0);
    if (b->part.size > 0) {
        quarantine_part(s, b, r, &why);
        return ST_OK;
    }
    b->unreadable++;
    log_error("store",
              "a part of a stored row is unreadable; new points replace it, "
              "and nothing of it is kept: %s",
              why.text);
    return ST_OK;
}

/* -- rows ------------------------------------------------------------------ */

/* Makes 'block' of the fresh points and those of 'stored', which may be its own
 * bytes.  ST_CORRUPT when those are damaged. */
static enum status
encode_over(struct store *s, struct flush_batch *b, uint32_t base,
            struct slice stored, struct buf *block, struct error *e)
{
    const struct points *out = &b->fresh;
    enum status status;

    if (stored.size > 0) {
        points_clear(&b->stored);
        points_clear(&b->merged);
        status = block_decode(stored, base, &b->stored, e);
        if (status != ST_OK)
            return error_wrap(e, status, "hour %u", base);
        if (!points_merge(&b->stored, &b->fresh, &b->merged))
            return error_set(e, ST_BUSY, "no memory to merge a row");
        out = &b->merged;
        crash_point("merge");
        atomic_fetch_add(&s->rows_merged, 1);
    }
    buf_clear(block);
    block_encode(out, base, block);
    return block->failed ? error_set(e, ST_BUSY, "no memory for a block")
                         : ST_OK;
}

/* Lays an hour of the head over its block of the row at hand.  What is damaged
 * there makes way: '*damaged' is set, and 'why'. */
static enum status
flush_hour(struct store *s, struct flush_batch *b,
           const struct head_row_view *r, bool *damaged, struct error *why,
           struct error *e)
{
    unsigned hour = row_hour_of(&s->layout, r->base);
    struct slice *block = &b->parts.blocks[hour];
    struct buf *out = &b->blocks[hour];
    enum status status = ST_OK;

    if (row_hour_is_elsewhere(*block)) {
        b->elsewhere |= UINT32_C(1) << hour;
        status = take_part(s, b, r, block, e);
    }
    if (status != ST_OK)
        return status;
    if (r->is_block && block->size == 0) {
        *block = r->bytes;
        return ST_OK;
    }
    points_clear(&b->fresh);
    if (r->is_block)
        status = block_decode(r->bytes, r->base, &b->fresh, e);
    else if (!open_row_unpack(r->bytes, r->count, r->base, &b->fresh))
        status = error_set(e, ST_BUSY, "no memory to flush a row");
    if (status == ST_OK && !points_sort_unique(&b->fresh))
        status = error_set(e, ST_BUSY, "no memory to sort a row");
    if (status != ST_OK)
        return status;
    status = encode_over(s, b, r->base, *block, out, why);
    if (status == ST_CORRUPT) {
        /* A part's damage is that of the part. */
        if ((b->elsewhere >> hour & 1) == 0)
            *damaged = true;
        else
            quarantine_part(s, b, r, why);
        status = encode_over(s, b, r->base, slice_of(NULL, 0), out, why);
    }
    *block = buf_slice(out);
    return status == ST_OK ? ST_OK : error_set(e, status, "%s", why->text);
}

/* Flushes what the head has of one row in the engine, with what is stored of
 * it: the '*stored'-th that was read, or surely nothing. */
static enum status
flush_span(struct store *s, struct flush_batch *b,
           const struct head_flushing *x, size_t len, size_t *stored,
           struct error *e) REQUIRES(s->flush_lock)
{
    uint8_t bytes[ROW_KEY_MAX];
    struct slice key =
        slice_of(bytes, key_row(&s->layout, x->v.tsuid, x->span, bytes));
    size_t quarantined = b->quarantined;
    enum status status = ST_OK;
    bool damaged = false;
    struct error why;

    memset(b->parts.blocks, 0, sizeof b->parts.blocks);
    b->elsewhere = 0;
    if (!x->is_unflushed)
        status = take_stored(s, b, (*stored)++, x->span, e);
    for (size_t i = 0; i < len && status == ST_OK; i++) {
        struct head_row_view hour = x[i].v;
        struct row_hours hours;

        if (!x[i].is_encoded) {
            status = flush_hour(s, b, &hour, &damaged, &why, e);
            continue;
        }
        hour.is_block = true;
        INSIST(row_hours_begin(&s->layout, x->span, hour.bytes, &hours, NULL) ==
               ST_OK);
        while (status == ST_OK &&
               row_hours_next(&hours, &hour.base, &hour.bytes))
            status = flush_hour(s, b, &hour, &damaged, &why, e);
    }
    if (status != ST_OK)
        return status;
    if (damaged && b->quarantined == quarantined)
        quarantine(s, b, key, b->stored_value, "an hour of a stored row", &why);
    store_weeks_collect_stale(s, x->v.tsuid, x->span, b->stale);
    status = put_parts(s, b, x, e);
    if (status != ST_OK)
        return status;
    buf_clear(&b->value);
    row_value_pack(&s->layout, x->span, &b->parts, &b->merged, &b->value);
    return put_row(s, b, key, e);
}

/* By key: neighbours in the engine then have neighbouring numbers of their
 * writing, which compress.  Of a span the encoded row comes first. */
static int
compare_rows(const void *a, const void *b)
{
    const struct head_flushing *x = a, *y = b;
    int order;

    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    if (x->span != y->span)
        return x->span < y->span ? -1 : 1;
    order = slice_cmp(x->v.tsuid, y->v.tsuid);
    return order != 0 ? order : y->is_encoded - x->is_encoded;
}

static size_t
span_len(const struct head_flushing *x, size_t left)
{
    size_t n = 1;

    while (n < left && x[n].v.tsuid.data == x->v.tsuid.data &&
           x[n].span == x->span)
        n++;
    return n;
}

/* What is in the batch without the row at hand. */
static enum status
write_others(struct store *s, struct flush_batch *b, struct error *e)
    REQUIRES(s->flush_lock)
{
    kv_batch_rewind(b->writes, b->row);
    return write_batch(s, b, e);
}

static void
note_written(struct flush_batch *b, size_t to, bool are)
{
    for (; b->written < to; b->written++)
        b->rows[b->written].is_written = are;
}

/* The rows i .. i + n - 1, which are of one span: where memory is short once
 * more without the rows before it, and if that does not help, not at all. */
static enum status
flush_or_set_aside(struct store *s, struct flush_batch *b, size_t i, size_t n,
                   size_t *stored, struct error *e) REQUIRES(s->flush_lock)
{
    size_t before = *stored;
    struct error why;
    enum status status;

    b->row = kv_batch_mark(b->writes);
    status = flush_span(s, b, &b->rows[i], n, stored, &why);
    if (status != ST_OK && !b->engine_failed && kv_batch_len(b->writes) > 0) {
        status = write_others(s, b, e);
        if (status != ST_OK)
            return status;
        note_written(b, i, true);
        *stored = before;
        status = flush_span(s, b, &b->rows[i], n, stored, &why);
    }
    if (status == ST_OK || b->engine_failed || status == ST_IO ||
        status == ST_TIMEOUT)
        return status == ST_OK ? ST_OK : error_set(e, status, "%s", why.text);
    status = write_others(s, b, e);
    if (status != ST_OK)
        return status;
    note_written(b, i, true);
    if (b->aside == 0) {
        b->why = why;
        (void)key_row_error(b->rows[i].v.tsuid, b->rows[i].span, why.status,
                            &b->why);
    }
    b->aside += n;
    atomic_fetch_add(&s->rows_set_aside, n);
    note_written(b, i + n, false);
    return ST_OK;
}

static enum status
flush_rows(struct store *s, struct flush_batch *b, struct error *e)
    REQUIRES(s->flush_lock)
{
    struct row_values *v = &b->stored_rows;
    uint8_t bytes[ROW_KEY_MAX];
    enum status status = ST_OK;

    kv_batch_clear(b->writes);
    b->quarantined = b->unreadable = b->written = 0;
    b->engine_failed = false;
    for (size_t i = 0; i < b->len; i++)
        b->rows[i].is_written = false;
    for (size_t i = 0, to, n; i < b->len && status == ST_OK;) {
        size_t room = row_values_room(v), stored = 0;

        /* What is stored of as many rows as are read at once. */
        row_values_clear(v);
        for (to = i; to < b->len && v->len < room;
             to += span_len(&b->rows[to], b->len - to)) {
            const struct head_flushing *x = &b->rows[to];

            if (!x->is_unflushed)
                row_values_add(v,
                               slice_of(bytes, key_row(&s->layout, x->v.tsuid,
                                                       x->span, bytes)));
        }
        status = row_values_read(v, s->kv, e);
        for (; i < to && status == ST_OK; i += n) {
            n = span_len(&b->rows[i], to - i);
            status = flush_or_set_aside(s, b, i, n, &stored, e);
            if (status == ST_OK && kv_batch_bytes(b->writes) >= BATCH_BYTES) {
                status = write_batch(s, b, e);
                if (status == ST_OK)
                    note_written(b, i + n, true);
            }
        }
    }
    crash_point("flush-encoded");
    if (status == ST_OK)
        status = write_batch(s, b, e);
    if (status == ST_OK)
        note_written(b, b->len, true);
    crash_point("flush-written");
    return status;
}

static enum status
flush_bucket(struct store *s, unsigned bucket, const struct flush_rule *rule,
             size_t keep, struct flush_batch *b, struct error *e)
    REQUIRES(s->flush_lock)
{
    struct head_pass pass;
    enum status status = ST_OK;

    kv_batch_set_bucket(b->writes, bucket);
    head_pass_begin(&pass, s->head, bucket, rule, keep);
    while (status == ST_OK && (b->len = head_pass_next(&pass, b->rows)) > 0) {
        size_t written = 0;

        qsort(b->rows, b->len, sizeof b->rows[0], compare_rows);
        status = flush_rows(s, b, e);
        for (size_t i = 0; i < b->len; i++)
            written += b->rows[i].is_written;
        head_pass_done(&pass, b->rows, b->len);
        atomic_fetch_add(&s->rows_flushed, written);
    }
    return status;
}

static void
begin_pass(struct flush_batch *b)
{
    *b = (struct flush_batch){
        .rows = mem_new_array(HEAD_PASS_ROWS + ROW_HOURS_MAX,
                              sizeof(struct head_flushing)),
        .writes = kv_batch_new(),
        .stale = kv_batch_new(),
    };
}

/* Reports the rows that the pass set aside. */
static void
end_pass(struct store *s, struct flush_batch *b) REQUIRES(s->flush_lock)
{
    int64_t now_us = clock_monotonic_us();

    s->aside = b->why;
    if (b->aside > 0 && (s->aside_logged_us == 0 ||
                         now_us - s->aside_logged_us >= ASIDE_EVERY_US)) {
        s->aside_logged_us = now_us;
        log_error("store",
                  "%zu rows cannot be flushed and stay in memory; the others "
                  "are flushed, and these are tried again: %s",
                  b->aside, b->why.text);
    }
    free(b->rows);
    points_fini(&b->fresh);
    points_fini(&b->stored);
    points_fini(&b->merged);
    row_blocks_fini(&b->parts);
    row_values_fini(&b->stored_rows);
    for (size_t i = 0; i < ROW_HOURS_MAX; i++)
        buf_fini(&b->blocks[i]);
    buf_fini(&b->value);
    buf_fini(&b->padded);
    buf_fini(&b->part);
    kv_batch_free(&b->writes);
    kv_batch_free(&b->stale);
}

enum status
store_flush_pass(struct store *s, const struct flush_rule *rule,
                 size_t keep_bytes, struct error *e) REQUIRES(s->flush_lock)
{
    struct flush_batch b;
    size_t from = head_bytes(s->head), buckets = s->layout.salt_buckets;
    enum status status = ST_OK;

    begin_pass(&b);
    /* Each bucket gives its share, so that none is drained for the others. */
    for (unsigned i = 0; i < buckets && status == ST_OK; i++) {
        size_t keep = 0;

        if (keep_bytes != 0 && from > keep_bytes)
            keep = from - (from - keep_bytes) / buckets * (i + 1);
        else if (keep_bytes != 0)
            break;
        status = flush_bucket(s, i, rule, keep, &b, e);
    }
    end_pass(s, &b);
    return status;
}

enum status
store_flush_bucket(struct store *s, unsigned bucket, struct error *e)
{
    const struct flush_rule rule = { .all = true };
    struct flush_batch b;
    enum status status = ST_OK;

    begin_pass(&b);
    /* Again: a row may have to wait for its predecessor. */
    for (int i = 0; i < FLUSH_PASSES && status == ST_OK &&
                    !head_bucket_is_empty(s->head, bucket);
         i++)
        status = flush_bucket(s, bucket, &rule, 0, &b, e);
    end_pass(s, &b);
    if (status == ST_OK && !head_bucket_is_empty(s->head, bucket))
        status = error_set(e, ST_IO, "some rows of salt bucket %u stay open",
                           bucket);
    return status;
}
