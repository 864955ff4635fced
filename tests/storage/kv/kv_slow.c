#include "tests/storage/kv/kv_slow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "storage/kv/engine.h"

#define LANES      257 /* the salt buckets, and none */
#define PAGE_KEYS  32
#define LATE_BYTES ((size_t)64 << 10) /* of a bucket, until it is durable */

struct slow {
    struct kv kv;
    struct kv *mem;
    int fd; /* of "ops"; -1: nothing is durable */
    _Atomic uint64_t random, timeouts;
    _Atomic unsigned every;
    struct lock lock; /* of what follows, and of swaps */
    struct buf late[LANES];
};

struct slow_iter {
    struct kv_iter it;
    struct slow *slow;
    struct buf page; /* <key size:4> <value size:4> key value, some times */
    size_t at;       /* in it, behind where it stands */
    bool last;       /* no page comes behind it */
};

static struct slow *
slow_of(struct kv *kv)
{
    return (struct slow *)kv;
}

static uint64_t
draw(struct slow *s, uint64_t below)
{
    uint64_t z = atomic_fetch_add(&s->random, UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

/* -- time ------------------------------------------------------------------ */

/* Up to 200 us, most often much less. */
static void
wait_a_while(struct slow *s)
{
    uint64_t us = draw(s, 8) == 0 ? draw(s, 200) : 0;

    if (us > 0)
        (void)nanosleep(&(struct timespec){ .tv_nsec = (long)us * 1000 }, NULL);
}

/* Where a call begins, and where one that writes ends; true: it times out. */
static bool
times_out(struct slow *s, struct error *e)
{
    unsigned every = atomic_load(&s->every);

    wait_a_while(s);
    if (every == 0 || draw(s, every) != 0)
        return false;
    atomic_fetch_add(&s->timeouts, 1);
    (void)error_set(e, ST_TIMEOUT, "the slow engine timed out");
    return true;
}

uint64_t
kv_slow_timeouts(struct kv *kv)
{
    return atomic_load(&slow_of(kv)->timeouts);
}

void
kv_slow_set_timeouts(struct kv *kv, unsigned every)
{
    atomic_store(&slow_of(kv)->every, every);
}

/* -- what is durable ------------------------------------------------------- */

static enum status
append(struct slow *s, struct slice ops, struct error *e)
{
    while (s->fd >= 0 && ops.size > 0) {
        ssize_t n = write(s->fd, ops.data, ops.size);

        if (n < 0 && errno != EINTR)
            return error_set(e, ST_IO, "write 'ops': %m");
        if (n > 0)
            ops = slice_of(ops.data + n, ops.size - (size_t)n);
    }
    return ST_OK;
}

static enum status
settle_lane(struct slow *s, size_t lane, struct error *e)
{
    enum status st = append(s, buf_slice(&s->late[lane]), e);

    buf_clear(&s->late[lane]);
    return st;
}

static void
note_op(void *ctx, struct slice key, const struct slice *value)
{
    struct buf *out = ctx;

    buf_put_u8(out, value != NULL);
    buf_put_uint(out, key.size, 4);
    buf_put_uint(out, value == NULL ? 0 : value->size, 4);
    buf_put_slice(out, key);
    if (value != NULL)
        buf_put_slice(out, *value);
}

/* A batch in the file: <size:4>, its operations. */
static enum status
note_batch(struct slow *s, const struct kv_batch *b, uint32_t bucket,
           struct error *e)
{
    size_t lane = bucket == KV_NO_BUCKET ? LANES - 1 : bucket % (LANES - 1);
    struct buf *late = &s->late[lane];
    struct buf ops = BUF_INIT;

    if (s->fd < 0)
        return ST_OK;
    kv_batch_each(b, note_op, &ops);
    buf_put_uint(late, ops.size, 4);
    buf_put_slice(late, buf_slice(&ops));
    buf_fini(&ops);
    if (bucket == KV_NO_BUCKET)
        return settle_lane(s, lane, e);
    if (late->size < LATE_BYTES && draw(s, 8) != 0)
        return ST_OK;
    return settle_lane(s, draw(s, 2) == 0 ? lane : draw(s, LANES), e);
}

static enum status
read_batch(struct slow *s, struct slice ops, struct error *e)
{
    struct kv_batch *b = kv_batch_new();
    struct cursor c = cursor_of(ops);
    enum status st;

    while (cursor_left(&c) > 0) {
        bool puts = cursor_u8(&c) != 0;
        size_t key_size = cursor_uint(&c, 4), value_size = cursor_uint(&c, 4);
        struct slice key = cursor_bytes(&c, key_size);
        struct slice value = cursor_bytes(&c, value_size);

        if (puts)
            kv_batch_put(b, key, value);
        else
            kv_batch_delete(b, key);
    }
    st = kv_write(s->mem, b, e);
    kv_batch_free(&b);
    return st;
}

/* Cuts off what a kill left half written. */
static enum status
read_ops(struct slow *s, struct error *e)
{
    struct stat info;
    uint8_t *bytes;
    struct cursor c;
    off_t good = 0;
    enum status st = ST_OK;

    if (fstat(s->fd, &info) != 0)
        return error_set(e, ST_IO, "stat 'ops': %m");
    bytes = mem_new((size_t)info.st_size + 1);
    if (pread(s->fd, bytes, (size_t)info.st_size, 0) != info.st_size)
        st = error_set(e, ST_IO, "read 'ops': %m");
    c = cursor_of(slice_of(bytes, (size_t)info.st_size));
    while (st == ST_OK && cursor_left(&c) > 0) {
        size_t size = cursor_uint(&c, 4);
        struct slice ops = cursor_bytes(&c, size);

        if (c.failed)
            break;
        st = read_batch(s, ops, e);
        good += 4 + (off_t)size;
    }
    free(bytes);
    if (st == ST_OK &&
        (ftruncate(s->fd, good) != 0 || lseek(s->fd, good, SEEK_SET) != good))
        st = error_set(e, ST_IO, "cut 'ops': %m");
    return st;
}

static enum status
slow_sync(struct kv *kv, struct error *e)
{
    struct slow *s = slow_of(kv);
    size_t first = draw(s, LANES);
    enum status st = ST_OK;

    if (times_out(s, e))
        return ST_TIMEOUT;
    lock_take(&s->lock);
    for (size_t i = 0; i < LANES && st == ST_OK; i++)
        st = settle_lane(s, (first + i) % LANES, e);
    lock_drop(&s->lock);
    return st;
}

/* -- calls ----------------------------------------------------------------- */

static enum status
slow_get(struct kv *kv, struct slice key, struct buf *out, struct error *e)
{
    struct slow *s = slow_of(kv);

    return times_out(s, e) ? ST_TIMEOUT : kv_get(s->mem, key, out, e);
}

static enum status
slow_get_many(struct kv *kv, const struct slice *keys, size_t len,
              kv_value_fn *f, void *ctx, struct error *e)
{
    struct slow *s = slow_of(kv);
    size_t some = draw(s, len + 1);
    enum status st = kv_get_many(s->mem, keys, some, f, ctx, e);

    if (st == ST_OK && times_out(s, e))
        return ST_TIMEOUT;
    return st == ST_OK ? kv_get_many(s->mem, keys, len, f, ctx, e) : st;
}

static enum status
slow_write(struct kv *kv, const struct kv_batch *b, struct error *e)
{
    struct slow *s = slow_of(kv);
    enum status st;

    if (times_out(s, e))
        return ST_TIMEOUT;
    lock_take(&s->lock);
    st = kv_write(s->mem, b, e);
    if (st == ST_OK)
        st = note_batch(s, b, kv_batch_bucket(b), e);
    lock_drop(&s->lock);
    return st == ST_OK && times_out(s, e) ? ST_TIMEOUT : st;
}

static enum status
slow_write_if(struct slow *s, struct kv_guarded *x, struct error *e)
{
    enum status st;

    if (times_out(s, e))
        return ST_TIMEOUT;
    lock_take(&s->lock);
    st = kv_write_if_many(s->mem, x, 1, e);
    if (st == ST_OK)
        st = x->status;
    if (st == ST_OK)
        st = note_batch(s, x->batch, KV_NO_BUCKET, e); /* at once */
    lock_drop(&s->lock);
    return st == ST_OK && times_out(s, e) ? ST_TIMEOUT : st;
}

static void
slow_write_if_many(struct kv *kv, struct kv_guarded *all, size_t len,
                   struct error *e)
{
    for (size_t i = 0; i < len; i++)
        all[i].status = slow_write_if(slow_of(kv), &all[i], e);
}

static uint64_t
slow_approximate_bytes(struct kv *kv, struct slice from, struct slice to)
{
    return kv_approximate_bytes(slow_of(kv)->mem, from, to);
}

static void
slow_close(struct kv *kv)
{
    struct slow *s = slow_of(kv);

    atomic_store(&s->every, 0);
    if (slow_sync(kv, NULL) != ST_OK)
        abort();
    for (size_t i = 0; i < LANES; i++)
        buf_fini(&s->late[i]);
    if (s->fd >= 0)
        (void)close(s->fd);
    kv_close(&s->mem);
    lock_fini(&s->lock);
    kv_fini(&s->kv);
    free(s);
}

/* -- iterators ------------------------------------------------------------- */

static struct slow_iter *
iter_of(struct kv_iter *it)
{
    return (struct slow_iter *)it;
}

/* From the key on, or behind it. */
static void
read_page(struct slow_iter *i, struct slice from, bool behind)
{
    struct kv_iter *it = kv_iter_open(i->slow->mem, slice_str(""));
    struct buf page = BUF_INIT;
    bool on = kv_iter_seek(it, from);
    uint64_t len = 1 + draw(i->slow, PAGE_KEYS);

    if (on && behind && slice_eq(kv_iter_key(it), from))
        on = kv_iter_next(it);
    if (i->it.end.data != NULL)
        kv_iter_bound(it, i->it.end);
    for (; on && len > 0; len--, on = kv_iter_next(it)) {
        struct slice key = kv_iter_key(it), value = kv_iter_value(it);

        buf_put_uint(&page, key.size, 4);
        buf_put_uint(&page, value.size, 4);
        buf_put_slice(&page, key);
        buf_put_slice(&page, value);
    }
    if (page.failed)
        (void)error_set(&i->it.error, ST_LIMIT, "no memory for a page");
    if (kv_iter_close(&it, &i->it.error) != ST_OK)
        on = false;
    buf_fini(&i->page);
    i->page = page;
    i->last = !on;
    i->at = 0;
}

static void
take_entry(struct slow_iter *i)
{
    struct cursor c = cursor_of(buf_slice(&i->page));
    size_t key_size, value_size;

    (void)cursor_bytes(&c, i->at);
    i->it.valid = cursor_left(&c) > 0;
    if (!i->it.valid)
        return;
    key_size = cursor_uint(&c, 4);
    value_size = cursor_uint(&c, 4);
    i->it.key = cursor_bytes(&c, key_size);
    i->it.value = cursor_bytes(&c, value_size);
    i->at += 8 + key_size + value_size;
}

static void
slow_iter_seek(struct kv_iter *it, struct slice key)
{
    struct slow_iter *i = iter_of(it);

    if (times_out(i->slow, &it->error))
        return;
    read_page(i, key, false);
    take_entry(i);
}

static void
slow_iter_next(struct kv_iter *it)
{
    struct slow_iter *i = iter_of(it);

    if (i->at == i->page.size && !i->last) {
        struct buf key = BUF_INIT;

        if (times_out(i->slow, &it->error))
            return;
        buf_put_slice(&key, it->key);
        if (key.failed)
            (void)error_set(&it->error, ST_LIMIT, "no memory for a key");
        else
            read_page(i, buf_slice(&key), true);
        buf_fini(&key);
        if (it->error.status != ST_OK)
            return;
    }
    take_entry(i);
}

static void
slow_iter_close(struct kv_iter *it)
{
    (void)it;
}

static void
slow_iter_free(struct kv_iter *it)
{
    buf_fini(&iter_of(it)->page);
    free(iter_of(it));
}

static const struct kv_iter_engine slow_iter_engine = {
    .close = slow_iter_close,
    .seek = slow_iter_seek,
    .next = slow_iter_next,
    .free = slow_iter_free,
};

static struct kv_iter *
slow_iter_open(struct kv *kv, struct slice prefix)
{
    struct slow_iter *i = mem_new(sizeof *i);

    (void)prefix;
    i->it.engine = &slow_iter_engine;
    i->slow = slow_of(kv);
    return &i->it;
}

/* -- opening --------------------------------------------------------------- */

static const struct kv_engine slow_engine = {
    .traits = { .seek_price = 40, .shared = true },
    .close = slow_close,
    .get = slow_get,
    .get_many = slow_get_many,
    .write = slow_write,
    .write_if_many = slow_write_if_many,
    .sync = slow_sync,
    .iter_open = slow_iter_open,
    .approximate_bytes = slow_approximate_bytes,
};

static enum status
open_ops(struct slow *s, const struct kv_options *o, struct error *e)
{
    char path[4096];

    if (o->create)
        (void)mkdir(o->place.at, 0700);
    (void)snprintf(path, sizeof path, "%s/ops", o->place.at);
    s->fd = open(path, O_RDWR | O_CLOEXEC | (o->create ? O_CREAT : 0), 0600);
    if (s->fd < 0)
        return error_set(e, ST_IO, "there is no database in '%s': %m",
                         o->place.at);
    return read_ops(s, e);
}

enum status
kv_slow_open(const struct kv_options *o, struct kv **out, struct error *e)
{
    const struct kv_options memory = { .place = { "map", NULL } };
    const char *seed = getenv("HALITE_SEED");
    struct slow *s = mem_new(sizeof *s);
    enum status st;

    kv_init(&s->kv, &slow_engine);
    s->fd = -1;
    s->random = seed == NULL ? 1 : strtoul(seed, NULL, 10);
    s->every = 100;
    lock_init(&s->lock);
    st = kv_open(&memory, &s->mem, e);
    if (st == ST_OK && o->place.at != NULL)
        st = open_ops(s, o, e);
    if (st != ST_OK)
        slow_close(&s->kv);
    else
        *out = &s->kv;
    return st;
}
