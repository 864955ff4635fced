/* See query/engine/sharing.h. */
#include "query/engine/sharing.h"

#include "base/hash.h"
#include "query/downsample/ranges.h"
#include "query/downsample/stream_downsampler.h"
#include "query/parse/parse.h"

static bool
same_series(const struct sub_query *a, const struct sub_query *b)
{
    if (!slice_eq(a->metric, b->metric) || a->tsuids_len != b->tsuids_len ||
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

static bool
same_downsample(const struct downsample *a, const struct downsample *b)
{
    return a->on == b->on && a->all == b->all && a->calendar == b->calendar &&
           a->interval_ms == b->interval_ms && a->count == b->count &&
           a->unit == b->unit && a->zone == b->zone;
}

/* Are both made while rows are read in the same way, or not at all? */
static bool
stream_alike(const struct query *q, const struct sub_query *a,
             const struct sub_query *b)
{
    struct stream_downsampler f = { .collects = false };
    struct stream_downsampler g = { .collects = false };

    return stream_downsampler_init(&f, q, a, NULL) ==
               stream_downsampler_init(&g, q, b, NULL) &&
           f.collects == g.collects;
}

/* Points outside of the range are not kept, but for those that a rate needs. */
static bool
same_window(const struct query *q, const struct sub_query *a,
            const struct sub_query *b)
{
    struct column_window x, y;
    bool crops = numbers_crop(q, a, &x);

    return crops == numbers_crop(q, b, &y) &&
           (!crops || (x.from_ms == y.from_ms && x.to_ms == y.to_ms &&
                       x.around == y.around));
}

static bool
read_the_same(const struct query *q, const struct sub_query *a,
              const struct sub_query *b)
{
    return !histograms_wanted(a) && !histograms_wanted(b) &&
           same_downsample(&a->downsample, &b->downsample) &&
           same_series(a, b) && stream_alike(q, a, b) && same_window(q, a, b);
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
        size_t n = 1;

        if (taken[i])
            continue;
        subs[0] = i;
        for (size_t k = i + 1; k < q->subs_len && share; k++)
            if (keys[k] == keys[i] && !taken[k] &&
                read_the_same(q, &q->subs[i], &q->subs[k])) {
                taken[k] = true;
                subs[n++] = k;
            }
        scans[(*len)++] = (struct shared_scan){ subs, n };
        subs += n;
    }
    return scans;
}
