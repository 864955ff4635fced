#include "tests/storage/kv/kv_shared.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/process/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "storage/kv/engine.h"
#include "storage/row/key.h"

#define SHARDS       64
#define EXCLUSIVE    8
#define EXCLUSIVE_US (INT64_C(10) * 1000 * 1000)

/* What all handles of a place have in common. */
struct keys {
    struct keys *next;
    char *name;
    size_t refs;
    struct kv *map;
    struct lock lock; /* one write at a time */
    _Atomic uint64_t conflicts, calls;
    struct lock names_lock;
    struct cond names_changed;
    uint64_t ticket;
    struct {
        char name[64];
        uint64_t ticket; /* 0: free */
    } names[EXCLUSIVE];
};

struct shared {
    struct kv kv;
    struct keys *keys;
    struct key_layout layout;
};

static struct lock places_lock = LOCK_INIT;
static struct keys *places;

/* Some calls take a while, so that others come between those of a caller. */
static struct keys *
keys_of(struct kv *kv)
{
    struct keys *k = ((struct shared *)kv)->keys;

    if (atomic_fetch_add(&k->calls, 1) % 5 == 0)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
    return k;
}

uint64_t
kv_shared_conflicts(struct kv *kv)
{
    return atomic_load(&((struct shared *)kv)->keys->conflicts);
}

uint64_t
kv_shared_calls(struct kv *kv)
{
    return atomic_load(&((struct shared *)kv)->keys->calls);
}

/* -- reading and writing ----------------------------------------------------
 */

static enum status
shared_get(struct kv *kv, struct slice key, struct buf *out, struct error *e)
{
    return kv_get(keys_of(kv)->map, key, out, e);
}

static enum status
shared_get_many(struct kv *kv, const struct slice *keys, size_t len,
                kv_value_fn *f, void *ctx, struct error *e)
{
    return kv_get_many(keys_of(kv)->map, keys, len, f, ctx, e);
}

static enum status
shared_write(struct kv *kv, const struct kv_batch *b, struct error *e)
{
    struct keys *k = keys_of(kv);
    enum status st;

    lock_take(&k->lock);
    st = kv_write(k->map, b, e);
    lock_drop(&k->lock);
    return st;
}

static uint64_t
shared_group(const struct kv *kv, struct slice key)
{
    const struct key_layout *w = &((const struct shared *)kv)->layout;
    uint64_t table = key.size == 0 ? 0 : (uint64_t)key.data[0] << 32;
    struct slice rest;

    if (table == 0)
        return 0;
    rest = slice_of(key.data + 1, key.size - 1);
    switch (key.data[0]) {
    case TABLE_SERIES: /* with its tag-key sets */
        return (uint64_t)TABLE_SERIES << 32 | key_salt(w, rest);
    case TABLE_TAGK_SETS:
        return (uint64_t)TABLE_SERIES << 32 | rest.data[rest.size - 1];
    case TABLE_UID:
        return table | (uint64_t)rest.data[0] << 16 |
               (uint64_t)rest.data[1] << 8 | hash_slice(rest, 0) % SHARDS;
    default:
        return table;
    }
}

struct groups {
    const struct kv *kv;
    uint64_t group;
    bool any;
};

static void
expect_group(void *ctx, struct slice key, const struct slice *value)
{
    struct groups *g = ctx;
    uint64_t group = shared_group(g->kv, key);

    (void)value;
    INSIST(!g->any || group == g->group);
    g->group = group;
    g->any = true;
}

/* Counts as one call, as all are on their way at once. */
static void
shared_write_if_many(struct kv *kv, struct kv_guarded *all, size_t len,
                     struct error *e)
{
    struct keys *k = keys_of(kv);

    for (size_t i = 0; i < len; i++) {
        struct kv_guarded *x = &all[i];
        struct groups g = { .kv = kv };
        enum status st;

        kv_batch_each(x->batch, expect_group, &g);
        for (size_t n = 0; n < x->len; n++)
            expect_group(&g, x->expected[n].key, NULL);
        lock_take(&k->lock);
        st = kv_write_if_many(k->map, x, 1, e);
        lock_drop(&k->lock);
        if (st != ST_OK)
            x->status = st;
        if (x->status == ST_CONFLICT)
            atomic_fetch_add(&k->conflicts, 1);
    }
}

static enum status
shared_sync(struct kv *kv, struct error *e)
{
    return kv_sync(keys_of(kv)->map, e);
}

static uint64_t
shared_approximate_bytes(struct kv *kv, struct slice from, struct slice to)
{
    return kv_approximate_bytes(keys_of(kv)->map, from, to);
}

static struct kv_iter *
shared_iter_open(struct kv *kv, struct slice prefix)
{
    struct kv *map = keys_of(kv)->map;

    return map->engine->iter_open(map, prefix);
}

/* -- exclusive parts --------------------------------------------------------
 */

/* The name's place, or a free one. */
static size_t
find_name(struct keys *k, const char *name) REQUIRES(k->names_lock)
{
    size_t free_one = EXCLUSIVE;

    for (size_t i = 0; i < EXCLUSIVE; i++) {
        if (k->names[i].ticket != 0 && strcmp(k->names[i].name, name) == 0)
            return i;
        if (k->names[i].ticket == 0)
            free_one = i;
    }
    INSIST(free_one < EXCLUSIVE);
    return free_one;
}

static enum status
shared_exclusive_begin(struct kv *kv, const char *name, uint64_t *ticket,
                       struct error *e)
{
    struct keys *k = keys_of(kv);
    int64_t end_us = clock_monotonic_us() + EXCLUSIVE_US;
    size_t at;

    lock_take(&k->names_lock);
    while (k->names[at = find_name(k, name)].ticket != 0 &&
           clock_monotonic_us() < end_us)
        cond_wait_ms(&k->names_changed, &k->names_lock, 100);
    *ticket = 0;
    if (k->names[at].ticket == 0) {
        *ticket = k->names[at].ticket = ++k->ticket;
        (void)snprintf(k->names[at].name, sizeof k->names[at].name, "%s", name);
    }
    lock_drop(&k->names_lock);
    return *ticket != 0 ? ST_OK
                        : error_set(e, ST_BUSY, "\"%s\" is another's", name);
}

static void
shared_exclusive_end(struct kv *kv, const char *name, uint64_t ticket)
{
    struct keys *k = keys_of(kv);
    size_t at;

    lock_take(&k->names_lock);
    at = find_name(k, name);
    INSIST(k->names[at].ticket == ticket);
    k->names[at].ticket = 0;
    cond_broadcast(&k->names_changed);
    lock_drop(&k->names_lock);
}

/* -- opening ----------------------------------------------------------------
 */

static void
drop_keys(struct keys *k)
{
    struct keys **at = &places;

    lock_take(&places_lock);
    if (--k->refs == 0) {
        while (*at != k)
            at = &(*at)->next;
        *at = k->next;
        kv_close(&k->map);
        lock_fini(&k->lock);
        lock_fini(&k->names_lock);
        cond_fini(&k->names_changed);
        free(k->name);
        free(k);
    }
    lock_drop(&places_lock);
}

static void
shared_close(struct kv *kv)
{
    struct shared *s = (struct shared *)kv;

    drop_keys(s->keys);
    kv_fini(&s->kv);
    free(s);
}

static const struct kv_engine shared_engine = {
    .traits = { .seek_price = 40, .shared = true },
    .close = shared_close,
    .get = shared_get,
    .get_many = shared_get_many,
    .write = shared_write,
    .write_if_many = shared_write_if_many,
    .group = shared_group,
    .exclusive_begin = shared_exclusive_begin,
    .exclusive_end = shared_exclusive_end,
    .sync = shared_sync,
    .iter_open = shared_iter_open,
    .approximate_bytes = shared_approximate_bytes,
};

enum status
kv_shared_open(const struct kv_options *o, struct kv **out, struct error *e)
{
    static const struct key_layout usual = KEY_LAYOUT_DEFAULT;
    const struct kv_options map = { .place = { "map", NULL } };
    const char *name = o->place.at == NULL ? "" : o->place.at;
    struct shared *s = mem_new(sizeof *s);
    struct keys *k;
    enum status st = ST_OK;

    kv_init(&s->kv, &shared_engine);
    s->layout = o->layout == NULL ? usual : *o->layout;
    lock_take(&places_lock);
    for (k = places; k != NULL && strcmp(k->name, name) != 0; k = k->next)
        ;
    if (k == NULL) {
        k = mem_new(sizeof *k);
        k->name = mem_strdup(name);
        lock_init(&k->lock);
        lock_init(&k->names_lock);
        cond_init(&k->names_changed);
        k->next = places;
        places = k;
        st = kv_open(&map, &k->map, e);
    }
    k->refs++;
    s->keys = k;
    lock_drop(&places_lock);
    if (st != ST_OK)
        shared_close(&s->kv);
    else
        *out = &s->kv;
    return st;
}
