/* Calls of storage/kv/kv.h that must succeed, for its tests. */
#pragma once

#include "storage/kv/kv.h"
#include "tests/harness.h"

#define S(literal) slice_of((literal), sizeof(literal) - 1)

static inline void
put(struct kv *kv, struct slice key, struct slice value)
{
    struct kv_batch *b = kv_batch_new();

    kv_batch_put(b, key, value);
    ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    kv_batch_free(&b);
}

static inline void delete (struct kv *kv, struct slice key)
{
    struct kv_batch *b = kv_batch_new();

    kv_batch_delete(b, key);
    ck_assert_int_eq(kv_write(kv, b, NULL), ST_OK);
    kv_batch_free(&b);
}

/* Of one guarded batch: its status, or why it was not tried. */
static inline enum status
write_if(struct kv *kv, const struct kv_batch *b,
         const struct kv_expected *expected, size_t len)
{
    struct kv_guarded g = { .batch = b, .expected = expected, .len = len };
    enum status st = kv_write_if_many(kv, &g, 1, NULL);

    return st == ST_OK ? g.status : st;
}

static inline bool
holds(struct kv *kv, struct slice key, struct slice value)
{
    struct buf out = BUF_INIT;
    enum status st = kv_get(kv, key, &out, NULL);
    bool same = st == ST_OK && slice_eq(buf_slice(&out), value);

    buf_fini(&out);
    return same;
}

static inline bool
lacks(struct kv *kv, struct slice key)
{
    struct buf out = BUF_INIT;
    enum status st = kv_get(kv, key, &out, NULL);

    buf_fini(&out);
    return st == ST_NOT_FOUND;
}

static inline void
close_iter(struct kv_iter **it)
{
    struct error e = { 0 };

    ck_assert_msg(kv_iter_close(it, &e) == ST_OK, "%s", e.text);
    ck_assert_ptr_null(*it);
}
