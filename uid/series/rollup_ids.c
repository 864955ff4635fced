/* See uid/series/rollup_ids.h.  There are so few that a list will do. */
#include "config.h"

#include "uid/series/rollup_ids.h"

#include <stdlib.h>

#include "base/crash.h"
#include "base/lock.h"
#include "base/mem.h"
#include "storage/row/key.h"

#define KINDS_MAGIC FOURCC('K', 'I', 'N', 'D')

struct kind {
    char name[KIND_NAME_MAX];
    uint32_t number;
};

struct kinds {
    uint32_t magic;
    struct store *store;
    uint64_t max; /* that fits a tagv's width */
    struct lock lock;
    struct kind *list GUARDED_BY(lock);
    size_t len GUARDED_BY(lock);
    uint32_t highest GUARDED_BY(lock);
};

static void
add(struct kinds *k, struct slice name, uint32_t number) REQUIRES(k->lock)
{
    struct kind *list = realloc(k->list, (k->len + 1) * sizeof *list);

    INSIST(list != NULL && name.size < KIND_NAME_MAX);
    k->list = list;
    list[k->len] = (struct kind){ .number = number };
    memcpy(list[k->len++].name, name.data, name.size);
    if (number > k->highest)
        k->highest = number;
}

static enum status
load(struct kinds *k, struct error *e) REQUIRES(k->lock)
{
    const uint8_t table[1] = { TABLE_ROLLUPS };
    struct kv_iter *it =
        kv_iter_open(store_kv(k->store), KEY_TABLE(TABLE_ROLLUPS));
    enum status st = ST_OK, closed;

    for (bool on = kv_iter_seek(it, slice_of(table, 1)); on && st == ST_OK;
         on = kv_iter_next(it)) {
        struct slice key = kv_iter_key(it), value = kv_iter_value(it);

        if (key.size == 0 || key.data[0] != TABLE_ROLLUPS)
            break;
        if (key.size < 2 || key.size > KIND_NAME_MAX || value.size != 4 ||
            k->len == KINDS_MAX)
            st = error_set(e, ST_CORRUPT,
                           "a kind with a key of %zu and a value of %zu bytes",
                           key.size, value.size);
        else
            add(k, slice_of(key.data + 1, key.size - 1),
                (uint32_t)key_get_uint(value.data, 4));
    }
    closed = kv_iter_close(&it, st == ST_OK ? e : NULL);
    return st == ST_OK ? closed : st;
}

enum status
kinds_open(struct store *s, struct kinds **out, struct error *e)
{
    struct kinds *k = mem_new(sizeof *k);
    unsigned width = store_layout(s)->tagv_width;
    enum status st;

    k->magic = KINDS_MAGIC;
    k->store = s;
    k->max = width >= 4 ? UINT32_MAX : (UINT64_C(1) << (8 * width)) - 1;
    lock_init(&k->lock);
    lock_take(&k->lock);
    st = load(k, e);
    lock_drop(&k->lock);
    if (st != ST_OK)
        kinds_close(&k);
    *out = k;
    return st;
}

void
kinds_close(struct kinds **kp)
{
    struct kinds *k = *kp;

    *kp = NULL;
    if (k == NULL)
        return;
    OBJ_CHECK(k, KINDS_MAGIC);
    free(k->list);
    lock_fini(&k->lock);
    OBJ_CLEAR(k);
    free(k);
}

static enum status
enter(struct kinds *k, struct slice name, struct error *e) REQUIRES(k->lock)
{
    uint8_t key[1 + KIND_NAME_MAX], number[4];
    struct kv_batch *b;
    enum status st;

    /* The highest number is not used: see series_kind(). */
    if (k->len == KINDS_MAX || k->highest + 1 >= k->max)
        return error_set(e, ST_LIMIT, "there are too many kinds of rollups");
    key[0] = TABLE_ROLLUPS;
    memcpy(key + 1, name.data, name.size);
    key_put_uint(number, k->highest + 1, 4);
    b = kv_batch_new();
    kv_batch_put(b, slice_of(key, 1 + name.size),
                 slice_of(number, sizeof number));
    st = store_write(k->store, b, NULL, e);
    crash_point("rollup-kind");
    kv_batch_free(&b);
    if (st == ST_OK)
        add(k, name, k->highest + 1);
    return st;
}

enum status
kinds_get(struct kinds *k, const char *name, bool create, uint64_t *out,
          struct error *e)
{
    enum status st = ST_OK;

    OBJ_CHECK(k, KINDS_MAGIC);
    INSIST(strlen(name) < KIND_NAME_MAX);
    *out = k->max;
    lock_take(&k->lock);
    for (int round = 0; round < 2 && *out == k->max && st == ST_OK; round++) {
        for (size_t i = 0; i < k->len; i++)
            if (strcmp(k->list[i].name, name) == 0)
                *out = k->list[i].number;
        if (*out == k->max && create && round == 0)
            st = enter(k, slice_str(name), e);
    }
    lock_drop(&k->lock);
    return st;
}
