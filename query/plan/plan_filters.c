/* From filters to sets of tagv ids for each tagk: literals by their names; what
 * goes by name, such as wildcards, is evaluated once for each value: those that
 * an index has, or else those of the series that the masks match. */
#include "query/plan/plan_priv.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/sort.h"
#include "base/text/java.h"

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
    struct uid_wanted *names = arena_array(p->a, f->parts_len, sizeof *names);
    size_t len = 0, unknown_len = 0;
    enum status status = ST_OK;

    if (ids == NULL || unknown == NULL || names == NULL)
        return error_no_memory(p->e);
    for (size_t i = 0; i < f->parts_len; i++)
        names[i] = (struct uid_wanted){ .name = f->parts[i] };
    status = uid_resolve(p->c->uids, UID_TAGV, names, f->parts_len, p->e);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < f->parts_len; i++) {
        if (f->parts[i].size == 0)
            return error_set(p->e, ST_INVALID, "Missing UID name");
        if (names[i].id != 0)
            ids[len++] = names[i].id;
        else
            unknown[unknown_len++] = i;
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
    *out = ids;
    *out_len = sort_unique_u64(ids, len);
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
    return sort_compare_u64(&((const struct restriction *)a)->tagk,
                            &((const struct restriction *)b)->tagk);
}

enum status
planner_filters(struct planner *p)
{
    struct plan *out = p->p;
    size_t len = p->sq->filters_len;
    struct restriction *kind;
    enum status status = ST_OK;

    p->filters = arena_array(p->a, len, sizeof *p->filters);
    out->group_tagks = arena_array(p->a, len, sizeof *out->group_tagks);
    p->restrictions = arena_array(p->a, len + 1, sizeof *p->restrictions);
    if (p->filters == NULL || out->group_tagks == NULL ||
        p->restrictions == NULL)
        return error_no_memory(p->e);
    for (size_t i = 0; i < len && status == ST_OK; i++) {
        const struct filter *f = &p->sq->filters[i];
        uint64_t tagk;
        bool known = false;

        status = resolve_filter(p, f, &p->filters[p->filters_len]);
        if (status != ST_OK)
            break;
        tagk = p->filters[p->filters_len++].tagk;
        for (size_t k = 0; k < out->group_tagks_len; k++)
            known = known || out->group_tagks[k] == tagk;
        if (f->group_by && f->type != FILTER_NOT_KEY && !known)
            out->group_tagks[out->group_tagks_len++] = tagk;
    }
    if (rollup_is_used(&p->sq->rollup)) {
        kind = restriction_of(p, 0);
        kind->any = false;
        kind->has_set = true;
        kind->set = arena_array(p->a, 1, sizeof *kind->set);
        if (kind->set == NULL)
            return error_no_memory(p->e);
        kind->set[0] = p->sq->rollup.kind;
        kind->set_len = 1;
    }
    qsort(out->group_tagks, out->group_tagks_len, sizeof(uint64_t),
          sort_compare_u64);
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

/* A regular expression may take long for one name: in steps of the deadline. */
#define NAME_STEPS    1024
#define NAMES_AT_ONCE 64

struct verdict {
    uint64_t tagv;
    bool matches;
};

/* Must this filter be evaluated on values of the tagk? */
static bool
goes_by_name(const struct plan_filter *f, uint64_t tagk)
{
    return f->tagk == tagk && !f->by_ids && !f->filter->matches_all &&
           f->filter->type != FILTER_NOT_KEY;
}

/* A name may have 32 KB, and so may a filter: each pair is some steps. */
static bool
passes(struct planner *p, uint64_t tagk, struct slice name,
       struct error *failed)
{
    for (size_t i = 0; i < p->filters_len && failed->status == ST_OK; i++) {
        const struct filter *f = p->filters[i].filter;

        if (!goes_by_name(&p->filters[i], tagk))
            continue;
        failed->status =
            deadline_tick(&p->deadline, name.size * f->text.size, failed);
        if (failed->status != ST_OK || !filter_matches(f, name, failed))
            return false;
    }
    return true;
}

/* Was the name of each value that has none in 'names' deleted? */
static bool
lacks_only_deleted(const struct planner *p, const uint64_t *tagvs,
                   const struct slice *names, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (names[i].data == NULL &&
            !uid_is_deleted(p->c->uids, UID_TAGV, tagvs[i]))
            return false;
    return true;
}

/* Evaluates the tagk's filters on the names of up to NAMES_AT_ONCE values.  A
 * value whose name was deleted passes none of them, so that a deletion of
 * points cannot hit a series that the filters were not compared with. */
static enum status
evaluate(struct planner *p, uint64_t tagk, const uint64_t *tagvs, size_t len,
         bool *matches, struct error *e)
{
    struct slice names[NAMES_AT_ONCE];
    struct error failed = { .status = ST_OK };
    enum status status;

    if (p->names == NULL)
        p->names = arena_new(0);
    arena_reset(p->names);
    status =
        uid_name_many(p->c->uids, UID_TAGV, tagvs, len, p->names, names, e);
    if (status == ST_NOT_FOUND && lacks_only_deleted(p, tagvs, names, len))
        status = ST_OK;
    for (size_t i = 0; i < len && status == ST_OK; i++) {
        matches[i] =
            names[i].data != NULL && passes(p, tagk, names[i], &failed);
        status = failed.status;
    }
    return failed.status != ST_OK ? error_set(e, status, "%s", failed.text)
                                  : status;
}

static bool
is_verdict(const void *ctx, uint32_t i, const void *key)
{
    const struct restriction *r = ctx;

    return r->verdicts[i].tagv == *(const uint64_t *)key;
}

static enum status
takes_value(struct planner *p, struct restriction *r, uint64_t tagv,
            bool *matches)
{
    uint64_t hash = hash_u64(tagv);
    uint32_t found = table_find(&r->table, hash, is_verdict, r, &tagv);
    enum status status;

    if (found != TABLE_NONE) {
        *matches = r->verdicts[found].matches;
        return ST_OK;
    }
    status = deadline_tick(&p->deadline, NAME_STEPS, p->e);
    if (status == ST_OK)
        status = evaluate(p, r->tagk, &tagv, 1, matches, p->e);
    if (status != ST_OK)
        return status;
    r->verdicts = arena_grow(p->a, r->verdicts, r->verdicts_len,
                             &r->verdicts_cap, sizeof *r->verdicts);
    if (r->verdicts == NULL ||
        !table_try_add(&r->table, hash, (uint32_t)r->verdicts_len))
        return error_no_memory(p->e);
    r->verdicts[r->verdicts_len++] = (struct verdict){ tagv, *matches };
    return ST_OK;
}

enum status
series_matches_filters(struct planner *p, struct slice tsuid, bool *matches)
{
    const struct key_layout *w = p->layout;
    enum status status = ST_OK;

    *matches = true;
    for (size_t i = 0; i < p->restrictions_len && *matches; i++) {
        struct restriction *r = &p->restrictions[i];

        for (size_t k = 0; r->by_name && k < tsuid_tags(w, tsuid); k++)
            if (tsuid_tagk_id(w, tsuid, k) == r->tagk)
                status = takes_value(p, r, tsuid_tagv_id(w, tsuid, k), matches);
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

/* 'set' has all values that pass the filters by name. */
static void
end_by_name(struct planner *p, struct restriction *r, uint64_t *set, size_t len)
{
    r->by_name = false;
    intersect(r, set, len);
    for (size_t i = 0; i < p->filters_len; i++)
        p->filters[i].by_ids |= p->filters[i].tagk == r->tagk;
}

enum status
planner_end_names(struct planner *p)
{
    for (size_t i = 0; i < p->restrictions_len; i++) {
        struct restriction *r = &p->restrictions[i];
        uint64_t *set;
        size_t len = 0;

        if (!r->by_name)
            continue;
        set = arena_array(p->a, r->verdicts_len, sizeof *set);
        if (set == NULL)
            return error_no_memory(p->e);
        for (size_t k = 0; k < r->verdicts_len; k++)
            if (r->verdicts[k].matches)
                set[len++] = r->verdicts[k].tagv;
        qsort(set, len, sizeof *set, sort_compare_u64);
        end_by_name(p, r, set, len);
    }
    return ST_OK;
}

void
planner_fini(struct planner *p)
{
    for (size_t i = 0; i < p->restrictions_len; i++)
        table_fini(&p->restrictions[i].table);
    arena_free(&p->names);
}

/* Of one tagk, for the index. */
struct by_name {
    struct planner *p;
    uint64_t tagk;
};

/* What fails here may concern no series of the answer: it ends the use of the
 * index alone, but the deadline ends all. */
static enum status
take_values(void *ctx, const uint64_t *tagvs, size_t len, bool *takes)
{
    struct by_name *b = ctx;
    struct error ignored;
    enum status status = ST_OK;

    for (size_t i = 0; i < len && status == ST_OK; i += NAMES_AT_ONCE) {
        size_t n = len - i < NAMES_AT_ONCE ? len - i : NAMES_AT_ONCE;

        b->p->status = deadline_tick(&b->p->deadline, n * NAME_STEPS, b->p->e);
        status = b->p->status;
        if (status == ST_OK)
            status = evaluate(b->p, b->tagk, tagvs + i, n, takes + i, &ignored);
        if (status != ST_OK)
            b->p->status = deadline_check(&b->p->deadline, b->p->e);
    }
    return status;
}

static bool
by_name_is_over(void *ctx)
{
    struct by_name *b = ctx;

    b->p->status = deadline_check(&b->p->deadline, b->p->e);
    return b->p->status != ST_OK;
}

static enum status
resolve_by_name(struct planner *p, struct restriction *r)
{
    struct by_name b = { p, r->tagk };
    struct buf key = BUF_INIT;
    struct series_values_query q = { .metric = p->p->metric,
                                     .tagk = r->tagk,
                                     .take = take_values,
                                     .ctx = &b,
                                     .cancel = { by_name_is_over, &b },
                                     .arena = p->a };
    struct series_values values;
    enum status status;

    buf_put_u64(&key, uid_epoch(p->c->uids));
    buf_put_u64(&key, r->tagk);
    for (size_t i = 0; i < p->filters_len; i++)
        if (goes_by_name(&p->filters[i], r->tagk))
            filter_cache_key(p->filters[i].filter, &key);
    if (!key.failed)
        q.key = buf_slice(&key);
    status = series_values(p->c->series, &q, &values, p->e);
    buf_fini(&key);
    if (status == ST_OK && !values.known)
        return p->status;
    if (status == ST_OK)
        end_by_name(p, r, values.tagvs, values.len);
    return status;
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
