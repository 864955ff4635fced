/* Lines of puts: each is stored or rejected, once, and what the text cache and
 * the fast way make of a line is what the slow way makes of it. */
#include "base/obj.h"
#include "tests/tsd/fake_ingest.h"
#include "tsd/put/put.h"
#include "tests/fuzz/target.h"

struct outcome {
    struct buf log;
    size_t failed, stored;
};

static void
on_failed(void *ctx, size_t id, enum put_fault fault, struct slice why)
{
    struct outcome *x = ctx;

    x->failed++;
    INSIST(why.size > 0 && memchr(why.data, '\n', why.size) == NULL);
    buf_printf(&x->log, "%zu %d ", id, (int)fault);
    buf_put_slice(&x->log, why);
    buf_put_str(&x->log, "\n");
}

static void
put_lines(struct put_path *path, struct slice text, struct outcome *x)
{
    struct put_batch *batch = put_batch_new(path, on_failed, x);
    size_t n = 0;

    buf_clear(&fake.log);
    while (n < PUT_BATCH_MAX) {
        const uint8_t *end =
            text.size == 0 ? NULL : memchr(text.data, '\n', text.size);
        struct slice line = text;

        if (end != NULL)
            line.size = (size_t)(end - text.data);
        put_batch_line(batch, line, n++, false);
        if (end == NULL)
            break;
        text = slice_of(end + 1, text.size - line.size - 1);
    }
    INSIST(put_batch_flush(batch, &x->stored) == ST_OK);
    INSIST(x->stored + x->failed == n);
    put_batch_free(&batch);
    buf_put_slice(&x->log, buf_slice(&fake.log));
}

FUZZ_TARGET(data, size)
{
    struct put_options o = { .rules = { true, true, true, 8, false } };
    struct outcome first = { 0 }, second = { 0 };
    struct put_path *path;

    fake_reset();
    path = put_path_new(NULL, NULL, NULL, &o);
    put_lines(path, slice_of(data, size), &first);
    put_lines(path, slice_of(data, size), &second);
    INSIST(slice_eq(buf_slice(&first.log), buf_slice(&second.log)));
    put_path_free(&path);
    buf_fini(&first.log);
    buf_fini(&second.log);
    return 0;
}
