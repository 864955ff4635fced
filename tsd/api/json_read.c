/* See tsd/api/json_read.h. */
#include "config.h"

#include "tsd/api/json_read.h"

#include <jansson.h>
#include <math.h>

#include "base/java.h"
#include "base/number.h"
#include "tsd/api/api.h"
#include "web/json.h"

static enum status
no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT, "the request needs too much memory");
}

static bool
is_absent(const struct json_t *v)
{
    return v == NULL || json_is_null(v);
}

static struct slice
text_of(const struct json_t *v)
{
    return slice_of(json_string_value(v), json_string_length(v));
}

enum status
json_read_whole(const struct json_t *json, const char *name, int64_t *out,
                struct error *e)
{
    const json_t *v = json_object_get(json, name);

    if (is_absent(v))
        return ST_OK;
    if (json_is_integer(v)) {
        *out = json_integer_value(v);
        return ST_OK;
    }
    if (json_is_real(v) && json_real_value(v) > -1e18 &&
        json_real_value(v) < 1e18) {
        *out = (int64_t)json_real_value(v);
        return ST_OK;
    }
    if (json_is_string(v) && json_string_length(v) == 0) {
        *out = 0;
        return ST_OK;
    }
    if (json_is_string(v) && number_parse_i64(text_of(v), out))
        return ST_OK;
    return error_set(e, ST_INVALID, "'%s' must be a whole number", name);
}

enum status
json_read_bool(const struct json_t *json, const char *name, bool *out,
               struct error *e)
{
    static const char *const names[] = { "",     "false", "False", "FALSE",
                                         "true", "True",  "TRUE" };
    const json_t *v = json_object_get(json, name);

    if (v == NULL)
        return ST_OK;
    *out = json_is_true(v) || json_integer_value(v) != 0;
    if (json_is_null(v) || json_is_boolean(v) || json_is_integer(v))
        return ST_OK;
    for (size_t i = 0; json_is_string(v) && i < 7; i++)
        if (strcmp(json_string_value(v), names[i]) == 0) {
            *out = i >= 4;
            return ST_OK;
        }
    return error_set(e, ST_INVALID, "'%s' must be true or false", name);
}

bool
read_java_double(struct slice s, double *out)
{
    s = java_trim(s);
    if (slice_eq_str(s, "NaN"))
        *out = NAN;
    else if (slice_eq_str(s, "Infinity") || slice_eq_str(s, "+Infinity"))
        *out = INFINITY;
    else if (slice_eq_str(s, "-Infinity"))
        *out = -INFINITY;
    else {
        if (s.size > 1 && memchr("fFdD", s.data[s.size - 1], 4) != NULL)
            s.size--;
        return number_parse_double(s, out);
    }
    return true;
}

enum status
json_read_double(const struct json_t *json, const char *name, double *out,
                 bool *seen, struct error *e)
{
    const json_t *v = json_object_get(json, name);

    *seen = !is_absent(v);
    if (!*seen)
        return ST_OK;
    if (json_is_number(v)) {
        *out = json_number_value(v);
        return ST_OK;
    }
    if (json_is_string(v) && read_java_double(text_of(v), out))
        return ST_OK;
    return error_set(e, ST_INVALID, "'%s' must be a number", name);
}

enum status
json_read_text(const struct json_t *json, const char *name, struct arena *a,
               struct slice *out, bool *seen, struct error *e)
{
    char number[NUMBER_TEXT_MAX];
    struct slice text;
    char *copy;

    *seen = !is_absent(json_object_get(json, name));
    if (!*seen)
        return ST_OK;
    if (!api_json_text(json, name, number, &text))
        return error_set(e, ST_INVALID, "'%s' must be a text", name);
    copy = arena_strdup(a, text);
    if (copy == NULL)
        return no_memory(e);
    *out = slice_of(copy, text.size);
    return ST_OK;
}

enum status
json_read_nullable(const struct json_t *json, const char *name, struct arena *a,
                   struct slice *out, bool *seen, struct error *e)
{
    if (!json_is_null(json_object_get(json, name)))
        return json_read_text(json, name, a, out, seen, e);
    *seen = true;
    *out = (struct slice){ NULL, 0 };
    return ST_OK;
}

enum status
json_read_pairs(const struct json_t *json, const char *name, struct arena *a,
                struct annotation_pair **pairs, size_t *len, bool *seen,
                struct error *e)
{
    json_t *object = json_object_get(json, name), *value;
    const char *key;

    *seen = !is_absent(object);
    if (!*seen)
        return ST_OK;
    if (!json_is_object(object))
        return error_set(e, ST_INVALID, "'%s' must be an object", name);
    *len = 0;
    *pairs = arena_array(a, json_object_size(object) + 1, sizeof **pairs);
    if (*pairs == NULL)
        return no_memory(e);
    json_object_foreach(object, key, value)
    {
        struct annotation_pair *p = &(*pairs)[(*len)++];
        const char *copy = arena_strdup(a, slice_str(key));
        enum status st;
        bool has_text;

        if (copy == NULL)
            return no_memory(e);
        p->key = slice_str(copy);
        p->value = slice_str("");
        st = json_read_nullable(object, key, a, &p->value, &has_text, e);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

void
json_put_pairs(struct buf *b, const struct annotation_pair *pairs, size_t len)
{
    buf_put_u8(b, '{');
    for (size_t i = 0; i < len; i++) {
        if (i > 0)
            buf_put_u8(b, ',');
        json_put_string(b, pairs[i].key);
        buf_put_u8(b, ':');
        if (annotation_is_null(pairs[i].value))
            buf_put_str(b, "null");
        else
            json_put_string(b, pairs[i].value);
    }
    buf_put_u8(b, '}');
}
