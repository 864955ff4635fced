#include <stdio.h>
#include <stdlib.h>

#include "query/plan/plan_priv.h"
#include "query/model/rollup.h"
#include "storage/store/store_retention.h"

#define LIST_LIMIT 200000

/* Tag-key sets with at most so many series, which are at most one in RARE of
 * the metric's, are listed although no filter excludes values: most salt
 * buckets have none of them, and the others may be read by seeks. */
#define RARE_SERIES 4096
#define RARE        8

/* -- tag-key sets --------------------------------------------------------- */

static bool
tagk_set_has(const struct series_tagk_set *s, uint64_t tagk)
{
    for (size_t i = 0; i < s->tagks_len; i++)
        if (s->tagks[i] == tagk)
            return true;
    return false;
}

static bool
tagk_set_fits(const struct planner *p, const struct series_tagk_set *s)
{
    size_t required = 0;

    for (size_t i = 0; i < p->restrictions_len; i++) {
        const struct restriction *r = &p->restrictions[i];

        if ((r->absent && r->present) || tagk_set_has(s, r->tagk) == r->absent)
            return false;
        required += !r->absent;
    }
    /* explicitTags without filters is ignored, as OpenTSDB does. */
    return !p->sq->explicit_tags || p->sq->filters_len == 0 ||
           s->tagks_len == required;
}

/* Keeps the sets that fit, and counts the rows that a scan meets among theirs.
 */
static enum status
find_tagk_sets(struct planner *p)
{
    struct series_tagk_set *all = NULL;
    size_t len = 0;
    enum status status = series_tagk_sets(p->c->series, p->p->metric,
                                          rollup_is_used(&p->sq->rollup), p->a,
                                          &all, &len, p->e);

    if (status != ST_OK)
        return status;
    p->tagk_sets = all;
    for (size_t i = 0; i < len; i++)
        if (tagk_set_fits(p, &all[i])) {
            struct series_tagk_set other = all[p->tagk_sets_len];

            p->p->series += all[i].series;
            all[p->tagk_sets_len++] = all[i];
            all[i] = other;
        }
    /* If the keys of two sets begin with the same tagk, rows of one lie among
     * rows of the other; else all rows of one come first. */
    for (size_t i = p->tagk_sets_len; i < len; i++)
        for (size_t k = 0; k < p->tagk_sets_len; k++)
            if (all[i].tagks_len > 0 && all[k].tagks_len > 0 &&
                all[i].tagks[0] == all[k].tagks[0]) {
                p->mixed += all[i].series;
                break;
            }
    p->total = series_total_of(p->c->series, p->p->metric);
    if (p->total < p->p->series) /* some were entered meanwhile */
        p->total = p->p->series;
    p->p->empty = p->tagk_sets_len == 0;
    return ST_OK;
}

/* -- masks ----------------------------------------------------------------- */

static const struct restriction *
find_restriction(const struct planner *p, uint64_t tagk)
{
    for (size_t i = 0; i < p->restrictions_len; i++)
        if (p->restrictions[i].tagk == tagk)
            return &p->restrictions[i];
    return NULL;
}

/* Of rows in any salt bucket, or of the directory's series; NULL: there is no
 * memory. */
static struct mask_set *
make_masks(const struct planner *p, enum table table)
{
    const struct key_layout *layout = p->layout;
    struct mask_set *set = mask_set_new_in(p->a);

    for (size_t i = 0; i < p->tagk_sets_len && set != NULL; i++) {
        struct mask *m = mask_new_in(p->a);
        const struct series_tagk_set *s;
        unsigned kw = p->layout->tagk_width, vw = p->layout->tagv_width;

        if (m == NULL)
            return NULL;
        mask_add_fixed(m, KEY_TABLE((uint8_t)table));
        if (table == TABLE_ROWS)
            mask_add_any(m, layout->salt_width);
        mask_add_steps(m, p->p->metric, p->p->metric, 1, layout->metric_width);
        if (table == TABLE_ROWS)
            mask_add_steps(m, key_span_base(layout, p->p->from_base),
                           key_span_base(layout, p->p->to_base),
                           key_span_s(layout), 4);
        /* The pairs of one tag-key set, behind what the caller has put in
         * front. */
        s = &p->tagk_sets[i];
        for (size_t k = 0; k < s->tagks_len; k++) {
            const struct restriction *r = find_restriction(p, s->tagks[k]);
            uint8_t tagk[8];

            key_put_uint(tagk, s->tagks[k], kw);
            mask_add_fixed(m, slice_of(tagk, kw));
            if (r == NULL || !r->has_set)
                mask_add_any(m, vw);
            else
                mask_lend_set(m, r->set, r->set_len, vw);
        }
        mask_set_give(set, &m);
    }
    return set != NULL && mask_set_failed(set) ? NULL : set;
}

/* -- the list of series ---------------------------------------------------- */

/* Past the limit the filters by name still need every series. */
static bool
list_series(void *ctx, struct slice tsuid)
{
    struct planner *p = ctx;
    bool takes;

    p->status = series_matches_filters(p, tsuid, &takes);
    if (p->status != ST_OK)
        return false;
    if (!takes || (p->overflow && p->by_name))
        return true;
    if (p->listed_len >= p->c->options.list_limit) {
        p->overflow = true;
        return p->by_name;
    }
    p->listed = arena_grow(p->a, p->listed, p->listed_len, &p->listed_cap,
                           sizeof *p->listed);
    if (p->listed == NULL || !arena_keep(p->a, &tsuid)) {
        p->status = error_no_memory(p->e);
        return false;
    }
    p->listed[p->listed_len++] = tsuid;
    return true;
}

/* Of the directory's scan: another batch of keys. */
static bool
end_listing(void *ctx)
{
    struct planner *p = ctx;

    p->status = deadline_check(&p->deadline, p->e);
    return p->status != ST_OK;
}

/* Spreads a list over the buckets; it stays ascending in each. */
static enum status
spread_list(const struct planner *p, const struct slice *tsuids, size_t len)
{
    struct plan *out = p->p;

    for (size_t i = 0; i < len; i++)
        out->buckets[key_salt(p->layout, tsuids[i])].series_len++;
    for (size_t i = 0; i < out->buckets_len; i++) {
        struct plan_bucket *b = &out->buckets[i];

        b->series = arena_array(p->a, b->series_len, sizeof *b->series);
        if (b->series == NULL)
            return error_no_memory(p->e);
        b->series_len = 0;
    }
    for (size_t i = 0; i < len; i++) {
        struct plan_bucket *b = &out->buckets[key_salt(p->layout, tsuids[i])];

        b->series[b->series_len++] = tsuids[i];
    }
    out->listed = true;
    out->matches = len;
    out->empty = len == 0;
    return ST_OK;
}

static enum status
list_matches(struct planner *p)
{
    struct mask_set *masks = make_masks(p, TABLE_SERIES);
    const struct restriction *set = planner_smallest_set(p);
    struct series_pick pick = { 0, NULL, 0 };
    enum status status;

    if (masks == NULL)
        return error_no_memory(p->e);
    if (set != NULL)
        pick = (struct series_pick){ set->tagk, set->set, set->set_len };
    status = series_each_with(
        p->c->series, p->p->metric, masks, &pick,
        &(struct series_visit){ list_series, p, { end_listing, p } }, p->e);
    mask_set_free(&masks);
    if (status == ST_OK)
        status = p->status;
    if (status == ST_OK)
        status = planner_end_names(p);
    if (status == ST_OK && !p->overflow)
        status = spread_list(p, p->listed, p->listed_len);
    return status;
}

/* -- the path -------------------------------------------------------------- */

/* How many runs of neighbours the matches of a bucket make: the mask takes all
 * keys with the same values up to the last restricted tag. */
static uint64_t
count_runs(const struct planner *p, const struct plan_bucket *b)
{
    uint64_t runs = 0;
    size_t kw = p->layout->tagk_width, vw = p->layout->tagv_width;

    for (size_t i = 0; i < b->series_len; i++) {
        struct slice s = b->series[i], before;
        size_t upto = p->layout->metric_width;

        for (size_t k = 0; k < tsuid_tags(p->layout, s); k++) {
            uint64_t tagk = tsuid_tagk_id(p->layout, s, k);
            const struct restriction *r = find_restriction(p, tagk);

            if (r != NULL && r->has_set)
                upto = p->layout->metric_width + (k + 1) * (kw + vw);
        }
        before = i == 0 ? (struct slice){ NULL, 0 } : b->series[i - 1];
        runs += upto > 0 &&
                (before.size < upto || memcmp(before.data, s.data, upto) != 0);
    }
    return runs;
}

static uint64_t
count_spans(const struct planner *p)
{
    return (key_span_base(p->layout, p->p->to_base) -
            key_span_base(p->layout, p->p->from_base)) /
               key_span_s(p->layout) +
           1;
}

/* A scan of the range steps over all rows of the metric, also over those of
 * tag- key sets that do not fit. */
static void
choose_way(const struct planner *p, struct plan_bucket *b)
{
    struct plan *out = p->p;
    uint64_t spans = count_spans(p);
    uint64_t all = p->total / out->buckets_len + 1;
    uint64_t matches =
        out->listed ? b->series_len : out->series / out->buckets_len + 1;
    /* How often the rows that match follow rows that do not, in one bucket and
     * span, at most: where rows of other tag-key sets lie among them, as often
     * as there are rows of either. */
    uint64_t mixed = p->mixed / out->buckets_len + (p->mixed > 0);
    uint64_t runs = (out->listed ? count_runs(p, b) : p->tagk_sets_len) +
                    (mixed < matches ? mixed : matches);
    unsigned seek_price = kv_traits(store_kv(p->c->store))->seek_price;
    const uint64_t prices[3] = {
        [SCAN_HINTS] = (runs * seek_price + matches) * spans,
        [SCAN_RANGE] = all * spans,
        [SCAN_SEEKS] = b->series_len * seek_price * spans,
    };
    const uint64_t seeks[3] = {
        [SCAN_HINTS] = runs * spans,
        [SCAN_RANGE] = 1,
        [SCAN_SEEKS] = b->series_len * spans,
    };
    int forced = p->c->options.force_path;

    /* Rows of several kinds of rollups lie side by side. */
    if (!out->listed && p->sq->rollup.kind != 0)
        b->path = SCAN_HINTS;
    else if (out->listed && prices[SCAN_SEEKS] <= prices[SCAN_HINTS] &&
             prices[SCAN_SEEKS] <= prices[SCAN_RANGE])
        b->path = SCAN_SEEKS;
    else
        b->path =
            prices[SCAN_HINTS] <= prices[SCAN_RANGE] ? SCAN_HINTS : SCAN_RANGE;
    if (forced >= 0 && (forced != SCAN_SEEKS || out->listed))
        b->path = (enum access_path)forced;
    for (int i = 0; out->listed && i < 3; i++)
        out->prices[i] += prices[i];
    out->price += prices[b->path];
    out->seeks += seeks[b->path];
}

static enum status
make_buckets(struct planner *p)
{
    static const char *const names[] = { "hints", "range", "seeks" };
    struct plan *out = p->p;
    const uint64_t *prices = out->prices;
    enum status status = ST_OK;
    size_t paths[3] = { 0 };
    enum access_path most;

    for (size_t i = 0; i < out->buckets_len && status == ST_OK; i++) {
        struct plan_bucket *b = &out->buckets[i];

        choose_way(p, b);
        paths[b->path]++;
        /* Seeks need none, nor does a bucket in which nothing is looked for. */
        if (out->masks == NULL && b->path != SCAN_SEEKS &&
            (!out->listed || b->series_len > 0)) {
            out->masks = make_masks(p, TABLE_ROWS);
            if (out->masks == NULL)
                status = error_no_memory(p->e);
        }
    }
    most = paths[SCAN_HINTS] >= paths[SCAN_RANGE] ? SCAN_HINTS : SCAN_RANGE;
    most = paths[SCAN_SEEKS] >= paths[most] ? SCAN_SEEKS : most;
    out->path = most;
    (void)snprintf(
        out->text, sizeof out->text,
        "%s; series %llu of %llu; price hints %llu range %llu seeks %llu",
        names[most],
        (unsigned long long)(out->listed ? out->matches : out->series),
        (unsigned long long)out->series, (unsigned long long)prices[SCAN_HINTS],
        (unsigned long long)prices[SCAN_RANGE],
        (unsigned long long)prices[SCAN_SEEKS]);
    return status;
}

/* -- by TSUIDs ------------------------------------------------------------- */

static enum status
plan_tsuids(struct planner *p)
{
    struct slice *tsuids = NULL;
    size_t len = 0;
    enum status status =
        parse_tsuids(p->sq, p->layout, p->a, &tsuids, &len, p->e);
    struct plan *out = p->p;

    if (status == ST_OK)
        status = spread_list(p, tsuids, len);
    if (status != ST_OK || len == 0)
        return status;
    out->metric_id = slice_of(tsuids[0].data, p->layout->metric_width);
    out->metric = tsuid_metric_id(p->layout, tsuids[0]);
    out->series = len;
    out->path = SCAN_SEEKS;
    out->seeks = len * count_spans(p);
    out->price = out->seeks * kv_traits(store_kv(p->c->store))->seek_price;
    for (size_t i = 0; i < out->buckets_len; i++)
        out->buckets[i].path = SCAN_SEEKS;
    (void)snprintf(out->text, sizeof out->text, "seeks; %zu TSUIDs given", len);
    return ST_OK;
}

/* -- all of it ------------------------------------------------------------- */

/* The directory is damaged: rows tell which series there are. */
static enum status
plan_without_list(struct planner *p)
{
    store_note_damage(p->c->store, "the directory of series",
                      "queries read all rows of the metric", p->e);
    p->p->empty = p->p->listed = false;
    if (!p->by_name)
        return ST_OK;
    p->p->by_name = arena_copy(p->a, p, sizeof *p);
    if (p->p->by_name == NULL)
        return error_no_memory(p->e);
    p->p->by_name->c = arena_copy(p->a, p->c, sizeof *p->c);
    return p->p->by_name->c == NULL ? error_no_memory(p->e) : ST_OK;
}

enum status
plan_takes(struct plan *p, struct slice tsuid, bool *takes, struct error *e)
{
    p->by_name->e = e;
    return series_matches_filters(p->by_name, tsuid, takes);
}

static enum status
plan_metric(struct planner *p)
{
    struct plan *out = p->p;
    uint8_t *id;
    enum status status =
        uid_find(p->c->uids, UID_METRIC, p->sq->metric, &out->metric, p->e);

    if (status != ST_OK)
        return status;
    id = arena_alloc(p->a, 8);
    if (id == NULL)
        return error_no_memory(p->e);
    key_put_uint(id, out->metric, p->layout->metric_width);
    out->metric_id = slice_of(id, p->layout->metric_width);
    status = planner_filters(p);
    if (status == ST_OK)
        status = find_tagk_sets(p);
    if (status != ST_OK || out->empty)
        return status;
    for (size_t i = 0; i < p->restrictions_len; i++)
        p->narrows |=
            (p->restrictions[i].tagk != 0 || p->c->options.list_kinds) &&
            !p->restrictions[i].any;
    p->narrows |= p->sq->rollup.kind == 0 && out->series <= RARE_SERIES &&
                  out->series <= p->total / RARE;
    if (p->narrows) {
        status = ST_OK;
        if (planner_smallest_set(p) == NULL)
            status = planner_names(p);
        for (size_t i = 0; i < p->restrictions_len; i++)
            p->by_name |= p->restrictions[i].by_name;
        if (status == ST_OK)
            status = list_matches(p);
    }
    if (status == ST_CORRUPT)
        status = plan_without_list(p);
    return status == ST_OK && !out->empty ? make_buckets(p) : status;
}

enum status
plan_make(const struct plan_context *c, const struct sub_query *sq,
          const struct query_reading *reading, const struct deadline *deadline,
          struct arena *a, struct plan *out, struct error *e)
{
    struct plan_context with_defaults = *c;
    struct planner p = { .c = &with_defaults,
                         .layout = store_layout(c->store),
                         .sq = sq,
                         .deadline = *deadline,
                         .a = a,
                         .p = out,
                         .e = e };
    enum status status;

    if (with_defaults.options.list_limit == 0)
        with_defaults.options.list_limit = LIST_LIMIT;
    *out = (struct plan){ .from_base = reading->from_base,
                          .to_base = reading->to_base,
                          .buckets_len = p.layout->salt_width == 0
                                             ? 1
                                             : p.layout->salt_buckets };
    (void)snprintf(out->text, sizeof out->text, "nothing; no series matches");
    if (sq->rollup.interval != NULL) {
        int64_t from, to;

        /* From the hours in which rollups are to those in which they are
         * stored. */
        rollup_stored_range(sq->rollup.interval, (int64_t)out->from_base * 1000,
                            ((int64_t)out->to_base + HOUR_S) * 1000 - 1, &from,
                            &to);
        out->from_base = hour_base(from);
        out->to_base = to > from ? hour_base(to) : out->from_base;
    }
    out->buckets = arena_array(a, out->buckets_len, sizeof *out->buckets);
    if (out->buckets == NULL)
        return error_no_memory(e);
    status = sq->tsuids_len > 0 ? plan_tsuids(&p) : plan_metric(&p);
    if (out->by_name == NULL) /* else it is a copy, which has all of it */
        planner_fini(&p);
    if (status != ST_OK)
        plan_fini(out);
    return status;
}

struct dropped
plan_find_dropped(const struct plan_context *c, uint64_t metric,
                  int64_t from_ms, bool needs_rows)
{
    const struct dropped nothing = { 0, NULL };
    int64_t raw_ms = store_cut_ms(c->store, metric);
    int64_t hourly_ms = store_hourly_cut_ms(c->store, metric);
    int64_t cut_ms = needs_rows ? raw_ms : hourly_ms;

    if (cut_ms == 0 || from_ms >= cut_ms)
        return nothing;
    return (struct dropped){ cut_ms,
                             cut_ms < raw_ms ? "hourly values" : "raw points" };
}

void
plan_fini(struct plan *p)
{
    mask_set_free(&p->masks);
    if (p->by_name != NULL)
        planner_fini(p->by_name);
    p->by_name = NULL;
}

struct slice *
plan_series(const struct plan *p, struct arena *a)
{
    struct slice *all = arena_array(a, p->matches, sizeof *all);
    size_t len = 0;

    for (size_t i = 0; i < p->buckets_len && all != NULL; i++)
        for (size_t k = 0; k < p->buckets[i].series_len; k++)
            all[len++] = p->buckets[i].series[k];
    return all;
}

/* Masks are over rows: a row's key of any hour will do. */
bool
plan_reads_series(const struct plan *p, const struct key_layout *layout,
                  struct slice tsuid)
{
    uint8_t key[ROW_KEY_MAX];
    size_t size = key_row(layout, tsuid, p->from_base, key);

    return mask_set_match(p->masks, slice_of(key, size));
}
