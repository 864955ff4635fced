/* What was fetched of rollups, made to look like points: see
 * query/fetch/fetch.h. */
#include "query/fetch/fetch.h"

#include <stdlib.h>

#include "base/text/java.h"
#include "query/model/rollup.h"
#include "base/mem.h"

static enum status
drop_kind(const struct key_layout *layout, struct arena *a, struct fetched *s,
          struct error *e)
{
    uint8_t without[TSUID_MAX];
    struct slice tsuid =
        slice_of(without, series_drop_kind(layout, s->tsuid, without));

    if (!arena_keep(a, &tsuid))
        return error_no_memory(e);
    s->tsuid = tsuid;
    return ST_OK;
}

enum status
rollup_restore_times(struct rollup_times *r, struct fetch *f, struct arena *a,
                     struct error *e)
{
    int64_t from_ms = (int64_t)r->reading->from_base * 1000;
    int64_t end_ms = ((int64_t)r->reading->to_base + HOUR_S) * 1000;
    size_t n = 0;
    struct points scratch = { .budget = arena_budget(a) };
    enum status status = ST_OK;

    for (size_t i = 0; i < f->len && status == ST_OK; i++) {
        struct fetched *s = f->series[i];
        struct column x = { 0 };
        int64_t *ts;
        union number *v;
        uint8_t *is_float;
        size_t len = 0;

        status = column_unpack(&s->column, &scratch, &x, e);
        ts = arena_alloc(a, x.len * sizeof *ts);
        v = arena_alloc(a, x.len * sizeof *v);
        is_float = arena_alloc(a, x.len);
        if (status == ST_OK && (ts == NULL || v == NULL || is_float == NULL))
            status = error_no_memory(e);
        for (size_t k = 0; k < x.len && status == ST_OK; k++) {
            int64_t ms = r->interval == NULL
                             ? x.ts_ms[k]
                             : rollup_real_ms(r->interval, x.ts_ms[k]);

            /* A stored row can reach beyond what was to be read. */
            if (r->interval != NULL && (ms < from_ms || ms >= end_ms))
                continue;
            ts[len] = ms;
            v[len] = x.v[k];
            is_float[len++] = x.is_float[k];
        }
        if (status == ST_OK)
            s->column = (struct column){
                .ts_ms = ts, .v = v, .is_float = is_float, .len = len
            };
        if (status == ST_OK && s->column.len > 0)
            status = drop_kind(r->layout, a, s, e);
        if (s->column.len > 0)
            f->series[n++] = s;
        if (status == ST_OK)
            status = deadline_tick(&r->deadline, s->column.len + 1, e);
    }
    f->len = n;
    points_fini(&scratch);
    return status;
}

/* Keeps the sums that have a count. */
static enum status
join(struct fetched *sums, const struct column *counts, struct arena *a,
     struct error *e)
{
    struct column *c = &sums->column;
    int64_t *ts = arena_alloc(a, c->len * sizeof *ts);
    union number *v = arena_alloc(a, c->len * sizeof *v);
    uint8_t *is_float = arena_alloc(a, c->len);
    int64_t *n_of = arena_alloc(a, c->len * sizeof *n_of);
    size_t n = 0, at = 0;

    if (ts == NULL || v == NULL || is_float == NULL || n_of == NULL)
        return error_no_memory(e);
    for (size_t i = 0; i < c->len; i++) {
        while (at < counts->len && counts->ts_ms[at] < c->ts_ms[i])
            at++;
        if (at == counts->len || counts->ts_ms[at] != c->ts_ms[i])
            continue;
        n_of[n] = counts->is_float[at] != 0 ? java_long(counts->v[at].d)
                                            : counts->v[at].i;
        ts[n] = c->ts_ms[i];
        v[n] = c->v[i];
        is_float[n++] = c->is_float[i];
    }
    *c = (struct column){
        .ts_ms = ts, .v = v, .is_float = is_float, .len = n, .counts = n_of
    };
    return ST_OK;
}

/* Without points, of this TSUID; NULL: no memory. */
static struct fetched *
new_series(const struct fetched *like, struct arena *a)
{
    struct fetched *s = arena_array(a, 1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->tsuid = like->tsuid;
    return arena_keep(a, &s->tsuid) ? s : NULL;
}

/* A series with sums or counts alone stays, without points: it makes an empty
 * group, as with OpenTSDB. */
enum status
fetch_join_counts(struct fetch *f, const struct fetch *counts,
                  struct deadline *deadline, struct arena *a, struct error *e)
{
    static const struct column none = { 0 };
    struct fetch joined = { .len = 0 };
    size_t i = 0, k = 0;
    enum status status =
        fetch_make_room(&joined, f->len + counts->len, f->budget, e);

    while (status == ST_OK && (i < f->len || k < counts->len)) {
        const struct fetched *c = k < counts->len ? counts->series[k] : NULL;
        int order = c == NULL     ? -1
                    : i == f->len ? 1
                                  : slice_cmp(f->series[i]->tsuid, c->tsuid);
        struct fetched *s = order <= 0 ? f->series[i] : new_series(c, a);

        i += order <= 0;
        k += order >= 0;
        if (s == NULL)
            status = error_no_memory(e);
        else if (order <= 0)
            status = join(s, order == 0 ? &c->column : &none, a, e);
        joined.series[joined.len++] = s;
        if (status == ST_OK)
            status = deadline_tick(deadline, s->column.len + 1, e);
    }
    if (status == ST_OK)
        fetch_take_series(f, &joined);
    else
        fetch_fini(&joined);
    f->points += counts->points;
    return status;
}
