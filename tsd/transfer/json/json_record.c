#include "tsd/transfer/json/json_record.h"

#include <jansson.h>
#include <math.h>

#include "base/text/number.h"
#include "tsd/api/fields.h"
#include "web/json/json.h"

void
json_record_put(struct buf *out, const struct record_format *format,
                const void *record)
{
    for (size_t i = 0; i < format->len; i++) {
        const struct record_field *f = &format->fields[i];
        const void *at = (const uint8_t *)record + f->offset;
        const char *name = f->name;
        char text[NUMBER_TEXT_MAX];

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
            if (!isfinite(*(const double *)at))
                break;
            json_name(out, name);
            buf_put(out, text, number_format_double(*(const double *)at, text));
            break;
        case RECORD_TEXT:
        case RECORD_TEXT_OR_NULL:
            if (((const struct slice *)at)->data == NULL ||
                ((const struct slice *)at)->size > 0)
                json_put_text(out, name, *(const struct slice *)at);
            break;
        case RECORD_PAIRS:
            if (((const struct text_pairs *)at)->has)
                field_put_pairs(out, name,
                                ((const struct text_pairs *)at)->pairs,
                                ((const struct text_pairs *)at)->len);
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

/* An absent member says nothing. */
static void
clear_member(enum record_member type, void *at)
{
    switch (type) {
    case RECORD_BOOL:
        *(bool *)at = false;
        break;
    case RECORD_BYTE:
        *(int *)at = 0;
        break;
    case RECORD_INT:
    case RECORD_UINT:
        *(int64_t *)at = 0;
        break;
    case RECORD_DOUBLE:
        *(double *)at = NAN;
        break;
    case RECORD_TEXT:
    case RECORD_TEXT_OR_NULL:
        *(struct slice *)at = slice_str("");
        break;
    case RECORD_PAIRS:
        *(struct text_pairs *)at = (struct text_pairs){ .has = false };
        break;
    }
}

enum status
json_record_read(const json_t *object, const struct record_format *format,
                 struct arena *arena, void *record, struct error *e)
{
    static const enum field_type types[] = {
        [RECORD_BOOL] = FIELD_BOOL,     [RECORD_BYTE] = FIELD_WHOLE,
        [RECORD_INT] = FIELD_WHOLE,     [RECORD_UINT] = FIELD_WHOLE,
        [RECORD_DOUBLE] = FIELD_DOUBLE, [RECORD_TEXT] = FIELD_TEXT,
        [RECORD_PAIRS] = FIELD_PAIRS,   [RECORD_TEXT_OR_NULL] = FIELD_TEXT,
    };
    enum status st = ST_OK;
    unsigned seen;

    for (size_t i = 0; i < format->len && st == ST_OK; i++) {
        const struct record_field *f = &format->fields[i];
        void *at = (uint8_t *)record + f->offset;
        int64_t n = 0;
        const bool is_byte = f->type == RECORD_BYTE;
        const struct field one = {
            .json = f->name,
            .type = types[f->type],
            .flags = f->type == RECORD_TEXT_OR_NULL ? FIELD_NULLABLE : 0,
        };

        clear_member(f->type, at);
        st = fields_read_json(object, &one, 1, arena, is_byte ? &n : at, &seen,
                              e);
        if (st == ST_OK && is_byte && (n < 0 || n > 255))
            st = wrong_type(f->name, "0 to 255", e);
        else if (is_byte)
            *(int *)at = (int)n;
        if (st == ST_OK && f->type == RECORD_UINT && *(int64_t *)at < 0)
            st = wrong_type(f->name, "0 or more", e);
    }
    return st;
}
