/* See tsd/annotation_json.h. */
#include "config.h"

#include "tsd/annotation_json.h"

#include <jansson.h>

#include "base/log.h"
#include "base/number.h"
#include "tsd/api.h"
#include "web/json.h"

bool
annotation_within(const struct annotation *n, int64_t from_ms, int64_t to_ms)
{
    int64_t ms = annotation_ms(n->start);

    return ms >= from_ms && ms <= to_ms;
}

static void
put_member(struct buf *b, const char *name, struct slice text)
{
    buf_put_str(b, name);
    json_put_string(b, text);
}

void
annotation_write(struct buf *b, const struct annotation *n)
{
    buf_put_str(b, "{\"tsuid\":\"");
    api_put_hex(b, n->tsuid);
    put_member(b, "\",\"description\":", n->description);
    put_member(b, ",\"notes\":", n->notes);
    if (n->has_custom) {
        buf_put_str(b, ",\"custom\":{");
        for (size_t i = 0; i < n->custom_len; i++) {
            if (i > 0)
                buf_put_u8(b, ',');
            json_put_string(b, n->custom[i].key);
            put_member(b, ":", n->custom[i].value);
        }
        buf_put_u8(b, '}');
    }
    buf_printf(b, ",\"startTime\":%lld,\"endTime\":%lld}", (long long)n->start,
               (long long)n->end);
}

static enum status
no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT, "the request needs too much memory");
}

/* Absent or null leaves '*out' alone. */
static enum status
read_time(const struct json_t *json, const char *name, int64_t *out,
          struct error *e)
{
    const json_t *v = json_object_get(json, name);
    struct slice text;

    if (v == NULL || json_is_null(v))
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
    text = slice_of(json_string_value(v), json_string_length(v));
    if (json_is_string(v) && number_parse_i64(text, out))
        return ST_OK;
    return error_set(e, ST_INVALID, "'%s' must be a whole number", name);
}

/* Absent or null leaves '*out' alone; '*seen' says whether it was there. */
static enum status
read_text(const struct json_t *json, const char *name, struct arena *a,
          struct slice *out, bool *seen, struct error *e)
{
    const json_t *v = json_object_get(json, name);
    char number[NUMBER_TEXT_MAX];
    struct slice text;
    char *copy;

    *seen = v != NULL && !json_is_null(v);
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

static enum status
read_custom(struct json_t *custom, struct arena *a, struct annotation *n,
            struct error *e)
{
    const char *key;
    json_t *value;

    if (!json_is_object(custom))
        return error_set(e, ST_INVALID, "'custom' must be an object");
    n->has_custom = true;
    n->custom = arena_array(a, json_object_size(custom) + 1, sizeof *n->custom);
    if (n->custom == NULL)
        return no_memory(e);
    json_object_foreach(custom, key, value)
    {
        struct annotation_pair *p = &n->custom[n->custom_len++];
        const char *copy = arena_strdup(a, slice_str(key));
        enum status st;
        bool seen;

        if (copy == NULL)
            return no_memory(e);
        p->key = slice_str(copy);
        p->value = slice_str("");
        st = read_text(custom, key, a, &p->value, &seen, e);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

enum status
annotation_read(const struct json_t *json, struct arena *a,
                struct annotation_request *out, struct error *e)
{
    struct annotation *n = &out->note;
    json_t *custom = json_object_get(json, "custom");
    bool seen;
    enum status st;

    *out = (struct annotation_request){ .tsuid_text = slice_str("") };
    n->description = n->notes = slice_str("");
    if (!json_is_object(json))
        return error_set(e, ST_INVALID, "an annotation is an object");
    st = read_time(json, "startTime", &n->start, e);
    if (st == ST_OK)
        st = read_time(json, "endTime", &n->end, e);
    if (n->end != 0)
        out->fields |= ANNOTATION_END;
    if (st == ST_OK)
        st = read_text(json, "tsuid", a, &out->tsuid_text, &seen, e);
    if (st == ST_OK)
        st = read_text(json, "description", a, &n->description, &seen, e);
    if (st == ST_OK && seen)
        out->fields |= ANNOTATION_DESCRIPTION;
    if (st == ST_OK)
        st = read_text(json, "notes", a, &n->notes, &seen, e);
    if (st == ST_OK && seen)
        out->fields |= ANNOTATION_NOTES;
    if (st != ST_OK || custom == NULL || json_is_null(custom))
        return st;
    out->fields |= ANNOTATION_CUSTOM;
    return read_custom(custom, a, n, e);
}

enum status
annotation_read_tsuid(struct annotation_request *n, struct arena *a,
                      struct error *e)
{
    uint8_t *bytes = arena_alloc(a, TSUID_MAX);
    size_t size;

    if (bytes == NULL)
        return no_memory(e);
    if (!api_parse_hex(n->tsuid_text, bytes, TSUID_MAX, &size))
        return error_set(e, ST_INVALID, "invalid TSUID: %s",
                         log_quote(n->tsuid_text));
    n->note.tsuid = slice_of(bytes, size);
    return ST_OK;
}
