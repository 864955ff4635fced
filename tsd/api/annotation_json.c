#include "tsd/api/annotation_json.h"

#include "base/process/log.h"
#include "tsd/api/meta_json.h"
#include "web/json/json.h"

bool
annotation_within(const struct annotation *n, int64_t from_ms, int64_t to_ms)
{
    int64_t ms = annotation_ms(n->start);

    return ms >= from_ms && ms <= to_ms;
}

void
annotation_write(struct buf *b, const struct annotation *n)
{
    struct buf hex = BUF_INIT;

    api_put_hex(&hex, n->tsuid);
    annotation_write_as(b, n, buf_slice(&hex));
    buf_fini(&hex);
}

void
annotation_write_as(struct buf *b, const struct annotation *n,
                    struct slice tsuid_text)
{
    json_open(b, NULL, '{');
    json_put_text(b, "tsuid", tsuid_text);
    field_put_if(b, "description", n->description);
    field_put_if(b, "notes", n->notes);
    if (n->custom.has)
        field_put_pairs(b, "custom", n->custom.pairs, n->custom.len);
    json_put_int(b, "startTime", n->start);
    json_put_int(b, "endTime", n->end);
    buf_put_u8(b, '}');
}

static const struct field fields[] = {
#define AT(member) offsetof(struct annotation_request, member)
    { NULL, "startTime", FIELD_WHOLE, AT(note.start), 0, 0, NULL },
    { NULL, "endTime", FIELD_WHOLE, AT(note.end), FIELD_IF_SET, ANNOTATION_END,
      NULL },
    { "tsuid", "tsuid", FIELD_TEXT, AT(tsuid_text), 0, 0, NULL },
    { "description", "description", FIELD_TEXT, AT(note.description),
      FIELD_NULLABLE, ANNOTATION_DESCRIPTION, NULL },
    { "notes", "notes", FIELD_TEXT, AT(note.notes), FIELD_NULLABLE,
      ANNOTATION_NOTES, NULL },
    { NULL, "custom", FIELD_PAIRS, AT(custom), 0, ANNOTATION_CUSTOM, NULL },
#undef AT
};

const struct field_table annotation_fields = { FIELDS(fields) };

static void
clear_request(struct annotation_request *n)
{
    *n = (struct annotation_request){ .tsuid_text = slice_str("") };
    n->note.description = n->note.notes = slice_str("");
}

enum status
annotation_read(const struct json_t *json, struct arena *a,
                struct annotation_request *out, struct error *e)
{
    enum status st;

    clear_request(out);
    st = fields_read_json(json, FIELDS(fields), a, out, &out->fields, e);
    out->note.custom = out->custom;
    return st;
}

bool
annotation_read_params(const struct http_request *r,
                       struct annotation_request *out, struct http_reply *reply)
{
    clear_request(out);
    return fields_read_params(r, FIELDS(fields), out, &out->fields, reply);
}

enum status
annotation_read_tsuid(struct annotation_request *n, unsigned metric_width,
                      struct arena *a, struct error *e)
{
    enum status st;

    n->note.tsuid = slice_str("");
    if (n->tsuid_text.size == 0)
        return ST_OK;
    st = meta_read_id(n->tsuid_text, a, &n->note.tsuid, e);
    if (st == ST_OK && n->note.tsuid.size < metric_width)
        st = error_set(e, ST_INVALID, "The TSUID is too short: %s",
                       log_quote(n->tsuid_text));
    return st == ST_OK && n->note.tsuid.size > TSUID_MAX
               ? error_set(e, ST_INVALID, "The TSUID is too long")
               : st;
}
