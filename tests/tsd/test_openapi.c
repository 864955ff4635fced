/* tsd/api/openapi.json tells the truth: what the routes serve is in it, what is
 * in it is served.  Each complaint says what to do. */
#include "tsd/routes.h"

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
    ck_assert_msg(doc != NULL, "tsd/api/openapi.json:%d: %s", error.line,
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
            "%s %s is in tsd/api/openapi.json, but not served: take it "
            "out",
            methods[m].name, path);
    else if (any && methods[m].method != HTTP_GET)
        ck_assert_msg(!described,
                      "%s takes any method; describe GET alone, not %s", path,
                      methods[m].name);
    else if ((route->methods & methods[m].method) == 0)
        ck_assert_msg(!described,
                      "%s %s is in tsd/api/openapi.json, but the table of "
                      "tsd/routes.c does not let it in: take it out",
                      methods[m].name, path);
    else if (strcmp(path, "/diediedie") == 0)
        ck_assert_msg(described, "describe GET /diediedie");
    else
        ck_assert_msg(is_rejected(g, methods[m].name, path,
                                  methods[m].method == HTTP_GET ? NULL : "{}",
                                  &got) == !described,
                      "%s %s is %s tsd/api/openapi.json, but the server "
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
                      "tsd/api/openapi.json: describe it there",
                      routes.http[i].path);
    json_object_foreach(paths, path, item)
    {
        const struct http_route *route = route_of(&routes, path);

        ck_assert_msg(route != NULL,
                      "%s is in tsd/api/openapi.json, but not in the table of "
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

TEST_MAIN("openapi", TEST(tells_what_is_served), TEST(is_openapi))
