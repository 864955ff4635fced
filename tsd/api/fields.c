#include "tsd/api/fields.h"

#include <jansson.h>
#include <strings.h>

#include "base/text/java.h"
#include "base/process/log.h"
#include "base/text/number.h"
#include "query/parse/reader.h"
#include "web/json/json.h"

bool
field_split(struct slice list, struct arena *a, struct field_list *out)
{
    bool empty = list.size == 0;

    out->has = true;
    out->len = 0;
    while (list.size > 0 && list.data[list.size - 1] == ',')
        list.size--;
    out->texts = arena_array(a, list.size + 1, sizeof *out->texts);
    if (out->texts == NULL)
        return false;
    if (empty)
        out->texts[out->len++] = slice_str("");
    while (list.size > 0)
        out->texts[out->len++] = slice_cut(&list, ',');
    return true;
}

/* -- JSON ------------------------------------------------------------------ */

enum status
field_read_text(const json_t *v, const char *name, struct arena *a,
                struct slice *out, struct error *e)
{
    char number[NUMBER_TEXT_MAX], *copy;
    struct slice text;

    if (v == NULL || json_is_null(v))
        return ST_OK;
    if (!api_json_value_text(v, number, &text))
        return error_set(e, ST_INVALID, "'%s' must be a text", name);
    copy = arena_strdup(a, text);
    if (copy == NULL)
        return error_no_memory(e);
    *out = slice_of(copy, text.size);
    return ST_OK;
}

static enum status
read_pairs(const json_t *v, struct arena *a, struct text_pairs *out,
           struct error *e)
{
    json_t *object = (json_t *)(uintptr_t)v, *value;
    enum status st = ST_OK;
    const char *key;

    *out = (struct text_pairs){ .has = true };
    out->pairs = arena_array(a, json_object_size(v) + 1, sizeof *out->pairs);
    if (out->pairs == NULL)
        return error_no_memory(e);
    json_object_foreach(object, key, value)
    {
        struct tag *p = &out->pairs[out->len++];
        const char *copy = arena_strdup(a, slice_str(key));

        *p = (struct tag){ slice_of(copy, strlen(key)), slice_of(NULL, 0) };
        if (copy == NULL)
            return error_no_memory(e);
        st = field_read_text(value, key, a, &p->value, e);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

static enum status
read_list(const json_t *v, const char *name, struct arena *a,
          struct field_list *out, struct error *e)
{
    enum status st = ST_OK;

    *out = (struct field_list){ .has = true };
    out->texts = arena_array(a, json_array_size(v) + 1, sizeof *out->texts);
    if (out->texts == NULL)
        return error_no_memory(e);
    for (; out->len < json_array_size(v) && st == ST_OK; out->len++) {
        const json_t *one = json_array_get(v, out->len);

        if (json_is_null(one))
            return error_set(e, ST_INVALID, "'%s' must be an array of texts",
                             name);
        st = field_read_text(one, name, a, &out->texts[out->len], e);
    }
    return st;
}

/* Has it a value that counts? */
static bool
is_set(const struct field *f, const void *at)
{
    const struct slice *s = at;
    const int64_t *n = at;

    if ((f->flags & FIELD_IF_SET) == 0)
        return true;
    return f->type == FIELD_TEXT ? s->size > 0 : *n != 0;
}

static enum status
read_value(const json_t *v, const struct field *f, struct arena *a, void *at,
           unsigned *seen, struct error *e)
{
    static const char *const wanted[] = {
        [FIELD_INT] = "a whole number", [FIELD_WHOLE] = "a whole number",
        [FIELD_BOOL] = "true or false", [FIELD_DOUBLE] = "a number",
        [FIELD_PAIRS] = "an object",    [FIELD_LIST] = "an array of texts",
    };
    bool null = json_is_null(v), good = true;
    struct slice text = slice_str("");
    enum status st = ST_OK;
    int64_t *whole = at;

    if (v == NULL || f->type == FIELD_OTHER)
        return ST_OK;
    if (null && (f->flags & FIELD_NULLABLE) != 0) {
        *(struct slice *)at = (struct slice){ NULL, 0 };
        *seen |= f->bit;
        return ST_OK;
    }
    if (null && (f->flags & FIELD_NULL_IS_0) == 0 && f->type != FIELD_BOOL)
        return ST_OK;
    switch (f->type) {
    case FIELD_TEXT:
        st = field_read_text(v, f->json, a, at, e);
        break;
    case FIELD_INT:
    case FIELD_WHOLE:
        good = reader_take_long(v, whole);
        if (good && f->type == FIELD_INT && *whole != (int32_t)*whole)
            st = error_set(e, ST_INVALID, "'%s' does not fit into 32 bits",
                           f->json);
        break;
    case FIELD_BOOL:
        good = reader_take_bool(v, at);
        break;
    case FIELD_SWITCH:
        st = field_read_text(v, f->json, a, &text, e);
        *(bool *)at = slice_eq_nocase(text, slice_str("true"));
        break;
    case FIELD_DOUBLE:
        good = ((f->flags & FIELD_NULL_IS_0) != 0 || !json_is_string(v) ||
                json_string_length(v) > 0) &&
               reader_take_double(v, at);
        break;
    case FIELD_PAIRS:
        good = json_is_object(v);
        if (good)
            st = read_pairs(v, a, at, e);
        break;
    case FIELD_LIST:
        good = json_is_array(v);
        if (good)
            st = read_list(v, f->json, a, at, e);
        break;
    case FIELD_OTHER:
        break;
    }
    if (!good)
        return error_set(e, ST_INVALID, "'%s' must be %s", f->json,
                         wanted[f->type]);
    if (st == ST_OK && is_set(f, at))
        *seen |= f->bit;
    return st;
}

/* '*bad' is the field that cannot be read. */
static enum status
read_members(const json_t *json, const struct field *fields, size_t len,
             struct arena *a, void *out, unsigned *seen,
             const struct field **bad, struct error *e)
{
    json_t *object = (json_t *)(uintptr_t)json, *value;
    enum status st = ST_OK;
    const char *key;

    *seen = 0;
    *bad = NULL;
    if (!json_is_object(json))
        return error_set(e, ST_INVALID, "an object is wanted");
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        const struct field *f = &fields[i];
        void *at = (char *)out + f->offset;

        if (f->json == NULL)
            continue;
        *bad = f;
        if ((f->flags & FIELD_ANY_CASE) == 0) {
            st = read_value(json_object_get(json, f->json), f, a, at, seen, e);
            continue;
        }
        json_object_foreach(object, key, value)
        {
            if (st == ST_OK && strcasecmp(key, f->json) == 0)
                st = read_value(value, f, a, at, seen, e);
        }
    }
    return st;
}

enum status
fields_read_json(const json_t *json, const struct field *fields, size_t len,
                 struct arena *a, void *out, unsigned *seen, struct error *e)
{
    const struct field *bad;

    return read_members(json, fields, len, a, out, seen, &bad, e);
}

enum status
fields_only(const json_t *json, const struct field *fields, size_t len,
            struct error *e)
{
    json_t *value;
    const char *key;

    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        bool known = false;

        for (size_t i = 0; i < len; i++)
            known |= fields[i].json != NULL && strcmp(key, fields[i].json) == 0;
        if (!known)
            return error_set(e, ST_INVALID, "Unrecognized field %s",
                             log_quote(slice_str(key)));
    }
    return ST_OK;
}

/* -- parameters ------------------------------------------------------------ */

static bool
reject_param(const struct field *f, struct slice text, struct http_reply *reply)
{
    char message[100], details[200];

    (void)snprintf(message, sizeof message, "Unable to parse '%s' value",
                   f->param);
    (void)snprintf(details, sizeof details, "For input string: \"%.*s\"",
                   text.size > 100 ? 100 : (int)text.size,
                   (const char *)text.data);
    http_reply_error(reply, 400, f->fault != NULL ? f->fault : message,
                     (f->flags & FIELD_DETAILS) != 0 ? details : NULL);
    return false;
}

static bool
read_param(const struct http_request *r, const struct field *f, void *at,
           unsigned *seen, struct http_reply *reply)
{
    struct slice text;
    double d;
    bool good = true;

    if ((f->flags & FIELD_NEEDED) != 0 &&
        !api_need_param(r, f->param, &text, reply))
        return false;
    if (!http_param(r, f->param, &text) ||
        (text.size == 0 && (f->flags & FIELD_IF_SET) != 0 &&
         f->type != FIELD_TEXT))
        return true;
    switch (f->type) {
    case FIELD_TEXT:
        *(struct slice *)at = text;
        break;
    case FIELD_INT:
    case FIELD_WHOLE:
        good = api_parse_int(text, at);
        break;
    case FIELD_BOOL:
        *(bool *)at = true;
        break;
    case FIELD_SWITCH:
        *(bool *)at = slice_eq_nocase(text, slice_str("true"));
        break;
    case FIELD_DOUBLE:
        if (text.size == 0)
            return true;
        good = java_parse_double(text, &d);
        if (good)
            *(double *)at = (double)(float)d;
        break;
    case FIELD_LIST:
        if (!field_split(text, http_arena(r), at)) {
            http_reply_error(reply, 413, "the request needs too much memory",
                             NULL);
            return false;
        }
        break;
    case FIELD_PAIRS:
    case FIELD_OTHER:
        break;
    }
    if (good && is_set(f, at))
        *seen |= f->bit;
    return good || reject_param(f, text, reply);
}

bool
fields_read_params(const struct http_request *r, const struct field *fields,
                   size_t len, void *out, unsigned *seen,
                   struct http_reply *reply)
{
    *seen = 0;
    for (size_t i = 0; i < len; i++)
        if (fields[i].param != NULL &&
            !read_param(r, &fields[i], (char *)out + fields[i].offset, seen,
                        reply))
            return false;
    return true;
}

bool
fields_read(const struct http_request *r, const struct field *fields,
            size_t len, void *out, unsigned *seen, struct http_reply *reply)
{
    const struct field *bad;
    struct json_t *body;
    struct error e;
    enum status st;

    if (http_body(r).size == 0)
        return fields_read_params(r, fields, len, out, seen, reply);
    body = api_parse_body(r, reply);
    if (body == NULL)
        return false;
    st = read_members(body, fields, len, http_arena(r), out, seen, &bad, &e);
    json_decref(body);
    if (st == ST_INVALID && bad != NULL && bad->type == FIELD_LIST &&
        bad->fault != NULL)
        http_reply_error(reply, 400, bad->fault, e.text);
    else if (st != ST_OK)
        api_reject_json(reply, &e);
    return st == ST_OK;
}

/* -- writing --------------------------------------------------------------- */

void
field_put_if(struct buf *b, const char *name, struct slice text)
{
    if (!annotation_is_null(text))
        json_put_text(b, name, text);
}

void
field_put_pairs(struct buf *b, const char *name, const struct tag *pairs,
                size_t len)
{
    json_open(b, name, '{');
    for (size_t i = 0; i < len; i++)
        json_put_pair(b, pairs[i].key, pairs[i].value);
    buf_put_u8(b, '}');
}
