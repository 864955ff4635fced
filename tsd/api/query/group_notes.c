#include "tsd/api/query/group_notes.h"

#include "query/downsample/reading.h"

/* The series of a group whose points were read, and those without any. */
static struct slice *
noted_series(const struct result_group *g, struct arena *a, size_t *len)
{
    size_t with_points = g->tsuids_len - g->split_tsuids;
    struct slice *all = g->tsuids + g->split_tsuids;

    *len = with_points + g->note_tsuids_len;
    if (g->note_tsuids_len == 0)
        return all;
    all = arena_array(a, *len, sizeof *all);
    if (all == NULL)
        return NULL;
    if (with_points > 0)
        memcpy(all, g->tsuids + g->split_tsuids, with_points * sizeof *all);
    memcpy(all + with_points, g->note_tsuids, g->note_tsuids_len * sizeof *all);
    return all;
}

bool
group_notes_wanted(const struct query *q, const struct result_group *g)
{
    if (q->no_annotations || g->rollup != NULL || g->annotated_len == 0)
        return false;
    for (size_t i = g->split_tsuids; i < g->tsuids_len; i++)
        if (slices_find(g->annotated, g->annotated_len, g->tsuids[i]) != NULL)
            return true;
    return g->note_tsuids_len > 0;
}

enum status
group_notes_read(const struct api *a, const struct query *q,
                 const struct result_group *g, struct arena *arena,
                 struct notes *out, struct error *e)
{
    struct query read = *q;
    struct annotation *list;
    struct slice *series;
    size_t len;
    struct query_reading reading;
    enum status st;

    if (g->split_ms != 0)
        read.start_ms = g->split_ms;
    reading_make(&reading, &read, g->sub);
    series = noted_series(g, arena, &len);
    if (series == NULL && len > 0)
        return error_set(e, ST_LIMIT, "no memory for the annotations");
    st = annotation_list(a->records,
                         &(struct annotation_query){
                             series, len, (int64_t)reading.from_base * 1000,
                             ((int64_t)reading.to_base + HOUR_S) * 1000 - 1,
                             arena },
                         &list, &out->len, e);
    out->list = list;
    return st;
}
