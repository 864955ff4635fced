/* /health and /api/status: do we live? */
#include "tsd/api/api.h"

void
api_health(void *ctx, const struct http_request *r, struct http_reply *out)
{
    http_reply_type(out, "application/json");
    buf_printf(http_reply_body(out), "{\"status\":\"%s\"}",
               api_status_word(ctx));
}
