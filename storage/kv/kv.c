/* What does not depend on the engine: checks, counts, and trying again. */
#include "storage/kv/kv.h"

#include <string.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "storage/kv/engine.h"

#define TIMEOUT_MS   10000
#define PAUSE_MAX_US 64000

enum status
kv_open(const struct kv_options *o, struct kv **out, struct error *e)
{
    const struct kv_engine_entry *x = kv_engines;
    enum status st;

    *out = NULL;
    while (x->name != NULL && strcmp(x->name, o->place.engine) != 0)
        x++;
    if (x->name == NULL)
        return error_set(e, ST_INVALID, "there is no engine \"%s\"",
                         o->place.engine);
    st = x->open(o, out, e);
    if (st != ST_OK)
        return st;
    (*out)->magic = KV_MAGIC;
    (*out)->timeout_ms = o->timeout_ms == 0 ? TIMEOUT_MS : o->timeout_ms;
    return ST_OK;
}

void
kv_init(struct kv *kv, const struct kv_engine *engine)
{
    kv->engine = engine;
    lock_init(&kv->swap_lock);
    lock_init(&kv->fault_lock);
}

void
kv_fini(struct kv *kv)
{
    lock_fini(&kv->swap_lock);
    lock_fini(&kv->fault_lock);
}

enum status
kv_fault(struct kv *kv, struct error *e)
{
    enum status st;

    lock_take(&kv->fault_lock);
    st = kv->fault.status;
    if (st != ST_OK && e != NULL)
        *e = kv->fault;
    lock_drop(&kv->fault_lock);
    return st;
}

enum status
kv_fail(struct kv *kv, const struct error *why, struct error *e)
{
    lock_take(&kv->fault_lock);
    if (kv->fault.status == ST_OK)
        kv->fault = *why;
    lock_drop(&kv->fault_lock);
    return kv_fault(kv, e);
}

void
kv_close(struct kv **ref)
{
    struct kv *kv = OBJ_TAKE(ref, KV_MAGIC);

    if (kv == NULL)
        return;
    OBJ_CLEAR(kv);
    kv->engine->close(kv);
}

const struct kv_traits *
kv_traits(const struct kv *kv)
{
    OBJ_CHECK(kv, KV_MAGIC);
    return &kv->engine->traits;
}

/* -- trying again ---------------------------------------------------------- */

/* The attempts of one call. */
struct attempts {
    int64_t end_us; /* monotonic; 0: set by the first that times out */
    unsigned timed_out;
};

/* Is the call to be made once more?  Waits a little before that. */
static bool
try_again(const struct kv *kv, struct attempts *a, enum status st)
{
    int64_t now_us, pause_us = 1000;

    if (st != ST_TIMEOUT)
        return false;
    now_us = clock_monotonic_us();
    if (a->end_us == 0)
        a->end_us = now_us + (int64_t)kv->timeout_ms * 1000;
    for (unsigned i = 0; i < a->timed_out && pause_us < PAUSE_MAX_US; i++)
        pause_us *= 2;
    a->timed_out++;
    if (now_us + pause_us >= a->end_us)
        return false;
    (void)usleep((unsigned)pause_us);
    return true;
}

enum status
kv_get(struct kv *kv, struct slice key, struct buf *out, struct error *e)
{
    struct attempts a = { 0 };
    enum status st;

    OBJ_CHECK(kv, KV_MAGIC);
    do {
        buf_clear(out);
        st = kv->engine->get(kv, key, out, e);
    } while (try_again(kv, &a, st));
    return st;
}

enum status
kv_get_many(struct kv *kv, const struct slice *keys, size_t len, kv_value_fn *f,
            void *ctx, struct error *e)
{
    kv_get_many_fn *get = kv->engine->get_many;
    struct attempts a = { 0 };
    enum status st;

    OBJ_CHECK(kv, KV_MAGIC);
    if (get == NULL) {
        struct buf value = BUF_INIT;

        st = ST_OK;
        for (size_t i = 0; i < len && st == ST_OK; i++) {
            struct slice found;

            st = kv_get(kv, keys[i], &value, e);
            found = buf_slice(&value);
            if (st == ST_OK || st == ST_NOT_FOUND) {
                f(ctx, i, st == ST_OK ? &found : NULL);
                st = ST_OK;
            }
        }
        buf_fini(&value);
        return st;
    }
    do
        st = get(kv, keys, len, f, ctx, e);
    while (try_again(kv, &a, st));
    return st;
}

struct kv_copies {
    struct arena *arena;
    struct slice *values;
    bool no_memory;
};

static void
copy_value(void *ctx, size_t i, const struct slice *value)
{
    struct kv_copies *c = ctx;

    c->values[i] = value == NULL ? (struct slice){ NULL, 0 } : *value;
    c->no_memory |= value != NULL && !arena_keep(c->arena, &c->values[i]);
}

enum status
kv_read_many(struct kv *kv, const struct slice *keys, size_t len,
             struct arena *arena, struct slice *values, struct error *e)
{
    struct kv_copies c = { arena, values, false };
    enum status st = kv_get_many(kv, keys, len, copy_value, &c, e);

    return st == ST_OK && c.no_memory ? error_no_memory(e) : st;
}

/* ST_OK if the key holds '*expected' (NULL: if it is absent), or ST_CONFLICT.
 */
static enum status
expect(struct kv *kv, struct slice key, const struct slice *expected,
       struct error *e)
{
    struct buf value = BUF_INIT;
    enum status st = kv_get(kv, key, &value, e);

    if (st == ST_OK || st == ST_NOT_FOUND)
        st =
            (st == ST_OK) == (expected != NULL) &&
                    (expected == NULL || slice_eq(buf_slice(&value), *expected))
                ? ST_OK
                : error_set(e, ST_CONFLICT, "the key was changed meanwhile");
    buf_fini(&value);
    return st;
}

/* Is what a batch would leave there already? */
struct applied {
    struct kv *kv;
    struct error *e;
    enum status st;
};

static void
expect_applied(void *ctx, struct slice key, const struct slice *value)
{
    struct applied *a = ctx;

    if (a->st == ST_OK)
        a->st = expect(a->kv, key, value, a->e);
}

/* 'timed_out': it did once already. */
static enum status
write_if(struct kv *kv, struct kv_guarded *x, bool timed_out, struct error *e)
{
    struct applied applied = { .kv = kv, .e = e };
    struct attempts a = { .timed_out = timed_out };

    if (kv->engine->write_if_many == NULL) {
        enum status st = ST_OK;

        lock_take(&kv->swap_lock);
        for (size_t i = 0; i < x->len && st == ST_OK; i++)
            st = expect(kv, x->expected[i].key, x->expected[i].value, e);
        if (st == ST_OK)
            st = kv_gather(kv, x->batch, e);
        lock_drop(&kv->swap_lock);
        return st;
    }
    do
        kv->engine->write_if_many(kv, x, 1, e);
    while (try_again(kv, &a, x->status));
    /* One that timed out may be what it conflicts with. */
    if (x->status != ST_CONFLICT || a.timed_out == 0)
        return x->status;
    kv_batch_each(x->batch, expect_applied, &applied);
    return applied.st;
}

enum status
kv_write_if_many(struct kv *kv, struct kv_guarded *all, size_t len,
                 struct error *e)
{
    bool at_once = kv->engine->write_if_many != NULL && len > 1;
    enum status st = ST_OK;

    OBJ_CHECK(kv, KV_MAGIC);
    for (size_t i = 0; i < len && st == ST_OK; i++)
        st = kv_batch_check(all[i].batch, e);
    if (st != ST_OK)
        return st;
    if (at_once)
        kv->engine->write_if_many(kv, all, len, e);
    for (size_t i = 0; i < len; i++) {
        if (!at_once || all[i].status == ST_TIMEOUT)
            all[i].status = write_if(kv, &all[i], at_once, e);
        if (st == ST_OK && all[i].status != ST_CONFLICT)
            st = all[i].status;
    }
    return st;
}

enum status
kv_swap(struct kv *kv, struct slice key, const struct slice *expected,
        struct slice value, struct error *e)
{
    const struct kv_expected held = { key, expected };
    struct kv_batch *b = kv_batch_new();
    struct kv_guarded x = { .batch = b, .expected = &held, .len = 1 };
    enum status st;

    kv_batch_put(b, key, value);
    st = kv_write_if_many(kv, &x, 1, e);
    kv_batch_free(&b);
    return st == ST_OK ? x.status : st;
}

uint64_t
kv_group(const struct kv *kv, struct slice key)
{
    OBJ_CHECK(kv, KV_MAGIC);
    return kv->engine->group == NULL ? 0 : kv->engine->group(kv, key);
}

enum status
kv_exclusive_begin(struct kv *kv, const char *name, uint64_t *ticket,
                   struct error *e)
{
    OBJ_CHECK(kv, KV_MAGIC);
    *ticket = 0;
    return kv->engine->exclusive_begin == NULL
               ? ST_OK
               : kv->engine->exclusive_begin(kv, name, ticket, e);
}

void
kv_exclusive_end(struct kv *kv, const char *name, uint64_t ticket)
{
    OBJ_CHECK(kv, KV_MAGIC);
    if (kv->engine->exclusive_end != NULL)
        kv->engine->exclusive_end(kv, name, ticket);
}

enum status
kv_write(struct kv *kv, const struct kv_batch *b, struct error *e)
{
    struct attempts a = { 0 };
    enum status st;

    OBJ_CHECK(kv, KV_MAGIC);
    st = kv_batch_check(b, e);
    if (st != ST_OK)
        return st;
    do
        st = kv->engine->write(kv, b, e);
    while (try_again(kv, &a, st));
    return st;
}

/* The WAL has what is gathered: if that times out for good, nothing may be
 * gathered behind it, and the WAL must not be trimmed. */
enum status
kv_gather(struct kv *kv, const struct kv_batch *b, struct error *e)
{
    struct error why;
    enum status st;

    OBJ_CHECK(kv, KV_MAGIC);
    st = kv_batch_check(b, e);
    if (st == ST_OK)
        st = kv_fault(kv, e);
    if (st != ST_OK)
        return st;
    if (kv->engine->gather != NULL)
        return kv->engine->gather(kv, b, e);
    st = kv_write(kv, b, e);
    if (st != ST_TIMEOUT)
        return st;
    (void)error_set(&why, st,
                    "a batch had no answer within %u ms: the engine takes no "
                    "more of them until the process starts anew",
                    kv->timeout_ms);
    return kv_fail(kv, &why, e);
}

enum status
kv_sync(struct kv *kv, struct error *e)
{
    struct attempts a = { 0 };
    enum status st;

    OBJ_CHECK(kv, KV_MAGIC);
    st = kv_fault(kv, e);
    if (st != ST_OK || kv->engine->sync == NULL)
        return st;
    do
        st = kv->engine->sync(kv, e);
    while (try_again(kv, &a, st));
    return st;
}

struct kv_iter *
kv_iter_open(struct kv *kv, struct slice prefix)
{
    struct kv_iter *it;

    OBJ_CHECK(kv, KV_MAGIC);
    INSIST(prefix.size <= KV_PREFIX_MAX);
    it = kv->engine->iter_open(kv, prefix);
    it->magic = KV_ITER_MAGIC;
    it->kv = kv;
    it->prefix_size = (uint8_t)prefix.size;
    if (prefix.size > 0)
        memcpy(it->prefix, prefix.data, prefix.size);
    return it;
}

void
kv_iter_bound(struct kv_iter *it, struct slice end)
{
    OBJ_CHECK(it, KV_ITER_MAGIC);
    it->end = end;
}

enum status
kv_iter_close(struct kv_iter **ref, struct error *e)
{
    struct kv_iter *it = OBJ_TAKE(ref, KV_ITER_MAGIC);
    enum status st;

    if (it == NULL)
        return ST_OK;
    if (it->engine->close != NULL)
        it->engine->close(it);
    st = it->error.status;
    if (st != ST_OK && e != NULL)
        *e = it->error;
    OBJ_CLEAR(it);
    it->engine->free(it);
    return st;
}

enum status
kv_iter_end(struct kv_iter **it, enum status st, struct error *e)
{
    enum status closed = kv_iter_close(it, st == ST_OK ? e : NULL);

    return st == ST_OK ? closed : st;
}

void
kv_iter_deadline(struct kv_iter *it, int64_t end_us)
{
    OBJ_CHECK(it, KV_ITER_MAGIC);
    it->end_us = end_us;
}

static bool
is_behind(const struct kv_iter *it, struct slice key)
{
    return it->end.data != NULL && slice_cmp(key, it->end) >= 0;
}

/* Moves, and moves again after a timeout, which is then no failure. */
static bool
move(struct kv_iter *it, void (*f)(struct kv_iter *it, struct slice key),
     struct slice key)
{
    struct attempts a = { .end_us = it->end_us };

    f(it, key);
    while (try_again(it->kv, &a, it->error.status)) {
        it->error.status = ST_OK;
        f(it, key);
    }
    /* An engine at its end leaves a key that is no longer there. */
    it->valid = it->valid && it->error.status == ST_OK &&
                slice_starts(it->key, slice_of(it->prefix, it->prefix_size)) &&
                !is_behind(it, it->key);
    if (it->valid)
        it->counts.bytes += it->key.size + it->value.size;
    else
        it->key = it->value = (struct slice){ NULL, 0 };
    return it->valid;
}

bool
kv_iter_seek(struct kv_iter *it, struct slice key)
{
    OBJ_CHECK(it, KV_ITER_MAGIC);
    it->counts.seeks++;
    it->valid = false;
    return it->error.status == ST_OK && !is_behind(it, key) &&
           move(it, it->engine->seek, key);
}

static void
next(struct kv_iter *it, struct slice key)
{
    (void)key;
    it->engine->next(it);
}

bool
kv_iter_next(struct kv_iter *it)
{
    OBJ_CHECK(it, KV_ITER_MAGIC);
    it->counts.steps++;
    return it->valid && move(it, next, (struct slice){ NULL, 0 });
}

struct slice
kv_iter_key(const struct kv_iter *it)
{
    OBJ_CHECK(it, KV_ITER_MAGIC);
    return it->key;
}

struct slice
kv_iter_value(const struct kv_iter *it)
{
    OBJ_CHECK(it, KV_ITER_MAGIC);
    return it->value;
}

struct kv_iter_counts
kv_iter_counts(const struct kv_iter *it)
{
    OBJ_CHECK(it, KV_ITER_MAGIC);
    return it->counts;
}

void
kv_compact(struct kv *kv, struct slice from, struct slice to)
{
    OBJ_CHECK(kv, KV_MAGIC);
    if (kv->engine->compact != NULL)
        kv->engine->compact(kv, from, to);
}

uint64_t
kv_approximate_bytes(struct kv *kv, struct slice from, struct slice to)
{
    OBJ_CHECK(kv, KV_MAGIC);
    return kv->engine->approximate_bytes == NULL || slice_cmp(from, to) >= 0
               ? 0
               : kv->engine->approximate_bytes(kv, from, to);
}
