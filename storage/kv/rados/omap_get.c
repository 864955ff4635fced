/* Point lookups. */
#include "storage/kv/rados/kv_rados_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "storage/kv/rados/omap_code.h"

#define IN_FLIGHT 16 /* operations of one call */

/* A key, and where it was asked for. */
struct wanted {
    struct omap_object object;
    size_t key_at, key_size; /* of its code */
    size_t index;
};

struct getting {
    struct buf codes;
    struct wanted *v;
    size_t len;
    kv_value_fn *f;
    void *ctx;
};

static struct slice
wanted_key(const struct getting *g, const struct wanted *w)
{
    return slice_of(g->codes.data + w->key_at, w->key_size);
}

static int
compare_wanted(const void *a, const void *b, void *ctx)
{
    const struct wanted *x = a, *y = b;
    int c = strcmp(x->object.name, y->object.name);

    return c != 0 ? c : slice_cmp(wanted_key(ctx, x), wanted_key(ctx, y));
}

static enum status
find_wanted(const struct omap_map *map, const struct slice *keys, size_t len,
            struct getting *g, struct error *e)
{
    enum status st = ST_OK;

    g->v = mem_new_array(len, sizeof *g->v);
    for (size_t i = 0; i < len && st == ST_OK; i++) {
        struct wanted *w = &g->v[i];

        *w = (struct wanted){ .index = i, .key_at = g->codes.size };
        st = omap_object_of(map, keys[i], &w->object, e);
        if (st != ST_OK)
            break;
        omap_encode_key(&g->codes, slice_of(keys[i].data + w->object.skip,
                                            keys[i].size - w->object.skip));
        w->key_size = g->codes.size - w->key_at;
        g->len++;
    }
    if (st == ST_OK && len > 0)
        qsort_r(g->v, len, sizeof *g->v, compare_wanted, g);
    return st;
}

/* Calls for all keys that one operation was to find. */
static void
report_found(const struct getting *g, struct ceph_op *op, size_t from,
             size_t len)
{
    struct slice code = { NULL, 0 }, value = { NULL, 0 };
    bool on = ceph_op_next(op, &code, &value);

    for (size_t i = from; i < from + len; i++) {
        const struct wanted *w = &g->v[i];
        struct slice key = wanted_key(g, w), found;

        while (on && slice_cmp(code, key) < 0)
            on = ceph_op_next(op, &code, &value);
        found = omap_decode_value(value);
        g->f(g->ctx, w->index, on && slice_eq(code, key) ? &found : NULL);
    }
}

static struct ceph_op *
ask_for(struct ceph *c, const struct getting *g, size_t from, size_t len)
{
    struct slice *keys = mem_new_array(len, sizeof *keys);
    struct ceph_op *op;

    for (size_t i = 0; i < len; i++)
        keys[i] = wanted_key(g, &g->v[from + i]);
    op = ceph_get_new(c, keys, len);
    ceph_op_start(op, g->v[from].object.name);
    free(keys);
    return op;
}

/* How many from 'from' on are of one object, and go into one operation. */
static size_t
wanted_of_one(const struct getting *g, size_t from)
{
    size_t to = from;

    while (to < g->len && to - from < CEPH_PAGE_MAX &&
           strcmp(g->v[to].object.name, g->v[from].object.name) == 0)
        to++;
    return to - from;
}

static enum status
get_wanted(struct ceph *c, const struct getting *g, struct error *e)
{
    struct {
        struct ceph_op *op;
        size_t from, len;
    } ops[IN_FLIGHT] = { { NULL, 0, 0 } };
    size_t from = 0, first = 0, in_flight = 0;
    enum status st = ST_OK;

    while (in_flight > 0 || (st == ST_OK && from < g->len)) {
        size_t at = (first + in_flight) % IN_FLIGHT;

        if (st == ST_OK && from < g->len && in_flight < IN_FLIGHT) {
            ops[at].from = from;
            ops[at].len = wanted_of_one(g, from);
            ops[at].op = ask_for(c, g, from, ops[at].len);
            from += ops[at].len;
            in_flight++;
            continue;
        }
        if (st == ST_OK) {
            st = ceph_op_wait(ops[first].op, e);
            if (st == ST_NOT_FOUND) /* no object: none of them */
                st = ST_OK;
            if (st == ST_OK)
                report_found(g, ops[first].op, ops[first].from, ops[first].len);
        }
        ceph_op_free(&ops[first].op);
        first = (first + 1) % IN_FLIGHT;
        in_flight--;
    }
    return st;
}

enum status
omap_get_many(struct ceph *c, const struct omap_map *map,
              const struct slice *keys, size_t len, kv_value_fn *f, void *ctx,
              struct error *e)
{
    struct getting g = { .f = f, .ctx = ctx };
    enum status st = find_wanted(map, keys, len, &g, e);

    if (st == ST_OK)
        st = get_wanted(c, &g, e);
    free(g.v);
    buf_fini(&g.codes);
    return st;
}
