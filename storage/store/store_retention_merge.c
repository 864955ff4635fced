/* Merges late rows into the final entry of their week (store_retention.h). */
#include <stdlib.h>

#include "base/process/crash.h"
#include "base/mem.h"
#include "storage/block/row_parts.h"
#include "storage/store/store_retention.h"
#include "storage/store/store_weeks_priv.h"

struct merging {
    struct store *s;
    struct slice tsuid;
    struct week entry, late;
    struct row_blocks parts; /* of the row at hand */
    struct points points;
    struct buf part;
    struct kv_batch *batch;
    struct store_dropped gone;
    bool some_stay; /* rows that cannot be merged */
};

/* Adds the hours of a row that the entry does not count. */
static enum status
add_row(struct merging *m, uint32_t span, struct slice value, struct error *e)
{
    const struct key_layout *layout = &m->s->layout;
    const struct row_of_parts row = { m->s->kv, layout, m->tsuid, span };
    enum status status = row_blocks_of(layout, span, value, &m->parts, e);

    for (unsigned i = 0; i < layout->row_hours && status == ST_OK; i++) {
        struct slice block = m->parts.blocks[i];
        uint32_t base = span + i * HOUR_S;

        if (block.size == 0 ||
            m->entry.count[(base - m->entry.base) / HOUR_S] > 0)
            continue;
        points_clear(&m->points);
        if (row_hour_is_elsewhere(block))
            status = row_part_read(&row, base, &m->part, &block, e);
        if (status == ST_OK && block.size > 0)
            status = block_decode(block, base, &m->points, e);
        if (status == ST_OK && m->points.len > 0)
            status = week_add_points(&m->late, &m->points, e);
    }
    return status;
}

/* A row that is damaged, or that makes the sums inexact, stays.  Any other one
 * goes with its parts. */
static enum status
take_row(struct merging *m, uint32_t span, struct slice key, struct slice value,
         struct error *e)
{
    const struct key_layout *layout = &m->s->layout;
    struct week before = m->late;
    uint8_t part[ROW_KEY_MAX];
    struct error why;
    enum status status = add_row(m, span, value, &why);

    if (status != ST_OK && status != ST_CORRUPT)
        return error_set(e, status, "%s", why.text);
    if (status == ST_CORRUPT || m->late.unfit) {
        m->late = before;
        m->some_stay = true;
        return ST_OK;
    }
    m->gone.rows++;
    m->gone.points += row_points(layout, span, value);
    m->gone.bytes += key.size + value.size;
    kv_batch_delete(m->batch, key);
    for (unsigned i = 0; i < layout->row_hours; i++)
        if (row_hour_is_elsewhere(m->parts.blocks[i]))
            kv_batch_delete(
                m->batch,
                slice_of(part, key_row_part(layout, m->tsuid, span + i * HOUR_S,
                                            part)));
    return ST_OK;
}

static enum status
merge_rows(struct merging *m, struct slice entry_key, struct error *e)
{
    const struct key_layout *layout = &m->s->layout;
    const struct cut_times cut = store_cut_times_of(m->s, m->tsuid);
    struct buf value = BUF_INIT;
    uint8_t bytes[ROW_KEY_MAX];
    uint32_t base = m->entry.base;
    enum status status = ST_OK;

    week_init(&m->late, base);
    /* Before the cut of hourly values, rows are read and the entry is not. */
    for (uint32_t span = base < cut.hourly_s ? cut.hourly_s : base;
         span - base < WEEK_S && status == ST_OK; span += key_span_s(layout)) {
        struct slice key =
            slice_of(bytes, key_row(layout, m->tsuid, span, bytes));

        buf_clear(&value);
        status = kv_get(m->s->kv, key, &value, e);
        if (status == ST_OK)
            status = take_row(m, span, key, buf_slice(&value), e);
        else if (status == ST_NOT_FOUND)
            status = ST_OK;
    }
    if (status == ST_OK && m->gone.rows > 0 &&
        !week_merge(&m->entry, &m->late)) {
        kv_batch_clear(m->batch); /* all rows stay, and are read beside it */
    } else if (status == ST_OK && m->gone.rows > 0) {
        m->entry.rows = m->some_stay ? WEEK_ROWS_LATE : WEEK_ROWS_DROPPED;
        buf_clear(&value);
        week_encode(&m->entry, &value);
        if (value.failed)
            status = error_set(e, ST_BUSY, "no memory for a week");
        kv_batch_put(m->batch, entry_key, buf_slice(&value));
        crash_point("late-merged");
        if (status == ST_OK)
            status = store_write_owned(m->s, m->batch, e);
    }
    buf_fini(&value);
    return status;
}

enum status
store_weeks_merge(struct store *s, struct slice tsuid, uint32_t week,
                  struct store_dropped *dropped, struct error *e)
{
    struct merging *m = mem_new(sizeof *m);
    struct buf value = BUF_INIT;
    uint8_t bytes[ROW_KEY_MAX];
    struct slice key =
        slice_of(bytes, key_week(&s->layout, tsuid, week, bytes));
    enum status status = kv_get(s->kv, key, &value, e);

    m->s = s;
    m->tsuid = tsuid;
    m->batch = kv_batch_new();
    kv_batch_set_bucket(m->batch, key_salt(&s->layout, tsuid));
    /* Another row of the week may have been here first. */
    if (status == ST_OK)
        status = value.size == 0 ? ST_NOT_FOUND
                                 : week_decode(buf_slice(&value), week,
                                               HOURS_ALL, &m->entry, e);
    if (status == ST_OK && m->entry.rows == WEEK_ROWS_LATE) {
        status = merge_rows(m, key, e);
        if (status == ST_OK && kv_batch_len(m->batch) > 0) {
            dropped->rows += m->gone.rows;
            dropped->points += m->gone.points;
            dropped->bytes += m->gone.bytes;
        }
    }
    buf_fini(&value);
    row_blocks_fini(&m->parts);
    points_fini(&m->points);
    buf_fini(&m->part);
    kv_batch_free(&m->batch);
    free(m);
    return status == ST_NOT_FOUND ? ST_OK : status;
}
