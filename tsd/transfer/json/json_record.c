#include "tsd/transfer/json/json_record.h"

#include <jansson.h>
#include <math.h>

#include "base/text/number.h"
#include "web/json/json.h"

static void
put_double(struct buf *out, const char *name, double v)
{
    char text[NUMBER_TEXT_MAX];

    if (!isfinite(v))
        return;
    json_name(out, name);
    buf_put(out, text, number_format_double(v, text));
}

static void
put_pairs(struct buf *out, const char *name, const struct text_pairs *p)
{
    if (!p->has)
        return;
    json_open(out, name, '{');
    for (size_t i = 0; i < p->len; i++)
        json_put_pair(out, p->pairs[i].key, p->pairs[i].value);
    buf_put_u8(out, '}');
}

void
json_record_put(struct buf *out, const struct record_format *format,
                const void *record)
{
    for (size_t i = 0; i < format->len; i++) {
        const struct record_field *f = &format->fields[i];
        const void *at = (const uint8_t *)record + f->offset;
        const char *name = f->name;

        switch (f->type) {
        case RECORD_BOOL:
            if (*(const bool *)at)
                json_put_bool(out, name, true);
            break;
        case RECORD_BYTE:
            if (*(const int *)at != 0)
                json_put_int(out, name, *(const int *)at);
            break;
        case RECORD_INT:
        case RECORD_UINT:
            if (*(const int64_t *)at != 0)
                json_put_int(out, name, *(const int64_t *)at);
            break;
        case RECORD_DOUBLE:
            put_double(out, name, *(const double *)at);
            break;
        case RECORD_TEXT:
        case RECORD_TEXT_OR_NULL:
            if (((const struct slice *)at)->data == NULL ||
                ((const struct slice *)at)->size > 0)
                json_put_text(out, name, *(const struct slice *)at);
            break;
        case RECORD_PAIRS:
            put_pairs(out, name, at);
            break;
        }
    }
}

/* -- reading --------------------------------------------------------------- */

static enum status
wrong_type(const char *name, const char *wanted, struct error *e)
{
    return error_set(e, ST_INVALID, "'%s' must be %s", name, wanted);
}

enum status
json_text_member(const json_t *object, const char *name, struct slice *out,
                 struct error *e)
{
    const json_t *v = json_object_get(object, name);

    *out = slice_of(NULL, 0);
    if (v == NULL || json_is_null(v))
        return ST_OK;
    if (!json_is_string(v))
        return wrong_type(name, "a text", e);
    *out = slice_of(json_string_value(v), json_string_length(v));
    return ST_OK;
}

enum status
json_whole_member(const json_t *object, const char *name, int64_t *out,
                  struct error *e)
{
    const json_t *v = json_object_get(object, name);

    *out = 0;
    if (v == NULL || json_is_null(v))
        return ST_OK;
    if (!json_is_integer(v))
        return wrong_type(name, "a whole number", e);
    *out = json_integer_value(v);
    return ST_OK;
}

static enum status
read_text(const json_t *object, const char *name, bool or_null,
          struct arena *arena, struct slice *out, struct error *e)
{
    enum status st = json_text_member(object, name, out, e);

    if (st != ST_OK)
        return st;
    if (out->data == NULL &&
        (!or_null || json_object_get(object, name) == NULL))
        *out = slice_str("");
    return out->size == 0 || arena_keep(arena, out) ? ST_OK
                                                    : error_no_memory(e);
}

static enum status
read_pairs(const json_t *object, const char *name, struct arena *arena,
           struct text_pairs *out, struct error *e)
{
    json_t *map = json_object_get(object, name), *value;
    enum status st = ST_OK;
    const char *key;

    *out = (struct text_pairs){ .has = map != NULL && !json_is_null(map) };
    if (!out->has)
        return ST_OK;
    if (!json_is_object(map))
        return wrong_type(name, "an object", e);
    out->pairs =
        arena_array(arena, json_object_size(map) + 1, sizeof *out->pairs);
    if (out->pairs == NULL)
        return error_no_memory(e);
    json_object_foreach(map, key, value)
    {
        struct tag *p = &out->pairs[out->len++];

        (void)value;
        p->key = slice_str(key);
        if (!arena_keep(arena, &p->key))
            return error_no_memory(e);
        st = read_text(map, key, true, arena, &p->value, e);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

static enum status
read_uint(const json_t *object, const char *name, int64_t *out, struct error *e)
{
    enum status st = json_whole_member(object, name, out, e);

    return st == ST_OK && *out < 0 ? wrong_type(name, "0 or more", e) : st;
}

static enum status
read_field(const json_t *object, const char *name, enum record_member type,
           struct arena *arena, void *at, struct error *e)
{
    const json_t *v = json_object_get(object, name);

    switch (type) {
    case RECORD_BOOL:
        *(bool *)at = json_is_true(v);
        return v == NULL || json_is_boolean(v)
                   ? ST_OK
                   : wrong_type(name, "true or false", e);
    case RECORD_BYTE: {
        int64_t n;
        enum status st = json_whole_member(object, name, &n, e);

        if (st == ST_OK && (n < 0 || n > 255))
            st = wrong_type(name, "0 to 255", e);
        *(int *)at = st == ST_OK ? (int)n : 0;
        return st;
    }
    case RECORD_INT:
        return json_whole_member(object, name, at, e);
    case RECORD_UINT:
        return read_uint(object, name, at, e);
    case RECORD_DOUBLE:
        *(double *)at = v == NULL ? NAN : json_number_value(v);
        return v == NULL || json_is_number(v) ? ST_OK
                                              : wrong_type(name, "a number", e);
    case RECORD_TEXT:
    case RECORD_TEXT_OR_NULL:
        return read_text(object, name, type == RECORD_TEXT_OR_NULL, arena, at,
                         e);
    case RECORD_PAIRS:
        return read_pairs(object, name, arena, at, e);
    }
    return ST_OK;
}

enum status
json_record_read(const json_t *object, const struct record_format *format,
                 struct arena *arena, void *record, struct error *e)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < format->len && st == ST_OK; i++) {
        const struct record_field *f = &format->fields[i];

        st = read_field(object, f->name, f->type, arena,
                        (uint8_t *)record + f->offset, e);
    }
    return st;
}
