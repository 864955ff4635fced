/* Lines and bodies of rollups: each is stored or rejected, once, with and
 * without a configuration. */
#include "base/obj.h"
#include "query/model/rollup.h"
#include "tests/tsd/fake_ingest.h"
#include "tsd/put/put.h"
#include "tsd/put/put_json.h"
#include "tests/fuzz/target.h"

static const char config[] =
    "{\"aggregationIds\":{\"sum\":0,\"avg\":1},\"intervals\":["
    "{\"table\":\"a\",\"preAggregationTable\":\"b\",\"interval\":\"1m\","
    "\"rowSpan\":\"1h\",\"defaultInterval\":true},"
    "{\"table\":\"a\",\"preAggregationTable\":\"b\",\"interval\":\"11s\","
    "\"rowSpan\":\"1h\"},"
    "{\"table\":\"c\",\"preAggregationTable\":\"d\",\"interval\":\"1h\","
    "\"rowSpan\":\"1n\"}]}";

struct outcome {
    struct put_batch *batch;
    size_t offered, failed, stored;
};

static void
on_failed(void *ctx, size_t id, enum put_fault fault, struct slice why)
{
    struct outcome *x = ctx;
    struct slice key, value;

    (void)id;
    (void)fault;
    x->failed++;
    INSIST(why.size > 0);
    INSIST(!put_batch_added_tag(x->batch, &key, &value) || key.size > 0);
}

static void
put_lines(struct slice text, struct outcome *x)
{
    while (x->offered < PUT_BATCH_MAX / 2) {
        const uint8_t *end =
            text.size == 0 ? NULL : memchr(text.data, '\n', text.size);
        struct slice line = text;

        if (end != NULL)
            line.size = (size_t)(end - text.data);
        put_batch_line(x->batch, line, x->offered++, true);
        if (end == NULL)
            break;
        text = slice_of(end + 1, text.size - line.size - 1);
    }
}

static void
run(const struct rollups *r, struct slice text)
{
    static struct put_json_point points[PUT_BATCH_MAX / 2];
    struct put_options o = { .rules = { true, true, true, 8, false },
                             .rollups = r };
    struct put_path *path = put_path_new(NULL, NULL, NULL, &o);
    struct outcome x = { 0 };
    struct put_json json;

    fake_reset();
    x.batch = put_batch_new(path, on_failed, &x);
    put_lines(text, &x);
    if (put_json_open(&json, text)) {
        json.kind = PUT_JSON_ROLLUPS;
        for (size_t i = 0;
             i < PUT_BATCH_MAX / 2 && put_json_next(&json, &points[i]); i++)
            put_batch_json(x.batch, &points[i], x.offered++, true);
    }
    INSIST(put_batch_flush(x.batch, &x.stored) == ST_OK);
    INSIST(x.stored + x.failed == x.offered);
    put_batch_free(&x.batch);
    put_path_free(&path);
}

FUZZ_TARGET(data, size)
{
    struct rollups *r = NULL;
    struct error e;

    INSIST(rollups_open(config, &r, &e) == ST_OK);
    r->agg_tag_key = "_aggregate";
    r->raw_tag_value = "RAW";
    r->tag_raw = size % 2 != 0;
    r->block_derived = size % 4 < 2;
    run(NULL, slice_of(data, size));
    run(r, slice_of(data, size));
    rollups_close(&r);
    return 0;
}
