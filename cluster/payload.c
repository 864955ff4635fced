/* See cluster/payload.h.
 *
 *     HEAD:    <sets> { mask set }... <series of all specs> <specs> { spec }...
 *     spec:    <bucket> <access path:1> <set, 0: none> <from base:4>
 *              <to base:4> <bytes at the most> <metric> <series> { <tsuid> }...
 *     answer:  { bytes }...
 *     LAST, DELETE:  <from ms:8> <to ms:8> tsuid
 *     answer to LAST: <found:1> [ <ms:8> <is float:1> <value:8> ]
 *
 * Numbers without a width are varints; texts begin with their size. */
#include "cluster/payload.h"

#include "base/cursor.h"
#include "base/mem.h"

#define SPECS_MAX 65536
#define MASKS_MAX 65536

/* Is all of it read, and was it good? */
static enum status
read_end(const struct cursor *c, const char *what, struct error *e)
{
    if (!c->failed && cursor_left(c) == 0)
        return ST_OK;
    return error_set(e, ST_CORRUPT, "malformed %s", what);
}

/* -- HEAD ------------------------------------------------------------------ */

static void
put_spec(struct buf *out, const struct scan_spec *spec, size_t set)
{
    size_t series = spec->path == SCAN_SEEKS ? spec->series_len : 0;

    buf_put_varint(out, spec->bucket);
    buf_put_u8(out, (uint8_t)spec->path);
    buf_put_varint(out, set);
    buf_put_u32(out, spec->from_base);
    buf_put_u32(out, spec->to_base);
    buf_put_varint(out, spec->max_bytes);
    buf_put_sized(out, spec->metric);
    buf_put_varint(out, series);
    for (size_t i = 0; i < series; i++)
        buf_put_sized(out, spec->series[i]);
}

void
payload_put_head(struct buf *out, const struct scan_spec *specs,
                 const size_t *which, size_t len)
{
    const struct mask_set *last = NULL;
    size_t sets = 0, series = 0;
    struct buf masks = BUF_INIT, rest = BUF_INIT;

    for (size_t i = 0; i < len; i++) {
        const struct scan_spec *spec = &specs[which[i]];
        const struct mask_set *set =
            spec->path == SCAN_SEEKS ? NULL : spec->masks;

        /* Buckets of a scan share their masks, one behind the other. */
        if (set != NULL && set != last) {
            mask_set_write(set, &masks);
            last = set;
            sets++;
        }
        put_spec(&rest, spec, set == NULL ? 0 : sets);
        series += spec->path == SCAN_SEEKS ? spec->series_len : 0;
    }
    buf_put_varint(out, sets);
    buf_put_slice(out, buf_slice(&masks));
    buf_put_varint(out, series);
    buf_put_varint(out, len);
    buf_put_slice(out, buf_slice(&rest));
    out->failed |= masks.failed || rest.failed;
    buf_fini(&masks);
    buf_fini(&rest);
}

/* '*series' of them may still be read, to the end of h->series. */
static void
read_spec(struct cursor *c, const struct key_layout *layout,
          struct payload_head *h, struct slice **series, size_t *left,
          struct scan_spec *spec)
{
    uint64_t bucket = cursor_varint(c);
    uint8_t path = cursor_u8(c);
    uint64_t set = cursor_varint(c), max, len;

    spec->from_base = cursor_u32(c);
    spec->to_base = cursor_u32(c);
    max = cursor_varint(c);
    spec->metric = cursor_sized(c);
    len = cursor_varint(c);
    if (bucket >= layout->salt_buckets || path > SCAN_SEEKS ||
        set > h->sets_len || (set == 0) != (path == SCAN_SEEKS) ||
        spec->metric.size != layout->metric_width || len > *left ||
        (len > 0 && path != SCAN_SEEKS) || max > SIZE_MAX)
        c->failed = true;
    if (c->failed)
        return;
    spec->bucket = (unsigned)bucket;
    spec->path = (enum access_path)path;
    spec->masks = set == 0 ? NULL : h->sets[set - 1];
    spec->max_bytes = (size_t)max;
    spec->series = *series;
    spec->series_len = (size_t)len;
    for (uint64_t i = 0; i < len && !c->failed; i++) {
        struct slice tsuid = cursor_sized(c);

        if (!c->failed && (!tsuid_is_valid(layout, tsuid) ||
                           key_salt(layout, tsuid) != spec->bucket ||
                           !slice_starts(tsuid, spec->metric) ||
                           (i > 0 && slice_cmp((*series)[-1], tsuid) >= 0)))
            c->failed = true;
        *(*series)++ = tsuid;
    }
    *left -= (size_t)len;
}

enum status
payload_read_head(struct slice in, const struct key_layout *layout,
                  struct payload_head *out, struct error *e)
{
    struct cursor c = cursor_of(in);
    uint64_t sets = cursor_varint(&c), series, specs;
    size_t masks = MASKS_MAX, left;
    struct slice *next;

    *out = (struct payload_head){ 0 };
    if (sets > SPECS_MAX || sets > cursor_left(&c))
        c.failed = true;
    if (!c.failed && sets > 0)
        out->sets = mem_new_array((size_t)sets, sizeof *out->sets);
    while (!c.failed && out->sets_len < sets) {
        out->sets[out->sets_len] = mask_set_read(&c, &masks);
        out->sets_len += !c.failed;
    }
    series = cursor_varint(&c);
    specs = cursor_varint(&c);
    if (c.failed || series > cursor_left(&c) || specs > cursor_left(&c) ||
        specs > SPECS_MAX)
        return error_set(e, ST_CORRUPT, "malformed request for open rows");
    left = (size_t)series;
    next = out->series =
        mem_new_array(left == 0 ? 1 : left, sizeof *out->series);
    out->specs =
        mem_new_array(specs == 0 ? 1 : (size_t)specs, sizeof *out->specs);
    for (; out->len < specs && !c.failed; out->len++)
        read_spec(&c, layout, out, &next, &left, &out->specs[out->len]);
    return read_end(&c, "request for open rows", e);
}

void
payload_head_fini(struct payload_head *h)
{
    for (size_t i = 0; i < h->sets_len; i++)
        mask_set_free(&h->sets[i]);
    free(h->sets);
    free(h->series);
    free(h->specs);
    *h = (struct payload_head){ 0 };
}

enum status
payload_read_bytes(struct slice in, struct slice *out, size_t len,
                   struct error *e)
{
    struct cursor c = cursor_of(in);

    for (size_t i = 0; i < len; i++)
        out[i] = cursor_sized(&c);
    return read_end(&c, "answer with open rows", e);
}

/* -- LAST, DELETE ---------------------------------------------------------- */

void
payload_put_series(struct buf *out, const struct payload_series *s)
{
    buf_put_u64(out, (uint64_t)s->from_ms);
    buf_put_u64(out, (uint64_t)s->to_ms);
    buf_put_slice(out, s->tsuid);
}

enum status
payload_read_series(struct slice in, const struct key_layout *layout,
                    struct payload_series *out, struct error *e)
{
    struct cursor c = cursor_of(in);

    out->from_ms = (int64_t)cursor_u64(&c);
    out->to_ms = (int64_t)cursor_u64(&c);
    out->tsuid = cursor_bytes(&c, cursor_left(&c));
    if (!tsuid_is_valid(layout, out->tsuid))
        c.failed = true;
    return read_end(&c, "request for a series", e);
}

void
payload_put_point(struct buf *out, const struct point *p)
{
    buf_put_u8(out, p != NULL);
    if (p == NULL)
        return;
    buf_put_u64(out, (uint64_t)p->ts_ms);
    buf_put_u8(out, p->is_float);
    buf_put_u64(out, (uint64_t)p->v.i);
}

enum status
payload_read_point(struct slice in, struct point *out, bool *found,
                   struct error *e)
{
    struct cursor c = cursor_of(in);
    uint8_t there = cursor_u8(&c), is_float = 0;

    *found = there == 1;
    if (*found) {
        out->ts_ms = (int64_t)cursor_u64(&c);
        is_float = cursor_u8(&c);
        out->is_float = is_float == 1;
        out->v.i = (int64_t)cursor_u64(&c);
    }
    if (there > 1 || is_float > 1 ||
        (*found && (out->ts_ms < 0 || out->ts_ms > POINT_MAX_TS_MS)))
        c.failed = true;
    return read_end(&c, "answer with a point", e);
}

void
payload_put_number(struct buf *out, uint64_t n)
{
    buf_put_u64(out, n);
}

enum status
payload_read_number(struct slice in, uint64_t *out, struct error *e)
{
    struct cursor c = cursor_of(in);

    *out = cursor_u64(&c);
    return read_end(&c, "answer with a number", e);
}
