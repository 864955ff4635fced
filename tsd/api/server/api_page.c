/* The page of web/ui: "/", and below /ui/ what it loads.  The build gzips the
 * files and makes bytes of them. */
#include "tsd/api/api.h"

#include <inttypes.h>

static const uint8_t index_html[] = {
#if defined(HALITE_ANALYSE)
    0
#else
#include "web/ui/index.html.inc"
#endif
};

static const uint8_t page_js[] = {
#if defined(HALITE_ANALYSE)
    0
#else
#include "web/ui/page.js.inc"
#endif
};

static const uint8_t page_css[] = {
#if defined(HALITE_ANALYSE)
    0
#else
#include "web/ui/page.css.inc"
#endif
};

/* No inline script, nothing from elsewhere; pages of other sites may not show
 * it in a frame. */
#define POLICY                                               \
    "default-src 'self'; style-src 'self' 'unsafe-inline'; " \
    "img-src 'self' data: blob:; frame-ancestors 'self'; "   \
    "base-uri 'none'; form-action 'none'; object-src 'none'"

/* The checksum and the size that end a gzip file name its contents.  A browser
 * asks each time, and is mostly told that nothing has changed. */
static void
page_send(const struct http_request *r, struct http_reply *out,
          const char *type, const uint8_t *data, size_t size)
{
    const char *had = http_header(r, "If-None-Match");
    uint64_t end;
    char etag[32];

    INSIST(size > sizeof end);
    memcpy(&end, data + size - sizeof end, sizeof end);
    (void)snprintf(etag, sizeof etag, "W/\"%016" PRIx64 "\"", end);
    http_reply_header(out, "ETag", etag);
    http_reply_header(out, "Cache-Control", "no-cache");
    http_reply_header(out, "Content-Security-Policy", POLICY);
    http_reply_header(out, "Referrer-Policy", "same-origin");
    if (had != NULL && strstr(had, etag) != NULL) {
        http_reply_empty(out, 304);
        return;
    }
    http_reply_type(out, type);
    buf_put(http_reply_body(out), data, size);
    http_reply_gzipped(out);
}

void
api_home(void *ctx, const struct http_request *r, struct http_reply *out)
{
    page_send(r, out, "text/html; charset=UTF-8", index_html,
              sizeof index_html);
}

void
api_ui(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const char *path = http_path(r);

    if (strcmp(path, "/ui/page.js") == 0)
        page_send(r, out, "text/javascript; charset=UTF-8", page_js,
                  sizeof page_js);
    else if (strcmp(path, "/ui/page.css") == 0)
        page_send(r, out, "text/css; charset=UTF-8", page_css, sizeof page_css);
    else
        http_reply_not_found(out);
}
