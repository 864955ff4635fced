/* /api/retention: for how long points are kept, what that freed, and with
 * ?dry_run what it would free (docs/RETENTION.md). */
#include "tsd/api/api.h"

#include <jansson.h>

#include "tsd/retention/retention.h"
#include "web/json/json.h"

static void
put_view(struct buf *b, const struct retention_view *v, bool dry_run)
{
    buf_put_u8(b, '{');
    json_put_text(b, "source", slice_str(v->is_set ? "api" : "settings"));
    json_put_text(b, "policies", slice_str(v->policies.text));
    json_put_bool(b, "dryRun", dry_run);
    json_put_int(b, "lastPass", v->passed_ms);
    json_put_text(b, "clock",
                  slice_str(v->doubted_since_ms != 0 ? "doubted" : "believed"));
    if (v->doubted_since_ms != 0) {
        json_put_int(b, "believedUntil", v->doubted_since_ms);
        json_put_text(
            b, "doubt",
            slice_str(
                "The clock is far ahead of the last pass. Nothing is dropped "
                "until points with times near it have come for a while. If "
                "it is right, PUT {\"confirmClock\":true}"));
    }
    if (v->failure.status != ST_OK)
        json_put_text(b, "failure", slice_str(v->failure.text));
    json_open(b, "list", '[');
    for (size_t i = 0; i < v->policies.len; i++) {
        json_open(b, NULL, '{');
        json_put_text(b, "pattern", v->policies.list[i].pattern);
        json_put_text(b, "raw", v->policies.list[i].raw);
        json_put_text(b, "hourly", v->policies.list[i].hourly);
        json_put_int(b, "metrics", (int64_t)v->freed[i].metrics);
        json_put_int(b, "rows", (int64_t)v->freed[i].dropped.rows);
        json_put_int(b, "points", (int64_t)v->freed[i].dropped.points);
        json_put_int(b, "bytes", (int64_t)v->freed[i].dropped.bytes);
        buf_put_u8(b, '}');
    }
    buf_put_str(b, "]}");
}

/* 'out' has no data if the body only confirms the clock. */
static bool
read_text(const json_t *body, struct slice *out, struct http_reply *reply)
{
    const json_t *v = json_object_get(body, "policies");

    *out = slice_of(NULL, 0);
    if (v == NULL && json_is_true(json_object_get(body, "confirmClock")))
        return true;
    if (!json_is_string(v)) {
        http_reply_error(reply, 400, "Missing policies",
                         "The body is {\"policies\":\"sys.* 90d 2y; ...\"}, "
                         "or {\"confirmClock\":true}");
        return false;
    }
    *out = slice_of(json_string_value(v), json_string_length(v));
    return true;
}

/* Other policies, by PUT or DELETE. */
static bool
changes(const struct http_request *r)
{
    return http_method(r) != HTTP_GET && http_method(r) != HTTP_HEAD &&
           !http_has_param(r, "dry_run");
}

static enum status
serve_text(const struct api *a, const struct http_request *r,
           const struct slice *text, struct retention_view *out,
           struct error *e)
{
    enum status st;

    if (http_has_param(r, "dry_run"))
        return retention_dry_run(
            a->retention, text != NULL && text->data == NULL ? NULL : text,
            api_cancel(r), out, e);
    if (!changes(r))
        st = ST_OK;
    else if (text != NULL && text->data == NULL)
        st = retention_confirm(a->retention, e);
    else
        st = retention_set(a->retention, text, e);
    if (st == ST_OK)
        retention_view(a->retention, out);
    return st;
}

void
api_retention(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    bool has_body = http_method(r) == HTTP_PUT;
    json_t *body;
    struct slice text;
    struct retention_view view;
    struct error e;

    if (changes(r) && a->settings->mode == MODE_RO) {
        http_reply_error(out, 400, "retention: this server reads only", NULL);
        return;
    }
    /* It reads all rows that are too old, however long that takes. */
    if (http_has_param(r, "dry_run") && !http_has_right(r, HTTP_ADMIN)) {
        http_reply_error(out, 403, "Forbidden",
                         "A dry run of retention needs the role admin");
        return;
    }
    body = has_body ? api_parse_body(r, out) : NULL;
    if (has_body && (body == NULL || !read_text(body, &text, out))) {
        json_decref(body);
        return;
    }
    if (serve_text(a, r, has_body ? &text : NULL, &view, &e) == ST_OK) {
        api_json_type(r, out);
        put_view(http_reply_body(out), &view, http_has_param(r, "dry_run"));
        retention_view_fini(&view);
    } else {
        api_reject(out, &e);
    }
    json_decref(body);
}
