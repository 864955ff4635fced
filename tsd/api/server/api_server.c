/* Small endpoints that tell of the server, or change it. */
#include "tsd/api/api.h"

#include <unistd.h>

#include "base/process/log.h"
#include "cluster/cluster.h"
#include "query/model/aggregator.h"
#include "web/json/json.h"

/* /api/version and /version.  The members are OpenTSDB's.  No time or place of
 * the build is kept: equal sources give equal programs. */
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

/* /health and /api/status: do we live? */
void
api_health(void *ctx, const struct http_request *r, struct http_reply *out)
{
    http_reply_type(out, "application/json");
    buf_printf(http_reply_body(out), "{\"status\":\"%s\"}",
               api_status_word(ctx));
}

/* /api/aggregators and /aggregators: the names of the aggregators that OpenTSDB
 * has, too, because its clients compare the list. */
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

/* /api/serializers: there is JSON. */
void
api_serializers(void *ctx, const struct http_request *r, struct http_reply *out)
{
    buf_put_str(
        http_reply_body(out),
        "[{\"serializer\":\"json\",\"class\":\"halite\","
        "\"request_content_type\":\"application/json\","
        "\"response_content_type\":\"application/json; charset=UTF-8\","
        "\"parsers\":[\"PutV1\",\"SuggestV1\",\"QueryV1\",\"SearchQueryV1\","
        "\"AnnotationV1\",\"AnnotationsV1\",\"AnnotationBulkDeleteV1\"],"
        "\"formatters\":[\"PutV1\",\"SuggestV1\",\"AggregatorsV1\","
        "\"VersionV1\",\"ConfigV1\",\"DropCachesV1\",\"QueryV1\","
        "\"SearchResultsV1\",\"AnnotationV1\",\"AnnotationsV1\","
        "\"AnnotationBulkDeleteV1\",\"StatsV1\",\"ErrorV1\","
        "\"NotFoundV1\"]}]");
}

/* /api/cluster: the daemons that share a pool, and what each of them owns. */
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

/* /api/dropcaches, /dropcaches: forget what can be read again. */
void
api_dropcaches(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;

    if (!http_is_trusted(r, HTTP_TO_ADMINISTER) &&
        !a->settings->dropcaches_remote) {
        http_reply_not_local(out, "Only this machine may drop caches",
                             "halite.dropcaches.remote=true lets others do it");
        return;
    }
    api_drop_caches(a);
    api_json_type(r, out);
    buf_put_str(http_reply_body(out),
                "{\"message\":\"Caches dropped\",\"status\":\"200\"}");
}

/* /diediedie: stops the daemon, for those who sit at it. */
void
api_diediedie(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    const uint64_t one = 1;

    if (!http_is_trusted(r, HTTP_TO_ADMINISTER) &&
        !a->settings->diediedie_remote) {
        http_reply_not_local(out, "Only this machine may stop the daemon",
                             "halite.diediedie.remote=true lets others do it");
        return;
    }
    log_info("tsd", "%s said diediedie", http_peer(r));
    http_reply_type(out, "text/html; charset=UTF-8");
    buf_put_str(http_reply_body(out),
                "<!DOCTYPE html><html><head><title>TSD Exiting</title></head>"
                "<body><h1>Cleaning up and exiting now.</h1></body></html>\n");
    http_reply_close(out);
    if (write(a->stop_fd, &one, sizeof one) != (ssize_t)sizeof one)
        http_reply_error(out, 503, "It is stopping already", NULL);
}
