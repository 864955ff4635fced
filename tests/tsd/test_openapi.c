/* /api/openapi.json tells the truth: what the routes serve is in it, what is in
 * it is served, and requests and answers have the parameters and the schemas
 * that it describes.  Each complaint says what to do. */
#include "tsd/routes.h"

#include <ctype.h>

#include <jansson.h>

#include "tests/harness.h"
#include "tests/tsd/rig.h"

#define LEN(a) (sizeof(a) / sizeof(a)[0])

static const struct {
    enum http_method method;
    const char *name, *key;
} methods[] = {
    { HTTP_GET, "GET", "get" },
    { HTTP_POST, "POST", "post" },
    { HTTP_PUT, "PUT", "put" },
    { HTTP_DELETE, "DELETE", "delete" },
};

/* As the server tells it; json_decref(). */
static json_t *
read_document(const struct rig *g)
{
    struct buf got = BUF_INIT;
    json_error_t error;
    const char *body;
    json_t *doc;

    rig_ask(g, "GET", "/api/openapi.json", NULL, &got);
    body = strstr(buf_cstr(&got), "\r\n\r\n");
    ck_assert_msg(body != NULL && strstr(buf_cstr(&got), "200 OK") != NULL,
                  "no document: %s", buf_cstr(&got));
    doc = json_loads(body + 4, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(doc != NULL, "/api/openapi.json:%d: %s", error.line,
                  error.text);
    buf_fini(&got);
    return doc;
}

static bool
begins_with(const char *path, const char *route)
{
    size_t size = strlen(route);

    if (strcmp(route, "/") == 0)
        return strcmp(path, "/") == 0;
    return strncmp(path, route, size) == 0 &&
           (path[size] == '\0' || path[size] == '/');
}

static const struct http_route *
route_of(const struct routes *r, const char *path)
{
    const struct http_route *found = NULL;

    for (size_t i = 0; i < r->http_len; i++)
        if (begins_with(path, r->http[i].path) &&
            (found == NULL || strlen(r->http[i].path) > strlen(found->path)))
            found = &r->http[i];
    return found;
}

static bool
is_rejected(const struct rig *g, const char *method, const char *path,
            const char *body, struct buf *got)
{
    char plain[200];
    size_t size = strcspn(path, "{");
    int status;

    ck_assert_uint_lt(strlen(path) + 2, sizeof plain);
    (void)snprintf(plain, sizeof plain, "%.*s%s", (int)size, path,
                   path[size] == '\0' ? "" : "x");
    rig_ask(g, method, plain, body, got);
    status = atoi(buf_cstr(got) + strlen("HTTP/1.1 "));
    return status == 405 || status == 501 ||
           strstr(buf_cstr(got), "Endpoint not found") != NULL ||
           strstr(buf_cstr(got), "Unsupported HTTP request method") != NULL ||
           strstr(buf_cstr(got), "Unsupported method: ") != NULL ||
           strstr(buf_cstr(got), "endpoint is not supported") != NULL;
}

/* One method of one path: it is described if and only if it is served.  Of the
 * API's routes that take any method what is described must be served. */
static void
check_method(const struct rig *g, const struct http_route *route,
             const char *path, const json_t *item, size_t m)
{
    bool described = json_object_get(item, methods[m].key) != NULL;
    bool any = (route->methods & HTTP_OTHER) != 0;
    bool api = strncmp(path, "/api/", 5) == 0;
    struct buf got = BUF_INIT;

    if (any && api)
        ck_assert_msg(
            !described ||
                !is_rejected(g, methods[m].name, path,
                             methods[m].method == HTTP_GET ? NULL : "{}", &got),
            "%s %s is in tsd/api/openapi/openapi.def, but not served: "
            "take it out",
            methods[m].name, path);
    else if (any && methods[m].method != HTTP_GET)
        ck_assert_msg(!described,
                      "%s takes any method; describe GET alone, not %s", path,
                      methods[m].name);
    else if ((route->methods & methods[m].method) == 0)
        ck_assert_msg(
            !described,
            "%s %s is in tsd/api/openapi/openapi.def, but the table of "
            "tsd/routes.c does not let it in: take it out",
            methods[m].name, path);
    else if (strcmp(path, "/diediedie") == 0)
        ck_assert_msg(described, "describe GET /diediedie");
    else
        ck_assert_msg(is_rejected(g, methods[m].name, path,
                                  methods[m].method == HTTP_GET ? NULL : "{}",
                                  &got) == !described,
                      "%s %s is %s tsd/api/openapi/openapi.def, but the server "
                      "answers this; %s:\n"
                      "%.400s",
                      methods[m].name, path, described ? "in" : "not in",
                      described ? "take it out" : "describe it there",
                      buf_cstr(&got));
    buf_fini(&got);
}

static bool
has_path_of(const json_t *paths, const struct routes *r,
            const struct http_route *route)
{
    const char *path;
    json_t *item;

    json_object_foreach((json_t *)(uintptr_t)paths, path,
                        item) if (route_of(r, path) == route) return true;
    return false;
}

START_TEST(tells_what_is_served)
{
    struct api api = { 0 };
    struct routes routes;
    struct rig g;
    json_t *doc, *paths, *item;
    const char *path;

    rig_open(&g, NULL);
    doc = read_document(&g);
    paths = json_object_get(doc, "paths");
    api.settings = g.settings;
    routes_make(&api, &routes);
    /* "/api/uid" itself answers nothing but that it does not. */
    for (size_t i = 0; i < routes.http_len; i++)
        ck_assert_msg(strcmp(routes.http[i].path, "/api/uid") == 0 ||
                          has_path_of(paths, &routes, &routes.http[i]),
                      "%s is in the table of tsd/routes.c, but not in "
                      "tsd/api/openapi/openapi.def: describe it there",
                      routes.http[i].path);
    json_object_foreach(paths, path, item)
    {
        const struct http_route *route = route_of(&routes, path);

        ck_assert_msg(
            route != NULL,
            "%s is in tsd/api/openapi/openapi.def, but not in the table of "
            "tsd/routes.c: take it out",
            path);
        for (size_t m = 0; m < LEN(methods); m++)
            check_method(&g, route, path, item, m);
    }
    json_decref(doc);
    rig_close(&g);
}
END_TEST

/* "#/components/schemas/Point" */
static void
check_ref(const json_t *doc, const char *ref)
{
    const json_t *at = doc;
    char name[100];

    ck_assert_msg(strncmp(ref, "#/", 2) == 0, "$ref \"%s\": not local", ref);
    for (const char *p = ref + 1; *p == '/' && at != NULL;) {
        size_t size = strcspn(p + 1, "/");

        (void)snprintf(name, sizeof name, "%.*s", (int)size, p + 1);
        at = json_object_get(at, name);
        p += 1 + size;
    }
    ck_assert_msg(at != NULL, "$ref \"%s\": there is no such thing", ref);
}

static void
check_refs(const json_t *doc, const json_t *at)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_array(at)) {
        json_array_foreach(at, i, value) check_refs(doc, value);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)at, key, value)
    {
        if (strcmp(key, "$ref") == 0)
            check_ref(doc, json_string_value(value));
        else
            check_refs(doc, value);
    }
}

/* What OpenAPI 3.1 wants of an operation. */
static void
check_operation(const char *path, const char *method, const json_t *op,
                json_t *ids)
{
    const json_t *responses = json_object_get(op, "responses");
    const char *id = json_string_value(json_object_get(op, "operationId"));
    const char *code;
    json_t *one;

    ck_assert_msg(json_is_string(json_object_get(op, "summary")),
                  "%s %s: has no summary", method, path);
    ck_assert_msg(id != NULL, "%s %s: has no operationId", method, path);
    ck_assert_msg(json_object_get(ids, id) == NULL,
                  "%s %s: operationId %s is another's, too", method, path, id);
    json_object_set_new(ids, id, json_true());
    ck_assert_msg(json_object_size(responses) > 0, "%s %s: has no responses",
                  method, path);
    json_object_foreach((json_t *)(uintptr_t)responses, code, one)
        ck_assert_msg(json_object_get(one, "$ref") != NULL ||
                          json_is_string(json_object_get(one, "description")),
                      "%s %s: response %s has no description", method, path,
                      code);
}

START_TEST(is_openapi)
{
    struct rig g;
    json_t *doc, *item, *op, *ids = json_object();
    const char *path, *method;

    rig_open(&g, NULL);
    doc = read_document(&g);
    ck_assert_str_eq(json_string_value(json_object_get(doc, "openapi")),
                     "3.1.0");
    ck_assert(json_is_object(json_object_get(doc, "info")));
    check_refs(doc, doc);
    json_object_foreach(json_object_get(doc, "paths"), path, item)
        json_object_foreach(item, method, op)
            check_operation(path, method, op, ids);
    json_decref(ids);
    json_decref(doc);
    rig_close(&g);
}
END_TEST

/* -- requests and answers -----------------------------------------------------
 */

/* Some of each kind, in this order, on an empty store. */
static const struct {
    const char *method, *path, *body;
} requests[] = {
    { "POST", "/api/put?summary&details",
      "[{\"metric\":\"o.m\",\"timestamp\":1356998400,\"value\":1,"
      "\"tags\":{\"h\":\"a\"}}]" },
    { "POST", "/api/put?sync",
      "{\"metric\":\"o.m\",\"timestamp\":\"1356998400500\",\"value\":\"2.5\","
      "\"tags\":{\"h\":\"b\"}}" },
    { "POST", "/api/annotation",
      "{\"startTime\":1356998400,\"tsuid\":\"000001000001000001\","
      "\"description\":\"d\",\"custom\":{\"k\":\"v\"}}" },
    { "POST", "/api/annotation/bulk",
      "[{\"startTime\":1356998401,\"endTime\":1356998402,\"notes\":\"n\"}]" },
    { "GET", "/api/annotation?start_time=1356998400&tsuid=000001000001000001",
      NULL },
    { "GET", "/api/annotations?start_time=1356998000&end_time=1356999000",
      NULL },
#define RANGE "start=1356990000&end=1356999000"
    { "GET",
      "/api/query?" RANGE "&m=sum:o.m&show_tsuids&show_query&show_stats&"
      "show_summary&global_annotations&ms",
      NULL },
    { "GET", "/api/query?" RANGE "&m=sum:o.m&arrays&no_annotations", NULL },
    { "GET", "/api/query?" RANGE "&tsuid=sum:000001000001000001&columns",
      NULL },
    { "GET", "/api/query?" RANGE "&m=sum:60s-avg:o.m&explain&tz=UTC", NULL },
    { "POST", "/api/query",
      "{\"start\":1356990000,\"end\":\"1356999000\",\"queries\":[{"
      "\"aggregator\":\"sum\",\"metric\":\"o.m\",\"rate\":true,\"rateOptions\":"
      "{\"counter\":true},\"filters\":[{\"type\":\"wildcard\",\"tagk\":\"h\","
      "\"filter\":\"*\",\"groupBy\":true}]}],\"showStats\":true}" },
    { "GET", "/api/query/last?timeseries=o.m&resolve=true", NULL },
    { "POST", "/api/query/last",
      "{\"queries\":[{\"metric\":\"o.m\",\"tags\":{\"h\":\"a\"}}],"
      "\"resolveNames\":true}" },
    { "GET", "/api/query/gexp?" RANGE "&exp=absolute(sum:o.m)", NULL },
    { "POST", "/api/query/exp",
      "{\"time\":{\"start\":\"1356990000\",\"end\":\"1356999000\","
      "\"aggregator\":\"sum\"},\"filters\":[{\"id\":\"f\",\"tags\":[{\"type\":"
      "\"wildcard\",\"tagk\":\"h\",\"filter\":\"*\",\"groupBy\":true}]}],"
      "\"metrics\":[{\"id\":\"a\",\"metric\":\"o.m\",\"filter\":\"f\"}],"
      "\"expressions\":[{\"id\":\"e\",\"expr\":\"a + a\"}],"
      "\"outputs\":[{\"id\":\"e\",\"alias\":\"twice\"}]}" },
    { "GET", "/api/suggest?type=metrics&q=o&max=3", NULL },
    { "GET", "/api/suggest?type=metrics&counts", NULL },
    { "POST", "/api/suggest", "{\"type\":\"tagk\",\"q\":\"h\"}" },
    { "GET", "/api/cardinality?growth&max=2", NULL },
    { "GET", "/api/cardinality?metric=o.m", NULL },
    { "GET", "/api/search/lookup?m=o.m&limit=1", NULL },
    { "POST", "/api/search/lookup",
      "{\"metric\":\"o.m\",\"tags\":[{\"key\":\"h\",\"value\":\"a\"}],"
      "\"limit\":3,\"useMeta\":false}" },
    { "GET", "/api/uid/assign?metric=o.n&tagk=k", NULL },
    { "POST", "/api/uid/assign", "{\"tagv\":[\"v\"]}" },
    { "GET", "/api/uid/rename?metric=o.n&name=o.k", NULL },
    { "POST", "/api/uid/uidmeta",
      "{\"uid\":\"000001\",\"type\":\"metric\",\"notes\":\"n\"}" },
    { "GET", "/api/uid/uidmeta?uid=000001&type=metric", NULL },
    { "POST", "/api/uid/tsmeta",
      "{\"tsuid\":\"000001000001000001\",\"units\":\"b\",\"max\":1.5}" },
    { "GET", "/api/uid/tsmeta?tsuid=000001000001000001", NULL },
    { "GET", "/api/uid/tsmeta?m=o.m%7Bh=a%7D", NULL },
    { "POST", "/api/tree",
      "{\"name\":\"t\",\"description\":\"d\",\"enabled\":true}" },
    { "POST", "/api/tree/rule",
      "{\"treeId\":1,\"level\":0,\"order\":0,\"type\":\"METRIC\","
      "\"separator\":\"\\\\.\"}" },
    { "PUT", "/api/tree/rule?treeid=1&level=1&order=0&type=tagk&field=h",
      NULL },
    { "GET", "/api/tree?treeid=1", NULL },
    { "GET", "/api/tree", NULL },
    { "GET", "/api/tree/rule?treeid=1&level=1&order=0", NULL },
    { "GET", "/api/tree/branch?treeid=1", NULL },
    { "GET", "/api/tree/test?treeid=1&tsuids=000001000001000001,00", NULL },
    { "POST", "/api/tree/collisions",
      "{\"treeId\":1,\"tsuids\":[\"000001000001000001\"]}" },
    { "GET", "/api/aggregators", NULL },
    { "GET", "/api/config", NULL },
    { "GET", "/api/config/filters", NULL },
    { "GET", "/api/dropcaches", NULL },
    { "GET", "/api/openapi.json", NULL },
    { "GET", "/api/retention?dry_run", NULL },
    { "PUT", "/api/retention", "{\"policies\":\"x.*: 3650d\"}" },
    { "GET", "/api/serializers", NULL },
    { "GET", "/api/stats", NULL },
    { "GET", "/api/stats/jvm", NULL },
    { "GET", "/api/stats/query", NULL },
    { "GET", "/api/stats/query?slowest", NULL },
    { "GET", "/api/stats/range", NULL },
    { "GET", "/api/stats/region_clients", NULL },
    { "GET", "/api/stats/threads", NULL },
    { "GET", "/api/status", NULL },
    { "GET", "/api/version", NULL },
    { "GET", "/health", NULL },
    { "DELETE",
      "/api/annotation/bulk?start_time=1356998000&end_time=1356999000&global",
      NULL },
    { "DELETE", "/api/tree?treeid=1&definition=true", NULL },
};

static const json_t *
look_up(const json_t *doc, const char *ref)
{
    const char *name = strrchr(ref, '/') + 1;

    return json_object_get(
        json_object_get(json_object_get(doc, "components"), "schemas"), name);
}

/* Where a value is not as the schema says: a JSON text to print; or NULL. */
static const char *differs(const json_t *doc, const json_t *schema,
                           const json_t *value);

static const char *
object_differs(const json_t *doc, const json_t *schema, const json_t *value)
{
    const json_t *known = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const char *key, *wrong;
    json_t *member;
    size_t i;

    json_array_foreach(json_object_get(schema, "required"), i, member)
    {
        if (json_object_get(value, json_string_value(member)) == NULL)
            return json_string_value(member);
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        const json_t *type = json_object_get(known, key);

        if (type == NULL)
            type = others;
        if (type == NULL)
            return key;
        wrong = json_is_null(member) ? NULL : differs(doc, type, member);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static bool
is_of_type(const json_t *value, const char *type)
{
    return strcmp(type, "string") == 0    ? json_is_string(value)
           : strcmp(type, "integer") == 0 ? json_is_integer(value)
           : strcmp(type, "number") == 0  ? json_is_number(value)
           : strcmp(type, "boolean") == 0 ? json_is_boolean(value)
           : strcmp(type, "array") == 0   ? json_is_array(value)
                                          : json_is_object(value);
}

static const char *
differs(const json_t *doc, const json_t *schema, const json_t *value)
{
    static char text[200];
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    const char *type = json_string_value(json_object_get(schema, "type"));
    const char *wrong = NULL;
    json_t *one;
    size_t i;

    if (ref != NULL)
        return differs(doc, look_up(doc, ref), value);
    json_array_foreach(json_object_get(schema, "anyOf"), i, one)
    {
        wrong = differs(doc, one, value);
        if (wrong == NULL)
            return NULL;
    }
    if (type == NULL || wrong != NULL)
        return wrong;
    if (!is_of_type(value, type)) {
        char *json = json_dumps(value, JSON_ENCODE_ANY);

        (void)snprintf(text, sizeof text, "%.100s, which is no %s", json, type);
        free(json);
        return text;
    }
    if (json_is_object(value))
        return object_differs(doc, schema, value);
    json_array_foreach(value, i, one)
    {
        wrong = differs(doc, json_object_get(schema, "items"), one);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static const json_t *
schema_of(const json_t *content)
{
    return json_object_get(json_object_get(json_object_get(content, "content"),
                                           "application/json"),
                           "schema");
}

static bool
has_param(const json_t *op, const char *name, size_t size)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(op, "parameters"), i, one)
    {
        const char *known = json_string_value(json_object_get(one, "name"));

        if (strlen(known) == size && strncmp(known, name, size) == 0)
            return true;
    }
    return false;
}

static void
check_params(const json_t *op, const char *path)
{
    for (const char *at = strchr(path, '?'); at != NULL; at = strchr(at, '&')) {
        size_t size = strcspn(++at, "=&");

        ck_assert_msg(has_param(op, at, size),
                      "%s: the parameter %.*s is not described", path,
                      (int)size, at);
    }
}

static void
check_json(const json_t *doc, const json_t *schema, const char *text,
           const char *path)
{
    json_error_t error;
    json_t *value = json_loads(text, JSON_DECODE_ANY, &error);
    const char *wrong;

    ck_assert_msg(schema != NULL && value != NULL, "%s: no schema for %.300s",
                  path, text);
    wrong = differs(doc, schema, value);
    ck_assert_msg(wrong == NULL, "%s: not as described: %s in %.300s", path,
                  wrong, text);
    json_decref(value);
}

START_TEST(requests_and_answers)
{
    static const char *const words[] = {
        "tsd.core.tree.enable_processing=true",
        "tsd.core.meta.enable_realtime_ts=true",
        "tsd.core.meta.enable_tsuid_tracking=true", NULL
    };
    struct buf got = BUF_INIT;
    struct rig g;
    json_t *doc;

    rig_open(&g, words);
    doc = read_document(&g);
    for (size_t i = 0; i < LEN(requests); i++) {
        const char *path = requests[i].path, *body = requests[i].body;
        char plain[100], method[8];
        const json_t *op;

        (void)snprintf(plain, sizeof plain, "%.*s", (int)strcspn(path, "?"),
                       path);
        (void)snprintf(method, sizeof method, "%s", requests[i].method);
        for (char *c = method; *c != '\0'; c++)
            *c = (char)tolower((unsigned char)*c);
        op = json_object_get(
            json_object_get(json_object_get(doc, "paths"), plain), method);
        ck_assert_msg(op != NULL, "%s %s is not described", method, path);
        check_params(op, path);
        if (body != NULL)
            check_json(doc, schema_of(json_object_get(op, "requestBody")), body,
                       path);
        rig_ask(&g, requests[i].method, path, body, &got);
        op = json_object_get(op, "responses");
        if (strstr(buf_cstr(&got), "HTTP/1.1 204 ") != NULL)
            ck_assert_msg(json_object_get(op, "204") != NULL,
                          "%s answers 204, which is not described", path);
        else if (strstr(buf_cstr(&got), "HTTP/1.1 200 ") != NULL)
            check_json(doc, schema_of(json_object_get(op, "200")),
                       strstr(buf_cstr(&got), "\r\n\r\n") + 4, path);
        else
            ck_abort_msg("%s: %s", path, buf_cstr(&got));
    }
    buf_fini(&got);
    json_decref(doc);
    rig_close(&g);
}
END_TEST

TEST_MAIN("openapi", TEST(tells_what_is_served), TEST(is_openapi),
          TEST(requests_and_answers))
