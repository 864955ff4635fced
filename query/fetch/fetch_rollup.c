/* What was fetched of rollups, made to look like points: see
 * query/fetch/fetch.h. */
#include "query/fetch/fetch.h"

#include <stdlib.h>

#include "query/aggregate/aggregate.h"
#include "query/model/rollup.h"

/* A stored row can reach beyond what was to be read. */
static void
to_real_times(const struct rollup_interval *i, int64_t from_ms, int64_t end_ms,
              struct points *p)
{
    size_t n = 0;

    for (size_t k = 0; k < p->len; k++) {
        int64_t ms = rollup_real_ms(i, p->ts_ms[k]);

        if (ms < from_ms || ms >= end_ms)
            continue;
        p->ts_ms[n] = ms;
        p->v[n] = p->v[k];
        p->is_float[n++] = p->is_float[k];
    }
    p->len = n;
}

static enum status
copy_tsuid(struct slice tsuid, struct arena *a, struct slice *out,
           struct error *e)
{
    *out = slice_of(arena_copy(a, tsuid.data, tsuid.size), tsuid.size);
    return out->data == NULL ? query_no_memory(e) : ST_OK;
}

static enum status
drop_kind(const struct key_layout *layout, struct arena *a, struct fetched *s,
          struct error *e)
{
    uint8_t without[TSUID_MAX];
    size_t size = series_drop_kind(layout, s->tsuid, without);

    return copy_tsuid(slice_of(without, size), a, &s->tsuid, e);
}

enum status
rollup_restore_times(const struct key_layout *layout, const struct query *q,
                     const struct sub_query *sq, struct fetch *f,
                     struct arena *a, struct error *e)
{
    uint32_t from, to;
    size_t n = 0;
    enum status status = ST_OK;

    numbers_scan_range(q, sq, &from, &to);
    for (size_t i = 0; i < f->len; i++) {
        struct fetched *s = &f->series[i];

        if (sq->rollup.interval != NULL)
            to_real_times(sq->rollup.interval, (int64_t)from * 1000,
                          ((int64_t)to + HOUR_S) * 1000, &s->points);
        if (status == ST_OK && s->points.len > 0)
            status = drop_kind(layout, a, s, e);
        if (s->points.len > 0)
            f->series[n++] = *s;
        else
            points_fini(&s->points);
    }
    f->len = n;
    return status;
}

static int64_t
as_count(const struct points *p, size_t i)
{
    return p->is_float[i] != 0 ? (int64_t)p->v[i].d : p->v[i].i;
}

/* Keeps the sums that have a count. */
static enum status
join(struct fetched *sums, const struct points *counts, struct error *e)
{
    struct points *p = &sums->points;
    size_t n = 0, at = 0;

    sums->counts = calloc(p->len == 0 ? 1 : p->len, sizeof *sums->counts);
    if (sums->counts == NULL)
        return query_no_memory(e);
    for (size_t i = 0; i < p->len; i++) {
        while (at < counts->len && counts->ts_ms[at] < p->ts_ms[i])
            at++;
        if (at == counts->len || counts->ts_ms[at] != p->ts_ms[i])
            continue;
        sums->counts[n] = as_count(counts, at);
        p->ts_ms[n] = p->ts_ms[i];
        p->v[n] = p->v[i];
        p->is_float[n++] = p->is_float[i];
    }
    p->len = n;
    return ST_OK;
}

/* A series with sums or counts alone stays, without points: it makes an empty
 * group, as with OpenTSDB. */
enum status
fetch_join_counts(struct fetch *f, const struct fetch *counts, struct arena *a,
                  struct error *e)
{
    static const struct points none = { 0 };
    struct fetched *all = calloc(f->len + counts->len + 1, sizeof *all);
    size_t n = 0, i = 0, k = 0;
    enum status status = ST_OK;

    if (all == NULL)
        return query_no_memory(e);
    while (i < f->len || k < counts->len) {
        const struct fetched *c = k < counts->len ? &counts->series[k] : NULL;
        int order = c == NULL     ? -1
                    : i == f->len ? 1
                                  : slice_cmp(f->series[i].tsuid, c->tsuid);

        k += order >= 0;
        if (order <= 0) {
            all[n] = f->series[i++];
            if (status == ST_OK)
                status = join(&all[n], order == 0 ? &c->points : &none, e);
            n++;
        } else if (status == ST_OK) {
            status = copy_tsuid(c->tsuid, a, &all[n++].tsuid, e);
        }
    }
    free(f->series);
    f->series = all;
    f->len = n;
    f->points += counts->points;
    return status;
}
