/* /api/serializers: there is JSON. */
#include "tsd/api/api.h"

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
