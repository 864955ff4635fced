#include "tsd/api/query/api_gexp.h"

#include <jansson.h>

#include "base/text/number.h"
#include "web/json/json.h"

#define PARAMS_MAX 4096

struct params {
    struct query_param *list;
    size_t len;
    const struct http_request *request;
    struct arena *arena;
    enum status st;
    struct error *e;
};

static void
add(struct params *p, struct slice name, struct slice value)
{
    if (p->st == ST_OK && p->len == PARAMS_MAX)
        p->st =
            error_set(p->e, ST_LIMIT, "more than %d parameters", PARAMS_MAX);
    if (p->st == ST_OK)
        p->list[p->len++] = (struct query_param){ name, value };
}

static void
add_copy(struct params *p, const char *name, struct slice value)
{
    char *copy = arena_strdup(p->arena, value);

    if (copy == NULL && p->st == ST_OK)
        p->st = error_set(p->e, ST_LIMIT, "too many parameters");
    add(p, slice_str(name), slice_of(copy, value.size));
}

static void
add_body(struct params *p, struct slice body)
{
    static const char *const names[] = { "start", "end", "timezone", "m",
                                         "exp" };
    json_t *root = NULL;

    if (p->st == ST_OK)
        p->st = api_parse_json(p->request, body, &root, p->e);
    if (p->st != ST_OK)
        return;
    if (json_is_object(root)) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            const json_t *v = json_object_get(root, names[i]), *item;
            char number[NUMBER_TEXT_MAX];
            struct slice text;
            size_t k;

            /* A text, or a list of them. */
            if (api_json_value_text(v, number, &text))
                add_copy(p, names[i], text);
            json_array_foreach(v, k, item)
            {
                if (json_is_string(item) &&
                    api_json_value_text(item, number, &text))
                    add_copy(p, names[i], text);
                else if (p->st == ST_OK)
                    p->st = error_set(p->e, ST_INVALID, "'%s' must hold texts",
                                      names[i]);
            }
        }
        for (size_t i = 0; i < QUERY_FLAGS; i++)
            if (json_is_true(json_object_get(root, query_flags[i].json)))
                add(p, slice_str(query_flags[i].uri), slice_str("true"));
    } else {
        p->st = error_set(p->e, ST_INVALID, "The body must be a JSON object");
    }
    json_decref(root);
}

static bool
has_start(const struct params *p)
{
    for (size_t i = 0; i < p->len; i++)
        if (slice_eq_str(p->list[i].name, "start") && p->list[i].value.size > 0)
            return true;
    return false;
}

enum status
api_gexp_parse(const struct http_request *r, const struct parse_options *o,
               struct arena *a, struct gexp *g, struct query *q,
               struct parse_error *e)
{
    struct params p = {
        .request = r, .arena = a, .st = ST_OK, .e = &e->message
    };
    size_t len;
    const struct http_param *params = http_params(r, &len);
    struct slice body = http_body(r);
    enum status st;

    *g = (struct gexp){ 0 };
    e->details[0] = '\0';
    p.list = arena_array(a, PARAMS_MAX, sizeof *p.list);
    if (p.list == NULL)
        return error_set(p.e, ST_LIMIT, "too many parameters");
    for (size_t i = 0; i < len; i++)
        add(&p, params[i].name, params[i].value);
    if (http_method(r) == HTTP_POST && body.size > 0)
        add_body(&p, body);
    if (p.st == ST_OK && has_start(&p)) {
        size_t count = p.len;

        /* Each metric of an expression is one more parameter m=. */
        for (size_t i = 0; i < count && p.st == ST_OK; i++)
            if (slice_eq_str(p.list[i].name, "exp")) {
                if (g->roots_len == GEXP_NODES_MAX)
                    p.st = error_set(p.e, ST_LIMIT, "more than %d expressions",
                                     GEXP_NODES_MAX);
                else
                    p.st = gexp_parse(p.list[i].value, p.arena, g, p.e);
            }
        for (size_t i = 0; i < g->metrics_len; i++)
            add(&p, slice_str("m"), g->metrics[i]);
    }
    if (p.st != ST_OK)
        return p.st;
    st = query_parse_uri(p.list, p.len, o, a, q, e);
    q->whole_hours = true;
    return st;
}
