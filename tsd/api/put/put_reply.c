#include "tsd/api/put/put_reply.h"

#include <stdio.h>

#include "base/text/number.h"
#include "web/json/json.h"

#define DETAILS_BYTES ((size_t)16 << 20)

bool
put_reply_reject(struct put_reply *p, const char *message, const char *details)
{
    http_reply_error(p->reply, 400, message, details);
    return false;
}

bool
put_reply_init(struct put_reply *p, const struct http_request *r,
               struct http_reply *reply)
{
    struct slice text;
    char why[200];

    *p = (struct put_reply){ .reply = reply,
                             .details = http_has_param(r, "details"),
                             .summary = http_has_param(r, "summary"),
                             .sync = http_has_param(r, "sync") };
    if (!http_param(r, "sync_timeout", &text) ||
        (number_parse_i64(text, &p->sync_timeout) &&
         p->sync_timeout <= INT32_MAX && p->sync_timeout >= INT32_MIN))
        return true;
    (void)snprintf(why, sizeof why, "For input string: \"%.*s\"",
                   text.size > 100 ? 100 : (int)text.size,
                   (const char *)text.data);
    return put_reply_reject(p, why, "sync_timeout needs a number");
}

void
put_reply_fini(struct put_reply *p)
{
    buf_fini(&p->errors);
}

struct buf *
put_reply_point(struct put_reply *p)
{
    if (!p->details || p->errors.size > DETAILS_BYTES)
        return NULL;
    buf_put_str(&p->errors,
                p->errors.size == 0 ? "{\"datapoint\":" : ",{\"datapoint\":");
    return &p->errors;
}

void
put_reply_why(struct put_reply *p, struct slice why)
{
    buf_put_str(&p->errors, ",\"error\":");
    json_put_string(&p->errors, why);
    buf_put_u8(&p->errors, '}');
}

void
put_reply_end(struct put_reply *p)
{
    struct buf *body = http_reply_body(p->reply);
    size_t failed = p->total - p->stored;

    if (p->broken && !p->details) {
        http_reply_error(p->reply, 503, "The store failed",
                         "Some points were not stored; send again later");
        http_reply_reported(p->reply); /* point by point */
        return;
    }
    if (!p->details && !p->summary) {
        if (failed == 0)
            http_reply_status(p->reply, 204); /* with a type, as OpenTSDB */
        else
            (void)put_reply_reject(
                p, "One or more data points had errors",
                "Please see the TSD logs or append \"details\" to the put "
                "request");
        http_reply_reported(p->reply);
        return;
    }
    http_reply_status(p->reply, failed == 0 ? 200 : p->broken ? 503 : 400);
    buf_printf(body, "{\"success\":%zu,\"failed\":%zu", p->stored, failed);
    if (p->sync_timeout > 0)
        buf_put_str(body, ",\"timeouts\":0");
    if (p->details) {
        buf_put_str(body, ",\"errors\":[");
        buf_put_slice(body, buf_slice(&p->errors));
        buf_put_str(body, "]");
    }
    buf_put_str(body, "}");
}
