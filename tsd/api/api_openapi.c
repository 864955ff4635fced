/* /api/openapi.json: the HTTP API described for programs, as
 * tsd/api/openapi.json has it. */
#include "config.h"

#include "tsd/api/api.h"

static const uint8_t document[] = {
#include "tsd/api/openapi.inc"
};

void
api_openapi(void *ctx, const struct http_request *r, struct http_reply *out)
{
    (void)ctx;
    (void)r;
    buf_put(http_reply_body(out), document, sizeof document);
}
