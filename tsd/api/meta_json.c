/* See tsd/api/meta_json.h. */
#include "config.h"

#include "tsd/api/meta_json.h"

#include <jansson.h>

#include "base/number.h"
#include "tsd/api/json_read.h"
#include "web/json.h"

/* -- the request ----------------------------------------------------------- */

/* A text member: where it lies, and its names in JSON and as a parameter. */
struct text_member {
    const char *json, *param;
    enum meta_field field;
    bool of_series;
    size_t offset;
};

#define TEXT(json, param, field, of_series, member)                  \
    {                                                                \
        json, param, field, of_series, offsetof(struct meta, member) \
    }

static const struct text_member text_members[] = {
    TEXT("displayName", "display_name", META_DISPLAY_NAME, false, display_name),
    TEXT("description", "description", META_DESCRIPTION, false, description),
    TEXT("notes", "notes", META_NOTES, false, notes),
    TEXT("units", "units", META_UNITS, true, units),
    TEXT("dataType", "data_type", META_DATA_TYPE, true, data_type),
};
#define TEXT_MEMBERS_LEN (sizeof text_members / sizeof text_members[0])

static struct slice *
text_at(struct meta *m, const struct text_member *t)
{
    return (struct slice *)(void *)((char *)m + t->offset);
}

/* What has the value that it has anyway counts as not given. */
static void
note_fields(struct meta_request *n)
{
    for (size_t i = 0; i < TEXT_MEMBERS_LEN; i++)
        if (text_at(&n->meta, &text_members[i])->size > 0 ||
            annotation_is_null(*text_at(&n->meta, &text_members[i])))
            n->fields |= text_members[i].field;
    if (n->meta.has_custom)
        n->fields |= META_CUSTOM;
    if (n->meta.created != 0)
        n->fields |= META_CREATED;
    if (n->meta.retention != 0)
        n->fields |= META_RETENTION;
}

/* Jackson makes 0 of a null and of an empty text. */
static enum status
read_limit_member(const struct json_t *json, const char *name, double *out,
                  bool *seen, struct error *e)
{
    const json_t *v = json_object_get(json, name);

    if (!json_is_null(v) && (!json_is_string(v) || json_string_length(v) > 0))
        return json_read_double(json, name, out, seen, e);
    *out = 0;
    *seen = true;
    return ST_OK;
}

static enum status
read_numbers(const struct json_t *json, struct meta_request *n, struct error *e)
{
    bool has_max = false, has_min = false;
    enum status st = json_read_whole(json, "retention", &n->meta.retention, e);

    if (st == ST_OK &&
        (n->meta.retention < INT32_MIN || n->meta.retention > INT32_MAX))
        st = error_set(e, ST_INVALID, "'retention' does not fit into 32 bits");
    if (st == ST_OK)
        st = read_limit_member(json, "max", &n->meta.max, &has_max, e);
    if (st == ST_OK)
        st = read_limit_member(json, "min", &n->meta.min, &has_min, e);
    n->fields |= (has_max ? META_MAX : 0u) | (has_min ? META_MIN : 0u);
    return st;
}

static enum status
read_json(const struct json_t *json, bool of_series, struct arena *a,
          struct meta_request *n, struct error *e)
{
    bool seen;
    enum status st;

    if (!json_is_object(json))
        return error_set(e, ST_INVALID, "an object is wanted");
    st = json_read_text(json, of_series ? "tsuid" : "uid", a, &n->id_text,
                        &seen, e);
    if (st == ST_OK && !of_series)
        st = json_read_text(json, "type", a, &n->type_text, &seen, e);
    for (size_t i = 0; i < TEXT_MEMBERS_LEN && st == ST_OK; i++)
        if (of_series || !text_members[i].of_series)
            st = json_read_nullable(json, text_members[i].json, a,
                                    text_at(&n->meta, &text_members[i]), &seen,
                                    e);
    if (st == ST_OK)
        st = json_read_whole(json, "created", &n->meta.created, e);
    if (st == ST_OK)
        st = json_read_pairs(json, "custom", a, &n->meta.custom,
                             &n->meta.custom_len, &n->meta.has_custom, e);
    return st == ST_OK && of_series ? read_numbers(json, n, e) : st;
}

static bool
read_body(const struct http_request *r, bool of_series, struct meta_request *n,
          struct http_reply *reply)
{
    struct json_t *body = api_parse_body(r, reply);
    enum uid_kind kind;
    struct error e;
    enum status st;

    if (body == NULL)
        return false;
    st = read_json(body, of_series, http_arena(r), n, &e);
    json_decref(body);
    if (st == ST_OK && n->type_text.size > 0)
        st = meta_read_type(n->type_text, &kind, &e);
    if (st == ST_INVALID)
        http_reply_error(reply, 400, "Unable to parse the given JSON", e.text);
    else if (st != ST_OK)
        http_reply_failure(reply, &e);
    return st == ST_OK;
}

/* Java's Float.parseFloat: what is read has 24 bits. */
static bool
read_limit(const struct http_request *r, const char *name, double *out,
           bool *seen)
{
    struct slice text;
    double d;

    *seen = http_param(r, name, &text) && text.size > 0;
    if (!*seen)
        return true;
    if (!read_java_double(text, &d))
        return false;
    *out = (double)(float)d;
    return true;
}

static bool
read_number_params(const struct http_request *r, struct meta_request *n,
                   struct http_reply *reply)
{
    bool has_max = false, has_min = false;
    const char *fault = NULL;
    struct slice text;

    if (http_param(r, "retention", &text) && text.size > 0 &&
        !api_parse_int(text, &n->meta.retention))
        fault = "Unable to parse 'retention' value";
    else if (!read_limit(r, "max", &n->meta.max, &has_max))
        fault = "Unable to parse 'max' value";
    else if (!read_limit(r, "min", &n->meta.min, &has_min))
        fault = "Unable to parse 'min' value";
    if (fault != NULL)
        http_reply_error(reply, 400, fault, NULL);
    n->fields |= (has_max ? META_MAX : 0u) | (has_min ? META_MIN : 0u);
    return fault == NULL;
}

static bool
read_params(const struct http_request *r, bool of_series,
            struct meta_request *n, struct http_reply *reply)
{
    enum uid_kind kind;
    struct error e;

    if (of_series)
        (void)http_param(r, "tsuid", &n->id_text);
    else if (!api_need_param(r, "uid", &n->id_text, reply) ||
             !api_need_param(r, "type", &n->type_text, reply))
        return false;
    if (!of_series && meta_read_type(n->type_text, &kind, &e) != ST_OK) {
        http_reply_failure(reply, &e);
        return false;
    }
    for (size_t i = 0; i < TEXT_MEMBERS_LEN; i++)
        if (of_series || !text_members[i].of_series)
            (void)http_param(r, text_members[i].param,
                             text_at(&n->meta, &text_members[i]));
    return !of_series || read_number_params(r, n, reply);
}

bool
meta_read(const struct http_request *r, bool of_series,
          struct meta_request *out, struct http_reply *reply)
{
    bool good;

    *out = (struct meta_request){ .id_text = slice_str(""),
                                  .type_text = slice_str(""),
                                  .meta = meta_empty() };
    good = http_body(r).size > 0 ? read_body(r, of_series, out, reply)
                                 : read_params(r, of_series, out, reply);
    note_fields(out);
    return good;
}

enum status
meta_read_type(struct slice text, enum uid_kind *out, struct error *e)
{
    char lower[16];
    size_t n = 0;

    for (; n < text.size && n + 1 < sizeof lower; n++)
        lower[n] = (char)(text.data[n] >= 'A' && text.data[n] <= 'Z'
                              ? text.data[n] | 0x20
                              : text.data[n]);
    lower[n] = '\0';
    return n == text.size && uid_kind_parse(lower, out)
               ? ST_OK
               : error_set(e, ST_INVALID, "Invalid type requested: %.*s",
                           SLICE_ARG(text));
}

enum status
meta_read_id(struct slice text, struct arena *a, struct slice *out,
             struct error *e)
{
    uint8_t *bytes = arena_alloc(a, text.size / 2 + 1);
    struct buf even = BUF_INIT;
    size_t size = 0;
    bool good;

    if (bytes == NULL)
        return error_set(e, ST_LIMIT, "the request needs too much memory");
    if (text.size == 0)
        return error_set(e, ST_INVALID, "UID was empty");
    if (text.size % 2 != 0)
        buf_put_u8(&even, '0');
    buf_put_slice(&even, text);
    good = api_parse_hex(buf_slice(&even), bytes, text.size / 2 + 1, &size);
    *out = slice_of(bytes, size);
    if (!good)
        (void)error_set(e, ST_INVALID,
                        "contains illegal character for hexBinary: %.*s",
                        SLICE_ARG(buf_slice(&even)));
    buf_fini(&even);
    return good ? ST_OK : ST_INVALID;
}

/* -- what OpenTSDB would have -----------------------------------------------
 */

enum status
meta_get_series(const struct api *a, struct slice tsuid, struct arena *arena,
                struct meta *out, struct error *e)
{
    const struct meta_of of = { META_SERIES, tsuid };
    enum status st = meta_get(a->metas, of, arena, out, e);
    bool has =
        settings_bool(a->settings, "tsd.core.meta.enable_realtime_ts") &&
        settings_bool(a->settings, "tsd.core.meta.enable_tsuid_tracking");

    if (st == ST_OK && !has)
        st = meta_has_record(a->metas, of, &has, e);
    return st == ST_OK && !has
               ? error_set(e, ST_NOT_FOUND, "the series has no metadata")
               : st;
}

/* -- the answer ------------------------------------------------------------ */

static void
put_member(struct buf *b, const char *name, struct slice text)
{
    buf_put_str(b, name);
    if (annotation_is_null(text))
        buf_put_str(b, "null");
    else
        json_put_string(b, text);
}

/* Of a series what is null is left out. */
static void
put_series_member(struct buf *b, const char *name, struct slice text)
{
    if (!annotation_is_null(text))
        put_member(b, name, text);
}

enum status
meta_write_uid(const struct api *a, struct buf *b, enum uid_kind kind,
               struct slice id, struct arena *scratch, struct error *e)
{
    static const char *const types[UID_KINDS] = { "METRIC", "TAGK", "TAGV" };
    struct buf name = BUF_INIT;
    struct meta m;
    enum status st = uid_name(
        a->uids, kind, key_get_uint(id.data, (unsigned)id.size), &name, e);

    if (st == ST_OK)
        st = meta_get(a->metas, (struct meta_of){ (enum meta_kind)kind, id },
                      scratch, &m, e);
    if (st == ST_OK) {
        buf_put_str(b, "{\"uid\":\"");
        api_put_hex(b, id);
        buf_printf(b, "\",\"type\":\"%s\"", types[kind]);
        put_member(b, ",\"name\":", buf_slice(&name));
        put_member(b, ",\"description\":", m.description);
        put_member(b, ",\"notes\":", m.notes);
        buf_printf(b, ",\"created\":%lld,\"custom\":", (long long)m.created);
        if (m.has_custom)
            json_put_pairs(b, m.custom, m.custom_len);
        else
            buf_put_str(b, "null");
        put_member(b, ",\"displayName\":", m.display_name);
        buf_put_u8(b, '}');
    }
    buf_fini(&name);
    return st;
}

/* What is no number is quoted. */
static void
put_limit(struct buf *b, const char *name, double d)
{
    char text[NUMBER_TEXT_MAX];
    struct slice s = slice_of(text, number_format_double(d, text));

    buf_put_str(b, name);
    if (d - d == 0)
        buf_put_slice(b, s);
    else
        json_put_string(b, s);
}

static enum status
write_tags(const struct api *a, struct buf *b, struct slice tsuid,
           struct arena *scratch, struct error *e)
{
    const struct key_shape *shape = store_shape(a->store);
    enum status st = ST_OK;

    buf_put_str(b, ",\"tags\":[");
    for (size_t i = 0; i < tsuid_tags(shape, tsuid) && st == ST_OK; i++) {
        if (i > 0)
            buf_put_u8(b, ',');
        st = meta_write_uid(a, b, UID_TAGK, tsuid_tagk(shape, tsuid, i),
                            scratch, e);
        buf_put_u8(b, ',');
        if (st == ST_OK)
            st = meta_write_uid(a, b, UID_TAGV, tsuid_tagv(shape, tsuid, i),
                                scratch, e);
    }
    buf_put_u8(b, ']');
    return st;
}

enum status
meta_write_series(const struct api *a, struct buf *b, struct slice tsuid,
                  const struct meta *meta, const struct series_points *points,
                  struct arena *scratch, struct error *e)
{
    enum status st;

    buf_put_str(b, "{\"tsuid\":\"");
    api_put_hex(b, tsuid);
    buf_put_str(b, "\",\"metric\":");
    st = meta_write_uid(a, b, UID_METRIC,
                        tsuid_metric(store_shape(a->store), tsuid), scratch, e);
    if (st == ST_OK)
        st = write_tags(a, b, tsuid, scratch, e);
    if (st != ST_OK)
        return st;
    put_series_member(b, ",\"description\":", meta->description);
    put_series_member(b, ",\"notes\":", meta->notes);
    buf_printf(b, ",\"created\":%lld", (long long)meta->created);
    if (meta->has_custom) {
        buf_put_str(b, ",\"custom\":");
        json_put_pairs(b, meta->custom, meta->custom_len);
    }
    put_series_member(b, ",\"units\":", meta->units);
    buf_printf(b, ",\"retention\":%lld", (long long)meta->retention);
    put_limit(b, ",\"max\":", meta->max);
    put_limit(b, ",\"min\":", meta->min);
    put_series_member(b, ",\"displayName\":", meta->display_name);
    put_series_member(b, ",\"dataType\":", meta->data_type);
    buf_printf(b, ",\"lastReceived\":%lld,\"totalDatapoints\":%llu}",
               (long long)(points->last_ms / 1000),
               (unsigned long long)points->points);
    return b->failed ? error_set(e, ST_LIMIT, "the answer is too large")
                     : ST_OK;
}
