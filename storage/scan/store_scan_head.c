/* The open rows of a scan: copies, of this process's head or of what the
 * bucket's owner sent.  They go from the owner to the process that scans as
 *
 *     { <size> TSUID <base:4> <points> <size> bytes }...
 *
 * Sizes and numbers of points are varints; the bytes are open_row.h's, or with
 * a base that is one second more those of a block.  Open rows of an hour come
 * in the order of their making. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "storage/head/open_row.h"
#include "storage/scan/store_scan_priv.h"

#define BLOCK_MARK 1 /* s, on the base */

/* Does the scan take this row? */
static bool
takes_row(const struct key_layout *layout, const struct scan_spec *spec,
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

/* head_each_row() of the rows that a scan may take. */
static void
each_row(struct store *s, const struct scan_spec *spec, head_row_fn *f,
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

    if (!takes_row(c->layout, c->spec, v))
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
    each_row(s, spec, write_row, &c);
    if (out->failed || is_too_large(&c))
        return error_set(e, ST_LIMIT,
                         "copies of open rows take more than they may");
    return ST_OK;
}

bool
store_head_next(struct cursor *c, const struct key_layout *layout,
                const struct scan_spec *spec, struct head_row_view *out)
{
    struct summary s;
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
        !takes_row(layout, spec, out) ||
        (out->is_block
             ? block_summary(out->bytes, out->base, &s, NULL) != ST_OK ||
                   s.count != out->count
             : !open_row_check(out->bytes, out->count)))
        c->failed = true;
    return !c->failed;
}

/* -- copies ---------------------------------------------------------------- */

/* The end of an open row of this process that is wanted, or all of it: where
 * its bytes begin. */
static size_t
cut_row(const struct row_want *want, const struct open_row *r,
        struct open_copy *c)
{
    uint32_t n = 0, at;

    c->spacing = open_row_spacing(r);
    c->last.i = (int64_t)r->last;
    if (want->crops && c->spacing.even)
        n = (uint32_t)column_window_range(&want->window, c->spacing.first_ms,
                                          c->spacing.step_ms, r->count)
                .from;
    at = n == 0 ? 0 : open_row_seek(r, &n);
    c->is_end = n > 0;
    c->count -= n;
    c->spacing.first_ms += n * c->spacing.step_ms;
    return at;
}

/* An open row or a block of the head, under its bucket's lock, or of another's:
 * false when there is no room for a copy. */
static bool
copy_row(struct store_scan *scan, const struct head_row_view *v)
{
    struct open_copy c = { .base = v->base,
                           .is_block = v->is_block,
                           .count = v->count,
                           .row_count = v->count };
    size_t at = v->is_block || v->open == NULL
                    ? 0
                    : cut_row(&scan->spec.want, v->open, &c);
    size_t size = v->bytes.size - at;
    struct summary s, *summary = NULL;
    uint8_t *bytes = arena_alloc(scan->arena, v->tsuid.size + size);

    if (bytes == NULL)
        return false;
    memcpy(bytes, v->tsuid.data, v->tsuid.size);
    memcpy(bytes + v->tsuid.size, v->bytes.data + at, size);
    c.tsuid = slice_of(bytes, v->tsuid.size);
    c.bytes = slice_of(bytes + v->tsuid.size, size);
    c.span = key_span_base(scan->layout, c.base);
    c.order = (uint32_t)scan->head_len;
    if (scan->spec.want.summaries && !v->is_block) {
        struct open_row r = {
            .base = v->base,
            .bytes = (uint8_t *)(uintptr_t)v->bytes.data, /* only read */
            .size = (uint32_t)v->bytes.size,
            .cap = (uint32_t)v->bytes.size,
        };

        /* The summary of a row from another process is computed. */
        if (v->row != NULL ? head_row_summary(store_head(scan->s), v->row, &s)
                           : open_row_summary(&r, false, &s))
            summary = arena_alloc(scan->arena, sizeof *summary);
    }
    if (summary != NULL)
        *summary = s;
    c.summary = summary;
    buf_put(&scan->copies, &c, sizeof c);
    scan->head_len += !scan->copies.failed;
    return !scan->copies.failed;
}

static void
no_room(struct store_scan *scan)
{
    (void)error_set(&scan->error, ST_LIMIT,
                    "copies of open rows take more than they may");
}

static bool
take_row(void *ctx, const struct head_row_view *v)
{
    struct store_scan *scan = ctx;

    if (store_scan_is_over(scan, 1))
        return false;
    if (!takes_row(scan->layout, &scan->spec, v))
        return true;
    if (!copy_row(scan, v))
        no_room(scan);
    return scan->error.status == ST_OK;
}

/* All rows are of one metric and bucket, so spans and TSUIDs order them as
 * their keys do. */
static int
compare_copies(const void *a, const void *b)
{
    const struct open_copy *x = a, *y = b;
    int c;

    if (x->span != y->span)
        return x->span < y->span ? -1 : 1;
    c = slice_cmp(x->tsuid, y->tsuid);
    if (c != 0)
        return c;
    if (x->base != y->base)
        return x->base < y->base ? -1 : 1;
    if (x->is_block != y->is_block)
        return x->is_block ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Sorts the copies, and moves them from the heap to the arena, which frees them
 * with the rows that are lent. */
static void
keep_copies(struct store_scan *scan)
{
    size_t size = sizeof *scan->head;
    struct open_copy *heap = (void *)scan->copies.data;
    size_t i = 1;

    /* The copies are in order, unless series have rows of several spans. */
    while (i < scan->head_len && compare_copies(&heap[i - 1], &heap[i]) < 0)
        i++;
    if (i < scan->head_len)
        qsort(heap, scan->head_len, size, compare_copies);
    scan->head = scan->error.status != ST_OK || scan->head_len == 0
                     ? NULL
                     : arena_copy(scan->arena, heap, scan->head_len * size);
    if (scan->head == NULL && scan->head_len > 0) {
        scan->head_len = 0;
        if (scan->error.status == ST_OK)
            no_room(scan);
    }
    buf_fini(&scan->copies);
}

/* -- scans ----------------------------------------------------------------- */

/* Copies open rows for one scan after the other. */
struct opening {
    struct store *s;
    const struct scan_spec *specs;
    struct store_scan **scans;
    size_t len;
    size_t taken; /* bytes, by those that have their copies */
    enum status status;
    struct error *e;
};

/* Within what those before it have left of the limit. */
static void
copy_for(struct opening *o, struct store_scan *scan, const struct buf *sent)
{
    size_t most = scan->spec.max_bytes;

    scan->arena = scan->spec.arena;
    if (scan->arena == NULL)
        scan->arena = arena_new_within(
            most > o->taken ? most - o->taken : most != 0, scan->spec.budget);
    if (sent == NULL) {
        scan->error.status = store_owns(scan->s, &scan->error);
        if (scan->error.status == ST_OK)
            each_row(scan->s, &scan->spec, take_row, scan);
    } else {
        struct cursor c = cursor_of(buf_slice(sent));
        struct head_row_view v;

        while (scan->error.status == ST_OK &&
               store_head_next(&c, scan->layout, &scan->spec, &v))
            (void)take_row(scan, &v);
        if (c.failed)
            (void)error_set(&scan->error, ST_CORRUPT,
                            "malformed open rows of salt bucket %u from its "
                            "owner",
                            scan->spec.bucket);
    }
    keep_copies(scan);
    if (scan->spec.arena == NULL)
        o->taken += arena_used(scan->arena);
    if (o->status == ST_OK && scan->error.status != ST_OK) {
        *o->e = scan->error;
        o->status = scan->error.status;
    }
}

/* Those of other owners, all of them at once; ST_MOVED: a bucket has moved,
 * which may be this process's now. */
static enum status
copy_remote(struct opening *o, int64_t end_us)
{
    const struct store_remote *r = store_remote(o->s);
    struct scan_spec *specs = mem_new_array(o->len, sizeof *specs);
    struct buf *sent = mem_new_array(o->len, sizeof *sent);
    enum status status;
    size_t len = 0;

    for (size_t i = 0; i < o->len; i++)
        if (o->scans[i]->arena == NULL) {
            buf_init_within(&sent[len], 0, o->specs[i].budget);
            specs[len++] = o->specs[i];
        }
    status = r->head(r->ctx, specs, len, sent, end_us, o->e);
    for (size_t i = 0, at = 0; i < o->len && status == ST_OK; i++)
        if (o->scans[i]->arena == NULL)
            copy_for(o, o->scans[i], &sent[at++]);
    for (size_t i = 0; i < o->len; i++)
        buf_fini(&sent[i]);
    free(sent);
    free(specs);
    return status;
}

enum status
store_scans_copy_heads(struct store *s, const struct scan_spec *specs,
                       struct store_scan **scans, size_t len, struct error *e)
{
    struct opening o = { s, specs, scans, len, .e = e };
    struct store_retry retry = { .end_us = len > 0 ? specs[0].end_us : 0 };

    for (;;) {
        bool all = true;

        for (size_t i = 0; i < len; i++) { /* the local heads */
            if (scans[i]->arena != NULL)
                continue;
            if (store_bucket_state(s, scans[i]->spec.bucket) == BUCKET_REMOTE)
                all = false;
            else
                copy_for(&o, scans[i], NULL);
        }
        if (all || o.status != ST_OK)
            break;
        o.status = copy_remote(&o, store_retry_end(s, &retry));
        if (o.status != ST_MOVED)
            break;
        o.status = ST_OK;
        if (!store_retry(s, &retry))
            o.status = error_wrap(e, ST_BUSY,
                                  "open rows have no owner now: try again");
    }
    return o.status;
}
