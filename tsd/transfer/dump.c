#include "tsd/transfer/dump.h"

#include "base/mem.h"
#include "storage/scan/store_scan.h"

#define ROWS_BETWEEN_LOOKS 256

/* -- names ----------------------------------------------------------------- */

/* Where a name lies in the text, until that has stopped moving. */
static enum status
add_name(const struct api *a, enum uid_kind kind, struct slice id,
         struct buf *text, struct slice *at, struct error *e)
{
    size_t from = text->size;
    enum status st = uid_name(
        a->uids, kind, key_get_uint(id.data, (unsigned)id.size), text, e);

    *at = slice_of((const uint8_t *)(uintptr_t)from, text->size - from);
    return st;
}

static void
settle_name(const struct buf *text, struct slice *at)
{
    at->data = text->data + (uintptr_t)at->data;
}

enum status
dump_find_names(const struct api *a, struct slice tsuid,
                struct dump_names *names, struct error *e)
{
    const struct key_layout *w = store_layout(a->store);
    struct buf *text = &names->text;
    size_t first = series_has_kind(w, tsuid), len = tsuid_tags(w, tsuid);
    struct scan_series *s = &names->series;
    enum status st;

    if (names->tsuid.size > 0 && slice_eq(buf_slice(&names->tsuid), tsuid))
        return ST_OK;
    buf_clear(text);
    buf_clear(&names->tsuid);
    names->kind = slice_str("");
    s->tags = names->tags;
    s->tags_len = len - first;
    st = add_name(a, UID_METRIC, tsuid_metric(w, tsuid), text, &s->metric, e);
    if (st == ST_OK && first == 1)
        st = add_name(a, UID_ROLLUP, tsuid_tagv(w, tsuid, 0), text,
                      &names->kind, e);
    for (size_t i = first; i < len && st == ST_OK; i++) {
        struct tag *t = &names->tags[i - first];

        st = add_name(a, UID_TAGK, tsuid_tagk(w, tsuid, i), text, &t->key, e);
        if (st == ST_OK)
            st = add_name(a, UID_TAGV, tsuid_tagv(w, tsuid, i), text, &t->value,
                          e);
    }
    if (st == ST_OK && text->failed)
        st = error_no_memory(e);
    if (st != ST_OK)
        return st;
    settle_name(text, &s->metric);
    if (first == 1)
        settle_name(text, &names->kind);
    for (size_t i = 0; i < s->tags_len; i++) {
        settle_name(text, &names->tags[i].key);
        settle_name(text, &names->tags[i].value);
    }
    buf_put_slice(&names->tsuid, tsuid);
    return ST_OK;
}

void
dump_names_fini(struct dump_names *names)
{
    buf_fini(&names->text);
    buf_fini(&names->tsuid);
}

/* -- rows ------------------------------------------------------------------ */

/* What is read of one metric: some buckets side by side, their rows merged. */
struct dumping {
    struct dump *d;
    const struct scan_spec *specs; /* of each bucket; no masks and no series:
                                      nothing is read */
    size_t len;
    struct dump_names names;
    struct points points;
    uint64_t rows;
};

struct bucket_scan {
    struct store_scan *scan;
    struct store_row row;
    bool on;
};

static enum status
dump_row(struct dumping *g, const struct store_row *row, struct error *e)
{
    const struct key_layout *w = store_layout(g->d->a->store);
    struct points hour = { .len = 0 };
    struct dump_row out = { .points = &hour };
    bool kind = series_has_kind(w, row->tsuid);
    uint8_t bare[TSUID_MAX];
    enum status st;

    if (++g->rows % ROWS_BETWEEN_LOOKS == 0 && cancel_asked(g->d->cancel))
        return error_set(e, ST_BUSY, "cancelled");
    if (kind && !g->d->kinds)
        return ST_OK;
    st = dump_find_names(g->d->a, row->tsuid, &g->names, e);
    if (st == ST_NOT_FOUND) {
        g->d->nameless++;
        return ST_OK;
    }
    points_clear(&g->points);
    if (st == ST_OK)
        st = store_row_points(row, &g->points, e);
    if (st != ST_OK)
        return st;
    out.tsuid = row->tsuid;
    if (kind)
        out.tsuid = slice_of(bare, series_drop_kind(w, row->tsuid, bare));
    out.kind = g->names.kind;
    out.series = g->names.series;
    for (size_t at = 0; at < g->points.len && st == ST_OK; at += hour.len) {
        hour = points_of_hour(&g->points, at);
        out.base = hour_base(hour.ts_ms[0]);
        st = g->d->f(g->d->ctx, &out, e);
    }
    return st;
}

/* The scan whose row comes first; NULL: all are at their end. */
static struct bucket_scan *
first_of(struct bucket_scan *scans, size_t len, const struct key_layout *w)
{
    struct bucket_scan *best = NULL;

    for (size_t i = 0; i < len; i++) {
        struct bucket_scan *s = &scans[i];
        uint32_t span, best_span;

        if (!s->on)
            continue;
        span = key_span_base(w, s->row.base);
        best_span = best == NULL ? 0 : key_span_base(w, best->row.base);
        if (best == NULL || span < best_span ||
            (span == best_span && slice_cmp(s->row.tsuid, best->row.tsuid) < 0))
            best = s;
    }
    return best;
}

/* Calls f for each row of some buckets that lies in these hours.  A step of one
 * scan may end what the row before lent, never what another scan lends. */
static enum status
each_row(struct dumping *g, size_t first, size_t len, uint32_t from_base,
         uint32_t to_base,
         enum status (*f)(struct dumping *g, const struct store_row *row,
                          struct error *e),
         struct error *e)
{
    const struct key_layout *w = store_layout(g->d->a->store);
    struct bucket_scan *scans = mem_new_array(len, sizeof *scans), *s;
    enum status st = ST_OK;

    for (size_t i = 0; i < len && st == ST_OK; i++) {
        struct scan_spec spec = g->specs[first + i];

        spec.from_base = from_base;
        spec.to_base = to_base;
        if (spec.masks == NULL && spec.series_len == 0)
            continue;
        st = store_scans_open(g->d->a->store, &spec, 1, &scans[i].scan, e);
        scans[i].on =
            st == ST_OK && store_scan_next(scans[i].scan, &scans[i].row);
    }
    while (st == ST_OK && (s = first_of(scans, len, w)) != NULL) {
        st = f(g, &s->row, e);
        s->on = st == ST_OK && store_scan_next(s->scan, &s->row);
    }
    for (size_t i = 0; i < len; i++)
        st = store_scan_close(&scans[i].scan, NULL, st, e);
    free(scans);
    return st;
}

struct span_hours {
    struct dumping g; /* first: each_row() hands it over */
    uint32_t span;
    bool begun;
};

/* The first row of a span: its hours are gone through one by one, and its
 * other rows passed over. */
static enum status
dump_span(struct dumping *g, const struct store_row *row, struct error *e)
{
    struct span_hours *h = (struct span_hours *)g;
    const struct key_layout *w = store_layout(g->d->a->store);
    uint32_t span = key_span_base(w, row->base);
    enum status st = ST_OK;

    if (h->begun && span == h->span)
        return ST_OK;
    h->begun = true;
    h->span = span;
    for (unsigned i = 0; i < w->row_hours && st == ST_OK; i++) {
        uint32_t hour = span + i * HOUR_S;

        if (hour >= g->d->from_base && hour <= g->d->to_base)
            st = each_row(g, 0, g->len, hour, hour, dump_row, e);
    }
    return st;
}

static enum status
dump_metric(struct dump *d, const struct scan_spec *specs, size_t len,
            bool merged, struct error *e)
{
    struct span_hours h = { .g = { .d = d, .specs = specs, .len = len } };
    size_t step = merged ? len : 1;
    enum status st = ST_OK;

    for (size_t i = 0; i < len && st == ST_OK; i += step)
        st = each_row(&h.g, i, step, d->from_base, d->to_base,
                      d->by_hours ? dump_span : dump_row, e);
    dump_names_fini(&h.g.names);
    points_fini(&h.g.points);
    return st;
}

enum status
dump_plan(struct dump *d, const struct plan *p, struct error *e)
{
    struct scan_spec *specs;
    enum status st;

    if (p->empty)
        return ST_OK;
    specs = mem_new_array(p->buckets_len, sizeof *specs);
    for (size_t i = 0; i < p->buckets_len; i++) {
        const struct plan_bucket *b = &p->buckets[i];

        specs[i] = (struct scan_spec){
            .masks = b->path == SCAN_SEEKS ? NULL : p->masks,
            .bucket = (unsigned)i,
            .path = b->path,
            .series = b->series,
            .series_len = b->series_len,
            .metric = p->metric_id,
        };
    }
    d->from_base = p->from_base;
    d->to_base = p->to_base;
    st = dump_metric(d, specs, p->buckets_len, true, e);
    free(specs);
    return st;
}

/* -- everything ------------------------------------------------------------ */

/* Rows of the metric with any number of tags. */
static enum status
dump_metric_id(struct dump *d, struct slice metric, struct error *e)
{
    const struct key_layout *w = store_layout(d->a->store);
    const uint8_t table = TABLE_ROWS;
    struct mask_set *masks = mask_set_new();
    struct scan_spec *specs = mem_new_array(w->salt_buckets, sizeof *specs);
    enum status st;

    for (size_t tags = 0; tags <= KEY_MAX_TAGS; tags++) {
        struct mask *m = mask_new();

        mask_add_fixed(m, slice_of(&table, 1));
        if (w->salt_width > 0)
            mask_add_any(m, w->salt_width);
        mask_add_fixed(m, metric);
        mask_add_steps(m, 0, UINT32_MAX, key_span_s(w), 4);
        for (size_t i = 0; i < tags; i++)
            mask_add_any(m, (size_t)w->tagk_width + w->tagv_width);
        mask_set_give(masks, &m);
    }
    for (unsigned i = 0; i < w->salt_buckets; i++)
        specs[i] = (struct scan_spec){
            .masks = masks, .bucket = i, .path = SCAN_RANGE, .metric = metric
        };
    st = dump_metric(d, specs, w->salt_buckets, false, e);
    free(specs);
    mask_set_free(&masks);
    return st;
}

/* The metric with the next id; none: 0.  Asked anew each time, so that no
 * iterator stays open for as long as a dump takes. */
static enum status
next_metric(const struct api *a, uint64_t *id, struct error *e)
{
    const struct key_layout *w = store_layout(a->store);
    uint8_t bytes[UID_KEY_MAX];
    struct slice key = uid_key(w, UID_METRIC, 'i', *id + 1, bytes);
    struct slice prefix = slice_of(key.data, key.size - w->metric_width);
    struct kv_iter *it = kv_iter_open(store_kv(a->store), prefix);
    enum status st = ST_OK;

    *id = 0;
    if (kv_iter_seek(it, key)) {
        struct slice found = kv_iter_key(it);

        if (found.size == key.size)
            *id = key_get_uint(found.data + prefix.size, w->metric_width);
        else
            st = error_set(e, ST_CORRUPT, "UID key of %zu bytes", found.size);
    }
    return kv_iter_end(&it, st, e);
}

enum status
dump_all(struct dump *d, struct error *e)
{
    const struct key_layout *w = store_layout(d->a->store);
    uint8_t metric[8];
    uint64_t id = 0;
    enum status st = next_metric(d->a, &id, e);

    while (st == ST_OK && id != 0) {
        key_put_uint(metric, id, w->metric_width);
        st = dump_metric_id(d, slice_of(metric, w->metric_width), e);
        if (st == ST_OK)
            st = next_metric(d->a, &id, e);
    }
    return st;
}
