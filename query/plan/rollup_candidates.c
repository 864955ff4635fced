/* Which rollups a sub-query reads, in OpenTSDB's order; see
 * query/plan/rollup_candidates.h. */
#include "config.h"

#include "query/plan/rollup_candidates.h"

/* Those that ignore what is not there are stored under the plain ones. */
static const struct aggregator *
stored_aggregator(const struct aggregator *a)
{
    static const char *const plain[][2] = { { "zimsum", "sum" },
                                            { "mimmax", "max" },
                                            { "mimmin", "min" } };

    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (strcmp(aggregator_name(a), plain[i][0]) == 0)
            return aggregator_find(slice_str(plain[i][1]));
    return a;
}

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
find_kind(struct rollup_try *t, const struct aggregator *a, uint64_t *kind,
          struct error *e)
{
    char name[ROLLUP_NAME_MAX];

    rollup_kind_name(t->use.interval, a, t->pre, name);
    return series_kind(t->series, name, false, kind, e);
}

static enum status
need_aggregator(struct rollup_try *t, const char *name,
                const struct aggregator **out)
{
    *out = rollups_aggregator(t->rollups, slice_str(name));
    if (*out == NULL)
        return error_set(&t->missing, ST_INVALID,
                         "No ID found mapping to aggregator: %s", name);
    return ST_OK;
}

static enum status
use_points(struct rollup_try *t, struct error *e)
{
    enum status st = ST_OK;

    t->use = (struct rollup_use){ 0 };
    t->sub.rollup = NULL;
    if (t->pre) {
        st = find_kind(t, NULL, &t->use.kind, e);
        t->sub.rollup = &t->use;
    }
    return st;
}

static enum status
use_rollups(struct rollup_try *t, struct error *e)
{
    bool avg = strcmp(aggregator_name(t->aggregator), "avg") == 0;
    const struct aggregator *read = NULL, *count = NULL;
    enum status st;

    t->use = (struct rollup_use){ .interval = t->best[t->at++] };
    t->sub.rollup = &t->use;
    if (need_aggregator(t, avg ? "sum" : aggregator_name(t->aggregator),
                        &read) != ST_OK ||
        (avg && need_aggregator(t, "count", &count) != ST_OK))
        return ST_OK; /* said when the names are known to exist */
    st = find_kind(t, read, &t->use.kind, e);
    if (st == ST_OK && avg)
        st = find_kind(t, count, &t->use.count_kind, e);
    return st;
}

enum status
rollup_try_first(struct rollup_try *t, const struct rollups *r,
                 struct series_directory *d, const struct sub_query *sq,
                 struct error *e)
{
    const struct downsample *ds = &sq->downsample;

    *t = (struct rollup_try){ .rollups = r, .series = d, .sub = *sq };
    if (r == NULL) {
        if (sq->pre_aggregate)
            (void)error_set(&t->missing, ST_INVALID,
                            "No rollup or aggregations were configured");
        return ST_OK;
    }
    t->pre = sq->pre_aggregate || filters_want_pre(r, sq);
    t->fallback = slice_eq_str(sq->rollup_usage, "ROLLUP_FALLBACK");
    t->fallback_raw = slice_eq_str(sq->rollup_usage, "ROLLUP_FALLBACK_RAW");
    if (!ds->on || ds->all || ds->interval_ms <= 0 ||
        slice_eq_str(sq->rollup_usage, "ROLLUP_RAW"))
        return use_points(t, e);
    if (ds->interval_ms < 1000)
        return error_set(e, ST_INVALID, "Interval cannot be null or empty");
    t->aggregator = stored_aggregator(ds->aggregator);
    t->best_len = rollups_best(r, ds->interval_ms / 1000, t->best);
    if (t->best_len == 0 || t->best[0]->is_default)
        return use_points(t, e);
    return use_rollups(t, e);
}

enum status
rollup_try_points(struct rollup_try *t, const struct sub_query *sq,
                  struct error *e)
{
    t->sub = *sq;
    t->missing = (struct error){ .status = ST_OK };
    return use_points(t, e);
}

/* Points are downsampled to the interval that had no rollups, not to the one
 * that was asked for; so does OpenTSDB. */
static enum status
fall_back_to_points(struct rollup_try *t, struct error *e)
{
    struct downsample *ds = &t->sub.downsample;

    ds->interval_ms = t->use.interval->seconds * 1000;
    ds->calendar = false;
    ds->aggregator = t->aggregator;
    return use_points(t, e);
}

enum status
rollup_try_next(struct rollup_try *t, bool *again, struct error *e)
{
    *again = false;
    if (t->use.interval == NULL)
        return ST_OK;
    *again = t->fallback_raw || (t->fallback && t->at < t->best_len);
    if (!*again)
        return ST_OK;
    return t->fallback_raw || t->best[t->at]->is_default
               ? fall_back_to_points(t, e)
               : use_rollups(t, e);
}

const char *
rollup_try_table(const struct rollup_try *t)
{
    return t->use.interval == NULL ? "raw" : t->use.interval->text;
}
