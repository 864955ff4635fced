/* See storage/store/row_values.h. */
#include "storage/store/row_values.h"

#include <stdlib.h>

#include "base/mem.h"

#define ROOM_FIRST 128
#define ROOM_MOST  1024
#define ROOM_BYTES ((size_t)4 << 20)

void
row_values_fini(struct row_values *v)
{
    buf_fini(&v->keys);
    buf_fini(&v->values);
    buf_fini(&v->one);
    free(v->rows);
    *v = (struct row_values){ 0 };
}

size_t
row_values_room(const struct row_values *v)
{
    return v->room == 0 ? ROOM_FIRST : v->room;
}

void
row_values_clear(struct row_values *v)
{
    buf_clear(&v->keys);
    buf_clear(&v->values);
    v->len = 0;
    v->one_by_one = false;
}

void
row_values_add(struct row_values *v, struct slice key)
{
    v->rows = mem_grow(v->rows, v->len, &v->cap, sizeof *v->rows);
    v->rows[v->len++] =
        (struct row_value_at){ .key_at = v->keys.size, .key_size = key.size };
    buf_put_slice(&v->keys, key);
}

struct slice
row_values_key(const struct row_values *v, size_t i)
{
    return slice_of(v->keys.data + v->rows[i].key_at, v->rows[i].key_size);
}

/* Of what comes twice the last counts. */
static void
keep_value(void *ctx, size_t i, const struct slice *value)
{
    struct row_values *v = ctx;
    struct row_value_at *r = &v->rows[i];

    r->found = value != NULL;
    if (value == NULL)
        return;
    r->at = v->values.size;
    r->size = value->size;
    buf_put_slice(&v->values, *value);
}

/* By the mean of what was found. */
static void
adapt_room(struct row_values *v)
{
    size_t found = 0, room;

    for (size_t i = 0; i < v->len; i++)
        found += v->rows[i].found;
    if (found == 0)
        return;
    room = ROOM_BYTES / (v->values.size / found + 1);
    v->room = room == 0 ? 1 : room > ROOM_MOST ? ROOM_MOST : room;
}

enum status
row_values_read(struct row_values *v, struct kv *kv, struct error *e)
{
    struct slice *keys;
    enum status st;

    if (v->len == 0)
        return ST_OK;
    if (v->keys.failed)
        return error_set(e, ST_BUSY, "no memory for keys of rows");
    keys = mem_new_array(v->len, sizeof *keys);
    for (size_t i = 0; i < v->len; i++)
        keys[i] = row_values_key(v, i);
    st = kv_get_many(kv, keys, v->len, keep_value, v, e);
    free(keys);
    if (st == ST_OK && v->values.failed)
        return error_set(e, ST_BUSY, "no memory for rows");
    v->one_by_one = st == ST_CORRUPT;
    if (st == ST_OK)
        adapt_room(v);
    return v->one_by_one ? ST_OK : st;
}

enum status
row_values_get(struct row_values *v, struct kv *kv, size_t i,
               struct slice *value, struct error *e)
{
    const struct row_value_at *r = &v->rows[i];
    enum status st;

    if (v->one_by_one) {
        st = kv_get(kv, row_values_key(v, i), &v->one, e);
        *value = buf_slice(&v->one);
        return st;
    }
    if (!r->found)
        return error_set(e, ST_NOT_FOUND, "no such row");
    *value = slice_of(v->values.data + r->at, r->size);
    return ST_OK;
}
