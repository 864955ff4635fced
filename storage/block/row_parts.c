/* See storage/block/row_parts.h. */
#include "storage/block/row_parts.h"

/* Of an hour that is in the row's value. */
static size_t
size_within(struct slice block)
{
    return row_hour_is_elsewhere(block) ? 0 : block.size;
}

uint32_t
row_parts_to_move(const struct key_layout *s, const struct row_blocks *parts,
                  size_t most)
{
    size_t sum = 0;
    uint32_t hours = 0;

    for (unsigned i = 1; i < s->row_hours; i++)
        sum += size_within(parts->blocks[i]);
    for (unsigned i = 1; i < s->row_hours && sum > most; i++)
        if (size_within(parts->blocks[i]) > most / s->row_hours)
            hours |= UINT32_C(1) << i;
    return hours;
}

void
row_part_encode(const struct key_layout *s, uint32_t base, struct slice block,
                struct buf *out)
{
    const struct row_blocks one = { .blocks = { block } };

    buf_clear(out);
    row_value_put(s, base, &one, out);
}

enum status
row_part_is_used(const struct row_of_parts *row, uint32_t base, bool *is,
                 struct error *e)
{
    uint8_t key[ROW_KEY_MAX];
    struct buf value = BUF_INIT;
    struct row_hours hours;
    struct slice block;
    uint32_t at;
    enum status status =
        kv_get(row->kv,
               slice_of(key, key_row(row->layout, row->tsuid, row->span, key)),
               &value, e);

    *is = false;
    if (status == ST_OK)
        status = row_hours_begin(row->layout, row->span, buf_slice(&value),
                                 &hours, e);
    while (status == ST_OK && row_hours_next(&hours, &at, &block))
        *is |= at == base && row_hour_is_elsewhere(block);
    buf_fini(&value);
    return status == ST_NOT_FOUND ? ST_OK : status;
}

enum status
row_part_read(const struct row_of_parts *row, uint32_t base, struct buf *value,
              struct slice *block, struct error *e)
{
    uint8_t key[ROW_KEY_MAX];
    struct row_hours hours;
    uint32_t at;
    enum status status =
        kv_get(row->kv,
               slice_of(key, key_row_part(row->layout, row->tsuid, base, key)),
               value, e);

    *block = slice_of(NULL, 0);
    if (status == ST_NOT_FOUND) {
        bool is;

        status = row_part_is_used(row, base, &is, e);
        return status == ST_OK && is
                   ? error_set(e, ST_CORRUPT,
                               "row: the part of hour %u is missing",
                               (unsigned)base)
                   : status;
    }
    if (status == ST_OK)
        status =
            row_hours_begin(row->layout, base, buf_slice(value), &hours, e);
    if (status == ST_OK &&
        (!row_hours_next(&hours, &at, block) || hours.block_s != HOUR_S ||
         at != base || row_hour_is_elsewhere(*block) || hours.hours != 0))
        status =
            error_set(e, ST_CORRUPT, "row: the part of hour %u has other hours",
                      (unsigned)base);
    return status;
}
