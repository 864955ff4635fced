/* /api/cluster: the daemons that share a pool, and what each of them owns. */
#include "tsd/api/api.h"

void
api_cluster(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;

    if (a->cluster == NULL) {
        http_reply_error(out, 404, "The store of this server lies in no pool",
                         "halite.store=rados:POOL puts one there");
        return;
    }
    api_json_type(r, out);
    a->cluster_json(a->cluster, http_reply_body(out));
}
