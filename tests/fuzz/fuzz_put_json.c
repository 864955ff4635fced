/* Bodies of /api/put: Jansson agrees where it can, and the text cache makes no
 * difference. */
#include "base/obj.h"
#include "tests/tsd/fake_ingest.h"
#include "tests/tsd/json_oracle.h"
#include "tsd/put/put.h"
#include "tsd/put/put_json.h"
#include "tests/fuzz/target.h"

static void
on_failed(void *ctx, size_t id, enum put_fault fault, struct slice why)
{
    struct buf *log = ctx;

    buf_printf(log, "%zu %d ", id, (int)fault);
    buf_put_slice(log, why);
    buf_put_str(log, "\n");
}

/* What becomes of the body's first points, as text. */
static void
put_body(struct put_path *path, struct slice body, struct buf *log)
{
    struct put_json_point points[64];
    struct put_batch *batch = put_batch_new(path, on_failed, log);
    struct put_json r;
    size_t n = 0;

    buf_clear(&fake.log);
    if (put_json_open(&r, body))
        while (n < 64 && put_json_next(&r, &points[n])) {
            put_batch_json(batch, &points[n], n, false);
            n++;
        }
    INSIST(put_batch_flush(batch, NULL) == ST_OK);
    put_batch_free(&batch);
    buf_put_slice(log, buf_slice(&fake.log));
}

/* All that the reader took as buckets is read again to its closing brace. */
static void
read_histograms(struct slice body)
{
    struct put_json_point x;
    struct put_json r;
    struct buf bounds = BUF_INIT;
    int64_t count;

    if (put_json_open(&r, body)) {
        r.kind = PUT_JSON_HISTOGRAMS;
        while (put_json_next(&r, &x)) {
            while (put_json_bucket(&x.buckets, &bounds, &count))
                ;
            INSIST(x.buckets.size == 0 || x.buckets.size == 1 ||
                   x.buckets.data[0] == '{');
        }
    }
    buf_fini(&bounds);
}

FUZZ_TARGET(data, size)
{
    struct put_options o = { .rules = { true, true, true, 8, false } };
    struct slice body = { data, size };
    struct buf first = BUF_INIT, second = BUF_INIT;
    struct put_path *path;

    (void)json_oracle_check(body);
    read_histograms(body);
    fake_reset();
    path = put_path_new(NULL, NULL, NULL, &o);
    put_body(path, body, &first);
    put_body(path, body, &second);
    INSIST(slice_eq(buf_slice(&first), buf_slice(&second)));
    put_path_free(&path);
    buf_fini(&first);
    buf_fini(&second);
    return 0;
}
