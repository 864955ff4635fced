/* /api/suggest and /suggest: names that start with a text; or, with "counts",
 * names that contain a text, with their numbers of series. */
#include "tsd/api/api.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/sort.h"
#include "base/text/number.h"
#include "tsd/api/names/ranking.h"
#include "web/json/json.h"

/* A request. */
struct suggest_ask {
    struct slice type, q, max_text;
    struct slice metric; /* counts of tagks and tagvs: of this metric */
    struct slice tagk;   /* counts of tagvs: of this key */
    struct slice tags;   /* only series with these: "k=v,k2=v|w,k3=*" */
    bool counts;
    enum uid_kind kind;
    int64_t max;
};

static const struct {
    const char *name;
    size_t offset;
} texts[] = {
#define AT(member) offsetof(struct suggest_ask, member)
    { "type", AT(type) },     { "q", AT(q) },       { "max", AT(max_text) },
    { "metric", AT(metric) }, { "tagk", AT(tagk) }, { "tags", AT(tags) },
#undef AT
};
#define TEXTS_LEN (sizeof texts / sizeof texts[0])

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

static void
suggest_counts(const struct api *a, const struct http_request *r,
               const struct suggest_ask *ask, struct http_reply *out)
{
    struct ranking *ranking = ranking_new(http_arena(r), ask->q, ask->max);
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

/* -- names ----------------------------------------------------------------- */

#define SUGGEST_MAX   25 /* when no max is asked for */
#define LOOKS_BETWEEN 1024

struct naming {
    const struct http_request *r;
    struct buf *b;
    size_t len;
};

static bool
put_name(void *ctx, struct slice name, uint64_t id)
{
    struct naming *n = ctx;

    json_put_item(n->b, name);
    return !n->b->failed &&
           (++n->len % LOOKS_BETWEEN != 0 || !http_is_cancelled(n->r));
}

static void
answer(const struct api *a, const struct http_request *r,
       struct suggest_ask *ask, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);
    struct naming n = { r, b, 0 };
    char text[300];
    struct error e;
    int kind = 0;

    if (ask->max_text.size > 0 && !api_parse_int(ask->max_text, &ask->max)) {
        http_reply_error(out, 400, "Unable to parse 'max' as a number", NULL);
        return;
    }
    while (kind < UID_KINDS &&
           !slice_eq_str(ask->type, uid_kind_name((enum uid_kind)kind)))
        kind++;
    if (kind == UID_KINDS) {
        (void)snprintf(text, sizeof text, "Invalid 'type' parameter:%.*s",
                       SLICE_ARG(ask->type));
        http_reply_error(out, 400, text, NULL);
        return;
    }
    ask->kind = (enum uid_kind)kind;
    if (ask->counts) {
        suggest_counts(a, r, ask, out);
        return;
    }
    buf_put_u8(b, '[');
    if (uid_suggest(a->uids, ask->kind, ask->q,
                    ask->max > 0 ? (size_t)ask->max : SUGGEST_MAX, put_name, &n,
                    &e) != ST_OK) {
        http_reply_failure(out, &e);
        return;
    }
    buf_put_u8(b, ']');
}

static bool
is_flat(json_t *body)
{
    const char *name;
    json_t *value;

    json_object_foreach(body, name, value)
    {
        if (json_is_object(value) || json_is_array(value))
            return false;
    }
    return json_is_object(body);
}

static void
answer_post(const struct api *a, const struct http_request *r,
            struct suggest_ask *ask, struct http_reply *out)
{
    char numbers[TEXTS_LEN][NUMBER_TEXT_MAX];
    struct json_t *body = api_parse_body(r, out);

    if (body == NULL)
        return;
    for (size_t i = 0; i < TEXTS_LEN; i++)
        (void)api_json_value_text(
            json_object_get(body, texts[i].name), numbers[i],
            (struct slice *)(void *)((uint8_t *)ask + texts[i].offset));
    ask->counts = json_is_true(json_object_get(body, "counts"));
    if (!is_flat(body))
        http_reply_error(out, 400, "Unable to parse the given JSON",
                         "an object of texts is wanted");
    else if (ask->type.size == 0)
        http_reply_error(out, 400, "Missing 'type' parameter", NULL);
    else
        answer(a, r, ask, out);
    json_decref(body);
}

void
api_suggest(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct suggest_ask ask = { .q = slice_str(""), .tags = slice_str("") };

    if (!api_is_current(ctx, out))
        return;
    if (http_is_api(r) && http_method(r) == HTTP_POST) {
        answer_post(ctx, r, &ask, out);
        return;
    }
    if (!api_need_param(r, "type", &ask.type, out))
        return;
    for (size_t i = 0; i < TEXTS_LEN; i++)
        (void)http_param(
            r, texts[i].name,
            (struct slice *)(void *)((uint8_t *)&ask + texts[i].offset));
    ask.counts = http_has_param(r, "counts");
    api_json_type(r, out);
    answer(ctx, r, &ask, out);
}
