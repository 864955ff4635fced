#include "tsd/api/meta_json.h"

#include "base/text/number.h"
#include "base/text/digit.h"
#include "web/json/json.h"

#define AT(member) offsetof(struct meta_request, member)

/* clang-format off */
#define OF_BOTH                                                               \
    { "display_name", "displayName", FIELD_TEXT, AT(meta.display_name),       \
      FIELD_NULLABLE | FIELD_IF_SET, META_DISPLAY_NAME, NULL },               \
    { "description", "description", FIELD_TEXT, AT(meta.description),         \
      FIELD_NULLABLE | FIELD_IF_SET, META_DESCRIPTION, NULL },                \
    { "notes", "notes", FIELD_TEXT, AT(meta.notes),                           \
      FIELD_NULLABLE | FIELD_IF_SET, META_NOTES, NULL },                      \
    { NULL, "created", FIELD_WHOLE, AT(meta.created), FIELD_IF_SET,           \
      META_CREATED, NULL },                                                   \
    { NULL, "custom", FIELD_PAIRS, AT(custom), 0, META_CUSTOM, NULL }
/* clang-format on */

static const struct field uid_fields[] = {
    { "uid", "uid", FIELD_TEXT, AT(id_text), FIELD_NEEDED, 0, NULL },
    { "type", "type", FIELD_TEXT, AT(type_text), FIELD_NEEDED, 0, NULL },
    OF_BOTH,
};

const struct field_table meta_uid_fields = { FIELDS(uid_fields) };

static const struct field series_fields[] = {
    { "tsuid", "tsuid", FIELD_TEXT, AT(id_text), 0, 0, NULL },
    { "units", "units", FIELD_TEXT, AT(meta.units),
      FIELD_NULLABLE | FIELD_IF_SET, META_UNITS, NULL },
    { "data_type", "dataType", FIELD_TEXT, AT(meta.data_type),
      FIELD_NULLABLE | FIELD_IF_SET, META_DATA_TYPE, NULL },
    { "retention", "retention", FIELD_INT, AT(meta.retention), FIELD_IF_SET,
      META_RETENTION, NULL },
    { "max", "max", FIELD_DOUBLE, AT(meta.max), FIELD_NULL_IS_0, META_MAX,
      NULL },
    { "min", "min", FIELD_DOUBLE, AT(meta.min), FIELD_NULL_IS_0, META_MIN,
      NULL },
    OF_BOTH,
};

const struct field_table meta_series_fields = { FIELDS(series_fields) };

bool
meta_read(const struct http_request *r, bool is_series,
          struct meta_request *out, struct http_reply *reply)
{
    bool in_body = http_body(r).size > 0;
    enum uid_kind kind;
    struct error e;

    *out = (struct meta_request){ .id_text = slice_str(""),
                                  .type_text = slice_str(""),
                                  .meta = meta_empty() };
    if (!(is_series
              ? fields_read(r, FIELDS(series_fields), out, &out->fields, reply)
              : fields_read(r, FIELDS(uid_fields), out, &out->fields, reply)))
        return false;
    out->meta.custom = out->custom;
    if (is_series || (in_body && out->type_text.size == 0) ||
        meta_read_type(out->type_text, &kind, &e) == ST_OK)
        return true;
    if (in_body)
        api_reject_json(reply, &e);
    else
        http_reply_failure(reply, &e);
    return false;
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
        return error_no_memory(e);
    if (text.size == 0)
        return error_set(e, ST_INVALID, "UID was empty");
    if (text.size % 2 != 0)
        buf_put_u8(&even, '0');
    buf_put_slice(&even, text);
    good = digits_parse_hex(buf_slice(&even), bytes, text.size / 2 + 1, &size);
    *out = slice_of(bytes, size);
    if (!good)
        (void)error_set(e, ST_INVALID,
                        "contains illegal character for hexBinary: %.*s",
                        SLICE_ARG(buf_slice(&even)));
    buf_fini(&even);
    return good ? ST_OK : ST_INVALID;
}

enum status
meta_get_series(const struct api *a, struct slice tsuid, struct arena *arena,
                struct meta *out, struct error *e)
{
    const struct meta_of of = { META_SERIES, tsuid };
    enum status st = meta_get(a->records, of, arena, out, e);
    bool has = a->settings->meta_enable_realtime_ts &&
               a->settings->meta_enable_tsuid_tracking;

    if (st == ST_OK && !has)
        st = meta_has_record(a->records, of, &has, e);
    return st == ST_OK && !has
               ? error_set(e, ST_NOT_FOUND, "the series has no metadata")
               : st;
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
        st = meta_get(a->records, (struct meta_of){ (enum meta_kind)kind, id },
                      scratch, &m, e);
    if (st == ST_OK) {
        json_open(b, NULL, '{');
        api_put_id(b, "uid", id);
        json_put_text(b, "type", slice_str(types[kind]));
        json_put_text(b, "name", buf_slice(&name));
        json_put_text(b, "description", m.description);
        json_put_text(b, "notes", m.notes);
        json_put_int(b, "created", m.created);
        if (m.custom.has)
            field_put_pairs(b, "custom", m.custom.pairs, m.custom.len);
        else
            json_put_list(b, "custom", NULL, 0);
        json_put_text(b, "displayName", m.display_name);
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

    json_name(b, name);
    if (d - d == 0)
        buf_put_slice(b, s);
    else
        json_put_string(b, s);
}

enum status
meta_write_series(const struct api *a, struct buf *b, struct slice tsuid,
                  const struct meta *meta, const struct series_points *points,
                  struct arena *scratch, struct error *e)
{
    enum status st;

    json_open(b, NULL, '{');
    api_put_id(b, "tsuid", tsuid);
    json_name(b, "metric");
    st =
        meta_write_uid(a, b, UID_METRIC,
                       tsuid_metric(store_layout(a->store), tsuid), scratch, e);
    if (st == ST_OK) {
        const struct key_layout *layout = store_layout(a->store);

        json_open(b, "tags", '[');
        for (size_t i = 0; i < tsuid_tags(layout, tsuid) && st == ST_OK; i++) {
            st = meta_write_uid(a, b, UID_TAGK, tsuid_tagk(layout, tsuid, i),
                                scratch, e);
            if (st == ST_OK)
                st = meta_write_uid(a, b, UID_TAGV,
                                    tsuid_tagv(layout, tsuid, i), scratch, e);
        }
        buf_put_u8(b, ']');
    }
    if (st != ST_OK)
        return st;
    field_put_if(b, "description", meta->description);
    field_put_if(b, "notes", meta->notes);
    json_put_int(b, "created", meta->created);
    if (meta->custom.has)
        field_put_pairs(b, "custom", meta->custom.pairs, meta->custom.len);
    field_put_if(b, "units", meta->units);
    json_put_int(b, "retention", meta->retention);
    put_limit(b, "max", meta->max);
    put_limit(b, "min", meta->min);
    field_put_if(b, "displayName", meta->display_name);
    field_put_if(b, "dataType", meta->data_type);
    json_put_int(b, "lastReceived", points->last_ms / 1000);
    json_put_int(b, "totalDatapoints", (int64_t)points->points);
    buf_put_u8(b, '}');
    return b->failed ? error_set(e, ST_LIMIT, "the answer is too large")
                     : ST_OK;
}
