/* /api/cluster: the daemons that share a pool, and what each of them owns. */
#include "cluster/cluster.h"
#include "tsd/api/api.h"

void
api_cluster(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    struct cluster_view v;

    if (a->cluster == NULL) {
        http_reply_error(out, 404, "The store of this server lies in no pool",
                         "halite.store=rados:POOL puts one there");
        return;
    }
    api_json_type(r, out);
    cluster_view(a->cluster, &v);
    cluster_view_json(&v, http_reply_body(out));
    cluster_view_fini(&v);
}
