/* Reads arbitrary bytes as the payloads between daemons, the first byte says
 * which: what is good, written again and read, is the same. */
#include "cluster/payload.h"

#include "base/obj.h"
#include "tests/fuzz/target.h"

static const struct key_layout layout = KEY_LAYOUT_DEFAULT;

static bool
write_again(struct slice in, struct buf *out)
{
    struct payload_head h;
    struct error e;
    bool good = payload_read_head(in, &layout, &h, &e) == ST_OK;
    size_t *which = calloc(h.len + 1, sizeof *which);

    INSIST(which != NULL);
    for (size_t i = 0; i < h.len; i++)
        which[i] = i;
    if (good)
        payload_put_head(out, h.specs, which, h.len);
    free(which);
    payload_head_fini(&h);
    return good;
}

static void
hear_head(struct slice in)
{
    struct buf once = BUF_INIT, twice = BUF_INIT;

    if (write_again(in, &once)) {
        INSIST(write_again(buf_slice(&once), &twice));
        INSIST(slice_eq(buf_slice(&once), buf_slice(&twice)));
    }
    buf_fini(&once);
    buf_fini(&twice);
}

static void
hear_others(uint8_t kind, struct slice in)
{
    struct buf out = BUF_INIT;
    struct payload_series s;
    struct slice bytes[3];
    struct point p;
    bool found;
    uint64_t n;

    switch (kind) {
    case 1:
        if (payload_read_bytes(in, bytes, 3, NULL) == ST_OK)
            for (int i = 0; i < 3; i++)
                buf_put_sized(&out, bytes[i]);
        INSIST(out.size <= in.size);
        break;
    case 2:
        if (payload_read_series(in, &layout, &s, NULL) == ST_OK)
            payload_put_series(&out, &s);
        INSIST(out.size == 0 || slice_eq(in, buf_slice(&out)));
        break;
    case 3:
        if (payload_read_point(in, &p, &found, NULL) == ST_OK)
            payload_put_point(&out, found ? &p : NULL);
        INSIST(out.size == 0 || slice_eq(in, buf_slice(&out)));
        break;
    default:
        if (payload_read_number(in, &n, NULL) == ST_OK)
            payload_put_number(&out, n);
        INSIST(out.size == 0 || slice_eq(in, buf_slice(&out)));
    }
    buf_fini(&out);
}

FUZZ_TARGET(data, size)
{
    if (size == 0)
        return 0;
    if (data[0] == 0)
        hear_head(slice_of(data + 1, size - 1));
    else
        hear_others(data[0], slice_of(data + 1, size - 1));
    return 0;
}
