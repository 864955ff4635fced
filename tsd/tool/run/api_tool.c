/* /api/tool: runs a tool for a client, who fetches what it prints:
 *
 *     {"words": ["uid", "grep", "."], "tsdb": false, "zone": "UTC"}
 *     {"next": "<id>"}
 *     {"cancel": "<id>"}
 *
 * The first two answer frames (tsd/tool/run/tool_runs.h). */
#include <jansson.h>

#include "base/process/log.h"
#include "base/time/timezone.h"
#include "tsd/tool/import/api_import.h"
#include "tsd/tool/tool.h"
#include "tsd/tool/run/tool_runs.h"

/* A text without a NUL; NULL when it is none. */
static const char *
text_of(const json_t *v)
{
    const char *text = json_string_value(v);

    return text != NULL && strlen(text) == json_string_length(v) ? text : NULL;
}

static enum status
read_words(const json_t *list, struct arena *a, struct tool_call *out,
           struct error *e)
{
    const char **words;

    out->len = json_array_size(list);
    words = arena_array(a, out->len + 1, sizeof *words);
    if (words == NULL)
        return error_no_memory(e);
    out->words = words;
    if (out->len == 0)
        return error_set(e, ST_INVALID, "\"words\" must be an array of texts");
    for (size_t i = 0; i < out->len; i++) {
        words[i] = text_of(json_array_get(list, i));
        if (words[i] == NULL)
            return error_set(e, ST_INVALID, "a word is no text");
    }
    return ST_OK;
}

static void
answer(const struct api *a, const struct http_request *r, json_t *body,
       struct http_reply *out)
{
    const char *next = text_of(json_object_get(body, "next"));
    const char *cancel = text_of(json_object_get(body, "cancel"));
    char id[RUN_ID_SIZE];
    struct error e;
    enum status st = ST_OK;

    if (cancel != NULL) {
        tool_runs_cancel(a->tools, cancel);
        http_reply_empty(out, 204);
        return;
    }
    if (next == NULL) {
        struct tool_call call;
        const char *zone = text_of(json_object_get(body, "zone"));

        st = read_words(json_object_get(body, "words"), http_arena(r), &call,
                        &e);
        call.as_tsdb = json_is_true(json_object_get(body, "tsdb"));
        call.zone = a->zone;
        call.json = json_object_get(body, "words");
        if (st == ST_OK && zone != NULL)
            st = timezone_find(slice_str(zone), &call.zone, &e);
        if (st == ST_OK)
            st = tool_runs_begin(a->tools, a, &call, id, &e);
        if (st == ST_OK)
            log_info("tool", "%s for %s", log_quote(slice_str(call.words[0])),
                     http_peer(r));
    }
    if (st == ST_OK)
        st = tool_runs_read(a->tools, next == NULL ? id : next, api_cancel(r),
                            http_reply_body(out), &e);
    if (st == ST_OK)
        http_reply_type(out, "application/octet-stream");
    else
        api_reject(out, &e);
}

void
api_tool(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    json_t *body;

    /* Credentials of an administrator count from anywhere. */
    if (a->auth == NULL && !http_is_trusted(r, HTTP_TO_ADMINISTER) &&
        !a->settings->tool_remote) {
        http_reply_not_local(
            out, "Only this machine may run tools",
            "halite.tool.remote=true lets others do it, and so does "
            "halite.auth.file");
        return;
    }
    if (slice_eq_str(api_sub_path(r), "import")) {
        if (a->settings->mode == MODE_RO)
            http_reply_error(out, 400, "import: this server reads only", NULL);
        else
            api_tool_import(a, r, out);
        return;
    }
    body = api_parse_body(r, out);
    if (body == NULL)
        return;
    answer(a, r, body, out);
    json_decref(body);
}
