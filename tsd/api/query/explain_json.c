#include "tsd/api/query/explain_json.h"

#include "web/json/json.h"

static void
write_plan(struct buf *b, const struct explanation *p)
{
    static const char *const ways[] = { "hints", "range", "seeks" };
    static const char *const reads[] = { "points", "buckets", "summaries" };
    char text[DROPPED_TEXT];

    json_put_text(b, "rollupTable", slice_str(p->table));
    json_put_text(b, "way", slice_str(ways[p->path]));
    json_put_text(b, "plan", slice_str(p->text));
    json_put_text(b, "reads", slice_str(reads[p->reads]));
    json_put_int(b, "series", (int64_t)p->series);
    json_put_int(b, "seriesOfMetric", (int64_t)p->tagk_set_series);
    json_put_int(b, "hours", (int64_t)p->hours);
    json_put_int(b, "rows", (int64_t)p->rows);
    json_put_int(b, "seeks", (int64_t)p->seeks);
    json_put_int(b, "price", (int64_t)p->price);
    json_open(b, "prices", '{');
    for (int i = 0; i < 3; i++)
        json_put_int(b, ways[i], (int64_t)p->prices[i]);
    buf_put_u8(b, '}');
    if (p->dropped.before_ms == 0)
        return;
    dropped_text(&p->dropped, text);
    json_put_int(b, "droppedBefore", p->dropped.before_ms);
    json_put_text(b, "warning", slice_str(text));
}

void
explain_json_write(struct buf *b, const struct query *q,
                   const struct explained *explained)
{
    uint64_t series = 0, rows = 0, seeks = 0, price = 0;

    buf_put_str(b, "{\"queries\":[");
    for (size_t i = 0; i < q->subs_len; i++) {
        const struct explanation *p = &explained[i].plan;
        const struct explained *x = &explained[i];

        json_open(b, NULL, '{');
        json_put_int(b, "index", (int64_t)q->subs[i].index);
        json_put_text(b, "metric", q->subs[i].metric);
        write_plan(b, &x->plan);
        if (x->cheaper != NULL) {
            json_open(b, "cheaper", '{');
            json_put_text(b, "downsample", slice_str(x->cheaper));
            write_plan(b, &x->cheaper_plan);
            buf_put_u8(b, '}');
        }
        buf_put_u8(b, '}');
        series += p->series;
        rows += p->rows;
        seeks += p->seeks;
        price += p->price;
    }
    buf_put_u8(b, ']');
    json_put_int(b, "series", (int64_t)series);
    json_put_int(b, "rows", (int64_t)rows);
    json_put_int(b, "seeks", (int64_t)seeks);
    json_put_int(b, "price", (int64_t)price);
    buf_put_u8(b, '}');
}
