/* See query/engine/sharing.h. */
#include "query/engine/sharing.h"

#include "base/hash.h"
#include "query/parse/parse.h"

static bool
same_series(const struct sub_query *a, const struct sub_query *b)
{
    if (histograms_wanted(a) || histograms_wanted(b) ||
        !slice_eq(a->metric, b->metric) || a->tsuids_len != b->tsuids_len ||
        a->filters_len != b->filters_len ||
        a->explicit_tags != b->explicit_tags || a->fuzzy_off != b->fuzzy_off ||
        a->pre_aggregate != b->pre_aggregate)
        return false;
    for (size_t i = 0; i < a->tsuids_len; i++)
        if (!slice_eq(a->tsuids[i], b->tsuids[i]))
            return false;
    for (size_t i = 0; i < a->filters_len; i++)
        if (a->filters[i].group_by != b->filters[i].group_by ||
            !filter_equal(&a->filters[i], &b->filters[i]))
            return false;
    return true;
}

/* Differs mostly where what is read does: a query may have thousands. */
static uint64_t
key_of(const struct sub_query *sq, uint64_t seed)
{
    return query_series_hash(sq, seed + (uint64_t)sq->downsample.interval_ms);
}

struct shared_scan *
shared_scans(const struct query *q, bool share, struct arena *a, size_t *len)
{
    struct shared_scan *scans = arena_array(a, q->subs_len, sizeof *scans);
    size_t *subs = arena_array(a, q->subs_len, sizeof *subs);
    uint64_t *keys = arena_array(a, q->subs_len, sizeof *keys);
    bool *taken = arena_array(a, q->subs_len, sizeof *taken);
    uint64_t seed = hash_random_seed();

    *len = 0;
    if (scans == NULL || subs == NULL || keys == NULL || taken == NULL)
        return NULL;
    for (size_t i = 0; i < q->subs_len; i++)
        keys[i] = key_of(&q->subs[i], seed);
    for (size_t i = 0; i < q->subs_len; i++) {
        struct shared_scan *scan = &scans[*len];
        size_t n = 1;

        if (taken[i])
            continue;
        subs[0] = i;
        reading_make(&scan->reading, q, &q->subs[i]);
        for (size_t k = i + 1; k < q->subs_len && share; k++)
            if (keys[k] == keys[i] && !taken[k] &&
                same_series(&q->subs[i], &q->subs[k]) &&
                reading_join(&scan->reading, q, &q->subs[k])) {
                taken[k] = true;
                subs[n++] = k;
            }
        scan->subs = subs;
        scan->len = n;
        ++*len;
        subs += n;
    }
    return scans;
}
