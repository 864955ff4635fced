/* /api/uid/tsmeta: what people say about a series, named by its TSUID or by
 * metric and tags.
 *
 * OpenTSDB writes a record for each new series and counts its points as they
 * come in, where that was switched on.  Here the switches say which series are
 * shown to have metadata, and points are counted on request. */
#include "tsd/api/meta_json.h"

#include <stdlib.h>

#include "query/parse/parse.h"
#include "tsd/api/series_json.h"

/* A metric and tags of a request, as ids. */
struct named {
    uint64_t metric;
    struct series_tags tags;
};

static void
tsmeta_reject(const struct api_call *w, const struct error *e)
{
    if (e->status == ST_INVALID || e->status == ST_NOT_FOUND)
        http_reply_error(w->out, 400, e->text, e->text);
    else
        http_reply_failure(w->out, e);
}

static struct meta_of
series_of(struct slice tsuid)
{
    return (struct meta_of){ META_SERIES, tsuid };
}

static enum status
write_one(struct api_call *w, struct slice tsuid, const struct meta *meta,
          struct error *e)
{
    struct series_points points;
    enum status st =
        series_points(w->a->store, &tsuid, 1, &points, api_cancel(w->r), e);

    return st == ST_OK ? meta_write_series(w->a, http_reply_body(w->out), tsuid,
                                           meta, &points, w->arena, e)
                       : st;
}

/* -- metric and tags ------------------------------------------------------- */

/* ST_INVALID for what is no "metric{k=v}"; ST_NOT_FOUND for a name that has no
 * id, '*no_metric' when it is the metric's. */
static enum status
read_named(struct api_call *w, struct slice text, struct named *out,
           bool *no_metric, struct error *e)
{
    struct tag *tags;
    struct slice metric;
    size_t len = 0;
    enum status st;

    *no_metric = false;
    st = parse_metric_and_tags(text, w->arena, &metric, &tags, &len, e);
    if (st != ST_OK)
        return st;
    if (metric.size == 0)
        return error_set(e, ST_INVALID, "Metric cannot be null or empty");
    st = uid_find(w->a->uids, UID_METRIC, metric, &out->metric, e);
    *no_metric = st == ST_NOT_FOUND;
    return st == ST_OK ? series_tags_find(w->a, tags, len, &out->tags, NULL, e)
                       : st;
}

static struct slice
make_tsuid(const struct api_call *w, const struct named *n, uint8_t *bytes)
{
    const struct key_layout *layout = store_layout(w->a->store);
    size_t at = layout->metric_width;

    key_put_uint(bytes, n->metric, layout->metric_width);
    for (size_t i = 0; i < n->tags.len; i++) {
        key_put_uint(bytes + at, n->tags.keys[i], layout->tagk_width);
        at += layout->tagk_width;
        key_put_uint(bytes + at, n->tags.values[i], layout->tagv_width);
        at += layout->tagv_width;
    }
    return slice_of(bytes, at);
}

/* -- get ------------------------------------------------------------------- */

static void
get_by_tsuid(struct api_call *w, struct slice text)
{
    struct slice tsuid;
    struct meta meta;
    struct error e;
    enum status st = meta_read_id(text, w->arena, &tsuid, &e);

    if (st != ST_OK) {
        http_reply_failure(w->out, &e);
        return;
    }
    st = meta_get_series(w->a, tsuid, w->arena, &meta, &e);
    if (st == ST_NOT_FOUND) {
        http_reply_error(w->out, 404, "Could not find Timeseries meta data",
                         NULL);
        return;
    }
    if (st == ST_OK)
        st = write_one(w, tsuid, &meta, &e);
    if (st == ST_NOT_FOUND)
        http_reply_error(w->out, 404, "Unable to find one of the UIDs", e.text);
    else if (st != ST_OK)
        http_reply_failure(w->out, &e);
}

/* The series that have all the tags, and all their names. */
struct found {
    struct api_call *w;
    const struct named *named;
    struct nameless nameless;
    struct tsuid_list list;
    uint64_t seen;
};

static bool
tsmeta_visit(void *ctx, struct slice tsuid)
{
    struct found *f = ctx;

    if (++f->seen % 1024 == 0 && http_is_cancelled(f->w->r))
        return false;
    return !series_has_tags(f->w->a, tsuid, &f->named->tags) ||
           nameless_has(&f->nameless, tsuid) || tsuid_list_add(&f->list, tsuid);
}

static enum status
write_all(struct found *f, struct error *e)
{
    struct api_call *w = f->w;
    struct buf *b = http_reply_body(w->out);
    struct series_points *points =
        arena_array(w->arena, f->list.len, sizeof *points);
    struct arena *scratch = http_arena_new(w->r);
    enum status st =
        points == NULL
            ? error_set(e, ST_LIMIT, "too many series: ask for fewer")
            : series_points(w->a->store, f->list.tsuids, f->list.len, points,
                            api_cancel(w->r), e);

    buf_put_u8(b, '[');
    for (size_t i = 0; i < f->list.len && st == ST_OK; i++) {
        struct meta meta;

        if (i % 64 == 0)
            st = api_go_on(w->r, w->out, e);
        if (st != ST_OK)
            break;
        arena_reset(scratch);
        st = meta_get_series(w->a, f->list.tsuids[i], scratch, &meta, e);
        if (st == ST_NOT_FOUND) { /* none, or deleted */
            st = ST_OK;
            continue;
        }
        if (st == ST_OK)
            st = meta_write_series(w->a, b, f->list.tsuids[i], &meta,
                                   &points[i], scratch, e);
    }
    buf_put_u8(b, ']');
    arena_free(&scratch);
    return st;
}

static void
get_by_name(struct api_call *w)
{
    struct named named = { 0 };
    struct found f = { .w = w, .named = &named, .list.arena = w->arena };
    struct slice text;
    struct error e;
    bool no_metric;
    enum status st;

    if (!api_need_param(w->r, "m", &text, w->out))
        return;
    st = read_named(w, text, &named, &no_metric, &e);
    if (no_metric) {
        http_reply_error(w->out, 404, "Unable to find one of the UIDs", e.text);
        return;
    }
    if (st == ST_NOT_FOUND) /* a tag: what OpenTSDB says of all that it has */
        st = error_set(&e, ST_INVALID,
                       "At least one of the Deferreds failed, first "
                       "exception:");
    if (st == ST_OK) {
        /* Series with points, and those with metadata alone: both ascending. */
        const struct key_layout *layout = store_layout(f.w->a->store);
        uint8_t metric[8];

        st = nameless_find(f.w->a->uids, f.w->arena, &f.nameless, &e);
        if (st == ST_OK)
            st = series_each(f.w->a->series, f.named->metric, NULL,
                             tsmeta_visit, &f, &e);
        key_put_uint(metric, f.named->metric, layout->metric_width);
        if (st == ST_OK)
            st = meta_each_series(f.w->a->records,
                                  slice_of(metric, layout->metric_width),
                                  tsmeta_visit, &f, &e);
        if (st == ST_OK && f.list.no_memory)
            st = error_set(&e, ST_LIMIT, "too many series: ask for fewer");
    }
    if (st == ST_OK) {
        f.list.len = slices_sort_unique(f.list.tsuids, f.list.len);
        st = write_all(&f, &e);
    }
    if (st != ST_OK)
        tsmeta_reject(w, &e);
}

/* -- post and put ---------------------------------------------------------- */

static void
tsmeta_put(struct api_call *w, struct slice tsuid, struct meta_request *n)
{
    bool overwrite = http_method(w->r) == HTTP_PUT;
    struct meta old;
    struct error e;
    enum status st;

    if (n->fields == 0) {
        http_reply_empty(w->out, 304);
        return;
    }
    st = meta_get_series(w->a, tsuid, w->arena, &old, &e);
    if (st == ST_OK)
        st = meta_put(w->a->records, series_of(tsuid), &n->meta,
                      &(struct record_change){ n->fields, overwrite, w->arena },
                      &e);
    if (st == ST_NOT_FOUND)
        st = error_set(&e, ST_INVALID, "Requested TSMeta did not exist");
    else if (st == ST_OK)
        st = write_one(w, tsuid, &n->meta, &e);
    if (st == ST_NOT_FOUND)
        http_reply_error(w->out, 404, "Unable to find one or more UIDs",
                         e.text);
    else if (st != ST_OK)
        tsmeta_reject(w, &e);
}

static void
put_by_name(struct api_call *w, struct meta_request *n)
{
    uint8_t *bytes = arena_alloc(w->arena, TSUID_MAX);
    struct slice text, tsuid, wanted;
    struct named named = { 0 };
    struct meta old;
    struct error e;
    bool no_metric;
    enum status st;

    if (!api_need_param(w->r, "m", &text, w->out))
        return;
    st = bytes == NULL ? error_no_memory(&e)
                       : read_named(w, text, &named, &no_metric, &e);
    if (st == ST_NOT_FOUND) {
        http_reply_error(w->out, 404, "Unable to find one or more UIDs",
                         e.text);
        return;
    }
    if (st != ST_OK) {
        tsmeta_reject(w, &e);
        return;
    }
    tsuid = make_tsuid(w, &named, bytes);
    st = meta_get_series(w->a, tsuid, w->arena, &old, &e);
    if (st == ST_OK)
        tsmeta_put(w, tsuid, n);
    else if (st != ST_NOT_FOUND)
        http_reply_failure(w->out, &e);
    else if (http_param(w->r, "create", &wanted) &&
             slice_eq_str(wanted, "true") && named.tags.len > 0) {
        if (meta_create(w->a->records, series_of(tsuid), &n->meta, &e) !=
                ST_OK ||
            write_one(w, tsuid, &n->meta, &e) != ST_OK)
            tsmeta_reject(w, &e);
    } else
        http_reply_error(w->out, 400,
                         "Could not find TSMeta, specify \"create=true\" to "
                         "create a new one.",
                         NULL);
}

/* The ids of the tags, then the metric's, as OpenTSDB takes them apart. */
static enum status
read_tsuid(struct api_call *w, struct slice text, struct slice *out,
           struct error *e)
{
    const struct key_layout *layout = store_layout(w->a->store);
    size_t key = 2 * layout->tagk_width, value = 2 * layout->tagv_width;
    size_t metric = 2 * layout->metric_width, at = metric;
    enum status st = ST_OK;

    if (text.size <= metric)
        return error_set(e, ST_INVALID,
                         "TSUID is too short, may be missing tags");
    for (; at < text.size && st == ST_OK; at += key + value) {
        if (text.size - at < key + value)
            return error_set(e, ST_INVALID,
                             "The TSUID appears to be malformed, improper tag "
                             "width");
        st = meta_read_id(slice_of(text.data + at, key), w->arena, out, e);
        if (st == ST_OK)
            st = meta_read_id(slice_of(text.data + at + key, value), w->arena,
                              out, e);
    }
    if (st == ST_OK)
        st = meta_read_id(slice_of(text.data, metric), w->arena, out, e);
    return st == ST_OK ? meta_read_id(text, w->arena, out, e) : st;
}

/* -- delete ---------------------------------------------------------------- */

void
api_tsmeta(void *ctx, const struct http_request *r, struct http_reply *out)
{
    static const char message[] = "Unable to delete TSMeta information";
    struct api_call w = { ctx, r, out, http_arena(r) };
    struct meta_request n;
    struct slice text, tsuid;
    struct error e;

    if (!api_is_current(ctx, out))
        return;
    if (http_method(r) == HTTP_GET) {
        if (http_param(r, "tsuid", &text))
            get_by_tsuid(&w, text);
        else
            get_by_name(&w);
        return;
    }
    if (!meta_read(r, true, &n, out))
        return;
    if (http_method(r) == HTTP_DELETE) {
        if (n.id_text.size == 0)
            http_reply_error(out, 400, message, "Missing UID");
        else if (meta_read_id(n.id_text, w.arena, &tsuid, &e) != ST_OK)
            http_reply_error(out, 400, message, e.text);
        else if (meta_delete(w.a->records, series_of(tsuid), &e) != ST_OK)
            http_reply_failure(out, &e);
        else
            http_reply_empty(out, 204);
    } else if (n.id_text.size == 0)
        put_by_name(&w, &n);
    else if (n.fields == 0)
        http_reply_empty(out, 304);
    else if (read_tsuid(&w, n.id_text, &tsuid, &e) != ST_OK)
        tsmeta_reject(&w, &e);
    else
        tsmeta_put(&w, tsuid, &n);
}
