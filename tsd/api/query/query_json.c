#include "tsd/api/query/query_json.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sort.h"
#include "base/text/number.h"
#include "tsd/api/annotation_json.h"
#include "tsd/api/api.h"
#include "tsd/api/query/dps_json.h"
#include "tsd/stats/query_costs.h"
#include "web/json/json.h"

static void
write_notes(struct buf *b, const char *name, const struct query *q,
            const struct notes *notes)
{
    json_open(b, name, '[');
    for (size_t i = 0; i < notes->len; i++)
        if (annotation_within(&notes->list[i], q->start_ms, q->end_ms))
            annotation_write(b, &notes->list[i]);
    buf_put_u8(b, ']');
}

static void
write_tsuids(struct buf *b, const struct result_group *g)
{
    struct slice *sorted = mem_try_array(g->tsuids_len + 1, sizeof *sorted);

    if (sorted == NULL) {
        b->failed = true;
        return;
    }
    for (size_t i = 0; i < g->tsuids_len; i++)
        sorted[i] = g->tsuids[i];
    /* Of a query split between rollups and points one may come twice. */
    qsort(sorted, g->tsuids_len, sizeof *sorted, slice_compare);
    json_open(b, "tsuids", '[');
    for (size_t i = 0; i < g->tsuids_len; i++)
        api_put_id(b, NULL, sorted[i]);
    buf_put_u8(b, ']');
    free(sorted);
}

void
query_json_costs(struct buf *b, const struct result_stats *st)
{
    const struct scan_counts *c = &st->scan;
    char text[DROPPED_TEXT];

    buf_printf(b,
               "\"rowsFromStorage\":%llu,\"rowsFromMemory\":%llu,"
               "\"weeksFromSummaries\":%llu,\"bytesFromStorage\":%llu,"
               "\"keysFromStorage\":%llu,"
               "\"seeks\":%llu,\"series\":%llu,\"dpsPostFilter\":%llu,"
               "\"dpsDecoded\":%llu,",
               (unsigned long long)c->rows, (unsigned long long)c->head_rows,
               (unsigned long long)c->weeks, (unsigned long long)c->bytes,
               (unsigned long long)c->keys, (unsigned long long)c->seeks,
               (unsigned long long)st->series, (unsigned long long)st->points,
               (unsigned long long)st->decoded);
    if (st->nameless > 0)
        buf_printf(b, "\"seriesWithoutName\":%llu,",
                   (unsigned long long)st->nameless);
    buf_printf(b,
               "\"planTime\":%.3f,\"queryScanTime\":%.3f,"
               "\"aggregationTime\":%.3f,\"plan\":",
               (double)st->plan_us / 1000, (double)st->scan_us / 1000,
               (double)st->numbers_us / 1000);
    json_put_string(b, slice_str(st->plan == NULL ? "" : st->plan));
    if (st->damaged_before_ms > 0)
        buf_printf(b, ",\"damagedBefore\":%lld",
                   (long long)st->damaged_before_ms);
    if (st->dropped.before_ms == 0)
        return;
    dropped_text(&st->dropped, text);
    buf_printf(b, ",\"droppedBefore\":%lld,\"warning\":\"%s\"",
               (long long)st->dropped.before_ms, text);
}

void
query_json_scans(struct buf *b, const struct result_stats *st)
{
    int64_t sum = 0, max = 0;

    for (size_t i = 0; i < st->scans_len; i++) {
        sum += st->scans[i].us;
        max = st->scans[i].us > max ? st->scans[i].us : max;
    }
    buf_printf(
        b,
        "\"emittedDPs\":%llu,\"rowsPreFilter\":%llu,"
        "\"rowsPostFilter\":%llu,\"dpsPreFilter\":%llu,"
        "\"successfulScan\":%zu,\"maxScannerTime\":%.3f,"
        "\"avgScannerTime\":%.3f,\"scannerStats\":{",
        (unsigned long long)st->points_out, (unsigned long long)st->scan.rows,
        (unsigned long long)st->scan.rows, (unsigned long long)st->points,
        st->scans_len, (double)max / 1000,
        st->scans_len == 0 ? 0.0 : (double)sum / (double)st->scans_len / 1000);
    for (size_t i = 0; i < st->scans_len; i++) {
        const struct result_scan *s = &st->scans[i];

        /* Masks leave out what filters do before it is read: what OpenTSDB
         * counts before and after them is one. */
        json_next(b);
        buf_printf(b,
                   "\"scannerIdx_%02zu\":{\"scannerId\":\"salt bucket %zu\","
                   "\"scannerTime\":%.3f,\"successfulScan\":1,"
                   "\"rowsPreFilter\":%llu,\"rowsPostFilter\":%llu,",
                   i, i, (double)s->us / 1000, (unsigned long long)s->scan.rows,
                   (unsigned long long)s->scan.rows);
        buf_printf(b,
                   "\"dpsPreFilter\":%llu,\"dpsPostFilter\":%llu,"
                   "\"bytesFromStorage\":%llu,\"keysFromStorage\":%llu,"
                   "\"seeks\":%llu}",
                   (unsigned long long)s->points, (unsigned long long)s->points,
                   (unsigned long long)s->scan.bytes,
                   (unsigned long long)s->scan.keys,
                   (unsigned long long)s->scan.seeks);
    }
    buf_put_u8(b, '}');
}

static void
write_group_tags(struct buf *b, const struct result_group *g,
                 struct chunks_tags *tags)
{
    size_t from = b->size;

    if (tags != NULL && tags->known.size > 0)
        buf_put_slice(b, tags->known);
    else {
        buf_put_str(b, ",\"tags\":{");
        for (size_t i = 0; i < g->tags_len; i++)
            json_put_pair(b, g->tag_keys[i], g->tag_values[i]);
        buf_put_str(b, "},\"aggregateTags\":[");
        for (size_t i = 0; i < g->aggregate_tags_len; i++)
            json_put_item(b, g->aggregate_tags[i]);
        buf_put_u8(b, ']');
    }
    if (tags == NULL)
        return;
    tags->from = from;
    tags->size = b->size - from;
}

void
query_json_filter(struct buf *b, struct slice tagk, struct slice text,
                  bool group_by, enum filter_type type)
{
    json_open(b, NULL, '{');
    json_put_text(b, "tagk", tagk);
    json_put_text(b, "filter", text);
    json_put_bool(b, "group_by", group_by);
    json_put_text(b, "type", slice_str(filter_type_name(type)));
    buf_put_u8(b, '}');
}

/* The keys that group, with their last filter: how old clients know them. */
static void
write_tags(struct buf *b, const struct sub_query *s)
{
    struct buf text = BUF_INIT;

    json_open(b, "tags", '{');
    for (size_t i = 0; i < s->filters_len; i++) {
        const struct filter *f = &s->filters[i];
        bool last = f->group_by;

        for (size_t j = i + 1; j < s->filters_len && last; j++)
            last = !s->filters[j].group_by ||
                   !slice_eq(s->filters[j].tagk, f->tagk);
        if (!last)
            continue;
        buf_clear(&text);
        buf_put_str(&text, filter_type_name(f->type));
        buf_put_u8(&text, '(');
        buf_put_slice(&text, f->text);
        buf_put_u8(&text, ')');
        json_put_pair(b, f->tagk, buf_slice(&text));
    }
    buf_put_u8(b, '}');
    buf_fini(&text);
}

static void
write_filter_ids(struct buf *b, const struct sub_query *s,
                 struct uid_table *uids)
{
    uint64_t *ids = mem_try_array(s->filters_len + 1, sizeof *ids);
    size_t len = 0;

    b->failed |= ids == NULL;
    if (ids == NULL)
        return;
    json_name(b, "filterTagKs");
    if (s->filters_len == 0) {
        buf_put_str(b, "null");
        free(ids);
        return;
    }
    for (size_t i = 0; i < s->filters_len; i++)
        if (uid_find(uids, UID_TAGK, s->filters[i].tagk, &ids[len], NULL) ==
            ST_OK)
            len++;
    len = sort_unique_u64(ids, len);
    buf_put_u8(b, '[');
    for (size_t i = 0; i < len; i++) {
        static const char letters[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

        json_open(b, NULL, '"');
        for (int bit = (int)uid_width(uids, UID_TAGK) * 8; bit > 0; bit -= 24) {
            unsigned three = (unsigned)(bit >= 24 ? ids[i] >> (bit - 24)
                                                  : ids[i] << (24 - bit)) &
                             0xffffff;

            for (int k = 0; k < 4; k++)
                buf_put_u8(b, k * 6 < bit
                                  ? (uint8_t)letters[three >> (18 - k * 6) & 63]
                                  : '=');
        }
        buf_put_u8(b, '"');
    }
    buf_put_u8(b, ']');
    free(ids);
}

static void
write_rate(struct buf *b, const struct sub_query *s)
{
    const struct rate_options *r = &s->rate_options;

    json_name(b, "rateOptions");
    if (!s->rate_options_given) {
        buf_put_str(b, "null");
        return;
    }
    buf_put_u8(b, '{');
    json_put_bool(b, "counter", r->counter);
    json_put_int(b, "counterMax", r->counter_max);
    json_put_int(b, "resetValue", r->reset_value);
    json_put_bool(b, "dropResets", r->drop_resets);
    buf_put_u8(b, '}');
}

static void
write_percentiles(struct buf *b, const struct sub_query *s)
{
    char text[NUMBER_TEXT_MAX];

    if (s->percentiles_len == 0) {
        json_put_list(b, "percentiles", NULL, 0);
        return;
    }
    json_open(b, "percentiles", '[');
    for (size_t i = 0; i < s->percentiles_len; i++) {
        json_next(b);
        buf_put(b, text, number_format_double(s->percentiles[i], text));
    }
    buf_put_u8(b, ']');
}

/* 'table': the rollups, "raw". */
static void
write_sub_query(struct buf *b, const struct sub_query *s, const char *table,
                struct uid_table *uids)
{
    const struct slice none = { NULL, 0 };

    json_open(b, NULL, '{');
    json_put_member(b, "aggregator", s->aggregator_name);
    json_put_text(b, "metric", s->metric.size > 0 ? s->metric : none);
    json_put_list(b, "tsuids", s->tsuids, s->tsuids_len);
    json_put_text(b, "downsample", s->downsample.text);
    json_put_bool(b, "rate", s->rate);
    json_open(b, "filters", '[');
    for (size_t i = 0; i < s->filters_len; i++) {
        const struct filter *f = &s->filters[i];

        query_json_filter(b, f->tagk, f->text, f->group_by, f->type);
    }
    buf_put_u8(b, ']');
    write_percentiles(b, s);
    json_put_int(b, "index", (int64_t)s->index);
    json_put_text(b, "rollupTable", slice_str(table == NULL ? "raw" : table));
    write_rate(b, s);
    write_filter_ids(b, s, uids);
    json_put_bool(b, "explicitTags", s->explicit_tags);
    json_put_bool(b, "useFuzzyFilter", !s->fuzzy_off);
    json_put_bool(b, "preAggregate", s->pre_aggregate);
    json_put_text(b, "rollupUsage",
                  s->rollup_usage.size > 0 ? s->rollup_usage : none);
    json_put_bool(b, "showHistogramBuckets", s->show_histogram_buckets);
    json_put_bool(b, "useMultiGets", !s->multi_get_off);
    write_tags(b, s);
    json_put_bool(b, "histogramQuery",
                  s->percentiles_len > 0 || s->show_histogram_buckets);
    buf_put_u8(b, '}');
}

size_t
query_json_group(struct buf *b, const struct group_json *j,
                 struct chunks_tags *tags)
{
    const struct query *q = j->q;
    const struct result_group *g = j->group;
    int64_t from_us = q->show_stats ? clock_monotonic_us() : 0;
    size_t points;

    buf_put_u8(b, '{');
    json_put_member(b, "metric", g->metric);
    write_group_tags(b, g, tags);
    if (q->show_query) {
        buf_put_str(b, ",\"query\":");
        write_sub_query(b, g->sub, g->rollup_table, j->uids);
    }
    if (q->show_tsuids)
        write_tsuids(b, g);
    if (j->notes.always || j->notes.len > 0)
        write_notes(b, "annotations", q, &j->notes);
    if (j->globals.len > 0)
        write_notes(b, "globalAnnotations", q, &j->globals);
    if (q->columns) {
        points = dps_json_columns(b, q, &g->dps, j->before);
    } else {
        buf_put_str(b, ",\"dps\":");
        points = dps_json_write(b, q, &g->dps);
    }
    if (q->show_stats) {
        buf_printf(b, ",\"stats\":{\"queryIndex\":%zu,\"emittedDPs\":%zu,",
                   g->sub->index, points);
        query_json_costs(b, j->stats);
        query_costs_put_ms(b, "serializationTime",
                           clock_monotonic_us() - from_us);
        buf_put_u8(b, '}');
    }
    buf_put_u8(b, '}');
    return points;
}

/* -- the query ---------------------------------------------------------- */

void
query_json_query(struct buf *b, const struct query *q, struct uid_table *uids)
{
    const struct slice none = { NULL, 0 };

    buf_put_u8(b, '{');
    json_put_member(b, "start", q->start_text);
    json_put_text(b, "end", q->end_text.size > 0 ? q->end_text : none);
    json_put_text(b, "timezone",
                  q->timezone_text.size > 0 ? q->timezone_text : none);
    json_put_bool(b, "padding", q->padding);
    json_put_bool(b, "delete", q->delete_points);
    json_put_bool(b, "noAnnotations", q->no_annotations);
    json_put_bool(b, "globalAnnotations", q->global_annotations);
    json_put_bool(b, "showTSUIDs", q->show_tsuids);
    json_put_bool(b, "msResolution", q->ms_resolution);
    json_put_bool(b, "showQuery", q->show_query);
    json_put_bool(b, "showStats", q->show_stats);
    json_put_bool(b, "showSummary", q->show_summary);
    json_put_bool(b, "useCalendar", q->use_calendar);
    json_open(b, "queries", '[');
    for (size_t i = 0; i < q->subs_len; i++)
        write_sub_query(b, &q->subs[i], "raw", uids);
    buf_put_str(b, "]}");
}
