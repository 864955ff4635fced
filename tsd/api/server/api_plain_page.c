/* The page at "/" of a program that was built without esbuild: examples, and
 * links to what can be asked. */
#include "tsd/api/api.h"

static const uint8_t page[] = {
#if defined(HALITE_ANALYSE)
    0
#else
#include "tsd/static/index.html.inc"
#endif
};

/* The name and the port by which the browser reached us, for the examples; a
 * header that does not look like one is not shown. */
static void
split_host(const struct http_request *r, struct slice *name, struct slice *port)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    const char *host = http_header(r, "Host");
    size_t size = host == NULL ? 0 : strspn(host, letters), digits;

    *name = slice_str("localhost");
    *port = slice_str("4242");
    if (size == 0 || (host[size] != '\0' && host[size] != ':'))
        return;
    digits = host[size] == ':' ? strspn(host + size + 1, "0123456789") : 0;
    if (host[size] == ':' && (digits == 0 || host[size + 1 + digits] != '\0'))
        return;
    *name = slice_of(host, size);
    *port = digits == 0 ? slice_str("80") : slice_of(host + size + 1, digits);
}

/* The page with its @NAME@s replaced. */
void
api_home(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct slice values[] = { slice_str(PACKAGE_VERSION), { 0 }, { 0 } };
    static const char *const names[] = { "@VERSION@", "@HOST@", "@PORT@" };
    struct slice left = slice_of(page, sizeof page);

    split_host(r, &values[1], &values[2]);
    http_reply_type(out, "text/html; charset=UTF-8");
    while (left.size > 0) {
        struct slice text = slice_of(left.data, 1);
        size_t size = 1;

        for (size_t i = 0; i < 3; i++)
            if (slice_starts(left, slice_str(names[i]))) {
                text = values[i];
                size = strlen(names[i]);
            }
        buf_put_slice(http_reply_body(out), text);
        left = slice_of(left.data + size, left.size - size);
    }
}

void
api_ui(void *ctx, const struct http_request *r, struct http_reply *out)
{
    http_reply_not_found(out); /* this page is one file */
}
