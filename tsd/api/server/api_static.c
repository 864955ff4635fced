/* The icon, files below /s/, and what is not there: plug-ins. */
#include "tsd/api/api.h"

#include <fcntl.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/file.h"

#define FOREVER    "max-age=31536000"
#define STATIC_MAX ((size_t)32 << 20)

/* OpenTSDB's plug-ins live here; there are none. */
void
api_plugin(void *ctx, const struct http_request *r, struct http_reply *out)
{
    http_reply_empty(out, 404);
}

/* The build turns it into bytes; cppcheck takes minutes for them. */
static const uint8_t icon[] = {
#if defined(HALITE_ANALYSE)
    0
#else
#include "tsd/static/favicon.ico.inc"
#endif
};

void
api_favicon(void *ctx, const struct http_request *r, struct http_reply *out)
{
    http_reply_type(out, "image/x-icon");
    http_reply_header(out, "Cache-Control", FOREVER);
    buf_put(http_reply_body(out), icon, sizeof icon);
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

/* Opens 'path', which has no links, one folder after the other: a link that
 * is put there meanwhile is not followed. */
static int
open_without_links(int folder, char *path)
{
    int at = folder, next;

    for (char *slash; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        *slash = '\0';
        next = openat(at, path, O_PATH | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
        if (at != folder)
            (void)close(at);
        if (next < 0)
            return -1;
        at = next;
    }
    next = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (at != folder)
        (void)close(at);
    return next;
}

/* Opens a file below 'root', wherever links lead there; -1: there is none. */
static int
open_below(const char *root, const char *path)
{
    char *top = realpath(root, NULL), *file = realpath(path, NULL);
    size_t size = top == NULL ? 0 : strlen(top);
    int folder, fd = -1;

    if (size == 1) /* "/" */
        size = 0;
    if (top != NULL && file != NULL && strncmp(file, top, size) == 0 &&
        file[size] == '/') {
        folder = open(top, O_PATH | O_CLOEXEC | O_DIRECTORY);
        if (folder >= 0) {
            fd = open_without_links(folder, file + size + 1);
            (void)close(folder);
        }
    }
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
    root = a->settings->http_staticroot;
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
