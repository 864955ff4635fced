/* /api/suggest and /suggest: names that start with a text; or, with "counts",
 * what tsd/api/names/suggest_counts.h says. */
#include "tsd/api/api.h"

#include <jansson.h>

#include "base/text/number.h"
#include "tsd/api/names/suggest_counts.h"
#include "web/json/json.h"

#define SUGGEST_MAX 25 /* when no max is asked for */

struct query {
    struct slice type, q, max;
    struct slice metric, tagk, tags; /* of counts */
    bool counts;
};

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

static bool
kind_of(struct slice type, enum uid_kind *out)
{
    for (int k = 0; k < UID_KINDS; k++)
        if (slice_eq_str(type, uid_kind_name((enum uid_kind)k))) {
            *out = (enum uid_kind)k;
            return true;
        }
    return false;
}

static void
answer(const struct api *a, const struct http_request *r,
       const struct query *ask, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);
    struct naming n = { r, b, 0 };
    int64_t max = 0;
    enum uid_kind kind;
    struct error e;

    if (ask->max.size > 0 && !api_parse_int(ask->max, &max)) {
        http_reply_error(out, 400, "Unable to parse 'max' as a number", NULL);
        return;
    }
    if (!kind_of(ask->type, &kind)) {
        char text[300];

        (void)snprintf(text, sizeof text, "Invalid 'type' parameter:%.*s",
                       SLICE_ARG(ask->type));
        http_reply_error(out, 400, text, NULL);
        return;
    }
    if (ask->counts) {
        suggest_counts(a, r,
                       &(struct suggest_ask){ kind, ask->q, max, ask->metric,
                                              ask->tagk, ask->tags },
                       out);
        return;
    }
    buf_put_u8(b, '[');
    if (uid_suggest(a->uids, kind, ask->q, max > 0 ? (size_t)max : SUGGEST_MAX,
                    put_name, &n, &e) != ST_OK) {
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
            struct http_reply *out)
{
    struct query ask = { .q = slice_str(""), .tags = slice_str("") };
    char type[NUMBER_TEXT_MAX], q[NUMBER_TEXT_MAX], max[NUMBER_TEXT_MAX];
    char metric[NUMBER_TEXT_MAX], tagk[NUMBER_TEXT_MAX], tags[NUMBER_TEXT_MAX];
    struct json_t *body = api_parse_body(r, out);

    if (body == NULL)
        return;
    if (!is_flat(body)) {
        http_reply_error(out, 400, "Unable to parse the given JSON",
                         "an object of texts is wanted");
    } else if (!api_json_value_text(json_object_get(body, "type"), type,
                                    &ask.type) ||
               ask.type.size == 0) {
        http_reply_error(out, 400, "Missing 'type' parameter", NULL);
    } else {
        (void)api_json_value_text(json_object_get(body, "q"), q, &ask.q);
        (void)api_json_value_text(json_object_get(body, "max"), max, &ask.max);
        (void)api_json_value_text(json_object_get(body, "metric"), metric,
                                  &ask.metric);
        (void)api_json_value_text(json_object_get(body, "tagk"), tagk,
                                  &ask.tagk);
        (void)api_json_value_text(json_object_get(body, "tags"), tags,
                                  &ask.tags);
        ask.counts = json_is_true(json_object_get(body, "counts"));
        answer(a, r, &ask, out);
    }
    json_decref(body);
}

void
api_suggest(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct query ask = { .q = slice_str(""), .tags = slice_str("") };

    if (!api_is_current(ctx, out))
        return;
    if (http_is_api(r) && http_method(r) == HTTP_POST) {
        answer_post(ctx, r, out);
        return;
    }
    if (!api_need_param(r, "type", &ask.type, out))
        return;
    (void)http_param(r, "q", &ask.q);
    (void)http_param(r, "max", &ask.max);
    (void)http_param(r, "metric", &ask.metric);
    (void)http_param(r, "tagk", &ask.tagk);
    (void)http_param(r, "tags", &ask.tags);
    ask.counts = http_has_param(r, "counts");
    api_json_type(r, out);
    answer(ctx, r, &ask, out);
}
