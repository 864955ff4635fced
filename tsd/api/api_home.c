/* What a browser sees: a page at "/", its icon, files below /s/, and /health
 * for those that only want to know whether we live. */
#include "config.h"

#include "tsd/api/api.h"

#include <fcntl.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define FOREVER    "max-age=31536000"
#define ICON_SIZE  16
#define STATIC_MAX ((size_t)32 << 20)

void
api_health(void *ctx, const struct http_request *r, struct http_reply *out)
{
    http_reply_type(out, "application/json");
    buf_printf(http_reply_body(out), "{\"status\":\"%s\"}",
               api_status_word(ctx));
}

/* OpenTSDB's plug-ins live here; there are none. */
void
api_plugin(void *ctx, const struct http_request *r, struct http_reply *out)
{
    http_reply_empty(out, 404);
}

/* Colours are the browser's own, for light and dark; long lines wrap. */
static const char page_start[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
    "<title>Halite</title>\n"
    "<style>:root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;"
    "padding:0 1em}h1{font-size:1.7em}h2{font-size:1.15em;margin:1.5em 0 .5em}"
    "pre{font-size:14px;background:rgba(128,128,128,.12);border:1px solid "
    "rgba(128,128,128,.35);border-radius:4px;padding:.7em;margin:.5em 0;"
    "white-space:pre-wrap;overflow-wrap:anywhere}"
    "ul{padding-left:1.2em}</style></head><body>\n"
    "<h1>Halite " PACKAGE_VERSION "</h1>\n"
    "<p>A time-series database that speaks OpenTSDB's protocols.</p>\n";

static const char page_end[] =
    "<h2>See</h2>\n<ul>\n"
    "<li><a href=\"api/suggest?type=metrics\">metrics</a>, "
    "<a href=\"api/suggest?type=tagk\">tag keys</a>, "
    "<a href=\"api/suggest?type=tagv\">tag values</a></li>\n"
    "<li><a href=\"api/aggregators\">aggregators</a>, "
    "<a href=\"api/config/filters\">filters</a></li>\n"
    "<li><a href=\"stats\">statistics</a>, "
    "<a href=\"api/stats/query\">queries under way</a>, "
    "<a href=\"logs\">log</a></li>\n"
    "<li><a href=\"api/config\">settings</a>, "
    "<a href=\"version\">version</a></li>\n"
    "</ul></body></html>\n";

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

void
api_home(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct buf *b = http_reply_body(out);
    struct slice name, port;

    split_host(r, &name, &port);
    http_reply_type(out, "text/html; charset=UTF-8");
    buf_put_str(b, page_start);
    buf_printf(b,
               "<h2>Write</h2>\n"
               "<pre>printf \"put sys.cpu.user $(date +%%s) 42.5 host=web01\\n"
               "exit\\n\" | nc %.*s %.*s</pre>\n"
               "<pre>curl -d '{\"metric\":\"sys.cpu.user\",\"timestamp\":"
               "'$(date +%%s)',\"value\":42.5,\"tags\":{\"host\":\"web01\"}}'"
               " '%.*s:%.*s/api/put?details'</pre>\n",
               SLICE_ARG(name), SLICE_ARG(port), SLICE_ARG(name),
               SLICE_ARG(port));
    buf_printf(b,
               "<h2>Read</h2>\n"
               "<pre>curl -g '%.*s:%.*s/api/query?start=1h-ago"
               "&amp;m=sum:1m-avg:sys.cpu.user{host=*}'</pre>\n",
               SLICE_ARG(name), SLICE_ARG(port));
    buf_put_str(b, page_end);
}

static void
put_le(struct buf *b, uint32_t v, int bytes)
{
    for (; bytes > 0; bytes--, v >>= 8)
        buf_put_u8(b, (uint8_t)v);
}

/* A crystal of salt: one bit a pixel, drawn from the bottom up. */
void
api_favicon(void *ctx, const struct http_request *r, struct http_reply *out)
{
    static const uint16_t rows[ICON_SIZE] = {
        0x0000, 0x0180, 0x0660, 0x1818, 0x6186, 0x4662, 0x581a, 0x4182,
        0x4182, 0x4182, 0x4182, 0x4182, 0x6186, 0x1998, 0x07e0, 0x0180,
    };
    struct buf *b = http_reply_body(out);

    http_reply_type(out, "image/x-icon");
    http_reply_header(out, "Cache-Control", FOREVER);
    put_le(b, 0x10000, 4); /* an icon */
    put_le(b, 1, 2);       /* of one picture */
    put_le(b, ICON_SIZE | ICON_SIZE << 8 | 2 << 16, 4);
    put_le(b, 1, 2);
    put_le(b, 1, 2);
    put_le(b, 40 + 8 + ICON_SIZE * 8, 4);
    put_le(b, 22, 4); /* where it starts */
    put_le(b, 40, 4);
    put_le(b, ICON_SIZE, 4);
    put_le(b, ICON_SIZE * 2, 4); /* colours and mask */
    put_le(b, 1, 2);
    put_le(b, 1, 2);
    for (int i = 0; i < 6; i++)
        put_le(b, 0, 4);
    put_le(b, 0x00ffffff, 4);
    put_le(b, 0x00305070, 4);
    for (int mask = 0; mask < 2; mask++)
        for (int i = ICON_SIZE; i-- > 0;) {
            unsigned bits = mask ? 0xffffU & ~(unsigned)rows[i] : rows[i];

            put_le(b, (bits >> 8 & 0xff) | (bits & 0xff) << 8, 4);
        }
}

static const char *
type_of(const char *path)
{
    static const struct {
        const char *end, *type;
    } types[] = {
        { ".css", "text/css; charset=UTF-8" },
        { ".gif", "image/gif" },
        { ".html", "text/html; charset=UTF-8" },
        { ".ico", "image/x-icon" },
        { ".jpg", "image/jpeg" },
        { ".js", "text/javascript; charset=UTF-8" },
        { ".json", "application/json" },
        { ".png", "image/png" },
        { ".svg", "image/svg+xml" },
    };
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot != NULL && i < sizeof types / sizeof types[0]; i++)
        if (strcasecmp(dot, types[i].end) == 0)
            return types[i].type;
    return "text/plain";
}

static void
not_found(struct http_reply *out)
{
    buf_clear(http_reply_body(out));
    http_reply_status(out, 404);
    http_reply_type(out, "application/json");
    buf_put_str(http_reply_body(out),
                "{\"error\":{\"code\":404,\"message\":\"Page not found\"}}");
}

/* Opens a file below 'root', wherever links lead there; -1: there is none. */
static int
open_below(const char *root, const char *path)
{
    char *top = realpath(root, NULL), *file = realpath(path, NULL);
    size_t size = top == NULL ? 0 : strlen(top);
    int fd = -1;

    if (top != NULL && file != NULL && strncmp(file, top, size) == 0 &&
        (file[size] == '/' || size == 1))
        fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    free(top);
    free(file);
    return fd;
}

/* The URL as it came is used: a name on disk has its case. */
void
api_static(void *ctx, const struct http_request *r, struct http_reply *out)
{
    const struct api *a = ctx;
    const char *url = http_url(r), *root;
    size_t size = strcspn(url, "?");
    char path[4096];
    struct stat st;
    int fd, n;

    if (size < 3 || strstr(url, "..") != NULL || memchr(url, '%', size)) {
        http_reply_error(out, 400, "Malformed URI", NULL);
        return;
    }
    root = settings_text(a->settings, "tsd.http.staticroot");
    n = snprintf(path, sizeof path, "%s/%.*s", root == NULL ? "" : root,
                 (int)size - 3, url + 3);
    if (root == NULL || *root == '\0' || n < 0 || (size_t)n >= sizeof path ||
        (fd = open_below(root, path)) < 0) {
        not_found(out);
        return;
    }
    http_reply_type(out, type_of(path));
    http_reply_header(out, "Cache-Control",
                      http_has_param(r, "nocache") ? "max-age=0" : FOREVER);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        file_read_fd(fd, path, STATIC_MAX, http_reply_body(out), NULL) != ST_OK)
        not_found(out);
    (void)close(fd);
}
