/* See query/parse/reader.h. */
#include "config.h"

#include "query/parse/reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "query/parse/parse_priv.h"

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

void
reader_no_room(struct reader *r)
{
    if (r->st == ST_OK)
        r->st = parse_fail(r->e, parse_no_room(&r->e->message));
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
reader_text(struct reader *r, const char *name, const struct tree_value *v,
            void *to)
{
    struct slice *out = to;
    char text[NUMBER_TEXT_MAX];

    switch (v->kind) {
    case TREE_NULL:
        *out = (struct slice){ NULL, 0 };
        return;
    case TREE_STRING:
        *out = reader_keep(r, v->text);
        return;
    case TREE_INTEGER:
        *out =
            reader_keep(r, slice_of(text, number_format_i64(v->integer, text)));
        return;
    case TREE_REAL:
        *out = real_text(r, v->real);
        return;
    case TREE_TRUE:
    case TREE_FALSE:
        *out = slice_str(v->kind == TREE_TRUE ? "true" : "false");
        return;
    case TREE_OBJECT:
    case TREE_ARRAY:
        break;
    }
    reader_fail(r, "'%s' must be a string", name);
}

void
reader_bool(struct reader *r, const char *name, const struct tree_value *v,
            void *to)
{
    bool *out = to;
    struct slice text;

    switch (v->kind) {
    case TREE_TRUE:
    case TREE_FALSE:
        *out = v->kind == TREE_TRUE;
        return;
    case TREE_NULL:
        *out = false;
        return;
    case TREE_INTEGER:
        *out = v->integer != 0;
        return;
    case TREE_STRING:
        text = v->text;
        *out = slice_eq_str(text, "true") || slice_eq_str(text, "True") ||
               slice_eq_str(text, "TRUE");
        if (*out || text.size == 0 || slice_eq_str(text, "false") ||
            slice_eq_str(text, "False") || slice_eq_str(text, "FALSE") ||
            slice_eq_str(text, "null"))
            return;
        break;
    case TREE_OBJECT:
    case TREE_ARRAY:
    case TREE_REAL:
        break;
    }
    reader_fail(r, "'%s' must be a boolean", name);
}

void
reader_long(struct reader *r, const char *name, const struct tree_value *v,
            void *to)
{
    int64_t *out = to;
    struct slice text;

    switch (v->kind) {
    case TREE_NULL:
        *out = 0;
        return;
    case TREE_INTEGER:
        *out = v->integer;
        return;
    case TREE_REAL:
        if (fabs(v->real) < 0x1p63) {
            *out = (int64_t)v->real;
            return;
        }
        break;
    case TREE_STRING:
        text = v->text;
        *out = 0;
        if (text.size == 0 || slice_eq_str(text, "null") ||
            number_parse_i64(text, out))
            return;
        break;
    case TREE_OBJECT:
    case TREE_ARRAY:
    case TREE_TRUE:
    case TREE_FALSE:
        break;
    }
    reader_fail(r, "'%s' must be an integer of 64 bits", name);
}

/* Jansson recurses, and its tree lies outside of the arena: so what could make
 * either large is counted first. */
static enum status
check_shape(struct slice body, struct parse_error *e)
{
    struct reader r = { .e = e };
    size_t depth = 0, values = 0;
    bool in_text = false;

    for (size_t i = 0; i < body.size; i++) {
        uint8_t c = body.data[i];

        if (in_text) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_text = false;
            continue;
        }
        in_text = c == '"';
        depth += c == '{' || c == '[';
        depth -= (c == '}' || c == ']') && depth > 0;
        values += c == '{' || c == '[' || c == ',' || c == ':';
        if (depth > JSON_DEPTH_MAX) {
            reader_fail(&r, "nested deeper than %d", JSON_DEPTH_MAX);
            return r.st;
        }
    }
    if (values > JSON_VALUES_MAX)
        return parse_fail(e, error_set(&e->message, ST_LIMIT,
                                       "a query of more than %d values",
                                       JSON_VALUES_MAX));
    return ST_OK;
}

void
reader_object(struct reader *r, const char *name, const struct tree_value *v,
              const struct member *members, size_t len, bool ignore_unknown,
              void *to)
{
    if (v->kind != TREE_OBJECT) {
        reader_fail(r, "'%s' must be an object", name);
        return;
    }
    for (const struct tree_value *m = v->first; m != NULL; m = m->next) {
        size_t i = 0;

        while (i < len && !slice_eq_str(m->key, members[i].name))
            i++;
        if (i < len)
            members[i].read(r, members[i].name, m,
                            (char *)to + members[i].offset);
        else if (!ignore_unknown)
            reader_fail(r, "Unrecognized field \"%.*s\" of '%s'",
                        SLICE_ARG(m->key), name);
        if (r->st != ST_OK)
            return;
    }
}

const struct tree_value *
reader_load(struct reader *r, struct slice body)
{
    json_error_t why = { .line = 0 };

    if (tree_load_plain(&r->tree, body))
        return r->tree.root;
    tree_unload(&r->tree);
    r->st = check_shape(body, r->e);
    if (r->st == ST_OK && !tree_load(&r->tree, body, &why))
        reader_fail(r, "%s at line %d, column %d", why.text, why.line,
                    why.column);
    if (r->st == ST_OK)
        return r->tree.root;
    tree_unload(&r->tree);
    return NULL;
}

void
reader_unload(struct reader *r)
{
    tree_unload(&r->tree);
}
