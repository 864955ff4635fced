/* /diediedie: stops the daemon, for those who sit at it. */
#include "tsd/api/api.h"

#include <unistd.h>

#include "base/process/log.h"

void
api_diediedie(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    const uint64_t one = 1;

    if (!http_is_trusted(r, HTTP_TO_ADMINISTER) &&
        !settings_bool(a->settings, "halite.diediedie.remote")) {
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
