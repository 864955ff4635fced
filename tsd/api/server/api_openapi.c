/* /api/openapi.json: the HTTP API described for programs, as
 * tsd/api/openapi.json has it. */
#include "tsd/api/api.h"

/* cppcheck takes minutes for the bytes. */
static const uint8_t document[] = {
#if defined(HALITE_ANALYSE)
    0
#else
#include "tsd/api/openapi.inc"
#endif
};

void
api_openapi(void *ctx, const struct http_request *r, struct http_reply *out)
{
    (void)ctx;
    (void)r;
    buf_put(http_reply_body(out), document, sizeof document);
}
