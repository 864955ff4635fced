#include "storage/store/week_rows.h"

#define STEPS 4 /* to a key, before it is sought */

bool
week_rows_find(struct kv_iter *it, bool *on_key, struct slice key)
{
    int order = *on_key ? slice_cmp(kv_iter_key(it), key) : -1;

    for (size_t i = 0; i < STEPS && *on_key && order < 0; i++) {
        *on_key = kv_iter_next(it);
        order = *on_key ? slice_cmp(kv_iter_key(it), key) : 1;
    }
    if (order < 0) {
        *on_key = kv_iter_seek(it, key);
        order = *on_key ? slice_cmp(kv_iter_key(it), key) : 1;
    }
    return order == 0;
}

/* The rows of one span, for all series. */
static enum status
add_span(const struct week_rows *r, struct kv_iter *it, uint32_t span,
         struct week *weeks, struct points *scratch, struct error *e)
{
    uint8_t bytes[ROW_KEY_MAX];
    enum status st = ST_OK;
    bool on_key = false;

    for (size_t i = 0; i < r->len && st == ST_OK; i++) {
        struct slice key =
            slice_of(bytes, key_row(r->layout, r->tsuids[i], span, bytes));

        if (i == 0)
            on_key = kv_iter_seek(it, key);
        if (!on_key)
            break; /* behind all rows */
        if (week_rows_find(it, &on_key, key))
            st = week_add_row(
                &weeks[i],
                &(struct row_of_parts){ r->kv, r->layout, r->tsuids[i], span },
                kv_iter_value(it), scratch, e);
    }
    return st;
}

enum status
week_rows_sum(const struct week_rows *r, uint32_t base, struct week *weeks,
              struct points *scratch, struct error *e)
{
    struct kv_iter *it = kv_iter_open(r->kv, KEY_TABLE(TABLE_ROWS));
    enum status st = ST_OK;

    for (size_t i = 0; i < r->len; i++)
        week_init(&weeks[i], base);
    for (uint32_t span = base; span - base < WEEK_S && st == ST_OK;
         span += key_span_s(r->layout))
        st = add_span(r, it, span, weeks, scratch, e);
    return kv_iter_end(&it, st, e);
}

static enum status
add_row_of_span(const struct week_rows *r, size_t i, uint32_t span,
                struct week *week, struct points *scratch, struct error *e)
{
    const struct row_of_parts row = { r->kv, r->layout, r->tsuids[i], span };
    struct buf value = BUF_INIT;
    uint8_t key[ROW_KEY_MAX];
    enum status st = kv_get(
        r->kv, slice_of(key, key_row(r->layout, r->tsuids[i], span, key)),
        &value, e);

    if (st == ST_OK)
        st = week_add_row(week, &row, buf_slice(&value), scratch, e);
    buf_fini(&value);
    week->unfit |= st == ST_CORRUPT || st == ST_IO;
    return st == ST_NOT_FOUND || week->unfit ? ST_OK : st;
}

enum status
week_rows_sum_each(const struct week_rows *r, uint32_t base, struct week *weeks,
                   struct points *scratch, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < r->len && st == ST_OK; i++) {
        week_init(&weeks[i], base);
        for (uint32_t span = base;
             span - base < WEEK_S && !weeks[i].unfit && st == ST_OK;
             span += key_span_s(r->layout))
            st = add_row_of_span(r, i, span, &weeks[i], scratch, e);
    }
    return st;
}
