#include "tsd/api/graph/graph_notes.h"

#include "tsd/api/query/group_notes.h"

struct notes_list {
    struct chart_note *notes;
    size_t len, cap;
};

static enum status
add(struct notes_list *l, const struct query *q, const struct annotation *list,
    size_t len, struct arena *a, struct error *e)
{
    for (size_t i = 0; i < len; i++) {
        int64_t ts_ms = annotation_ms(list[i].start);
        struct chart_note *grown;
        char *text;

        if (ts_ms < q->start_ms || ts_ms > q->end_ms)
            continue;
        grown = arena_grow(a, l->notes, l->len, &l->cap, sizeof *grown);
        text = arena_strdup(a, list[i].description);
        if (grown == NULL || text == NULL)
            return error_no_memory(e);
        l->notes = grown;
        l->notes[l->len++] = (struct chart_note){ ts_ms, text };
    }
    return ST_OK;
}

static int
compare(const void *left, const void *right)
{
    const struct chart_note *a = left, *b = right;
    int by_time = (a->ts_ms > b->ts_ms) - (a->ts_ms < b->ts_ms);

    return by_time != 0 ? by_time : strcmp(a->text, b->text);
}

enum status
graph_notes_read(const struct api *a, const struct query *q,
                 const struct query_result *result, struct arena *arena,
                 struct chart *chart, struct error *e)
{
    struct notes_list l = { 0 };
    struct annotation *list;
    enum status st = ST_OK;
    size_t len;
    size_t n = 0;

    if (q->no_annotations)
        return ST_OK;
    if (q->global_annotations) {
        st = annotation_globals(a->records, q->start_ms / 1000,
                                q->end_ms / 1000, arena, &list, &len, e);
        if (st == ST_OK)
            st = add(&l, q, list, len, arena, e);
    }
    for (size_t i = 0; i < result->groups_len && st == ST_OK; i++) {
        const struct result_group *g = &result->groups[i];
        struct notes notes = { 0 };

        if (group_notes_wanted(q, g))
            st = group_notes_read(a, q, g, arena, &notes, e);
        if (st == ST_OK)
            st = add(&l, q, notes.list, notes.len, arena, e);
    }
    /* A series that is in several groups brings its notes several times. */
    if (l.len > 0)
        qsort(l.notes, l.len, sizeof l.notes[0], compare);
    for (size_t i = 0; i < l.len; i++)
        if (n == 0 || compare(&l.notes[n - 1], &l.notes[i]) != 0)
            l.notes[n++] = l.notes[i];
    l.len = n;
    chart->notes = l.notes;
    chart->notes_len = l.len;
    return st;
}
