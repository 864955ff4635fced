/* Which rollups a sub-query reads, in OpenTSDB's order; see
 * query/plan/rollup_candidates.h. */
#include "query/plan/rollup_candidates.h"

/* Does a filter ask for pre-aggregates?  One on the tag of aggregates does,
 * unless it asks for those of single series. */
static bool
filters_want_pre(const struct rollups *r, const struct sub_query *sq)
{
    for (size_t i = 0; i < sq->filters_len; i++) {
        const struct filter *f = &sq->filters[i];

        if ((f->type == FILTER_LITERAL_OR || f->type == FILTER_ILITERAL_OR) &&
            slice_eq_str(f->tagk, r->agg_tag_key) &&
            !slice_eq_str(f->text, r->raw_tag_value))
            return true;
    }
    return false;
}

/* The kind of the rollups of 'a' (NULL: of points). */
static enum status
find_kind(struct rollup_candidate *c, const struct aggregator *a,
          uint64_t *kind, struct error *e)
{
    char name[ROLLUP_NAME_MAX];

    rollup_kind_name(c->sub.rollup.interval, a, c->pre, name);
    return series_kind(c->series, name, false, kind, e);
}

static enum status
need_aggregator(struct rollup_candidate *c, const char *name,
                const struct aggregator **out)
{
    *out = aggregator_find(slice_str(name));
    if (!rollups_store(c->rollups, *out))
        return error_set(&c->missing, ST_INVALID,
                         "No ID found mapping to aggregator: %s", name);
    return ST_OK;
}

static enum status
use_points(struct rollup_candidate *c, struct error *e)
{
    enum status st = ST_OK;

    c->sub.rollup = (struct rollup_use){ 0 };
    if (c->pre)
        st = find_kind(c, NULL, &c->sub.rollup.kind, e);
    return st;
}

static enum status
use_rollups(struct rollup_candidate *c, struct error *e)
{
    bool avg = strcmp(c->aggregator->name, "avg") == 0;
    const struct aggregator *read = NULL, *count = NULL;
    enum status st;

    c->sub.rollup = (struct rollup_use){ .interval = c->best[c->at++] };
    if (need_aggregator(c, avg ? "sum" : c->aggregator->name, &read) != ST_OK ||
        (avg && need_aggregator(c, "count", &count) != ST_OK))
        return ST_OK; /* said when the names are known to exist */
    st = find_kind(c, read, &c->sub.rollup.kind, e);
    if (st == ST_OK && avg)
        st = find_kind(c, count, &c->sub.rollup.count_kind, e);
    return st;
}

enum status
rollup_candidate_first(struct rollup_candidate *c, const struct rollups *r,
                       struct series_directory *d, const struct sub_query *sq,
                       struct error *e)
{
    const struct downsample *ds = &sq->downsample;

    *c = (struct rollup_candidate){ .rollups = r, .series = d, .sub = *sq };
    if (r == NULL) {
        if (sq->pre_aggregate)
            (void)error_set(&c->missing, ST_INVALID,
                            "No rollup or aggregations were configured");
        return ST_OK;
    }
    c->pre = sq->pre_aggregate || filters_want_pre(r, sq);
    c->fallback = slice_eq_str(sq->rollup_usage, "ROLLUP_FALLBACK");
    c->fallback_raw = slice_eq_str(sq->rollup_usage, "ROLLUP_FALLBACK_RAW");
    if (!ds->on || ds->all || ds->interval_ms <= 0 ||
        slice_eq_str(sq->rollup_usage, "ROLLUP_RAW"))
        return use_points(c, e);
    if (ds->interval_ms < 1000)
        return error_set(e, ST_INVALID, "Interval cannot be null or empty");
    c->aggregator = rollup_stored_aggregator(ds->aggregator);
    c->best_len = rollups_best(r, ds->interval_ms / 1000, c->best);
    if (c->best_len == 0 || c->best[0]->is_default)
        return use_points(c, e);
    return use_rollups(c, e);
}

enum status
rollup_candidate_points(struct rollup_candidate *c, const struct sub_query *sq,
                        struct error *e)
{
    c->sub = *sq;
    c->missing = (struct error){ .status = ST_OK };
    return use_points(c, e);
}

enum status
rollup_candidate_next(struct rollup_candidate *c, bool *again, struct error *e)
{
    struct downsample *ds = &c->sub.downsample;

    *again = false;
    if (c->sub.rollup.interval == NULL)
        return ST_OK;
    *again = c->fallback_raw || (c->fallback && c->at < c->best_len);
    if (!*again)
        return ST_OK;
    if (!c->fallback_raw && !c->best[c->at]->is_default)
        return use_rollups(c, e);
    /* Points are downsampled to the interval that had no rollups, not to the
     * one that was asked for; so does OpenTSDB. */
    ds->interval_ms = c->sub.rollup.interval->seconds * 1000;
    ds->calendar = false;
    ds->aggregator = c->aggregator;
    return use_points(c, e);
}

const char *
rollup_candidate_table(const struct rollup_candidate *c)
{
    return c->sub.rollup.interval == NULL ? "raw"
                                          : c->sub.rollup.interval->text;
}
