/*
 * From filters to sets of tagv ids for each tagk: literals by their names; what
 * must be asked by name, such as wildcards, by asking it of each value that
 * there is, when the directory has an index to tell them.
 */
#include "config.h"

#include "query/plan_priv.h"

#include <stdlib.h>

#include "query/exp/java_order.h"
#include "query/rollup.h"

static enum status
no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT, "the query needs more memory than it may");
}

int
planner_compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static struct restriction *
restriction_of(struct planner *p, uint64_t tagk)
{
    for (size_t i = 0; i < p->restrictions_len; i++)
        if (p->restrictions[i].tagk == tagk)
            return &p->restrictions[i];
    p->restrictions[p->restrictions_len] =
        (struct restriction){ .tagk = tagk, .any = true };
    return &p->restrictions[p->restrictions_len++];
}

/* Keeps of 'r' what is also in 'ids'. */
static void
intersect(struct restriction *r, uint64_t *ids, size_t len)
{
    size_t kept = 0, k = 0;

    if (!r->has_set) {
        r->has_set = true;
        r->any = false;
        r->set = ids;
        r->set_len = len;
        return;
    }
    for (size_t i = 0; i < r->set_len; i++) {
        while (k < len && ids[k] < r->set[i])
            k++;
        if (k < len && ids[k] == r->set[i])
            r->set[kept++] = r->set[i];
    }
    r->set_len = kept;
}

/* The ids of a filter's literals, ascending and unique. */
static enum status
resolve_literals(struct planner *p, const struct filter *f, uint64_t **out,
                 size_t *out_len)
{
    uint64_t *ids = arena_array(p->a, f->parts_len, sizeof *ids);
    size_t *unknown = arena_array(p->a, f->parts_len, sizeof *unknown);
    size_t len = 0, unknown_len = 0, unique = 0;
    enum status status = ST_OK;

    if (ids == NULL || unknown == NULL)
        return no_memory(p->e);
    for (size_t i = 0; i < f->parts_len; i++) {
        if (f->parts[i].size == 0)
            return error_set(p->e, ST_INVALID, "Missing UID name");
        status = uid_find(p->c->uids, UID_TAGV, f->parts[i], &ids[len], p->e);
        if (status == ST_OK)
            len++;
        else if (status == ST_NOT_FOUND)
            unknown[unknown_len++] = i;
        else
            return status;
    }
    if (unknown_len > 0 && !p->c->options.skip_unresolved_tagvs)
        status = uid_find(p->c->uids, UID_TAGV,
                          f->parts[java_set_first(f->parts, f->parts_len,
                                                  unknown, unknown_len)],
                          &ids[len], p->e);
    else
        status = ST_OK;
    if (status != ST_OK)
        return status;
    qsort(ids, len, sizeof *ids, planner_compare_u64);
    for (size_t i = 0; i < len; i++)
        if (unique == 0 || ids[unique - 1] != ids[i])
            ids[unique++] = ids[i];
    *out = ids;
    *out_len = unique;
    return ST_OK;
}

/* OpenTSDB resolves a filter's literals before its tagk: so of two unknown
 * names the same one is named. */
static enum status
resolve_filter(struct planner *p, const struct filter *f,
               struct plan_filter *out)
{
    bool literal = f->type == FILTER_LITERAL_OR &&
                   f->parts_len <= p->c->options.expansion_limit;
    struct restriction *r;
    uint64_t *ids = NULL;
    size_t ids_len = 0;
    enum status status =
        literal ? resolve_literals(p, f, &ids, &ids_len) : ST_OK;

    out->filter = f;
    if (status == ST_OK)
        status = uid_find(p->c->uids, UID_TAGK, f->tagk, &out->tagk, p->e);
    if (status != ST_OK)
        return status;
    r = restriction_of(p, out->tagk);
    if (f->type == FILTER_NOT_KEY) {
        r->absent = true;
        return ST_OK;
    }
    r->present = true;
    if (literal) {
        out->by_ids = true;
        intersect(r, ids, ids_len);
    } else if (!f->matches_all) {
        r->by_name = true;
        r->any = false;
    }
    return ST_OK;
}

static int
compare_restrictions(const void *a, const void *b)
{
    return planner_compare_u64(&((const struct restriction *)a)->tagk,
                               &((const struct restriction *)b)->tagk);
}

enum status
planner_filters(struct planner *p)
{
    struct plan *out = p->p;
    size_t len = p->sq->filters_len;
    struct restriction *kind;
    enum status status = ST_OK;

    out->filters = arena_array(p->a, len, sizeof *out->filters);
    out->group_tagks = arena_array(p->a, len, sizeof *out->group_tagks);
    p->restrictions = arena_array(p->a, len + 1, sizeof *p->restrictions);
    if (out->filters == NULL || out->group_tagks == NULL ||
        p->restrictions == NULL)
        return no_memory(p->e);
    for (size_t i = 0; i < len && status == ST_OK; i++) {
        const struct filter *f = &p->sq->filters[i];
        uint64_t tagk;
        bool known = false;

        status = resolve_filter(p, f, &out->filters[out->filters_len]);
        if (status != ST_OK)
            break;
        tagk = out->filters[out->filters_len++].tagk;
        for (size_t k = 0; k < out->group_tagks_len; k++)
            known = known || out->group_tagks[k] == tagk;
        if (f->group_by && f->type != FILTER_NOT_KEY && !known)
            out->group_tagks[out->group_tagks_len++] = tagk;
    }
    if (p->sq->rollup != NULL) {
        kind = restriction_of(p, 0);
        kind->any = false;
        kind->has_set = true;
        kind->set = &p->kind;
        kind->set_len = 1;
        p->kind = p->sq->rollup->kind;
    }
    qsort(out->group_tagks, out->group_tagks_len, sizeof(uint64_t),
          planner_compare_u64);
    qsort(p->restrictions, p->restrictions_len, sizeof *p->restrictions,
          compare_restrictions);
    return status;
}

const struct restriction *
planner_smallest_set(const struct planner *p)
{
    const struct restriction *best = NULL;

    for (size_t i = 0; i < p->restrictions_len; i++) {
        const struct restriction *r = &p->restrictions[i];

        if (r->has_set && !r->absent &&
            (best == NULL || r->set_len < best->set_len))
            best = r;
    }
    return best;
}

/* -- by name --------------------------------------------------------------- */

/* Of one tagk. */
struct by_name {
    const struct planner *p;
    uint64_t tagk;
    struct buf name;
};

/* Must this filter be asked about values of the tagk? */
static bool
goes_by_name(const struct plan_filter *f, uint64_t tagk)
{
    return f->tagk == tagk && !f->by_ids && !f->filter->matches_all &&
           f->filter->type != FILTER_NOT_KEY;
}

static enum status
takes_value(void *ctx, uint64_t tagv, bool *takes)
{
    struct by_name *b = ctx;
    const struct plan *plan = b->p->p;
    struct error e = { .status = ST_OK };
    enum status status;

    *takes = true;
    buf_clear(&b->name);
    status = uid_name(b->p->c->uids, UID_TAGV, tagv, &b->name, &e);
    for (size_t i = 0; i < plan->filters_len && status == ST_OK && *takes;
         i++) {
        const struct plan_filter *f = &plan->filters[i];

        if (!goes_by_name(f, b->tagk))
            continue;
        *takes = filter_matches(f->filter, buf_slice(&b->name), &e);
        status = e.status;
    }
    return status;
}

/* All that the verdicts depend on: the filters, and the names. */
static void
put_key(struct by_name *b, struct buf *key)
{
    const struct plan *plan = b->p->p;

    buf_put_u64(key, uid_epoch(b->p->c->uids));
    buf_put_u64(key, b->tagk);
    for (size_t i = 0; i < plan->filters_len; i++) {
        const struct filter *f = plan->filters[i].filter;

        if (!goes_by_name(&plan->filters[i], b->tagk))
            continue;
        filter_cache_key(f, key);
    }
}

/* Asks the filters by name once for each value that there is, not for each
 * series.  What fails here may not concern any series: then as if there were no
 * index. */
static enum status
resolve_by_name(struct planner *p, struct restriction *r)
{
    struct by_name b = { p, r->tagk, BUF_INIT };
    struct buf key = BUF_INIT;
    uint64_t *values;
    size_t len;
    bool known;
    enum status status;

    put_key(&b, &key);
    status =
        series_values(p->c->series, p->p->metric, r->tagk,
                      key.failed ? (struct slice){ NULL, 0 } : buf_slice(&key),
                      takes_value, &b, p->a, &known, &values, &len, p->e);
    buf_fini(&b.name);
    buf_fini(&key);
    if (status != ST_OK || !known)
        return status;
    r->by_name = false;
    intersect(r, values, len);
    for (size_t i = 0; i < p->p->filters_len; i++)
        if (p->p->filters[i].tagk == r->tagk &&
            p->p->filters[i].filter->type != FILTER_NOT_KEY)
            p->p->filters[i].by_ids = true;
    return ST_OK;
}

enum status
planner_names(struct planner *p)
{
    enum status status = ST_OK;

    for (size_t i = 0; i < p->restrictions_len && status == ST_OK; i++)
        if (p->restrictions[i].by_name && !p->restrictions[i].absent)
            status = resolve_by_name(p, &p->restrictions[i]);
    return status;
}
