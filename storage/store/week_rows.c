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

enum status
week_rows_sum(const struct week_rows *r, uint32_t base, struct week *weeks,
              struct points *scratch, struct error *e)
{
    struct kv_iter *it = kv_iter_open(r->kv, KEY_TABLE(TABLE_ROWS));
    struct row_of_parts row = { .kv = r->kv, .layout = r->layout };
    uint8_t bytes[ROW_KEY_MAX];
    enum status st = ST_OK;

    for (size_t i = 0; i < r->len; i++)
        week_init(&weeks[i], base);
    for (row.span = base; row.span - base < WEEK_S && st == ST_OK;
         row.span += key_span_s(r->layout)) {
        bool on_key = false;

        for (size_t i = 0; i < r->len && st == ST_OK; i++) {
            struct slice key = slice_of(
                bytes, key_row(r->layout, r->tsuids[i], row.span, bytes));

            if (i == 0)
                on_key = kv_iter_seek(it, key);
            if (!on_key)
                break; /* behind all rows */
            row.tsuid = r->tsuids[i];
            if (week_rows_find(it, &on_key, key))
                st = week_add_row(&weeks[i], &row, kv_iter_value(it), scratch,
                                  e);
        }
    }
    return kv_iter_end(&it, st, e);
}

enum status
week_rows_sum_each(const struct week_rows *r, uint32_t base, struct week *weeks,
                   struct points *scratch, struct error *e)
{
    struct row_of_parts row = { .kv = r->kv, .layout = r->layout };
    struct buf value = BUF_INIT;
    uint8_t key[ROW_KEY_MAX];
    enum status st = ST_OK;

    for (size_t i = 0; i < r->len && st == ST_OK; i++) {
        week_init(&weeks[i], base);
        row.tsuid = r->tsuids[i];
        for (row.span = base;
             row.span - base < WEEK_S && !weeks[i].unfit && st == ST_OK;
             row.span += key_span_s(r->layout)) {
            buf_clear(&value);
            st = kv_get(
                r->kv,
                slice_of(key, key_row(r->layout, row.tsuid, row.span, key)),
                &value, e);
            if (st == ST_OK)
                st = week_add_row(&weeks[i], &row, buf_slice(&value), scratch,
                                  e);
            weeks[i].unfit |= st == ST_CORRUPT || st == ST_IO;
            if (st == ST_NOT_FOUND || weeks[i].unfit)
                st = ST_OK;
        }
    }
    buf_fini(&value);
    return st;
}
