/* Batches, and keys to look up, sorted by object. */
#include "storage/kv/rados/kv_rados_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/kv/rados/omap_code.h"

static void
add_change(void *ctx, struct slice key, const struct slice *value)
{
    struct omap_changes *c = ctx;
    struct omap_change *x;

    if (c->st != ST_OK)
        return;
    c->v = mem_grow(c->v, c->len, &c->cap, sizeof *c->v);
    x = &c->v[c->len];
    *x = (struct omap_change){ .order = c->len,
                               .is_put = value != NULL,
                               .value_at = SIZE_MAX };
    c->st = omap_object_of(c->map, key, &x->object, c->e);
    if (c->st != ST_OK)
        return;
    x->key_at = c->codes.size;
    omap_encode_key(&c->codes, slice_of(key.data + x->object.skip,
                                        key.size - x->object.skip));
    x->key_size = c->codes.size - x->key_at;
    if (value != NULL && omap_value_needs_zero(*value)) {
        x->value_at = c->codes.size;
        omap_encode_value(&c->codes, *value);
        x->value = slice_of(NULL, value->size + 1);
    } else if (value != NULL) {
        x->value = *value;
    }
    c->len++;
}

struct slice
omap_change_key(const struct omap_changes *c, size_t i)
{
    return slice_of(c->codes.data + c->v[i].key_at, c->v[i].key_size);
}

static struct slice
change_value(const struct omap_changes *c, const struct omap_change *x)
{
    return x->value_at == SIZE_MAX
               ? x->value
               : slice_of(c->codes.data + x->value_at, x->value.size);
}

static int
compare_changes(const void *a, const void *b, void *ctx)
{
    const struct omap_change *x = a, *y = b;
    const uint8_t *codes = ((const struct omap_changes *)ctx)->codes.data;
    int c = strcmp(x->object.name, y->object.name);

    if (c == 0)
        c = slice_cmp(slice_of(codes + x->key_at, x->key_size),
                      slice_of(codes + y->key_at, y->key_size));
    return c != 0 ? c : (x->order > y->order) - (x->order < y->order);
}

static enum status
sort_changes(struct omap_changes *c)
{
    if (c->st == ST_OK && c->len > 0)
        qsort_r(c->v, c->len, sizeof *c->v, compare_changes, c);
    return c->st;
}

enum status
omap_changes_of_keys(const struct omap_map *map, const struct slice *keys,
                     size_t len, struct omap_changes *c, struct error *e)
{
    *c = (struct omap_changes){ .map = map, .e = e };
    for (size_t i = 0; i < len; i++)
        add_change(c, keys[i], NULL);
    return sort_changes(c);
}

enum status
omap_changes_of(const struct omap_map *map, const struct kv_batch *b,
                struct omap_changes *c, struct error *e)
{
    size_t kept = 0;

    *c = (struct omap_changes){ .map = map, .e = e };
    kv_batch_each(b, add_change, c);
    if (sort_changes(c) != ST_OK)
        return c->st;
    for (size_t i = 0; i < c->len; i++)
        if (i + 1 == c->len ||
            strcmp(c->v[i].object.name, c->v[i + 1].object.name) != 0 ||
            !slice_eq(omap_change_key(c, i), omap_change_key(c, i + 1)))
            c->v[kept++] = c->v[i];
    c->len = kept;
    return ST_OK;
}

void
omap_changes_fini(struct omap_changes *c)
{
    free(c->v);
    buf_fini(&c->codes);
}

size_t
omap_changes_of_one(const struct omap_changes *c, size_t from, size_t most,
                    size_t bytes)
{
    size_t size = 0, to = from;

    while (to < c->len && to - from < most && size < bytes &&
           strcmp(c->v[from].object.name, c->v[to].object.name) == 0) {
        size += c->v[to].key_size + c->v[to].value.size;
        to++;
    }
    return to - from;
}

void
omap_changes_put(struct ceph_op *op, const struct omap_changes *c, size_t from,
                 size_t len)
{
    struct slice *keys = mem_new_array(2 * len, sizeof *keys);
    struct slice *values = keys + len;
    size_t puts = 0, deletes = 0;

    for (size_t i = from; i < from + len; i++)
        if (c->v[i].is_put) {
            keys[puts] = omap_change_key(c, i);
            values[puts++] = change_value(c, &c->v[i]);
        }
    if (puts > 0) {
        ceph_write_create(op, false);
        ceph_write_omap_set(op, keys, values, puts);
    }
    for (size_t i = from; i < from + len; i++)
        if (!c->v[i].is_put)
            keys[deletes++] = omap_change_key(c, i);
    if (deletes > 0)
        ceph_write_omap_remove(op, keys, deletes);
    free(keys);
}
