#include "tsd/tool/run/tool_remote.h"

#include <jansson.h>
#include <stdlib.h>

#include "tsd/tool/run/tool_runs.h"

enum reading { READING, ENDED, BROKEN };

/* Passes the frames on; '*status' when the tool ended, else 'request' becomes
 * the next one. */
static enum reading
pass_frames(struct tool *t, struct slice frames, struct buf *request,
            int *status)
{
    enum tool_frame kind;
    struct slice bytes;
    bool more = false;

    while (tool_frame_cut(&frames, &kind, &bytes)) {
        switch (kind) {
        case TOOL_FRAME_OUT:
            t->cancelled |= !t->out.write(t->out.ctx, bytes);
            break;
        case TOOL_FRAME_ERR:
            t->cancelled |= !t->err.write(t->err.ctx, bytes);
            break;
        case TOOL_FRAME_NEXT:
            buf_clear(request);
            buf_printf(request, "{\"%s\":\"%.*s\"}",
                       t->cancelled ? "cancel" : "next", SLICE_ARG(bytes));
            more = true;
            break;
        case TOOL_FRAME_EXIT:
            *status = bytes.data[0];
            return ENDED;
        }
    }
    return more && frames.size == 0 ? READING : BROKEN;
}

int
tool_remote_run(struct client *server, struct tool *t, const char *const *words,
                size_t len, const char *zone_name)
{
    struct buf request = BUF_INIT, answer = BUF_INIT;
    enum reading reading = READING;
    int status = TOOL_FAILED;
    struct error e;
    enum status st = ST_OK;
    json_t *body = json_object(), *list = json_array();
    char *text;

    for (size_t i = 0; i < len; i++)
        (void)json_array_append_new(list, json_string(words[i]));
    (void)json_object_set_new(body, "words", list);
    (void)json_object_set_new(body, "tsdb", json_boolean(t->as_tsdb));
    (void)json_object_set_new(body, "zone", json_string(zone_name));
    text = json_dumps(body, JSON_COMPACT);
    buf_clear(&request);
    buf_put_str(&request, text == NULL ? "" : text);
    free(text);
    json_decref(body);
    while (reading == READING && st == ST_OK) {
        bool last = t->cancelled;

        st = client_post(server, "/api/tool", "application/json",
                         buf_slice(&request), &answer, &e);
        if (last)
            break;
        if (st == ST_OK)
            reading = pass_frames(t, buf_slice(&answer), &request, &status);
    }
    if (st != ST_OK)
        tool_say(t, "%s", e.text);
    else if (reading == BROKEN)
        tool_say(t, "%s: that is no server of tools", client_base(server));
    buf_fini(&request);
    buf_fini(&answer);
    return status;
}
