/* Series by the values of their tags: by the index over a metric, where it has
 * one, and what came after it was made. */
#include "uid/series/series_priv.h"

#include <stdlib.h>

#include "base/sort.h"
#include "uid/series/series_index_priv.h"
#include "uid/series/tagk_sets.h"

/* Takes the list of the metric's keys, or makes it if that is due.  '*out' is
 * NULL when there is no index over the metric; else the caller drops it, and
 * what came later. */
static enum status
take_list(struct series_directory *d, uint64_t metric, struct cancel cancel,
          struct index_list **out, struct index_more **more, struct error *e)
{
    enum status st = series_refresh(d, e);
    uint8_t start[1 + 8];
    struct slice prefix =
        slice_of(start, key_series_of(&d->widths, metric, start));
    bool make, fits = true, on = true;
    struct index_list *l;
    struct kv_iter *it;
    uint64_t count;

    *out = NULL;
    *more = NULL;
    if (st != ST_OK)
        return st;
    count = tagk_sets_count(d->tagk_sets, metric);
    *out = series_index_take(d->index, metric, count, more, &make);
    if (*out != NULL || !make)
        return ST_OK;
    l = index_list_new(d->index, metric, count);
    it = kv_iter_open(store_kv(d->store), prefix);
    for (bool left = kv_iter_seek(it, prefix); left && fits && on;
         left = kv_iter_next(it)) {
        fits = index_list_add(l, kv_iter_key(it));
        if (index_list_len(l) % KEYS_UNCHECKED == 0)
            on = !cancel_asked(cancel);
    }
    st = kv_iter_close(&it, e);
    *out = series_index_made(d->index, l, fits, st == ST_OK && on);
    return st;
}

static int
compare_places(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* What is looked for in a list and in what came later. */
struct wanted {
    const struct key_layout *widths;
    const struct mask_set *masks;
    const struct series_pick *pick;
    const struct series_visit *visit;
};

static bool
visit_key(const struct wanted *w, struct slice key)
{
    struct slice tsuid = slice_of(key.data + 1, key.size - 1);

    if (w->masks == NULL ? series_has_kind(w->widths, tsuid)
                         : !mask_set_match(w->masks, key))
        return true;
    return w->visit->series(w->visit->ctx, tsuid);
}

/* Those before 'key' (NULL: all), from '*at' on; one that is 'key' is passed
 * over, as the list has it. */
static bool
visit_more(const struct wanted *w, const struct index_more *m, size_t *at,
           const struct slice *key)
{
    for (; m != NULL && *at < m->len; (*at)++) {
        int order = key == NULL ? -1 : slice_cmp(m->keys[*at], *key);
        struct slice one = m->keys[*at];
        uint64_t v;

        if (order > 0)
            break;
        if (order < 0 &&
            (w->pick->tagvs == NULL ||
             (series_value_of(w->widths, one, w->pick->tagk, &v) &&
              sort_has_u64(w->pick->tagvs, w->pick->tagvs_len, v))) &&
            !visit_key(w, one))
            return false;
    }
    return true;
}

/* Where in the list those are that are wanted, ascending; to be freed. */
static uint32_t *
find_places(const struct wanted *w, struct index_list *l, size_t *len)
{
    const struct series_pick *p = w->pick;
    const struct index_tag *t = index_list_tag(l, p->tagk);
    /* A series has one value under a tagk. */
    uint32_t *places = malloc((index_list_len(l) + 1) * sizeof *places);

    *len = 0;
    for (size_t i = 0; i < p->tagvs_len && places != NULL; i++) {
        size_t at = sort_place_u64(t->values, t->len, p->tagvs[i]);

        if (at == t->len || t->values[at] != p->tagvs[i])
            continue;
        for (uint32_t k = t->from[at]; k < t->from[at + 1]; k++)
            places[(*len)++] = t->series[k];
    }
    if (p->tagvs_len > 1 && places != NULL)
        qsort(places, *len, sizeof *places, compare_places);
    return places;
}

enum status
series_each_with(struct series_directory *d, uint64_t metric,
                 const struct mask_set *masks, const struct series_pick *pick,
                 const struct series_visit *visit, struct error *e)
{
    const struct wanted w = { &d->widths, masks, pick, visit };
    struct index_more *more;
    struct index_list *l;
    uint32_t *places = NULL;
    uint64_t steps;
    size_t len, at = 0;
    bool on = true;
    enum status st;

    OBJ_CHECK(d, SERIES_MAGIC);
    if (pick->tagvs == NULL && masks != NULL)
        return series_scan(d, metric, masks, visit, &steps, e);
    st = take_list(d, metric, visit->cancel, &l, &more, e);
    if (st != ST_OK)
        return st;
    if (l == NULL) {
        st = series_scan(d, metric, masks, visit, &steps, e);
        series_index_spend(d->index, metric, steps);
        return st;
    }
    len = index_list_len(l);
    if (pick->tagvs != NULL) {
        places = find_places(&w, l, &len);
        if (places == NULL)
            st = error_no_memory(e);
    }
    for (size_t i = 0; i < len && on && st == ST_OK; i++) {
        struct slice key = index_list_key(l, places == NULL ? i : places[i]);

        on = visit_more(&w, more, &at, &key) && visit_key(&w, key);
    }
    if (on && st == ST_OK)
        (void)visit_more(&w, more, &at, NULL);
    free(places);
    series_index_drop(d->index, &l, &more);
    return st;
}

/* A visit that may end the visits to all metrics. */
struct tagged {
    bool (*f)(void *ctx, struct slice tsuid);
    void *ctx;
    bool on;
};

static bool
visit_tagged(void *ctx, struct slice tsuid)
{
    struct tagged *t = ctx;

    t->on = t->f(t->ctx, tsuid);
    return t->on;
}

enum status
series_each_tagged(struct series_directory *d, uint64_t metric,
                   const struct series_pick *pick,
                   bool (*f)(void *ctx, struct slice tsuid), void *ctx,
                   struct error *e)
{
    struct tagged t = { f, ctx, true };
    uint64_t *metrics;
    size_t len;
    enum status st = ST_OK;

    OBJ_CHECK(d, SERIES_MAGIC);
    if (metric != 0)
        return series_each_with(d, metric, NULL, pick,
                                &(struct series_visit){ f, ctx, CANCEL_NEVER },
                                e);
    st = series_refresh(d, e);
    if (st != ST_OK)
        return st;
    metrics = tagk_sets_metrics(d->tagk_sets, pick->tagk, &len);
    for (size_t i = 0; i < len && t.on && st == ST_OK; i++)
        st = series_each_with(
            d, metrics[i], NULL, pick,
            &(struct series_visit){ visit_tagged, &t, CANCEL_NEVER }, e);
    free(metrics);
    return st;
}

/* Keeps those values that 'take' takes, if it does not fail. */
static enum status
choose_values(const struct series_values_query *q, struct series_values *v,
              struct error *e)
{
    bool *takes = arena_array(q->arena, v->len, sizeof *takes);
    size_t n = 0;

    if (takes == NULL)
        return error_no_memory(e);
    v->known = q->take(q->ctx, v->tagvs, v->len, takes) == ST_OK;
    for (size_t i = 0; i < v->len && v->known; i++)
        if (takes[i])
            v->tagvs[n++] = v->tagvs[i];
    v->len = n;
    return ST_OK;
}

/* Adds the values of series that came after the list was made, if the list does
 * not have them. */
static enum status
add_values_of_more(const struct key_layout *w, struct index_list *l,
                   const struct index_more *more,
                   const struct series_values_query *q,
                   struct series_values *out, struct error *e)
{
    struct series_values all = {
        .tagvs = arena_array(q->arena, out->len + more->len, sizeof *all.tagvs)
    };
    const struct index_tag *t = index_list_tag(l, q->tagk);
    enum status st;

    if (all.tagvs == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < more->len; i++) {
        uint64_t v;

        if (series_value_of(w, more->keys[i], q->tagk, &v) &&
            !sort_has_u64(t->values, t->len, v))
            all.tagvs[all.len++] = v;
    }
    st = choose_values(q, &all, e);
    out->known = all.known;
    if (st != ST_OK || all.len == 0)
        return st;
    memcpy(all.tagvs + all.len, out->tagvs, out->len * sizeof *all.tagvs);
    out->len = sort_unique_u64(all.tagvs, all.len + out->len);
    out->tagvs = all.tagvs;
    return ST_OK;
}

enum status
series_values(struct series_directory *d, const struct series_values_query *q,
              struct series_values *out, struct error *e)
{
    struct index_list *l;
    struct index_more *more;
    enum status st;

    OBJ_CHECK(d, SERIES_MAGIC);
    *out = (struct series_values){ .known = false };
    st = take_list(d, q->metric, q->cancel, &l, &more, e);
    if (st != ST_OK)
        return st;
    if (l == NULL) { /* so the caller scans */
        series_index_spend(d->index, q->metric,
                           tagk_sets_count(d->tagk_sets, q->metric));
        return ST_OK;
    }
    out->known = index_list_recall(l, q->key, q->arena, &out->tagvs, &out->len);
    if (!out->known) {
        const struct index_tag *t = index_list_tag(l, q->tagk);

        out->len = t->len;
        out->tagvs =
            arena_copy(q->arena, t->values, t->len * sizeof *out->tagvs);
        st = out->tagvs == NULL ? error_no_memory(e) : choose_values(q, out, e);
        if (out->known)
            index_list_remember(l, q->key, out->tagvs, out->len);
    }
    if (st == ST_OK && out->known && more != NULL)
        st = add_values_of_more(&d->widths, l, more, q, out, e);
    series_index_drop(d->index, &l, &more);
    return st;
}
