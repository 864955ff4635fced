/* The series that a query names; see query/plan/plan.h. */
#include "query/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/digit.h"
#include "uid/series/series.h"

/* One that is read: the bytes are of a metric and more, and a series' when
 * 'is_series'. */
struct named {
    uint8_t *bytes;
    size_t size;
    bool is_series;
};

static enum status
parse_tsuid(struct slice text, const struct sub_query *sq,
            const struct key_layout *layout, struct named *n, struct error *e)
{
    struct slice tsuid;

    if (!digits_parse_hex(text, n->bytes, TSUID_MAX, &n->size) ||
        n->size < layout->metric_width)
        return error_set(e, ST_INVALID, "Invalid TSUID: %.*s",
                         text.size > 200 ? 200 : (int)text.size,
                         (const char *)text.data);
    if (n->size == layout->metric_width)
        return error_set(e, ST_INVALID, "UID was empty");
    tsuid = slice_of(n->bytes, n->size);
    n->is_series =
        tsuid_is_valid(layout, tsuid) && !series_has_kind(layout, tsuid);
    if (!n->is_series || !rollup_is_used(&sq->rollup))
        return ST_OK;
    n->size = series_add_kind(layout, tsuid, sq->rollup.kind, n->bytes);
    if (n->size == 0)
        return error_set(e, ST_INVALID, "Too many tags of a rollup");
    return ST_OK;
}

enum status
parse_tsuids(const struct sub_query *sq, const struct key_layout *layout,
             struct arena *a, struct slice **out, size_t *out_len,
             struct error *e)
{
    struct slice *all = arena_array(a, sq->tsuids_len, sizeof *all);
    unsigned mw = layout->metric_width;
    const uint8_t *metric = NULL;
    size_t len = 0;

    if (all == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < sq->tsuids_len; i++) {
        struct slice text = sq->tsuids[i];
        struct named n = { arena_alloc(a, TSUID_MAX), 0, false };
        enum status st = n.bytes == NULL ? error_no_memory(e)
                                         : parse_tsuid(text, sq, layout, &n, e);

        if (st != ST_OK)
            return st;
        if (metric == NULL)
            metric = n.bytes;
        else if (memcmp(n.bytes, metric, mw) != 0)
            return error_set(e, ST_INVALID,
                             "One or more TSUIDs did not share the same metric "
                             "[%.*s] [%.*s]",
                             (int)(2 * mw), (const char *)sq->tsuids[0].data,
                             (int)(2 * mw), (const char *)text.data);
        if (n.is_series)
            all[len++] = slice_of(n.bytes, n.size);
    }
    *out = all;
    *out_len = slices_sort_unique(all, len);
    return ST_OK;
}
