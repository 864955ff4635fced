/* /api/version and /version.  The members are OpenTSDB's.  No time or place of
 * the build is kept: equal sources give equal programs. */
#include "tsd/api/api.h"

#include "web/json/json.h"

const char api_version_text[] =
    "halite " PACKAGE_VERSION " built at revision v" PACKAGE_VERSION " (MINT)\n"
    "Built on an unknown date by halite@localhost:halite\n";

void
api_version(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);

    if (!http_is_api(r) && !http_has_param(r, "json")) {
        http_reply_type(out, "text/plain");
        buf_put_str(b, api_version_text);
        return;
    }
    api_json_type(r, out);
    buf_put_str(b, "{\"short_revision\":\"v" PACKAGE_VERSION "\","
                   "\"full_revision\":\"v" PACKAGE_VERSION "\","
                   "\"version\":\"" PACKAGE_VERSION "\",\"timestamp\":\"0\","
                   "\"repo_status\":\"MINT\",\"user\":\"halite\","
                   "\"host\":\"localhost\",\"repo\":\"halite\","
                   "\"branch\":\"main\"}");
}
