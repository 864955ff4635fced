/* /api/dropcaches, /dropcaches: forget what can be read again. */
#include "tsd/api/api.h"

void
api_dropcaches(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;

    if (!http_is_trusted(r, HTTP_TO_ADMINISTER) &&
        !settings_bool(a->settings, "halite.dropcaches.remote")) {
        http_reply_not_local(out, "Only this machine may drop caches",
                             "halite.dropcaches.remote=true lets others do it");
        return;
    }
    api_drop_caches(a);
    api_json_type(r, out);
    buf_put_str(http_reply_body(out),
                "{\"message\":\"Caches dropped\",\"status\":\"200\"}");
}
