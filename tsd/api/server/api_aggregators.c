/* /api/aggregators and /aggregators: the names of the aggregators that OpenTSDB
 * has, too, because its clients compare the list. */
#include "tsd/api/api.h"

#include "query/model/aggregator.h"
#include "web/json/json.h"

void
api_aggregators(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);
    const struct aggregator *a;

    api_json_type(r, out);
    buf_put_u8(b, '[');
    for (size_t i = 0; (a = aggregator_at(i)) != NULL; i++)
        if (!a->is_ours)
            json_put_item(b, slice_str(a->name));
    buf_put_u8(b, ']');
}
