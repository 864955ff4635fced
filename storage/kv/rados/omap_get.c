/* Point lookups. */
#include "storage/kv/rados/kv_rados_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/kv/rados/omap_code.h"

#define IN_FLIGHT 16 /* operations of one call */

struct getting {
    struct omap_changes keys;
    kv_value_fn *f;
    void *ctx;
};

/* Calls for all keys that one operation was to find. */
static void
report_found(const struct getting *g, struct ceph_op *op, size_t from,
             size_t len)
{
    struct slice code = { NULL, 0 }, value = { NULL, 0 };
    bool on = ceph_op_next(op, &code, &value);

    for (size_t i = from; i < from + len; i++) {
        struct slice key = omap_change_key(&g->keys, i), found;

        while (on && slice_cmp(code, key) < 0)
            on = ceph_op_next(op, &code, &value);
        found = omap_decode_value(value);
        g->f(g->ctx, g->keys.v[i].order,
             on && slice_eq(code, key) ? &found : NULL);
    }
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

    while (in_flight > 0 || (st == ST_OK && from < g->keys.len)) {
        size_t at = (first + in_flight) % IN_FLIGHT;

        if (st == ST_OK && from < g->keys.len && in_flight < IN_FLIGHT) {
            size_t len;
            struct slice *keys;
            struct ceph_op *op;

            ops[at].from = from;
            ops[at].len =
                omap_changes_of_one(&g->keys, from, CEPH_PAGE_MAX, SIZE_MAX);
            len = ops[at].len;
            keys = mem_new_array(len, sizeof *keys);
            for (size_t i = 0; i < len; i++)
                keys[i] = omap_change_key(&g->keys, from + i);
            op = ceph_get_new(c, keys, len);
            ceph_op_start(op, g->keys.v[from].object.name);
            free(keys);
            ops[at].op = op;
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
    enum status st = omap_changes_of_keys(map, keys, len, &g.keys, e);

    if (st == ST_OK)
        st = get_wanted(c, &g, e);
    omap_changes_fini(&g.keys);
    return st;
}
