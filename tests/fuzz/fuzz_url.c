/* Request targets: whatever a client writes is taken apart or rejected, and
 * what was taken apart can be put together again and read as the same. */
#include "web/mhd/http_priv.h"
#include "tests/fuzz/target.h"

static const struct http_route routes[] = {
    { .path = "/" },
    { .path = "/s" },
    { .path = "/q" },
    { .path = "/api/query" },
    { .path = "/api/query/last" },
    { .path = "/api/put" },
};

static void
put_encoded(struct buf *b, struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        buf_printf(b, "%%%02x", s.data[i]);
}

/* The same target, spelt with as many escapes as there can be. */
static const char *
spell(struct buf *b, const struct http_target *t)
{
    const char *p = t->path;

    while (*p != '\0') {
        size_t n = strcspn(p + 1, "/");

        buf_put_u8(b, '/');
        put_encoded(b, slice_of(p + 1, n));
        p += 1 + n;
    }
    for (size_t i = 0; i < t->params_len; i++) {
        buf_put_u8(b, i == 0 ? '?' : '&');
        put_encoded(b, t->params[i].name);
        buf_put_u8(b, '=');
        put_encoded(b, t->params[i].value);
    }
    return buf_cstr(b);
}

static void
check_params(const struct http_target *a, const struct http_target *b)
{
    INSIST(a->params_len == b->params_len);
    for (size_t i = 0; i < a->params_len; i++) {
        INSIST(a->params[i].name.size > 0);
        INSIST(slice_eq(a->params[i].name, b->params[i].name));
        INSIST(slice_eq(a->params[i].value, b->params[i].value));
    }
}

static void
check(struct arena *arena, const struct http_target *t)
{
    const struct http_route *r;
    struct http_target again;
    struct buf b = BUF_INIT;

    INSIST(t->path[0] == '/' && t->key[0] == '/');
    INSIST(t->key2 == NULL || strncmp(t->key2, t->key, strlen(t->key)) == 0);
    r = http_route_find(routes, sizeof routes / sizeof routes[0], t);
    INSIST(r == NULL || strcmp(r->path, t->key) == 0 ||
           strcmp(r->path, t->key2) == 0);
    /* an escaped slash would part what it did not before, a version go */
    http_target_parse(arena, spell(&b, t), &again);
    INSIST(again.fault == 0 || t->is_api);
    check_params(t, &again);
    buf_fini(&b);
}

FUZZ_TARGET(data, size)
{
    struct arena *arena = arena_new((size_t)1 << 20);
    char *url = arena_strdup(arena, slice_of(data, size));
    struct http_target t;

    if (url != NULL) {
        (void)http_accepts(url);
        http_target_parse(arena, url, &t);
        INSIST(t.fault == 0 || (t.fault >= 400 && t.message != NULL));
        if (t.fault == 0)
            check(arena, &t);
    }
    arena_free(&arena);
    return 0;
}
