/* /api/openapi.json: the HTTP API described for programs, as OpenAPI 3.1, from
 * tsd/api/openapi/openapi.def and the tables with which endpoints read their
 * requests. */
#include <ctype.h>

#include "tsd/api/fields.h"
#include "web/json/json.h"

struct schema {
    const char *name;
    const struct field_table *fields; /* may be NULL */
    const char *type;                 /* with 'fields': further members */
};

struct operation {
    const char *methods, *path, *tag, *summary;
    const struct field_table *fields; /* may be NULL */
    const char *params, *body, *answer;
};

#define OPERATION(...)
#define SCHEMA(...) { __VA_ARGS__ },
static const struct schema schemas[] = {
#include "tsd/api/openapi/openapi.def"
};
#undef OPERATION
#undef SCHEMA
#define OPERATION(...) { __VA_ARGS__ },
#define SCHEMA(...)
static const struct operation operations[] = {
#include "tsd/api/openapi/openapi.def"
};

/* How a member of a request is written as a type. */
static const char *const field_types[] = {
    [FIELD_TEXT] = "s",    [FIELD_INT] = "i",    [FIELD_WHOLE] = "i",
    [FIELD_BOOL] = "b",    [FIELD_SWITCH] = "b", [FIELD_DOUBLE] = "n",
    [FIELD_PAIRS] = "{s}", [FIELD_LIST] = "[s]", [FIELD_OTHER] = "a",
};

/* -- types ------------------------------------------------------------------
 */

static void put_type(struct buf *b, const char **at);

/* Takes "name:" off the front. */
static struct slice
take_name(const char **at)
{
    size_t size = strcspn(*at, ":");
    struct slice name = slice_of(*at, size);

    *at += size + ((*at)[size] == ':');
    return name;
}

/* What begins here is "name:", and no type. */
static bool
is_name(const char *at)
{
    size_t size = 0;

    while (isalnum((unsigned char)at[size]) || at[size] == '_')
        size++;
    return size > 0 && at[size] == ':';
}

/* An object that is being written. */
struct object {
    struct buf *b, required;
};

static void
object_begin(struct object *o, struct buf *b)
{
    *o = (struct object){ b, BUF_INIT };
    buf_put_str(b, "{\"type\":\"object\",\"properties\":{");
}

static void
object_end(struct object *o)
{
    buf_put_u8(o->b, '}');
    if (o->required.size > 0)
        buf_printf(o->b, ",\"required\":[%s]", buf_cstr(&o->required));
    buf_put_u8(o->b, '}');
    buf_fini(&o->required);
}

/* "name:type name:type!": a member that is always there has a '!'. */
static void
object_put(struct object *o, const char **at)
{
    while (is_name(*at)) {
        struct slice name = take_name(at);

        json_put_item(o->b, name);
        buf_put_u8(o->b, ':');
        put_type(o->b, at);
        if (**at == '!') {
            json_put_item(&o->required, name);
            (*at)++;
        }
        *at += **at == ' ';
    }
}

static void
put_brackets(struct buf *b, char kind, const char **at)
{
    struct object o;
    struct slice left;

    if (kind == '{') {
        /* "name:T name:T}" or "T}", after the opening brace. */
        if (is_name(*at)) {
            object_begin(&o, b);
            object_put(&o, at);
            object_end(&o);
        } else {
            buf_put_str(b, "{\"type\":\"object\",\"additionalProperties\":");
            put_type(b, at);
            buf_put_u8(b, '}');
        }
    } else if (kind == '(') {
        /* "T|T)", after the opening bracket. */
        buf_put_str(b, "{\"anyOf\":[");
        while (**at != ')') {
            json_next(b);
            put_type(b, at);
            *at += **at == '|';
        }
        buf_put_str(b, "]}");
    } else if (kind == '<') {
        /* "a|b>", after the opening bracket. */
        left = slice_of(*at, strcspn(*at, ">"));
        *at += left.size;
        buf_put_str(b, "{\"type\":\"string\",\"enum\":[");
        while (left.size > 0)
            json_put_item(b, slice_cut(&left, '|'));
        buf_put_str(b, "]}");
    } else {
        INSIST(kind == '[');
        buf_put_str(b, "{\"type\":\"array\",\"items\":");
        put_type(b, at);
        buf_put_u8(b, '}');
    }
    (*at)++; /* the closing bracket */
}

/* The beginning of openapi.def describes how types are written. */
static void
put_type(struct buf *b, const char **at)
{
    char kind = *(*at)++;
    const char *plain = kind == 's'   ? "string"
                        : kind == 'i' ? "integer"
                        : kind == 'n' ? "number"
                        : kind == 'b' ? "boolean"
                                      : NULL;
    size_t size;

    if (plain != NULL) {
        buf_printf(b, "{\"type\":\"%s\"}", plain);
    } else if (kind == 'a') {
        buf_put_str(b, "{}");
    } else if (kind == '@') {
        size = strcspn(*at, " !|]})");
        buf_printf(b, "{\"$ref\":\"#/components/schemas/%.*s\"}", (int)size,
                   *at);
        *at += size;
    } else {
        put_brackets(b, kind, at);
    }
}

static void
put_whole_type(struct buf *b, const char *type)
{
    put_type(b, &type);
    INSIST(*type == '\0');
}

/* Is there a member "name:" in this list? */
static bool
names_member(const char *list, const char *name)
{
    size_t size = strlen(name);

    for (const char *at = strstr(list, name); at != NULL;
         at = strstr(at + 1, name))
        if (at[size] == ':' && (at == list || at[-1] == ' '))
            return true;
    return false;
}

/* The members that a body may have; those in 'further' have that type. */
static void
put_fields(struct buf *b, const struct field_table *t, const char *further)
{
    struct object o;
    const char *at = further;

    object_begin(&o, b);
    object_put(&o, &at);
    for (size_t i = 0; i < t->len; i++) {
        const struct field *f = &t->fields[i];
        const char *type = field_types[f->type];

        if (f->json == NULL || names_member(further, f->json))
            continue;
        json_put_item(b, slice_str(f->json));
        buf_put_u8(b, ':');
        put_whole_type(b, type);
    }
    object_end(&o);
}

/* -- operations -------------------------------------------------------------
 */

static void
put_param(struct buf *b, struct slice name, const char *where,
          const char **type)
{
    json_open(b, NULL, '{');
    json_put_text(b, "name", name);
    json_put_text(b, "in", slice_str(where));
    json_name(b, "schema");
    put_type(b, type);
}

static void
put_params(struct buf *b, const struct operation *o)
{
    const char *at = o->params, *brace = strchr(o->path, '{');

    buf_put_str(b, ",\"parameters\":[");
    if (brace != NULL) {
        const char *type = "s";

        put_param(b, slice_of(brace + 1, strcspn(brace + 1, "}")), "path",
                  &type);
        buf_put_str(b, ",\"required\":true}");
    }
    while (*at != '\0') {
        struct slice name = take_name(&at);

        put_param(b, name, "query", &at);
        buf_put_str(b, *at == '!' ? ",\"required\":true}" : "}");
        at += *at == '!';
        at += *at == ' ';
    }
    for (size_t i = 0; o->fields != NULL && i < o->fields->len; i++) {
        const struct field *f = &o->fields->fields[i];
        /* A list is written with commas. */
        const char *type = f->type == FIELD_LIST ? "s" : field_types[f->type];

        if (f->param == NULL)
            continue;
        put_param(b, slice_str(f->param), "query", &type);
        /* A body may be there instead. */
        buf_put_str(b, (f->flags & FIELD_NEEDED) != 0 && *o->body == '\0'
                           ? ",\"required\":true}"
                           : "}");
    }
    buf_put_u8(b, ']');
}

/* Without an answer it is 204, with a '?' before it, it may be. */
static void
put_answer(struct buf *b, const char *answer)
{
    bool may_be_empty = *answer == '\0' || *answer == '?';

    buf_put_str(b, ",\"responses\":{");
    answer += *answer == '?';
    if (*answer != '\0') {
        bool is_json = strchr(answer, '/') == NULL;

        buf_printf(b,
                   "\"200\":{\"description\":\"The answer.\",\"content\":{"
                   "\"%s\":{",
                   is_json ? "application/json" : answer);
        if (is_json) {
            buf_put_str(b, "\"schema\":");
            put_whole_type(b, answer);
        }
        buf_put_str(b, "}}},");
    }
    if (may_be_empty)
        buf_put_str(b, "\"204\":{\"description\":\"It is done.\"},");
    buf_put_str(b, "\"default\":{\"$ref\":\"#/components/responses/Error\"}}");
}

static void
put_operation(struct buf *b, const struct operation *o)
{
    struct slice left = slice_str(o->methods);
    const char *path;

    while (left.size > 0) {
        struct slice method = slice_cut(&left, ' ');

        json_put_item(b, method);
        buf_put_u8(b, ':');
        json_open(b, NULL, '{');
        buf_printf(b, "\"tags\":[\"%s\"]", o->tag);
        /* "get_api_query" of "get" and "/api/query". */
        path = o->path;
        buf_printf(b, ",\"operationId\":\"%.*s", SLICE_ARG(method));
        for (; *path != '\0'; path++)
            buf_put_u8(b, isalnum((unsigned char)*path) ? (uint8_t)*path : '_');
        buf_put_u8(b, '"');
        json_put_text(b, "summary", slice_str(o->summary));
        put_params(b, o);
        if (*o->body != '\0') {
            buf_put_str(b,
                        ",\"requestBody\":{\"content\":{\"application/json\":{"
                        "\"schema\":");
            if (strcmp(o->body, "=") == 0)
                put_fields(b, o->fields, "");
            else
                put_whole_type(b, o->body);
            buf_put_str(b, "}}}");
        }
        put_answer(b, o->answer);
        buf_put_u8(b, '}');
    }
}

static const char head[] =
    "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Halite\",\"version\":"
    "\"" PACKAGE_VERSION "\",\"description\":\"The HTTP API of a time-series "
    "database, modelled on OpenTSDB 2.4. Each path under /api is also served "
    "under /api/v1. Which paths exist depends on tsd.mode, "
    "tsd.core.enable_api and tsd.core.enable_ui. HEAD is answered where GET "
    "is, without a body. GET requests under /api take jsonp, the name of a "
    "function to wrap the answer in, and, for queries, searches, metadata, "
    "annotations and trees, method_override. Bodies may be compressed by gzip "
    "or deflate. Any request may be rejected with 401 (no or wrong "
    "credentials), 403 (the role does not allow it), 413 (a limit), 429 or "
    "503 (the server is busy).\",\"license\":{\"name\":\"Apache-2.0\","
    "\"identifier\":\"Apache-2.0\"}},\"servers\":[{\"url\":\"/\"}],"
    "\"security\":[{},{\"password\":[]},{\"token\":[]}],";

static const char components[] =
    ",\"components\":{\"securitySchemes\":{\"password\":{\"type\":\"http\","
    "\"scheme\":\"basic\",\"description\":\"A user of halite.auth.file. Where "
    "that is set, GET needs the role read, other methods the role write, and "
    "DELETE and the ids of names the role admin; /health and /api/status need "
    "no role.\"},\"token\":{\"type\":\"http\",\"scheme\":\"bearer\","
    "\"description\":\"A token of halite.auth.file.\"}},\"responses\":{"
    "\"Error\":{\"description\":\"What was wrong.\",\"content\":{"
    "\"application/json\":{\"schema\":{\"$ref\":"
    "\"#/components/schemas/Error\"}}}}},";

void
api_openapi(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);
    const char *path = "";

    (void)ctx;
    (void)r;
    buf_put_str(b, head);
    buf_put_str(b, "\"paths\":{");
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        const struct operation *o = &operations[i];

        if (strcmp(o->path, path) != 0) {
            buf_put_str(b, i == 0 ? "" : "}");
            path = o->path;
            json_put_item(b, slice_str(path));
            buf_put_str(b, ":{");
        }
        put_operation(b, o);
    }
    buf_put_str(b, "}}");
    buf_put_str(b, components);
    buf_put_str(b, "\"schemas\":{");
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
        const struct schema *s = &schemas[i];

        json_put_item(b, slice_str(s->name));
        buf_put_u8(b, ':');
        if (s->fields != NULL)
            put_fields(b, s->fields, s->type);
        else
            put_whole_type(b, s->type);
    }
    buf_put_u8(b, '}');
    buf_put_str(b, "}}");
}
