/* /metrics: the counters of /api/stats in Prometheus' text form. */
#include "config.h"

#include "tsd/api/api.h"

#include <stdlib.h>

#include "tsd/stats.h"

struct found {
    const char *name, *tags;
    uint64_t value;
    size_t order;
};

struct list {
    struct found *found;
    size_t len, cap;
    struct arena *arena;
    bool failed;
};

static void
collect(void *ctx, const char *name, const char *tags, uint64_t value)
{
    struct list *l = ctx;

    if (l->len == l->cap) {
        size_t cap = l->cap == 0 ? 128 : l->cap * 2;
        struct found *more = arena_array(l->arena, cap, sizeof *more);

        if (more == NULL) {
            l->failed = true;
            return;
        }
        if (l->len > 0)
            memcpy(more, l->found, l->len * sizeof *more);
        l->found = more;
        l->cap = cap;
    }
    name = arena_strdup(l->arena, slice_str(name));
    tags = arena_strdup(l->arena, slice_str(tags));
    if (name == NULL || tags == NULL)
        l->failed = true;
    else
        l->found[l->len] = (struct found){ name, tags, value, l->len };
    l->len += !l->failed;
}

/* Lines of one name must stand together. */
static int
compare(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int c = strcmp(x->name, y->name);

    return c != 0 ? c : (x->order > y->order) - (x->order < y->order);
}

static void
put_name(struct buf *b, const char *name)
{
    buf_put_str(b, "tsd_");
    for (; *name != '\0'; name++)
        buf_put_u8(b, *name == '.' || *name == '-' ? '_' : (uint8_t)*name);
}

/* "type=all kind=tagk" to {type="all",kind="tagk"}. */
static void
put_labels(struct buf *b, const char *tags)
{
    const char *between = "{";

    while (*tags != '\0') {
        size_t key = strcspn(tags, "= ");
        const char *value = tags + key + (tags[key] == '=');
        size_t size = strcspn(value, " ");

        if (key > 0) {
            buf_put_str(b, between);
            buf_put(b, tags, key);
            buf_put_str(b, "=\"");
            buf_put(b, value, size);
            buf_put_u8(b, '"');
            between = ",";
        }
        tags = value + size;
        tags += *tags == ' ';
    }
    if (*between == ',')
        buf_put_u8(b, '}');
}

void
api_metrics(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct list l = { .arena = http_arena(r) };
    struct buf *b = http_reply_body(out);

    stats_each(ctx, collect, &l);
    if (l.failed) {
        http_reply_error(out, 503, "no memory for the counters", NULL);
        return;
    }
    qsort(l.found, l.len, sizeof *l.found, compare);
    http_reply_type(out, "text/plain; version=0.0.4; charset=utf-8");
    for (size_t i = 0; i < l.len; i++) {
        const struct found *f = &l.found[i];

        if (i == 0 || strcmp(l.found[i - 1].name, f->name) != 0) {
            buf_put_str(b, "# TYPE ");
            put_name(b, f->name);
            buf_put_str(b, " untyped\n");
        }
        put_name(b, f->name);
        put_labels(b, f->tags);
        buf_printf(b, " %llu\n", (unsigned long long)f->value);
    }
}
