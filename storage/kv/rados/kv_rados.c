/* The engine in a pool of Ceph: keys in the omaps of objects.
 *
 * Many processes use a pool at once.  What is written is durable when the call
 * returns, a batch as a whole where its keys are of one group (one object) and
 * make up less than 8 MB; else object by object, and after a failure some of
 * them: whoever writes tries again. */
#include "storage/kv/kv.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/hash.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "base/sort.h"
#include "storage/kv/rados/omap_code.h"
#include "storage/kv/rados/kv_rados_priv.h"
#include "storage/rados/ceph_lock.h"

#define WINDOW_HOURS       24
#define IN_FLIGHT          16                 /* operations of one call */
#define OP_BYTES           ((size_t)8 << 20)  /* in one write, about */
#define GUARDED_BYTES      ((size_t)64 << 20) /* OSDs reject 90 MB */
#define GUARDED_MAX        16384              /* comparisons in one write */
#define EXCLUSIVE_MS       10000
#define EXCLUSIVE_PAUSE_US 20000

struct omaps {
    struct kv kv;
    struct ceph *c;
    struct omap_map map;
    struct lock lock;                  /* of what is listed */
    uint64_t *listed GUARDED_BY(lock); /* <bucket:32> <window:32>, sorted */
    size_t listed_len GUARDED_BY(lock), listed_cap GUARDED_BY(lock);
    struct lock ticket_lock;
    uint64_t tickets GUARDED_BY(ticket_lock);
};

static struct omaps *
omaps_of(struct kv *kv)
{
    return (struct omaps *)kv;
}

/* -- which windows are listed ---------------------------------------------- */

static uint64_t
window_id(unsigned bucket, uint32_t window)
{
    return (uint64_t)bucket << 32 | window;
}

static bool
is_listed(struct omaps *o, uint64_t id)
{
    bool is;

    lock_take(&o->lock);
    is = sort_has_u64(o->listed, o->listed_len, id);
    lock_drop(&o->lock);
    return is;
}

/* -- many operations at once ----------------------------------------------- */

/* Those on their way, the oldest first. */
struct flight {
    struct ceph_op *ops[IN_FLIGHT];
    size_t first, len;
    enum status st; /* the first failure */
    struct error *e;
};

/* An object that is not there is no failure: nothing was to be deleted. */
static void
land_one(struct flight *f)
{
    struct ceph_op **op = &f->ops[f->first];
    enum status st = ceph_op_wait(*op, f->st == ST_OK ? f->e : NULL);

    if (f->st == ST_OK && st != ST_NOT_FOUND)
        f->st = st;
    ceph_op_free(op);
    f->first = (f->first + 1) % IN_FLIGHT;
    f->len--;
}

static void
send(struct flight *f, struct ceph_op *op, const char *object)
{
    if (f->len == IN_FLIGHT)
        land_one(f);
    ceph_op_start(op, object);
    f->ops[(f->first + f->len) % IN_FLIGHT] = op;
    f->len++;
}

static enum status
land_all(struct flight *f)
{
    while (f->len > 0)
        land_one(f);
    return f->st;
}

/* -- writing --------------------------------------------------------------- */

/* The window must be listed before its object can have a key. */
static bool
must_be_listed(struct omaps *o, const struct omap_change *x)
{
    return x->is_put && x->object.has_window &&
           !is_listed(o, window_id(x->object.bucket, x->object.window));
}

static enum status
list_windows(struct omaps *o, const struct omap_changes *c, struct error *e)
{
    struct flight f = { .e = e };
    uint64_t *ids = NULL, last = UINT64_MAX;
    size_t len = 0, cap = 0;
    enum status st;

    for (size_t i = 0; i < c->len; i++) {
        const struct omap_object *x = &c->v[i].object;
        uint64_t id = window_id(x->bucket, x->window);
        struct ceph_op *op;
        char name[OMAP_OBJECT_SIZE], text[OMAP_WINDOW_KEY + 1];
        struct slice key, value;

        if (!must_be_listed(o, &c->v[i]) || id == last)
            continue;
        last = id;
        op = ceph_write_new(o->c);
        value = slice_of("", 0);
        omap_window_key(x->window, text);
        key = slice_str(text);
        omap_windows_name(x->bucket, name);
        ceph_write_omap_set(op, &key, &value, 1);
        send(&f, op, name);
        ids = mem_grow(ids, len, &cap, sizeof *ids);
        ids[len++] = id;
    }
    st = land_all(&f);
    for (size_t i = 0; st == ST_OK && i < len; i++) {
        uint64_t id = ids[i];
        size_t at;

        lock_take(&o->lock);
        at = sort_place_u64(o->listed, o->listed_len, id);
        if (at == o->listed_len || o->listed[at] != id) {
            o->listed = mem_grow(o->listed, o->listed_len, &o->listed_cap,
                                 sizeof *o->listed);
            memmove(o->listed + at + 1, o->listed + at,
                    (o->listed_len - at) * sizeof *o->listed);
            o->listed[at] = id;
            o->listed_len++;
        }
        lock_drop(&o->lock);
    }
    free(ids);
    return st;
}

static enum status
omaps_write(struct kv *kv, const struct kv_batch *b, struct error *e)
{
    struct omaps *o = omaps_of(kv);
    struct flight f = { .e = e };
    struct omap_changes c;
    enum status st = omap_changes_of(&o->map, b, &c, e);

    if (st == ST_OK)
        st = list_windows(o, &c, e);
    for (size_t i = 0, len; st == ST_OK && f.st == ST_OK && i < c.len;
         i += len) {
        struct ceph_op *op = ceph_write_new(o->c);

        len = omap_changes_of_one(&c, i, SIZE_MAX, OP_BYTES);
        omap_changes_put(op, &c, i, len);
        send(&f, op, c.v[i].object.name);
    }
    if (land_all(&f) != ST_OK)
        st = f.st;
    omap_changes_fini(&c);
    return st;
}

/* -- guarded batches ------------------------------------------------------- */

static enum status
expect(const struct omap_map *map, struct ceph_op *op,
       const struct kv_expected *x, const struct omap_object *object,
       struct error *e)
{
    struct buf key = BUF_INIT, value = BUF_INIT;
    struct omap_object own;
    enum status st = omap_object_of(map, x->key, &own, e);

    if (st == ST_OK && strcmp(own.name, object->name) != 0)
        st = error_set(e, ST_INVALID,
                       "a guarded batch over two groups: %s and %s",
                       object->name, own.name);
    if (st == ST_OK) {
        omap_encode_key(
            &key, slice_of(x->key.data + own.skip, x->key.size - own.skip));
        if (x->value != NULL)
            omap_encode_value(&value, *x->value);
        ceph_write_omap_expect(op, buf_slice(&key), buf_slice(&value));
    }
    buf_fini(&key);
    buf_fini(&value);
    return st;
}

/* The operation of a guarded batch, sent; NULL: it is done, or failed. */
static enum status
guarded_start(struct omaps *o, const struct kv_guarded *x, struct ceph_op **out,
              struct error *e)
{
    struct ceph_op *op = ceph_write_new(o->c);
    struct omap_object object;
    struct omap_changes c;
    enum status st = omap_changes_of(&o->map, x->batch, &c, e);

    *out = NULL;
    if (st == ST_OK)
        st = list_windows(o, &c, e);
    if (st == ST_OK && c.len == 0 && x->len == 0)
        goto out;
    if (st == ST_OK && c.len > 0)
        object = c.v[0].object;
    else if (st == ST_OK)
        st = omap_object_of(&o->map, x->expected[0].key, &object, e);
    if (st == ST_OK &&
        (omap_changes_of_one(&c, 0, SIZE_MAX, GUARDED_BYTES) < c.len ||
         x->len > GUARDED_MAX))
        st = strcmp(object.name, c.v[c.len - 1].object.name) != 0
                 ? error_set(e, ST_INVALID,
                             "a guarded batch over two groups: %s and %s",
                             object.name, c.v[c.len - 1].object.name)
                 : error_set(e, ST_LIMIT,
                             "a guarded batch of %zu keys is too large",
                             c.len + x->len);
    ceph_write_create(op, false);
    for (size_t i = 0; i < x->len && st == ST_OK; i++)
        st = expect(&o->map, op, &x->expected[i], &object, e);
    if (st == ST_OK) {
        if (c.len > 0)
            omap_changes_put(op, &c, 0, c.len);
        ceph_op_start(op, object.name);
        *out = op;
        op = NULL;
    }
out:
    ceph_op_free(&op);
    omap_changes_fini(&c);
    return st;
}

static void
omaps_write_if_many(struct kv *kv, struct kv_guarded *all, size_t len,
                    struct error *e)
{
    struct ceph_op *ops[IN_FLIGHT] = { NULL };
    bool failed = false;

    for (size_t i = 0; i < len + IN_FLIGHT; i++) {
        struct ceph_op **op = &ops[i % IN_FLIGHT];

        if (*op != NULL) {
            struct kv_guarded *x = &all[i - IN_FLIGHT];

            x->status = ceph_op_wait(*op, failed ? NULL : e);
            failed = failed || x->status != ST_OK;
            ceph_op_free(op);
        }
        if (i < len) {
            all[i].status =
                guarded_start(omaps_of(kv), &all[i], op, failed ? NULL : e);
            failed = failed || all[i].status != ST_OK;
        }
    }
}

static uint64_t
omaps_group(const struct kv *kv, struct slice key)
{
    const struct omaps *o = (const struct omaps *)kv;
    struct omap_object object;

    return omap_object_of(&o->map, key, &object, NULL) == ST_OK
               ? hash_bytes(object.name, strlen(object.name), 0)
               : 0;
}

/* -- reading --------------------------------------------------------------- */

static enum status
omaps_get_many(struct kv *kv, const struct slice *keys, size_t len,
               kv_value_fn *f, void *ctx, struct error *e)
{
    struct omaps *o = omaps_of(kv);

    return omap_get_many(o->c, &o->map, keys, len, f, ctx, e);
}

struct one_value {
    struct buf *out;
    bool found;
};

static void
keep_value(void *ctx, size_t i, const struct slice *value)
{
    struct one_value *v = ctx;

    (void)i;
    v->found = value != NULL;
    if (value != NULL)
        buf_put_slice(v->out, *value);
}

static enum status
omaps_get(struct kv *kv, struct slice key, struct buf *out, struct error *e)
{
    struct one_value v = { .out = out };
    enum status st = omaps_get_many(kv, &key, 1, keep_value, &v, e);

    if (st != ST_OK)
        return st;
    if (!v.found)
        return error_set(e, ST_NOT_FOUND, "no such key");
    return out->failed ? error_set(e, ST_LIMIT, "no memory for a value")
                       : ST_OK;
}

static struct kv_iter *
omaps_iter_open(struct kv *kv, struct slice prefix)
{
    struct omaps *o = omaps_of(kv);

    return omap_iter_open(o->c, &o->map, prefix);
}

/* -- one process at a time --------------------------------------------------
 */

static void
exclusive_names(const char *name, uint64_t ticket, char *object, size_t size,
                char cookie[32])
{
    (void)snprintf(object, size, "lock.%s", name);
    (void)snprintf(cookie, 32, "%llu", (unsigned long long)ticket);
}

static enum status
omaps_exclusive_begin(struct kv *kv, const char *name, uint64_t *ticket,
                      struct error *e)
{
    struct omaps *o = omaps_of(kv);
    int64_t end_us = clock_monotonic_us() + EXCLUSIVE_MS * 1000;
    char object[64], cookie[32];
    enum status st;

    lock_take(&o->ticket_lock);
    *ticket = ++o->tickets;
    lock_drop(&o->ticket_lock);
    exclusive_names(name, *ticket, object, sizeof object, cookie);
    for (;;) {
        st = ceph_lock_take(o->c, object, "exclusive", cookie, EXCLUSIVE_MS,
                            CEPH_LOCK_TAKE, e);
        if ((st != ST_BUSY && st != ST_TIMEOUT) ||
            clock_monotonic_us() >= end_us)
            break;
        (void)usleep(EXCLUSIVE_PAUSE_US);
    }
    /* It had timed out, and was done. */
    return st == ST_CONFLICT ? ST_OK : st;
}

/* One that cannot be dropped ends by itself. */
static void
omaps_exclusive_end(struct kv *kv, const char *name, uint64_t ticket)
{
    char object[64], cookie[32];

    exclusive_names(name, ticket, object, sizeof object, cookie);
    if (ceph_lock_drop(omaps_of(kv)->c, object, "exclusive", cookie, NULL) !=
        ST_OK)
        log_warn("engine", "the lock %s was not ours any more", object);
}

/* -- opening --------------------------------------------------------------- */

static void
omaps_close(struct kv *kv)
{
    struct omaps *o = omaps_of(kv);

    ceph_close(&o->c);
    free(o->listed);
    lock_fini(&o->lock);
    lock_fini(&o->ticket_lock);
    kv_fini(&o->kv);
    free(o);
}

static const struct kv_engine omaps_engine = {
    .traits = { .seek_price = 60, .shared = true },
    .close = omaps_close,
    .get = omaps_get,
    .write = omaps_write,
    .write_if_many = omaps_write_if_many,
    .group = omaps_group,
    .exclusive_begin = omaps_exclusive_begin,
    .exclusive_end = omaps_exclusive_end,
    .get_many = omaps_get_many,
    .iter_open = omaps_iter_open,
};

enum status
kv_rados_open(const struct kv_options *options, struct kv **out,
              struct error *e)
{
    struct omaps *o = mem_new(sizeof *o);
    unsigned hours =
        options->window_hours == 0 ? WINDOW_HOURS : options->window_hours;
    enum status st = ceph_open(options->place.at, &o->c, e);

    if (st == ST_OK)
        st = ceph_check_version(o->c, e);
    if (st != ST_OK) {
        ceph_close(&o->c);
        free(o);
        return st;
    }
    kv_init(&o->kv, &omaps_engine);
    lock_init(&o->lock);
    lock_init(&o->ticket_lock);
    o->map.has_layout = options->layout != NULL;
    if (options->layout != NULL)
        o->map.layout = *options->layout;
    o->map.window_s = hours * UINT32_C(3600);
    *out = &o->kv;
    return ST_OK;
}
