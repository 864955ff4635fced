/* The rows of a bucket's head for a scan: of this process's, and as bytes that
 * go from the bucket's owner to the process that scans:
 *
 *     { <size> TSUID <base:4> <points> <size> bytes }...
 *
 * Sizes and numbers of points are varints; the bytes are open_row.h's, or with
 * a base that is one second more those of a block.  Open rows of an hour come
 * in the order of their making. */
#include "storage/scan/store_scan_priv.h"

#include "storage/head/open_row.h"

#define BLOCK_MARK 1 /* s, on the base */

bool
store_takes_row(const struct key_layout *layout, const struct scan_spec *spec,
                const struct head_row_view *v)
{
    uint8_t bytes[ROW_KEY_MAX];
    size_t size;

    if (v->base < spec->from_base || v->base > spec->to_base)
        return false;
    if (spec->path == SCAN_SEEKS)
        return true;
    size = key_row_in(layout, spec->bucket, v->tsuid, v->base, bytes);
    return mask_set_match(spec->masks, slice_of(bytes, size));
}

void
store_each_row(struct store *s, const struct scan_spec *spec, head_row_fn *f,
               void *ctx)
{
    head_each_row(store_head(s),
                  &(struct head_visit){
                      .bucket = spec->bucket,
                      .metric = spec->metric,
                      .series = spec->path == SCAN_SEEKS ? spec->series : NULL,
                      .series_len = spec->series_len,
                      .from_base = spec->from_base,
                      .to_base = spec->to_base,
                      .f = f,
                      .ctx = ctx,
                  });
}

/* -- the owner ------------------------------------------------------------- */

struct head_copy {
    const struct key_layout *layout;
    const struct scan_spec *spec;
    struct buf *out;
    size_t begin; /* of 'out' */
};

static bool
is_too_large(const struct head_copy *c)
{
    return c->spec->max_bytes != 0 &&
           c->out->size - c->begin > c->spec->max_bytes;
}

static bool
write_row(void *ctx, const struct head_row_view *v)
{
    struct head_copy *c = ctx;

    if (!store_takes_row(c->layout, c->spec, v))
        return true;
    buf_put_sized(c->out, v->tsuid);
    buf_put_u32(c->out, v->base + (v->is_block ? BLOCK_MARK : 0));
    buf_put_varint(c->out, v->count);
    buf_put_sized(c->out, v->bytes);
    return !c->out->failed && !is_too_large(c);
}

enum status
store_head_copy(struct store *s, const struct scan_spec *spec, struct buf *out,
                struct error *e)
{
    struct head_copy c = { store_layout(s), spec, out, out->size };
    enum status status;

    if (spec->bucket >= store_layout(s)->salt_buckets ||
        store_bucket_state(s, spec->bucket) == BUCKET_REMOTE)
        return store_not_owner(spec->bucket, e);
    status = store_owns(s, e);
    if (status != ST_OK)
        return status;
    store_each_row(s, spec, write_row, &c);
    if (out->failed || is_too_large(&c))
        return error_set(e, ST_LIMIT,
                         "copies of open rows take more than they may");
    return ST_OK;
}

/* The bytes of one that was sent. */
static bool
check_bytes(const struct head_row_view *v)
{
    struct summary s;

    if (!v->is_block)
        return open_row_check(v->bytes, v->count);
    return block_summary(v->bytes, v->base, &s, NULL) == ST_OK &&
           s.count == v->count;
}

bool
store_head_next(struct cursor *c, const struct key_layout *layout,
                const struct scan_spec *spec, struct head_row_view *out)
{
    uint64_t count;

    if (c->failed || cursor_left(c) == 0)
        return false;
    *out = (struct head_row_view){ .tsuid = cursor_sized(c) };
    out->base = cursor_u32(c);
    out->is_block = out->base % HOUR_S == BLOCK_MARK;
    out->base -= out->is_block ? BLOCK_MARK : 0;
    count = cursor_varint(c);
    out->count = (uint32_t)count;
    out->bytes = cursor_sized(c);
    if (c->failed || count > UINT32_MAX || out->base % HOUR_S != 0 ||
        !tsuid_is_valid(layout, out->tsuid) ||
        key_salt(layout, out->tsuid) != spec->bucket ||
        !slice_starts(out->tsuid, spec->metric) ||
        (spec->path == SCAN_SEEKS &&
         slices_find(spec->series, spec->series_len, out->tsuid) == NULL) ||
        !store_takes_row(layout, spec, out) || !check_bytes(out))
        c->failed = true;
    return !c->failed;
}
