#include "query/parse/reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text/java.h"
#include "base/text/json_clean.h"
#include "base/text/json_form.h"
#include "base/text/number.h"

#define FAILED_TEXT     "Unable to parse the given JSON"
#define JSON_DEPTH_MAX  64
#define JSON_VALUES_MAX 200000

void
reader_fail(struct reader *r, const char *fmt, ...)
{
    va_list ap;

    if (r->st != ST_OK)
        return;
    r->st = error_set(&r->e->message, ST_INVALID, FAILED_TEXT);
    va_start(ap, fmt);
    (void)vsnprintf(r->e->details, sizeof r->e->details, fmt, ap);
    va_end(ap);
}

static void
reader_no_room(struct reader *r)
{
    if (r->st == ST_OK)
        r->st = parse_fail(r->e, error_no_memory(&r->e->message));
}

void *
reader_array(struct reader *r, size_t len, size_t size)
{
    void *p = arena_array(r->arena, len + 1, size);

    if (p == NULL)
        reader_no_room(r);
    return p;
}

struct slice
reader_keep(struct reader *r, struct slice s)
{
    char *copy = arena_strdup(r->arena, s);

    if (copy == NULL) {
        reader_no_room(r);
        return slice_str("");
    }
    return slice_of(copy, s.size);
}

static struct slice
string_of(const json_t *v)
{
    return slice_of(json_string_value(v), json_string_length(v));
}

/* As it most likely stood in the request: clients print the shortest digits
 * that read back as the number. */
static struct slice
real_text(struct reader *r, double v)
{
    char text[64];
    int decimals = 1;

    if (fabs(v) >= 1e17) {
        (void)snprintf(text, sizeof text, "%.17g", v);
        return reader_keep(r, slice_str(text));
    }
    do
        (void)snprintf(text, sizeof text, "%.*f", decimals, v);
    while (strtod(text, NULL) != v && ++decimals <= 17);
    return reader_keep(r, slice_str(text));
}

void
reader_text(struct reader *r, const char *name, json_t *v, void *to)
{
    struct slice *out = to;
    char text[NUMBER_TEXT_MAX];

    if (json_is_null(v))
        *out = (struct slice){ NULL, 0 };
    else if (json_is_string(v))
        *out = reader_keep(r, string_of(v));
    else if (json_is_integer(v))
        *out = reader_keep(
            r, slice_of(text, number_format_i64(json_integer_value(v), text)));
    else if (json_is_real(v))
        *out = real_text(r, json_real_value(v));
    else if (json_is_boolean(v))
        *out = slice_str(json_is_true(v) ? "true" : "false");
    else
        reader_fail(r, "'%s' must be a string", name);
}

/* The first number of the body, outside of its texts, that has this value;
 * empty if it is longer than anyone writes a time. */
static struct slice
find_real(struct slice body, double v)
{
    static const char letters[] = "+-.0123456789eE";
    char text[40];
    bool in_text = false;

    for (size_t i = 0, n; i < body.size; i += n) {
        uint8_t c = body.data[i];

        n = 1;
        if (in_text && c == '\\')
            n = 2;
        if (c == '"')
            in_text = !in_text;
        if (in_text || (c != '-' && (c < '0' || c > '9')))
            continue;
        while (i + n < body.size && body.data[i + n] != '\0' &&
               strchr(letters, body.data[i + n]) != NULL)
            n++;
        if (n >= sizeof text)
            continue;
        memcpy(text, body.data + i, n);
        text[n] = '\0';
        if (strtod(text, NULL) == v)
            return slice_of(body.data + i, n);
    }
    return slice_str("");
}

void
reader_spelled(struct reader *r, const char *name, json_t *v, void *to)
{
    struct slice *out = to, found = slice_str("");

    if (json_is_real(v))
        found = find_real(r->body, json_real_value(v));
    if (found.size > 0)
        *out = reader_keep(r, found);
    else
        reader_text(r, name, v, to);
}

bool
reader_take_bool(const json_t *v, bool *out)
{
    static const char *const names[] = { "",     "false", "False", "FALSE",
                                         "null", "true",  "True",  "TRUE" };

    *out = json_is_true(v) || json_integer_value(v) != 0;
    for (size_t i = 0; json_is_string(v) && i < 8; i++)
        if (strcmp(json_string_value(v), names[i]) == 0) {
            *out = i >= 5;
            return true;
        }
    return json_is_null(v) || json_is_boolean(v) || json_is_integer(v);
}

bool
reader_take_long(const json_t *v, int64_t *out)
{
    struct slice text = java_trim(string_of(v));

    *out = json_integer_value(v);
    if (json_is_real(v) && fabs(json_real_value(v)) < 0x1p63)
        *out = (int64_t)json_real_value(v);
    else if (json_is_real(v))
        return false;
    return json_is_null(v) || json_is_number(v) ||
           (json_is_string(v) &&
            (text.size == 0 || slice_eq_str(text, "null") ||
             number_parse_i64(text, out)));
}

bool
reader_take_double(const json_t *v, double *out)
{
    *out = json_number_value(v);
    return json_is_null(v) || json_is_number(v) ||
           (json_is_string(v) && (json_string_length(v) == 0 ||
                                  java_parse_double(string_of(v), out)));
}

void
reader_bool(struct reader *r, const char *name, json_t *v, void *to)
{
    if (!reader_take_bool(v, to))
        reader_fail(r, "'%s' must be a boolean", name);
}

void
reader_long(struct reader *r, const char *name, json_t *v, void *to)
{
    if (!reader_take_long(v, to))
        reader_fail(r, "'%s' must be an integer of 64 bits", name);
}

void
reader_double(struct reader *r, const char *name, json_t *v, void *to)
{
    if (!reader_take_double(v, to))
        reader_fail(r, "'%s' must be a number", name);
}

/* What Jansson allocates for a value: at most an empty object, which has eight
 * buckets. */
#define JSON_VALUE_BYTES ((size_t)256)

/* Jansson recurses, and its tree lies outside of the arena, so it is charged
 * there: the values, their texts, and a cleaned copy of the body in a buffer
 * that doubles. */
static enum status
check_form(struct arena *a, struct slice body, struct parse_error *e)
{
    struct json_form form = json_form(body);
    struct reader r = { .e = e };

    if (form.depth > JSON_DEPTH_MAX)
        reader_fail(&r, "nested deeper than %d", JSON_DEPTH_MAX);
    else if (form.values > JSON_VALUES_MAX)
        r.st = parse_fail(e, error_set(&e->message, ST_LIMIT,
                                       "a query of more than %d values",
                                       JSON_VALUES_MAX));
    else if (form.documents > 1)
        reader_fail(&r, "the body contains more than one JSON document");
    else if (!arena_charge(a, form.values * JSON_VALUE_BYTES + 3 * body.size))
        r.st = parse_fail(e, error_no_memory(&e->message));
    return r.st;
}

void
reader_object(struct reader *r, const char *name, json_t *v,
              const struct member *members, size_t len, bool ignore_unknown,
              void *to)
{
    const char *key;
    json_t *item;

    if (!json_is_object(v)) {
        reader_fail(r, "'%s' must be an object", name);
        return;
    }
    json_object_foreach(v, key, item)
    {
        size_t i = 0;

        while (i < len && strcmp(key, members[i].name) != 0)
            i++;
        if (i < len)
            members[i].read(r, key, item, (char *)to + members[i].offset);
        else if (!ignore_unknown)
            reader_fail(r, "Unrecognized field \"%s\" of '%s'", key, name);
        if (r->st != ST_OK)
            return;
    }
}

void *
reader_items(struct reader *r, const char *name, json_t *v, size_t max,
             size_t size, reader_function *read, size_t *len)
{
    char *items = NULL;
    size_t i;
    json_t *item;

    *len = 0;
    if (r->st != ST_OK || json_is_null(v))
        return NULL;
    if (!json_is_array(v))
        reader_fail(r, "'%s' must be an array", name);
    else if (json_array_size(v) > max)
        r->st = parse_fail(r->e, error_set(&r->e->message, ST_LIMIT,
                                           "more than %zu %s", max, name));
    else
        items = reader_array(r, json_array_size(v), size);
    json_array_foreach(v, i, item)
    {
        if (r->st != ST_OK)
            break;
        read(r, name, item, items + size * (*len)++);
    }
    return items;
}

/* Replaces characters that no parser takes; false when there are none. */
static bool
clean_body(struct reader *r)
{
    struct buf clean = BUF_INIT;
    bool changed = json_clean(r->body, &clean);

    if (changed)
        r->body = reader_keep(r, buf_slice(&clean));
    buf_fini(&clean);
    return changed;
}

json_t *
reader_load(struct reader *r, struct slice body)
{
    size_t flags = JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    json_error_t why;
    json_t *root;

    r->body = body;
    r->st = check_form(r->arena, body, r->e);
    if (r->st != ST_OK)
        return NULL;
    root = json_loadb((const char *)body.data, body.size, flags, &why);
    if (root == NULL && clean_body(r))
        root =
            json_loadb((const char *)r->body.data, r->body.size, flags, &why);
    if (root == NULL)
        reader_fail(r, "%s at line %d, column %d", why.text, why.line,
                    why.column);
    return root;
}
