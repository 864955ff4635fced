/* One scan for each salt bucket that holds any of the series, over a mask for
 * each set of tagks; rows that the masks let through by mere combination of
 * tag values are dropped. */
#include "config.h"

#include "query/fetch/series_points.h"

#include <stdlib.h>

#include "base/mem.h"

#define ROWS_BETWEEN_LOOKS 4096

/* The series of one bucket, which have the places 'at' in the whole list. */
struct bucket {
    struct store *store;
    const struct key_layout *layout;
    unsigned number;
    struct slice *tsuids; /* ascending */
    size_t *at;
    size_t len;
    struct series_points *out;
    bool (*gone)(void *ctx);
    void *ctx;
};

static bool
same_tagks(const struct key_layout *layout, struct slice a, struct slice b)
{
    if (a.size != b.size)
        return false;
    for (size_t i = 0; i < tsuid_tags(layout, a); i++)
        if (!slice_eq(tsuid_tagk(layout, a, i), tsuid_tagk(layout, b, i)))
            return false;
    return true;
}

/* Adds the values that the series with the tagks of 'first' have for the tag
 * 'i'. */
static void
add_values(struct mask *m, const struct bucket *b, size_t first, size_t i)
{
    unsigned width = b->layout->tagv_width;
    uint64_t *values = mem_new_array(b->len, sizeof *values);
    size_t len = 0;

    for (size_t k = first; k < b->len; k++)
        if (same_tagks(b->layout, b->tsuids[first], b->tsuids[k]))
            values[len++] = key_get_uint(
                tsuid_tagv(b->layout, b->tsuids[k], i).data, width);
    mask_add_set(m, values, len, width);
    free(values);
}

static struct mask *
make_mask(const struct bucket *b, size_t first)
{
    struct slice tsuid = b->tsuids[first];
    struct mask *m = mask_new();

    mask_add_fixed(m, KEY_TABLE(TABLE_ROWS));
    mask_add_any(m, b->layout->salt_width);
    mask_add_fixed(m, tsuid_metric(b->layout, tsuid));
    mask_add_steps(m, 0, key_span_base(b->layout, hour_base(POINT_MAX_TS_MS)),
                   key_span_s(b->layout), 4);
    for (size_t i = 0; i < tsuid_tags(b->layout, tsuid); i++) {
        mask_add_fixed(m, tsuid_tagk(b->layout, tsuid, i));
        add_values(m, b, first, i);
    }
    return m;
}

static struct mask_set *
make_masks(const struct bucket *b)
{
    struct mask_set *set = mask_set_new();
    size_t *firsts =
        mem_new_array(b->len, sizeof *firsts); /* of each tag-key set */
    size_t firsts_len = 0;

    for (size_t i = 0; i < b->len; i++) {
        struct mask *m;
        bool seen = false;

        for (size_t k = 0; k < firsts_len && !seen; k++)
            seen = same_tagks(b->layout, b->tsuids[firsts[k]], b->tsuids[i]);
        if (seen)
            continue;
        firsts[firsts_len++] = i;
        m = make_mask(b, i);
        mask_set_give(set, &m);
    }
    free(firsts);
    return set;
}

static enum status
add_row(const struct store_row *row, struct series_points *out, struct error *e)
{
    struct points p = { 0 };
    struct summary s;
    int64_t last_ms = 0;
    bool known;
    enum status st = store_row_summary(row, &s, &known, e);

    if (st == ST_OK && known) {
        out->points += s.count;
        last_ms = s.last_ms;
    } else if (st == ST_OK) {
        st = store_row_points(row, &p, e);
        out->points += p.len;
        if (p.len > 0)
            last_ms = p.ts_ms[p.len - 1];
    }
    points_fini(&p);
    if (st == ST_OK && last_ms > out->last_ms)
        out->last_ms = last_ms;
    return st;
}

static enum status
read_bucket(const struct bucket *b, struct error *e)
{
    struct mask_set *masks = make_masks(b);
    struct scan_spec spec = { .masks = masks,
                              .bucket = b->number,
                              .way = SCAN_HINTS,
                              .to_base = hour_base(POINT_MAX_TS_MS),
                              .metric = tsuid_metric(b->layout, b->tsuids[0]),
                              .summaries = true };
    struct store_scan *scan;
    struct store_row row;
    enum status st = store_scan_open(b->store, &spec, &scan, e), closed;

    for (size_t n = 1; st == ST_OK && store_scan_next(scan, &row); n++) {
        const struct slice *hit = bsearch(&row.tsuid, b->tsuids, b->len,
                                          sizeof *b->tsuids, slice_compare);

        if (hit != NULL)
            st = add_row(&row, &b->out[b->at[hit - b->tsuids]], e);
        if (st == ST_OK && n % ROWS_BETWEEN_LOOKS == 0 && b->gone != NULL &&
            b->gone(b->ctx))
            st = error_set(e, ST_BUSY, "the client hung up");
    }
    closed = store_scan_close(&scan, NULL, st == ST_OK ? e : NULL);
    mask_set_free(&masks);
    return st == ST_OK ? closed : st;
}

enum status
series_points(struct store *s, const struct slice *tsuids, size_t len,
              struct series_points *out, bool (*gone)(void *ctx), void *ctx,
              struct error *e)
{
    struct bucket b = { .store = s,
                        .layout = store_layout(s),
                        .out = out,
                        .gone = gone,
                        .ctx = ctx };
    uint16_t *salts;
    enum status st = ST_OK;

    if (len == 0)
        return ST_OK;
    salts = mem_new_array(len, sizeof *salts);
    for (size_t i = 0; i < len; i++)
        salts[i] = (uint16_t)key_salt(b.layout, tsuids[i]);
    b.tsuids = mem_new_array(len, sizeof *b.tsuids);
    b.at = mem_new_array(len, sizeof *b.at);
    memset(out, 0, len * sizeof *out);
    for (b.number = 0; b.number < b.layout->salt_buckets && st == ST_OK;
         b.number++) {
        b.len = 0;
        for (size_t i = 0; i < len; i++)
            if (salts[i] == b.number) {
                b.tsuids[b.len] = tsuids[i];
                b.at[b.len++] = i;
            }
        if (b.len > 0)
            st = read_bucket(&b, e);
    }
    free(salts);
    free(b.tsuids);
    free(b.at);
    return st;
}
