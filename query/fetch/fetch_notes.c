/* Annotations lie in OpenTSDB's rows beside the points, so that a row may have
 * notes alone; here they have a table of their own, and such series are looked
 * for there: see query/fetch/fetch.h. */
#include "query/fetch/fetch.h"

#include <stdlib.h>

#include "uid/meta/annotation.h"

/* Of the series that the plan lists. */
static enum status
find_listed(const struct plan *p, struct records *records,
            const struct annotation_query *range, struct annotated *out,
            struct error *e)
{
    struct arena *a = range->arena;
    struct annotation_query q = *range;
    struct annotation *notes;
    size_t notes_len;
    enum status status;

    q.tsuids = plan_series(p, a);
    q.len = p->matches;
    if (q.tsuids == NULL)
        return error_no_memory(e);
    status = annotation_list(records, &q, &notes, &notes_len, e);
    if (status != ST_OK)
        return status;
    out->tsuids = arena_array(a, notes_len, sizeof *out->tsuids);
    if (out->tsuids == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < notes_len; i++)
        out->tsuids[out->len++] = notes[i].tsuid;
    return ST_OK;
}

enum status
fetch_find_annotated(const struct plan_context *c, const struct sub_query *sq,
                     const struct plan *p, struct records *records,
                     struct arena *a, struct annotated *out, struct error *e)
{
    const struct annotation_query range = {
        NULL, 0, (int64_t)p->from_base * 1000,
        ((int64_t)p->to_base + HOUR_S) * 1000 - 1, a
    };
    size_t all = 0; /* of the metric */
    enum status status = ST_OK;

    *out = (struct annotated){ .len = 0 };
    if (records == NULL || !annotation_any(records) || p->empty)
        return ST_OK;
    if (p->listed)
        status = find_listed(p, records, &range, out, e);
    else
        status = annotation_series(records, p->metric_id, &range, &out->tsuids,
                                   &all, e);
    for (size_t i = 0; i < all && status == ST_OK; i++)
        if (sq->filters_len == 0 ||
            plan_reads_series(p, store_layout(c->store), out->tsuids[i]))
            out->tsuids[out->len++] = out->tsuids[i];
    if (status == ST_OK) {
        size_t n = 0;

        if (out->len > 0)
            qsort(out->tsuids, out->len, sizeof *out->tsuids, slice_compare);
        for (size_t i = 0; i < out->len; i++)
            if (n == 0 || !slice_eq(out->tsuids[n - 1], out->tsuids[i]))
                out->tsuids[n++] = out->tsuids[i];
        out->len = n;
    }
    return status;
}

enum status
fetch_add_annotated(struct fetch *f, const struct annotated *noted,
                    struct arena *a, struct error *e)
{
    struct fetched *more;
    struct fetch all = { .len = 0 };
    size_t i = 0;
    enum status status;

    if (noted->len == 0)
        return ST_OK;
    more = arena_array(a, noted->len, sizeof *more);
    status = more == NULL ? error_no_memory(e)
                          : fetch_make_room(&all, f->len + noted->len,
                                            arena_budget(a), e);
    if (status != ST_OK)
        return status;
    for (size_t k = 0; k < noted->len; k++) {
        while (i < f->len &&
               slice_cmp(f->series[i]->tsuid, noted->tsuids[k]) <= 0)
            all.series[all.len++] = f->series[i++];
        if (all.len > 0 &&
            slice_eq(all.series[all.len - 1]->tsuid, noted->tsuids[k]))
            continue;
        more[k] = (struct fetched){ .tsuid = noted->tsuids[k],
                                    .annotated_only = true };
        all.series[all.len++] = &more[k];
    }
    while (i < f->len)
        all.series[all.len++] = f->series[i++];
    fetch_take_series(f, &all);
    return ST_OK;
}
