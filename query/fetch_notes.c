/* Annotations lie in OpenTSDB's rows beside the points, so that a row may have
 * notes alone; here they have a table of their own, and such series are looked
 * for there: see query/fetch.h. */
#include "config.h"

#include "query/fetch.h"

#include <stdlib.h>

#include "base/mem.h"
#include "uid/annotation.h"

static int
compare(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

static const struct slice *
find_tagv(const struct key_shape *shape, struct slice tsuid, uint64_t tagk,
          struct slice *out)
{
    for (size_t i = 0; i < tsuid_tags(shape, tsuid); i++)
        if (key_get_uint(tsuid_tagk(shape, tsuid, i).data, shape->tagk_width) ==
            tagk) {
            *out = tsuid_tagv(shape, tsuid, i);
            return out;
        }
    return NULL;
}

/* A value without a name has no series: its note is of none. */
static enum status
filter_takes(const struct plan_context *c, const struct plan_filter *f,
             struct slice tagv, bool *out, struct error *e)
{
    struct buf name = BUF_INIT;
    struct error failed = { .status = ST_OK };
    enum status status =
        uid_name(c->uids, UID_TAGV,
                 key_get_uint(tagv.data, store_shape(c->store)->tagv_width),
                 &name, &failed);

    *out = status == ST_OK &&
           (f->filter->matches_all ||
            filter_matches(f->filter, buf_slice(&name), &failed));
    buf_fini(&name);
    if (failed.status == ST_OK || failed.status == ST_NOT_FOUND)
        return ST_OK;
    *e = failed;
    return failed.status;
}

/* How many tags a series must have, when they are explicit. */
static size_t
count_required(const struct plan *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->filters_len; i++) {
        bool counts = p->filters[i].filter->type != FILTER_NOT_KEY;

        for (size_t k = 0; k < i; k++)
            counts = counts && (p->filters[k].tagk != p->filters[i].tagk);
        n += counts;
    }
    return n;
}

/* All filters by name: there are few notes. */
static enum status
takes(const struct plan_context *c, const struct sub_query *sq,
      const struct plan *p, struct slice tsuid, bool *out, struct error *e)
{
    const struct key_shape *shape = store_shape(c->store);
    enum status status = ST_OK;

    *out = !sq->explicit_tags || sq->filters_len == 0 ||
           tsuid_tags(shape, tsuid) == count_required(p);
    for (size_t i = 0; i < p->filters_len && *out && status == ST_OK; i++) {
        const struct plan_filter *f = &p->filters[i];
        struct slice tagv;

        if (f->filter->type == FILTER_NOT_KEY)
            *out = find_tagv(shape, tsuid, f->tagk, &tagv) == NULL;
        else if (find_tagv(shape, tsuid, f->tagk, &tagv) == NULL)
            *out = false;
        else
            status = filter_takes(c, f, tagv, out, e);
    }
    return status;
}

/* -- which have notes ------------------------------------------------------ */

struct noted {
    struct slice *tsuids;
    size_t len;
};

/* Of the series that the plan lists. */
static enum status
find_listed(const struct plan *p, struct annotations *annotations,
            int64_t from_ms, int64_t to_ms, struct arena *a, struct noted *out,
            struct error *e)
{
    struct annotation *notes;
    struct slice *all;
    size_t len = 0, notes_len;
    enum status status;

    for (size_t i = 0; i < p->buckets_len; i++)
        len += p->buckets[i].series_len;
    all = arena_array(a, len, sizeof *all);
    if (all == NULL)
        return error_set(e, ST_LIMIT, "no memory for the annotations");
    len = 0;
    for (size_t i = 0; i < p->buckets_len; i++)
        for (size_t k = 0; k < p->buckets[i].series_len; k++)
            all[len++] = p->buckets[i].series[k];
    status = annotation_list(annotations, all, len, from_ms, to_ms, a, &notes,
                             &notes_len, e);
    if (status != ST_OK)
        return status;
    out->tsuids = arena_array(a, notes_len, sizeof *out->tsuids);
    if (out->tsuids == NULL)
        return error_set(e, ST_LIMIT, "no memory for the annotations");
    for (size_t i = 0; i < notes_len; i++)
        out->tsuids[out->len++] = notes[i].tsuid;
    return ST_OK;
}

/* Of all series of the metric. */
static enum status
find_matching(const struct plan_context *c, const struct sub_query *sq,
              const struct plan *p, struct annotations *annotations,
              int64_t from_ms, int64_t to_ms, struct arena *a,
              struct noted *out, struct error *e)
{
    size_t len;
    enum status status = annotation_series(annotations, p->metric_id, from_ms,
                                           to_ms, a, &out->tsuids, &len, e);

    for (size_t i = 0; i < len && status == ST_OK; i++) {
        bool good;

        status = takes(c, sq, p, out->tsuids[i], &good, e);
        if (good && status == ST_OK)
            out->tsuids[out->len++] = out->tsuids[i];
    }
    return status;
}

/* Merges the sorted TSUIDs, each perhaps several times, into the series. */
static void
merge(struct fetch *f, const struct noted *noted)
{
    struct fetched *all = mem_new_array(f->len + noted->len, sizeof *all);
    size_t n = 0, i = 0;

    for (size_t k = 0; k < noted->len; k++) {
        while (i < f->len &&
               slice_cmp(f->series[i].tsuid, noted->tsuids[k]) <= 0)
            all[n++] = f->series[i++];
        if (n == 0 || !slice_eq(all[n - 1].tsuid, noted->tsuids[k]))
            all[n++] =
                (struct fetched){ .tsuid = noted->tsuids[k], .noted = true };
    }
    while (i < f->len)
        all[n++] = f->series[i++];
    free(f->series);
    f->series = all;
    f->len = n;
}

enum status
fetch_add_noted(const struct plan_context *c, const struct sub_query *sq,
                const struct plan *p, struct annotations *annotations,
                struct arena *a, struct fetch *f, struct error *e)
{
    int64_t from_ms = (int64_t)p->from_base * 1000;
    int64_t to_ms = ((int64_t)p->to_base + HOUR_S) * 1000 - 1;
    struct noted noted = { NULL, 0 };
    bool any;
    enum status status = annotation_any(annotations, &any, e);

    if (status != ST_OK || !any || p->empty)
        return status;
    status = p->listed
                 ? find_listed(p, annotations, from_ms, to_ms, a, &noted, e)
                 : find_matching(c, sq, p, annotations, from_ms, to_ms, a,
                                 &noted, e);
    if (status != ST_OK || noted.len == 0)
        return status;
    qsort(noted.tsuids, noted.len, sizeof *noted.tsuids, compare);
    merge(f, &noted);
    return ST_OK;
}
