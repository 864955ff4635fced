/* The request target: split before it is decoded, so that %2F is no slash. */
#include "web/mhd/http_priv.h"

#include <ctype.h>

#include "base/text/digit.h"
#include "base/text/number.h"

#define MAX_VERSION 1

/* Decodes %xx, and '+' as a blank; false on a bad escape or when the arena is
 * full.  The result has a NUL behind it. */
static bool
decode(struct arena *a, struct slice s, struct slice *out)
{
    uint8_t *to;
    size_t n = 0;

    if (s.size == SIZE_MAX || (to = arena_alloc(a, s.size + 1)) == NULL)
        return false;
    for (size_t i = 0; i < s.size; i++) {
        uint8_t c = s.data[i];

        if (c == '%') {
            int high = i + 2 < s.size ? digit_hex(s.data[i + 1]) : -1;
            int low = high >= 0 ? digit_hex(s.data[i + 2]) : -1;

            if (low < 0)
                return false;
            c = (uint8_t)(high << 4 | low);
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        to[n++] = c;
    }
    to[n] = '\0';
    *out = slice_of(to, n);
    return true;
}

static void
fault(struct http_target *t, unsigned status, const char *message,
      const char *details)
{
    if (t->fault != 0)
        return;
    t->fault = status;
    t->message = message;
    t->details = details;
}

static const char *
text(struct arena *a, const char *before, struct slice s, const char *after)
{
    struct buf b = BUF_INIT;
    const char *p;

    buf_printf(&b, "%s%.*s%s", before, SLICE_ARG(s), after);
    p = (const char *)arena_take(a, &b).data;
    return p == NULL ? "" : p;
}

/* Cuts the next segment off; false after the last.  Several slashes are one. */
static bool
next_segment(struct slice *rest, struct slice *out)
{
    do
        *out = slice_cut(rest, '/');
    while (out->size == 0 && rest->size > 0);
    return out->size > 0;
}

struct path {
    struct arena *arena;
    struct slice rest; /* not yet read */
    struct buf text;   /* what became of the segments read */
};

/* Reads one more segment; false when there is none.  Escapes stay as they are:
 * no endpoint has one in its name. */
static bool
pass(struct path *p)
{
    struct slice s;

    if (!next_segment(&p->rest, &s))
        return false;
    buf_put_u8(&p->text, '/');
    for (size_t i = 0; i < s.size; i++)
        buf_put_u8(&p->text, (uint8_t)tolower(s.data[i]));
    return true;
}

/* The same, and returns the path so far, or NULL. */
static const char *
target_step(struct path *p)
{
    return pass(p) ? arena_strdup(p->arena, buf_slice(&p->text)) : NULL;
}

/* "v1", "v12x": a version, right or wrong. */
static void
read_version(struct path *p, struct http_target *t)
{
    struct slice rest = p->rest, s;
    uint64_t v;

    if (!next_segment(&rest, &s) || s.size < 2 || (s.data[0] | 0x20) != 'v' ||
        s.data[1] < '0' || s.data[1] > '9')
        return;
    p->rest = rest;
    s = slice_of(s.data + 1, s.size - 1);
    if (!number_parse_u64(s, &v) || v > INT32_MAX)
        fault(t, 400, "Invalid API version format supplied",
              text(p->arena, "API version [", s,
                   "] cannot be parsed to an integer"));
    else if (v > MAX_VERSION)
        fault(t, 501,
              "Requested API version is greater than the max implemented",
              text(p->arena, "API version [", s,
                   "] is greater than the max [1]"));
    else
        t->is_api = v > 0; /* version 0 is how pages fail */
}

static bool
read_path(struct arena *a, struct slice all, struct http_target *t)
{
    struct path p = { .arena = a, .rest = all };
    struct slice first = { 0 }, peek;
    const char *next;
    bool good;

    peek = p.rest;
    (void)next_segment(&peek, &first);
    t->key = target_step(&p);
    if (t->key != NULL && slice_eq_nocase(first, slice_str("api"))) {
        t->is_api = true;
        read_version(&p, t);
        next = target_step(&p);
        if (next != NULL) {
            t->key = next;
            t->key2 = target_step(&p);
        }
    }
    while (pass(&p))
        continue;
    if (p.text.size == 0)
        buf_put_u8(&p.text, '/');
    t->path = arena_strdup(a, buf_slice(&p.text));
    if (t->key == NULL)
        t->key = t->path;
    good = !p.text.failed && t->path != NULL;
    buf_fini(&p.text);
    return good;
}

/* The next chunk between separators; false after the last. */
static bool
next_chunk(struct slice *rest, struct slice *out)
{
    size_t n = 0;

    if (rest->size == 0)
        return false;
    while (n < rest->size && rest->data[n] != '&' && rest->data[n] != ';')
        n++;
    *out = slice_of(rest->data, n);
    if (n < rest->size)
        n++;
    rest->data += n;
    rest->size -= n;
    return true;
}

static void
target_read_params(struct arena *a, struct slice query, struct http_target *t)
{
    struct slice rest = query, chunk;
    size_t len = 0;

    while (next_chunk(&rest, &chunk))
        len++;
    if (len == 0)
        return;
    t->params = arena_array(a, len, sizeof *t->params);
    if (t->params == NULL) {
        fault(t, 413, "Too many parameters", NULL);
        return;
    }
    rest = query;
    while (next_chunk(&rest, &chunk)) {
        struct http_param *p = &t->params[t->params_len];
        struct slice value = chunk, name;

        /* "a=b" is a name and a value, "a" and "a=" a name, "=b" the name
         * "b". */
        while (value.size > 0 && value.data[0] == '=')
            value = slice_of(value.data + 1, value.size - 1);
        name = slice_cut(&value, '=');
        if (!decode(a, name, &p->name) || !decode(a, value, &p->value)) {
            fault(t, 400,
                  text(a, "Bad query string: bad escape in \"", chunk, "\""),
                  "A '%' must be followed by two hexadecimal digits");
            return;
        }
        if (p->name.size > 0)
            t->params_len++;
    }
}

void
http_target_parse(struct arena *a, const char *url, struct http_target *t)
{
    const char *mark = strchr(url, '?');
    size_t path_size = mark == NULL ? strlen(url) : (size_t)(mark - url);

    *t = (struct http_target){ 0 };
    if (url[0] != '/' || memchr(url, ' ', strlen(url)) != NULL) {
        t->path = t->key = "";
        fault(t, 400, "Malformed request target", NULL);
        return;
    }
    if (!read_path(a, slice_of(url + 1, path_size - 1), t))
        fault(t, 400, "The path is too long", NULL);
    if (mark != NULL)
        target_read_params(a, slice_str(mark + 1), t);
}

const struct http_route *
http_route_find(const struct http_route *routes, size_t routes_len,
                const struct http_target *t)
{
    const struct http_route *found = NULL;

    if (t->key == NULL)
        return NULL;
    for (size_t i = 0; i < routes_len; i++) {
        if (t->key2 != NULL && strcmp(routes[i].path, t->key2) == 0)
            return &routes[i];
        if (strcmp(routes[i].path, t->key) == 0)
            found = &routes[i];
    }
    return found;
}
