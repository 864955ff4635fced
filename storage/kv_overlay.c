/* Two sorted things seen as one.  Where it stands is a key of its own; each
 * step looks for the next one on both sides anew. */
#include "config.h"

#include "base/mem.h"
#include "storage/kv_gather_priv.h"
#include "storage/kv_priv.h"

struct overlay {
    struct kv_iter it;
    struct kv_iter *inner;
    const struct kv_gather *over;
    struct buf key;
};

static struct overlay *
overlay_of(struct kv_iter *it)
{
    return (struct overlay *)it;
}

static bool
inner_stands(struct overlay *o)
{
    if (o->inner->error.status != ST_OK)
        o->it.error = o->inner->error;
    return o->inner->valid && o->it.error.status == ST_OK;
}

/* What both sides have come to: the smaller key, or the larger one on the way
 * back.  False when it is one that was deleted, and the way goes on. */
static bool
choose(struct overlay *o, bool has_inner, bool has_over, size_t at, int way)
{
    struct slice key = { NULL, 0 }, value = { NULL, 0 };
    int order;

    if (has_over)
        gather_at(o->over, at, &key, &value);
    order = !has_over    ? 1
            : !has_inner ? -1
                         : slice_cmp(key, o->inner->key) * way;
    if (order > 0) {
        key = o->inner->key;
        value = o->inner->value;
    }
    o->it.valid = has_inner || has_over;
    if (!o->it.valid)
        return true;
    buf_clear(&o->key);
    buf_put_slice(&o->key, key);
    if (o->key.failed)
        (void)error_set(&o->it.error, ST_IO, "no memory for a key");
    o->it.key = buf_slice(&o->key);
    o->it.value = value;
    return value.data != NULL || order > 0 || o->key.failed;
}

/* The first key >= 'key', or > it. */
static bool
forward(struct overlay *o, struct slice key, bool past)
{
    size_t at = gather_seek(o->over, key, past);
    bool has_inner;

    o->inner->engine->seek(o->inner, key);
    if (past && inner_stands(o) && slice_eq(o->inner->key, key))
        o->inner->engine->next(o->inner);
    has_inner = inner_stands(o);
    return choose(o, has_inner, at < gather_len(o->over), at, 1);
}

/* The last one < 'key'. */
static bool
backward(struct overlay *o, struct slice key)
{
    size_t at = gather_seek(o->over, key, false);

    o->inner->engine->before(o->inner, key);
    return choose(o, inner_stands(o), at > 0, at - 1, -1);
}

static void
go(struct overlay *o, bool there, bool back)
{
    struct buf from = BUF_INIT;

    while (!there && o->it.error.status == ST_OK) {
        buf_clear(&from);
        buf_put_slice(&from, o->it.key);
        there = back ? backward(o, buf_slice(&from))
                     : forward(o, buf_slice(&from), true);
    }
    buf_fini(&from);
}

static void
overlay_seek(struct kv_iter *it, struct slice key)
{
    struct overlay *o = overlay_of(it);

    go(o, forward(o, key, false), false);
}

static void
overlay_before(struct kv_iter *it, struct slice key)
{
    struct overlay *o = overlay_of(it);

    go(o, backward(o, key), true);
}

static void
overlay_last(struct kv_iter *it)
{
    struct overlay *o = overlay_of(it);
    size_t len = gather_len(o->over);

    o->inner->engine->last(o->inner);
    go(o, choose(o, inner_stands(o), len > 0, len - 1, -1), true);
}

static void
overlay_next(struct kv_iter *it)
{
    go(overlay_of(it), false, false);
}

static void
overlay_prev(struct kv_iter *it)
{
    go(overlay_of(it), false, true);
}

static void
overlay_close(struct kv_iter *it)
{
    struct overlay *o = overlay_of(it);

    o->inner->engine->close(o->inner);
    if (it->error.status == ST_OK)
        it->error = o->inner->error;
}

static void
overlay_free(struct kv_iter *it)
{
    struct overlay *o = overlay_of(it);

    o->inner->engine->free(o->inner);
    buf_fini(&o->key);
    free(o);
}

static const struct kv_iter_engine overlay_engine = {
    .close = overlay_close,
    .seek = overlay_seek,
    .before = overlay_before,
    .last = overlay_last,
    .next = overlay_next,
    .prev = overlay_prev,
    .free = overlay_free,
};

struct kv_iter *
kv_overlay_new(struct kv_iter *inner, const struct kv_gather *over)
{
    struct overlay *o = mem_new(sizeof *o);

    o->it.engine = &overlay_engine;
    o->inner = inner;
    o->over = over;
    return &o->it;
}
