#include "tsd/api/put/put_failures.h"

#include <string.h>

#include "base/process/counters.h"
#include "base/process/log.h"

static bool
is_path_of_puts(const char *path)
{
    static const char *const paths[] = { "/api/put", "/api/rollup",
                                         "/api/histogram" };

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        size_t n = strlen(paths[i]);

        if (strncmp(path, paths[i], n) == 0 &&
            (path[n] == '\0' || path[n] == '/'))
            return true;
    }
    return false;
}

static enum put_failure
failure_of(unsigned status)
{
    switch (status) {
    case 200: /* an Origin that tsd.http.request.cors_domains does not name */
    case 401:
    case 403:
        return PUT_FAILED_FORBIDDEN;
    case 404:
    case 405:
    case 501:
        return PUT_FAILED_PATH;
    case 413:
        return PUT_FAILED_SIZE;
    case 415:
        return PUT_FAILED_ENCODING;
    default:
        return status < 500 ? PUT_FAILED_BODY : PUT_FAILED_UNAVAILABLE;
    }
}

void
put_failures_report(void *ctx, const struct http_request *r, unsigned status,
                    const char *why)
{
    static const enum counter counters[PUT_FAILURES] = {
        [PUT_FAILED_BODY] = CNT_PUT_BODY,
        [PUT_FAILED_ENCODING] = CNT_PUT_ENCODING,
        [PUT_FAILED_SIZE] = CNT_PUT_SIZE,
        [PUT_FAILED_FORBIDDEN] = CNT_PUT_FORBIDDEN,
        [PUT_FAILED_PATH] = CNT_PUT_PATH,
        [PUT_FAILED_UNAVAILABLE] = CNT_PUT_UNAVAILABLE,
    };
    struct put_failures *f = ctx;
    const char *path = http_path(r);
    enum put_failure kind;
    char more[LOG_MORE_SIZE];

    /* A POST or PUT to a path without an endpoint may be that of a client whose
     * URL is misspelt, so it counts, too. */
    if (path == NULL ||
        (http_method(r) != HTTP_POST && http_method(r) != HTTP_PUT) ||
        (!is_path_of_puts(path) && http_has_route(r)))
        return;
    kind = failure_of(status);
    counter_add(counters[kind], 1);
    if (log_throttle_pass(&f->log[kind], more))
        log_warn("put", "rejected a write from %s: %s: %u %s%s", http_peer(r),
                 log_quote(slice_str(http_url(r))), status,
                 log_quote(slice_str(why)), more);
}
