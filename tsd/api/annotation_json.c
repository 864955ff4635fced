/* See tsd/api/annotation_json.h. */
#include "config.h"

#include "tsd/api/annotation_json.h"

#include <jansson.h>

#include "base/log.h"
#include "tsd/api/api.h"
#include "tsd/api/json_read.h"
#include "tsd/api/meta_json.h"
#include "web/json.h"

bool
annotation_within(const struct annotation *n, int64_t from_ms, int64_t to_ms)
{
    int64_t ms = annotation_ms(n->start);

    return ms >= from_ms && ms <= to_ms;
}

/* What is null is left out. */
static void
put_member(struct buf *b, const char *name, struct slice text)
{
    if (annotation_is_null(text))
        return;
    buf_put_str(b, name);
    json_put_string(b, text);
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
    buf_put_str(b, "{\"tsuid\":");
    json_put_string(b, tsuid_text);
    put_member(b, ",\"description\":", n->description);
    put_member(b, ",\"notes\":", n->notes);
    if (n->has_custom) {
        buf_put_str(b, ",\"custom\":");
        json_put_pairs(b, n->custom, n->custom_len);
    }
    buf_printf(b, ",\"startTime\":%lld,\"endTime\":%lld}", (long long)n->start,
               (long long)n->end);
}

enum status
annotation_read(const struct json_t *json, struct arena *a,
                struct annotation_request *out, struct error *e)
{
    struct annotation *n = &out->note;
    bool seen;
    enum status st;

    *out = (struct annotation_request){ .tsuid_text = slice_str("") };
    n->description = n->notes = slice_str("");
    if (!json_is_object(json))
        return error_set(e, ST_INVALID, "an annotation is an object");
    st = json_read_whole(json, "startTime", &n->start, e);
    if (st == ST_OK)
        st = json_read_whole(json, "endTime", &n->end, e);
    if (n->end != 0)
        out->fields |= ANNOTATION_END;
    if (st == ST_OK)
        st = json_read_text(json, "tsuid", a, &out->tsuid_text, &seen, e);
    if (st == ST_OK)
        st = json_read_nullable(json, "description", a, &n->description, &seen,
                                e);
    if (st == ST_OK && seen)
        out->fields |= ANNOTATION_DESCRIPTION;
    if (st == ST_OK)
        st = json_read_nullable(json, "notes", a, &n->notes, &seen, e);
    if (st == ST_OK && seen)
        out->fields |= ANNOTATION_NOTES;
    if (st == ST_OK)
        st = json_read_pairs(json, "custom", a, &n->custom, &n->custom_len,
                             &n->has_custom, e);
    if (n->has_custom)
        out->fields |= ANNOTATION_CUSTOM;
    return st;
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
