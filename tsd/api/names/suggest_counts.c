#include "tsd/api/names/suggest_counts.h"

#include <stdlib.h>

#include "base/sort.h"
#include "tsd/api/names/ranking.h"

/* -- metrics --------------------------------------------------------------- */

struct metrics {
    const struct api *a;
    const struct http_request *r;
    struct ranking *ranking;
    size_t seen;
};

static bool
add_metric(void *ctx, struct slice name, uint64_t id)
{
    struct metrics *m = ctx;

    ranking_add(m->ranking, name, series_total_of(m->a->series, id), 0);
    return !m->ranking->no_memory &&
           (++m->seen % 1024 != 0 || !http_is_cancelled(m->r));
}

/* -- tags ------------------------------------------------------------------ */

/* "v|w" to ids, "*" to any; an unknown name has no series. */
static enum status
read_values(const struct api *a, struct slice values, struct arena *arena,
            struct series_pick *out, struct error *e)
{
    uint64_t *ids = arena_array(arena, values.size + 1, sizeof *ids);

    if (ids == NULL)
        return error_no_memory(e);
    if (memchr(values.data, '*', values.size) != NULL)
        return ST_OK;
    while (values.size > 0) {
        enum status st = uid_find(a->uids, UID_TAGV, slice_cut(&values, '|'),
                                  &ids[out->tagvs_len], e);

        if (st == ST_OK)
            out->tagvs_len++;
        else if (st != ST_NOT_FOUND)
            return st;
    }
    out->tagvs_len = sort_unique_u64(ids, out->tagvs_len);
    out->tagvs = ids;
    return ST_OK;
}

/* ST_NOT_FOUND: no series has such a tag. */
static enum status
read_tags(const struct api *a, struct slice tags, struct arena *arena,
          struct series_pick **out, size_t *len, struct error *e)
{
    struct series_pick *picks = arena_array(arena, KEY_MAX_TAGS, sizeof *picks);
    enum status st = picks == NULL ? error_no_memory(e) : ST_OK;

    *out = picks;
    while (tags.size > 0 && st == ST_OK) {
        struct slice values = slice_cut(&tags, ','), key;
        struct series_pick *p = &picks[*len];

        if (*len == KEY_MAX_TAGS - 1)
            return error_set(e, ST_INVALID, "%d tags or more", KEY_MAX_TAGS);
        key = slice_cut(&values, '=');
        if (key.size == 0 || values.size == 0)
            return error_set(e, ST_INVALID,
                             "'tags' must be as in host=web01,dc=ams|fra");
        st = uid_find(a->uids, UID_TAGK, key, &p->tagk, e);
        if (st == ST_OK)
            st = read_values(a, values, arena, p, e);
        (*len)++;
    }
    return st;
}

/* ST_NOT_FOUND: a name of the request is unknown. */
static enum status
rank_tags(const struct api *a, const struct http_request *r,
          const struct suggest_ask *ask, struct ranking *ranking,
          struct error *e)
{
    struct series_tally_query q = { .arena = http_arena(r),
                                    .cancel = api_cancel(r) };
    struct series_pick *picks = NULL;
    struct series_tallies found;
    enum status st = read_tags(a, ask->tags, q.arena, &picks, &q.picks_len, e);

    q.picks = picks;
    if (st == ST_OK)
        st = uid_find(a->uids, UID_METRIC, ask->metric, &q.metric, e);
    if (st == ST_OK && ask->kind == UID_TAGV)
        st = uid_find(a->uids, UID_TAGK, ask->tagk, &q.tagk, e);
    if (st == ST_OK)
        st = series_tally(a->series, &q, &found, e);
    if (st == ST_OK)
        st = ranking_add_ids(ranking, a->uids, ask->kind, &found, q.cancel, e);
    return st;
}

void
suggest_counts(const struct api *a, const struct http_request *r,
               const struct suggest_ask *ask, struct http_reply *out)
{
    struct ranking *ranking = ranking_new(http_arena(r), ask->part, ask->max);
    struct error e;
    enum status st;

    if (ask->kind != UID_METRIC && ask->metric.size == 0) {
        http_reply_error(out, 400, "Counts of tags need a 'metric'", NULL);
        return;
    }
    if (ask->kind == UID_TAGV && ask->tagk.size == 0) {
        http_reply_error(out, 400, "Counts of values need a 'tagk'", NULL);
        return;
    }
    if (ranking == NULL)
        st = error_no_memory(&e);
    else if (ask->kind == UID_METRIC) {
        struct metrics m = { a, r, ranking, 0 };

        st = uid_suggest(a->uids, UID_METRIC, slice_str(""), 0, add_metric, &m,
                         &e);
        st = st == ST_OK && ranking->no_memory ? error_no_memory(&e) : st;
    } else
        st = rank_tags(a, r, ask, ranking, &e);
    if (st == ST_OK || st == ST_NOT_FOUND)
        ranking_write(ranking, false, http_reply_body(out));
    else
        api_reject(out, &e);
}
