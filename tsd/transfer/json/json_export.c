#include "tsd/transfer/json/json_export.h"

#include "storage/histogram/histogram_table.h"
#include "tsd/transfer/json/json_record.h"
#include "uid/meta/annotation.h"
#include "uid/meta/meta.h"
#include "uid/meta/tree.h"
#include "web/json/json.h"

#define POINTS_A_LINE 4096

static void
begin_line(struct buf *out, const char *type)
{
    buf_put_str(out, "{\"type\":\"");
    buf_put_str(out, type);
    buf_put_u8(out, '"');
}

static void
end_line(struct buf *out)
{
    buf_put_str(out, "}\n");
}

static void
put_series(struct buf *out, const struct scan_series *s)
{
    json_put_member(out, "metric", s->metric);
    json_open(out, "tags", '{');
    for (size_t i = 0; i < s->tags_len; i++)
        json_put_pair(out, s->tags[i].key, s->tags[i].value);
    buf_put_u8(out, '}');
}

void
json_export_row(struct buf *out, const struct dump_row *row)
{
    const struct points *p = row->points;

    for (size_t from = 0; from < p->len; from += POINTS_A_LINE) {
        size_t to =
            p->len - from < POINTS_A_LINE ? p->len : from + POINTS_A_LINE;

        begin_line(out, "points");
        put_series(out, &row->series);
        if (row->kind.size > 0)
            json_put_member(out, "kind", row->kind);
        json_open(out, "times", '[');
        for (size_t i = from; i < to; i++) {
            if (i > from)
                buf_put_u8(out, ',');
            scan_put_time(out, p->ts_ms[i]);
        }
        buf_put_u8(out, ']');
        json_open(out, "values", '[');
        for (size_t i = from; i < to; i++) {
            struct point x = points_at(p, i);

            if (i > from)
                buf_put_u8(out, ',');
            scan_put_value(out, &x);
        }
        buf_put_u8(out, ']');
        end_line(out);
    }
}

/* -- records --------------------------------------------------------------- */

struct exporting {
    const struct api *a;
    json_line_fn *f;
    void *ctx;
    uint64_t *nameless;
    struct buf line;
    struct dump_names names;
    struct arena *arena; /* of one record */
};

static enum status
write_line(struct exporting *x, struct error *e)
{
    end_line(&x->line);
    return x->line.failed ? error_no_memory(e)
                          : x->f(x->ctx, buf_slice(&x->line), e);
}

/* The names of a series, or its TSUID where it has no tags or is none. */
static enum status
put_tsuid(struct exporting *x, struct slice tsuid, struct error *e)
{
    const struct key_layout *w = store_layout(x->a->store);
    enum status st;

    if (!tsuid_is_valid(w, tsuid) || tsuid_tags(w, tsuid) == 0) {
        api_put_id(&x->line, "tsuid", tsuid);
        return ST_OK;
    }
    st = dump_find_names(x->a, tsuid, &x->names, e);
    if (st == ST_OK)
        put_series(&x->line, &x->names.series);
    return st;
}

/* Calls f for each entry of a table; of those that belong to a deleted name it
 * says ST_NOT_FOUND. */
static enum status
each_entry(struct exporting *x, struct slice prefix,
           enum status (*f)(struct exporting *x, struct slice key,
                            struct slice value, struct error *e),
           struct error *e)
{
    struct kv_iter *it = kv_iter_open(store_kv(x->a->store), prefix);
    enum status st = ST_OK;

    for (bool on = kv_iter_seek(it, prefix); on && st == ST_OK;
         on = kv_iter_next(it)) {
        buf_clear(&x->line);
        arena_reset(x->arena);
        st = f(x, kv_iter_key(it), kv_iter_value(it), e);
        if (st == ST_NOT_FOUND) {
            ++*x->nameless;
            st = ST_OK;
        }
    }
    return kv_iter_end(&it, st, e);
}

static enum status
export_name(struct exporting *x, struct slice key, struct slice value,
            struct error *e)
{
    enum uid_kind kind = key.data[1] == 'm'   ? UID_METRIC
                         : key.data[1] == 'k' ? UID_TAGK
                                              : UID_TAGV;

    if (value.size == 0)
        return ST_NOT_FOUND;
    begin_line(&x->line, "uid");
    json_put_member(&x->line, "kind", slice_str(uid_kind_name(kind)));
    json_put_member(&x->line, "name", value);
    return write_line(x, e);
}

static enum status
export_tree(struct exporting *x, struct slice key, struct slice value,
            struct error *e)
{
    struct tree_rule rule = { 0 };
    struct tree tree = { 0 };
    bool is_rule;
    enum status st = tree_key_parse(key, &is_rule, &rule, e);

    if (st != ST_OK)
        return st;
    begin_line(&x->line, is_rule ? "rule" : "tree");
    json_put_int(&x->line, "tree", rule.tree);
    if (is_rule) {
        json_put_int(&x->line, "level", rule.level);
        json_put_int(&x->line, "order", rule.order);
        st = record_decode(&tree_rule_format, value, x->arena, &rule, e);
        json_record_put(&x->line, &tree_rule_format, &rule);
    } else {
        st = record_decode(&tree_format, value, x->arena, &tree, e);
        json_record_put(&x->line, &tree_format, &tree);
    }
    return st == ST_OK ? write_line(x, e) : st;
}

static enum status
export_meta(struct exporting *x, struct slice key, struct slice value,
            struct error *e)
{
    const struct record_format *format;
    struct meta meta = meta_empty();
    struct buf name = BUF_INIT;
    struct meta_of of;
    enum status st = meta_key_parse(key, &of, e);

    if (st != ST_OK)
        return st;
    format = of.kind == META_SERIES ? &meta_series_format : &meta_name_format;
    begin_line(&x->line, format->type);
    if (of.kind == META_SERIES) {
        st = put_tsuid(x, of.id, e);
    } else {
        enum uid_kind kind = (enum uid_kind)of.kind;

        if (of.id.size != uid_width(x->a->uids, kind))
            return error_set(e, ST_CORRUPT, "metadata of an id of %zu bytes",
                             of.id.size);
        st = uid_name(x->a->uids, kind,
                      key_get_uint(of.id.data, (unsigned)of.id.size), &name, e);
        json_put_member(&x->line, "kind", slice_str(uid_kind_name(kind)));
        json_put_member(&x->line, "name", buf_slice(&name));
    }
    buf_fini(&name);
    if (st == ST_OK)
        st = record_decode(format, value, x->arena, &meta, e);
    json_record_put(&x->line, format, &meta);
    return st == ST_OK ? write_line(x, e) : st;
}

static enum status
export_annotation(struct exporting *x, struct slice key, struct slice value,
                  struct error *e)
{
    struct annotation n = { 0 };
    int64_t ms;
    enum status st = annotation_key_parse(key, &n.tsuid, &ms, e);

    if (st == ST_OK)
        st = annotation_decode(value, x->arena, &n, e);
    if (st != ST_OK)
        return st;
    begin_line(&x->line, annotation_format.type);
    if (n.tsuid.size > 0)
        st = put_tsuid(x, n.tsuid, e);
    json_record_put(&x->line, &annotation_format, &n);
    return st == ST_OK ? write_line(x, e) : st;
}

static enum status
export_histogram(struct exporting *x, struct slice key, struct slice value,
                 struct error *e)
{
    size_t size = key.size < 3 ? 0 : (size_t)key_get_uint(key.data + 1, 2);
    enum status st;

    if (size == 0 || key.size != 3 + size + 8 || value.size == 0)
        return error_set(e, ST_CORRUPT, "histogram key of %zu bytes", key.size);
    begin_line(&x->line, "histogram");
    st = put_tsuid(x, slice_of(key.data + 3, size), e);
    json_name(&x->line, "time");
    scan_put_time(&x->line, (int64_t)key_get_uint(key.data + 3 + size, 8));
    json_put_int(&x->line, "codec", value.data[0]);
    api_put_id(&x->line, "data", slice_of(value.data + 1, value.size - 1));
    return st == ST_OK ? write_line(x, e) : st;
}

enum status
json_export_records(const struct api *a, json_line_fn *f, void *ctx,
                    uint64_t *nameless, struct error *e)
{
    struct exporting x = {
        .a = a, .f = f, .ctx = ctx, .nameless = nameless, .arena = arena_new(0)
    };
    enum status st = ST_OK;

    for (int kind = 0; kind < UID_KINDS && st == ST_OK; kind++) {
        uint8_t key[UID_KEY_MAX];

        (void)uid_key(store_layout(a->store), (enum uid_kind)kind, 'i', 0, key);
        st = each_entry(&x, slice_of(key, 3), export_name, e);
    }
    if (st == ST_OK)
        st = each_entry(&x, KEY_TABLE(TABLE_TREES), export_tree, e);
    if (st == ST_OK)
        st = each_entry(&x, KEY_TABLE(TABLE_META), export_meta, e);
    if (st == ST_OK)
        st = each_entry(&x, KEY_TABLE(TABLE_ANNOTATIONS), export_annotation, e);
    if (st == ST_OK)
        st = each_entry(&x, KEY_TABLE(TABLE_HISTOGRAMS), export_histogram, e);
    buf_fini(&x.line);
    dump_names_fini(&x.names);
    arena_free(&x.arena);
    return st;
}
