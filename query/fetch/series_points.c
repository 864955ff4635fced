/* One scan for each salt bucket that holds any of the series, over a mask for
 * each set of tagks; rows that the masks let through by mere combination of
 * tag values are dropped. */
#include "query/fetch/series_points.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/scan/store_scan.h"

struct reading {
    struct store *store;
    const struct key_layout *layout;
    const struct slice *tsuids; /* ascending */
    size_t len;
    struct mask_set *masks; /* that take rows of all of them */
    struct series_points *out;
    struct cancel cancel;
    struct arena *arena; /* of the masks */
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

/* Of the series from 'first' on that have its tagks, and their values; NULL:
 * there is no memory. */
static struct mask *
make_mask(const struct reading *r, size_t first)
{
    const struct key_layout *layout = r->layout;
    struct slice tsuid = r->tsuids[first];
    uint64_t *values = arena_array_raw(r->arena, r->len, sizeof *values);
    struct mask *m = mask_new_in(r->arena);

    if (values == NULL || m == NULL)
        return NULL;
    mask_add_fixed(m, KEY_TABLE(TABLE_ROWS));
    mask_add_any(m, layout->salt_width);
    mask_add_fixed(m, tsuid_metric(layout, tsuid));
    mask_add_steps(m, 0, key_span_base(layout, hour_base(POINT_MAX_TS_MS)),
                   key_span_s(layout), 4);
    for (size_t i = 0; i < tsuid_tags(layout, tsuid); i++) {
        size_t len = 0;

        for (size_t k = first; k < r->len; k++)
            if (same_tagks(layout, tsuid, r->tsuids[k]))
                values[len++] = tsuid_tagv_id(layout, r->tsuids[k], i);
        mask_add_fixed(m, tsuid_tagk(layout, tsuid, i));
        mask_add_set(m, values, len, layout->tagv_width);
    }
    return m;
}

/* One for each tag-key set; NULL: there is no memory. */
static struct mask_set *
make_masks(const struct reading *r)
{
    struct mask_set *set = mask_set_new_in(r->arena);
    size_t *firsts = arena_array_raw(r->arena, r->len, sizeof *firsts);
    size_t firsts_len = 0;

    if (set == NULL || firsts == NULL)
        return NULL;
    for (size_t i = 0; i < r->len; i++) {
        struct mask *m;
        size_t k = 0;

        while (k < firsts_len &&
               !same_tagks(r->layout, r->tsuids[firsts[k]], r->tsuids[i]))
            k++;
        if (k < firsts_len)
            continue;
        firsts[firsts_len++] = i;
        m = make_mask(r, i);
        mask_set_give(set, &m);
    }
    return mask_set_failed(set) ? NULL : set;
}

static enum status
read_bucket(const struct reading *r, unsigned bucket, struct error *e)
{
    struct scan_spec spec = { .masks = r->masks,
                              .bucket = bucket,
                              .path = SCAN_HINTS,
                              .to_base = hour_base(POINT_MAX_TS_MS),
                              .metric = tsuid_metric(r->layout, r->tsuids[0]),
                              .want.summaries = true,
                              .cancel = r->cancel };
    struct store_scan *scan;
    struct store_row row;
    enum status st = store_scans_open(r->store, &spec, 1, &scan, e);

    while (st == ST_OK && store_scan_next(scan, &row)) {
        const struct slice *hit = bsearch(&row.tsuid, r->tsuids, r->len,
                                          sizeof *r->tsuids, slice_compare);

        if (hit != NULL) {
            struct series_points *out = &r->out[hit - r->tsuids];
            struct points p = { 0 };
            struct summary s;
            int64_t last_ms = 0;
            bool known;

            st = store_row_summary(&row, &s, &known, e);
            if (st == ST_OK && known) {
                out->points += s.count;
                last_ms = s.last_ms;
            } else if (st == ST_OK) {
                st = store_row_points(&row, &p, e);
                out->points += p.len;
                if (p.len > 0)
                    last_ms = p.ts_ms[p.len - 1];
            }
            points_fini(&p);
            if (st == ST_OK && last_ms > out->last_ms)
                out->last_ms = last_ms;
        }
    }
    return store_scan_close(&scan, NULL, st, e);
}

enum status
series_points(struct store *s, const struct slice *tsuids, size_t len,
              struct series_points *out, struct cancel cancel, struct error *e)
{
    struct reading r = { .store = s,
                         .layout = store_layout(s),
                         .tsuids = tsuids,
                         .len = len,
                         .out = out,
                         .cancel = cancel };
    bool *wanted;
    enum status st = ST_OK;

    if (len == 0)
        return ST_OK;
    r.arena = arena_new(0);
    wanted = mem_new_array(r.layout->salt_buckets, sizeof *wanted);
    for (size_t i = 0; i < len; i++)
        wanted[key_salt(r.layout, tsuids[i])] = true;
    memset(out, 0, len * sizeof *out);
    r.masks = make_masks(&r);
    if (r.masks == NULL)
        st = error_no_memory(e);
    for (unsigned i = 0; i < r.layout->salt_buckets && st == ST_OK; i++)
        if (wanted[i])
            st = read_bucket(&r, i, e);
    arena_free(&r.arena);
    free(wanted);
    return st;
}
