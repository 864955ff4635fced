/* A batch is a string of operations, which no engine's header needs to know:
 *
 *     <1: put, 0: delete> <key size: varint> <value size: varint> key value */
#include "storage/kv/kv.h"

#include "base/cursor.h"
#include "base/mem.h"
#include "storage/kv/engine.h"

struct kv_batch {
    uint32_t magic;
    bool oversize; /* a key or a value beyond the limits was put */
    uint32_t bucket;
    size_t len;
    struct buf ops;
};

struct kv_batch *
kv_batch_new(void)
{
    struct kv_batch *b = mem_new(sizeof *b);

    b->magic = KV_BATCH_MAGIC;
    b->bucket = KV_NO_BUCKET;
    buf_init(&b->ops, KV_BATCH_MAX);
    return b;
}

void
kv_batch_free(struct kv_batch **ref)
{
    struct kv_batch *b = OBJ_TAKE(ref, KV_BATCH_MAGIC);

    if (b == NULL)
        return;
    buf_fini(&b->ops);
    OBJ_FREE(b);
}

void
kv_batch_set_bucket(struct kv_batch *b, uint32_t bucket)
{
    OBJ_CHECK(b, KV_BATCH_MAGIC);
    b->bucket = bucket;
}

uint32_t
kv_batch_bucket(const struct kv_batch *b)
{
    OBJ_CHECK(b, KV_BATCH_MAGIC);
    return b->bucket;
}

void
kv_batch_clear(struct kv_batch *b)
{
    OBJ_CHECK(b, KV_BATCH_MAGIC);
    buf_clear(&b->ops);
    b->len = 0;
    b->oversize = false;
}

static void
add(struct kv_batch *b, uint8_t op, struct slice key, struct slice value)
{
    size_t before;

    OBJ_CHECK(b, KV_BATCH_MAGIC);
    b->len++;
    if (key.size > KV_KEY_MAX || value.size > KV_VALUE_MAX) {
        b->oversize = true;
        return;
    }
    before = b->ops.size;
    buf_put_u8(&b->ops, op);
    buf_put_varint(&b->ops, key.size);
    buf_put_varint(&b->ops, value.size);
    buf_put_slice(&b->ops, key);
    buf_put_slice(&b->ops, value);
    if (b->ops.failed)
        b->ops.size = before;
}

void
kv_batch_put(struct kv_batch *b, struct slice key, struct slice value)
{
    add(b, 1, key, value);
}

void
kv_batch_delete(struct kv_batch *b, struct slice key)
{
    add(b, 0, key, (struct slice){ NULL, 0 });
}

size_t
kv_batch_len(const struct kv_batch *b)
{
    OBJ_CHECK(b, KV_BATCH_MAGIC);
    return b->len;
}

size_t
kv_batch_bytes(const struct kv_batch *b)
{
    OBJ_CHECK(b, KV_BATCH_MAGIC);
    return b->ops.size;
}

struct kv_batch_mark
kv_batch_mark(const struct kv_batch *b)
{
    OBJ_CHECK(b, KV_BATCH_MAGIC);
    return (struct kv_batch_mark){ b->len, b->ops.size, b->ops.failed,
                                   b->oversize };
}

void
kv_batch_rewind(struct kv_batch *b, struct kv_batch_mark mark)
{
    OBJ_CHECK(b, KV_BATCH_MAGIC);
    INSIST(mark.len <= b->len && mark.size <= b->ops.size);
    b->len = mark.len;
    b->ops.size = mark.size;
    b->ops.failed = mark.failed;
    b->oversize = mark.oversize;
}

void
kv_batch_each(const struct kv_batch *b,
              void (*f)(void *ctx, struct slice key, const struct slice *value),
              void *ctx)
{
    struct cursor c;

    OBJ_CHECK(b, KV_BATCH_MAGIC);
    c = cursor_of(buf_slice(&b->ops));
    while (cursor_left(&c) > 0) {
        uint8_t op = cursor_u8(&c);
        size_t key_size = cursor_varint(&c);
        size_t value_size = cursor_varint(&c);
        struct slice key = cursor_bytes(&c, key_size);
        struct slice value = cursor_bytes(&c, value_size);

        INSIST(!c.failed);
        f(ctx, key, op == 0 ? NULL : &value);
    }
}

enum status
kv_batch_check(const struct kv_batch *b, struct error *e)
{
    OBJ_CHECK(b, KV_BATCH_MAGIC);
    if (b->oversize)
        return error_set(e, ST_LIMIT,
                         "a key over %u or a value over %u bytes in a batch",
                         (unsigned)KV_KEY_MAX, (unsigned)KV_VALUE_MAX);
    if (b->ops.failed)
        return error_set(e, ST_LIMIT,
                         "a batch of %zu bytes can take no more (limit %u)",
                         b->ops.size, (unsigned)KV_BATCH_MAX);
    return ST_OK;
}
