/* See storage/store/row_values.h. */
#include "storage/store/row_values.h"

#include <stdlib.h>

#include "base/mem.h"

#define ROOM_FIRST 128
#define ROOM_MOST  1024
#define ROOM_BYTES ((size_t)4 << 20)
#define KEPT_BYTES (4 * ROOM_BYTES) /* what is beyond is read one by one */

void
row_values_fini(struct row_values *v)
{
    arena_free(&v->arena);
    buf_fini(&v->one);
    free(v->keys);
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
    if (v->arena == NULL)
        v->arena = arena_new(0);
    arena_reset(v->arena);
    v->len = v->bytes = 0;
    v->failed = v->one_by_one = false;
}

void
row_values_add(struct row_values *v, struct slice key)
{
    v->keys = mem_grow(v->keys, v->len, &v->cap, sizeof *v->keys);
    v->failed |= !arena_keep(v->arena, &key);
    v->keys[v->len++] = key;
}

/* The data of values that are there, but were not kept. */
static const uint8_t not_kept;

/* If a key comes twice, the last value counts. */
static void
keep_value(void *ctx, size_t i, const struct slice *value)
{
    struct row_values *v = ctx;

    v->values[i] = value == NULL ? slice_of(NULL, 0) : *value;
    if (value == NULL)
        return;
    if (v->bytes > KEPT_BYTES || !arena_keep(v->arena, &v->values[i]))
        v->values[i] = slice_of(&not_kept, 0);
    v->bytes += value->size;
}

enum status
row_values_read(struct row_values *v, struct kv *kv, struct error *e)
{
    size_t found = 0;
    enum status st;

    if (v->len == 0)
        return ST_OK;
    v->values = arena_array(v->arena, v->len, sizeof *v->values);
    if (v->failed || v->values == NULL)
        return error_set(e, ST_BUSY, "no memory for keys of rows");
    st = kv_get_many(kv, v->keys, v->len, keep_value, v, e);
    if (st == ST_OK && v->failed)
        return error_set(e, ST_BUSY, "no memory for rows");
    v->one_by_one = st == ST_CORRUPT || st == ST_IO;
    for (size_t i = 0; i < v->len && st == ST_OK; i++)
        found += v->values[i].data != NULL;
    if (found > 0) { /* by the mean of what was found */
        v->room = ROOM_BYTES / (v->bytes / found + 1);
        v->room = v->room == 0 ? 1 : v->room > ROOM_MOST ? ROOM_MOST : v->room;
    }
    return v->one_by_one ? ST_OK : st;
}

enum status
row_values_get(struct row_values *v, struct kv *kv, size_t i,
               struct slice *value, struct error *e)
{
    enum status st;

    if (v->one_by_one || v->values[i].data == &not_kept) {
        st = kv_get(kv, v->keys[i], &v->one, e);
        *value = buf_slice(&v->one);
        return st;
    }
    *value = v->values[i];
    return value->data == NULL ? error_set(e, ST_NOT_FOUND, "no such row")
                               : ST_OK;
}
