/* See query/show.h.  Order and names of the members are Jackson's, of
 * OpenTSDB's class. */
#include "config.h"

#include "query/show.h"

#include "base/number.h"

/* What stands between the quotes of a JSON string. */
static void
put_escaped(struct buf *b, struct slice s)
{
    for (size_t i = 0; i < s.size; i++) {
        uint8_t c = s.data[i];

        if (c == '"' || c == '\\') {
            buf_put_u8(b, '\\');
            buf_put_u8(b, c);
        } else if (c < ' ') {
            buf_printf(b, "\\u%04x", c);
        } else {
            buf_put_u8(b, c);
        }
    }
}

/* A JSON string, or null. */
static void
put_text(struct buf *b, struct slice s)
{
    if (s.data == NULL) {
        buf_put_str(b, "null");
        return;
    }
    buf_put_u8(b, '"');
    put_escaped(b, s);
    buf_put_u8(b, '"');
}

static void
put_member(struct buf *b, const char *name, struct slice s)
{
    buf_printf(b, "\"%s\":", name);
    put_text(b, s);
    buf_put_u8(b, ',');
}

static void
put_flag(struct buf *b, const char *name, bool flag)
{
    buf_printf(b, "\"%s\":%s,", name, flag ? "true" : "false");
}

static void
put_tsuids(struct buf *b, const struct sub_query *s)
{
    if (s->tsuids == NULL) {
        buf_put_str(b, "\"tsuids\":null,");
        return;
    }
    buf_put_str(b, "\"tsuids\":[");
    for (size_t i = 0; i < s->tsuids_len; i++) {
        buf_put_str(b, i > 0 ? "," : "");
        put_text(b, s->tsuids[i]);
    }
    buf_put_str(b, "],");
}

static void
put_filters(struct buf *b, const struct sub_query *s)
{
    buf_put_str(b, "\"filters\":[");
    for (size_t i = 0; i < s->filters_len; i++) {
        const struct filter *f = &s->filters[i];

        buf_put_str(b, i > 0 ? ",{" : "{");
        put_member(b, "tagk", f->tagk);
        put_member(b, "filter", f->text);
        put_flag(b, "group_by", f->group_by);
        buf_printf(b, "\"type\":\"%s\"}", filter_type_name(f->type));
    }
    buf_put_str(b, "],");
}

static void
put_percentiles(struct buf *b, const struct sub_query *s)
{
    char text[NUMBER_TEXT_MAX];

    if (s->percentiles == NULL) {
        buf_put_str(b, "\"percentiles\":null,");
        return;
    }
    buf_put_str(b, "\"percentiles\":[");
    for (size_t i = 0; i < s->percentiles_len; i++) {
        buf_put_str(b, i > 0 ? "," : "");
        buf_put(b, text, number_format_double(s->percentiles[i], text));
    }
    buf_put_str(b, "],");
}

static void
put_rate(struct buf *b, const struct sub_query *s)
{
    const struct rate_options *r = &s->rate_options;

    if (!s->rate_options_given) {
        buf_put_str(b, "\"rateOptions\":null,");
        return;
    }
    buf_put_str(b, "\"rateOptions\":{");
    put_flag(b, "counter", r->counter);
    buf_printf(b, "\"counterMax\":%lld,\"resetValue\":%lld,",
               (long long)r->counter_max, (long long)r->reset_value);
    buf_printf(b, "\"dropResets\":%s},", r->drop_resets ? "true" : "false");
}

static void
put_base64(struct buf *b, struct slice s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < s.size; i += 3) {
        size_t n = s.size - i < 3 ? s.size - i : 3;
        uint32_t v = (uint32_t)s.data[i] << 16;

        v |= n > 1 ? (uint32_t)s.data[i + 1] << 8 : 0;
        v |= n > 2 ? s.data[i + 2] : 0;
        for (size_t k = 0; k < 4; k++)
            buf_put_u8(b,
                       k > n ? '=' : (uint8_t)digits[v >> (18 - 6 * k) & 0x3f]);
    }
}

static void
put_tagks(struct buf *b, const struct sub_query *s, const struct slice *uids,
          size_t len)
{
    if (s->filters_len == 0) {
        buf_put_str(b, "\"filterTagKs\":null,");
        return;
    }
    buf_put_str(b, "\"filterTagKs\":[");
    for (size_t i = 0; i < len; i++) {
        buf_put_str(b, i > 0 ? ",\"" : "\"");
        put_base64(b, uids[i]);
        buf_put_u8(b, '"');
    }
    buf_put_str(b, "],");
}

/* The filters that group, one a tag key: the last. */
static void
put_tags(struct buf *b, const struct sub_query *s)
{
    const char *comma = "";

    buf_put_str(b, "\"tags\":{");
    for (size_t i = 0; i < s->filters_len; i++) {
        const struct filter *f = &s->filters[i];
        bool later = false;

        for (size_t k = i + 1; k < s->filters_len && !later; k++)
            later =
                s->filters[k].group_by && slice_eq(s->filters[k].tagk, f->tagk);
        if (!f->group_by || later)
            continue;
        buf_put_str(b, comma);
        put_text(b, f->tagk);
        buf_printf(b, ":\"%s(", filter_type_name(f->type));
        put_escaped(b, f->text);
        buf_put_str(b, ")\"");
        comma = ",";
    }
    buf_put_str(b, "},");
}

void
query_show_sub(struct buf *out, const struct sub_query *s,
               const struct slice *tagk_uids, size_t tagk_uids_len,
               const char *rollup_table)
{
    struct slice usage = s->rollup_usage;

    if (usage.size == 0)
        usage.data = NULL;
    buf_put_u8(out, '{');
    put_member(out, "aggregator", s->aggregator_name);
    put_member(out, "metric", s->metric);
    put_tsuids(out, s);
    put_member(out, "downsample", s->downsample.text);
    put_flag(out, "rate", s->rate);
    put_filters(out, s);
    put_percentiles(out, s);
    buf_printf(out, "\"index\":%zu,", s->index);
    put_member(out, "rollupTable", slice_str(rollup_table));
    put_rate(out, s);
    put_tagks(out, s, tagk_uids, tagk_uids_len);
    put_flag(out, "explicitTags", s->explicit_tags);
    put_flag(out, "useFuzzyFilter", !s->fuzzy_off);
    put_flag(out, "preAggregate", s->pre_aggregate);
    put_member(out, "rollupUsage", usage);
    put_flag(out, "showHistogramBuckets", s->show_histogram_buckets);
    put_flag(out, "useMultiGets", !s->multi_get_off);
    put_tags(out, s);
    buf_printf(out, "\"histogramQuery\":%s}",
               s->percentiles_len > 0 || s->show_histogram_buckets ? "true"
                                                                   : "false");
}
