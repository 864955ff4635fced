/* /api/version and /version. */
#include "tsd/api/api.h"

#include "tsd/stats/version.h"
#include "web/json/json.h"

void
api_version(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);
    const struct version_field *f;

    if (!http_is_api(r) && !http_has_param(r, "json")) {
        http_reply_type(out, "text/plain");
        buf_put_str(b, version_text());
        return;
    }
    api_json_type(r, out);
    buf_put_u8(b, '{');
    for (size_t i = 0; (f = version_field_at(i)) != NULL; i++)
        json_put_text(b, f->name, slice_str(f->value));
    buf_put_u8(b, '}');
}
