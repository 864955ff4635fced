/* /api/tool/import: a block of lines of a client's 'import'.
 *
 *     POST /api/tool/import?json=true&create=true&stop=true    lines
 *     POST /api/tool/import?sync=true                and all is on the disk
 *
 *     server <one number as long as the process lives>
 *     taken <points> <records>
 *     next <offset>        the store is busy: lines from here on were not taken
 *     bad <offset of the line's first byte> <why>     ...
 *
 * or 503, where the store was too busy for any. */
#include <inttypes.h>

#include "base/text/number.h"
#include "tsd/tool/import/api_import.h"
#include "tsd/transfer/import/import_writer.h"

#define BUSY_MAX_MS 2000 /* that a worker waits for a busy store */

struct import_block {
    struct slice lines;
    bool json, create, stop, sync;
};

static bool
is_true(const struct http_request *r, const char *name)
{
    struct slice value;

    return http_param(r, name, &value) && slice_eq_str(value, "true");
}

/* An import_bad.  Names of clients in 'why' may hold ends of lines. */
static void
report_bad(void *ctx, size_t offset, struct slice why)
{
    struct buf *bad = ctx;

    buf_printf(bad, "bad %zu ", offset);
    for (size_t i = 0; i < why.size; i++)
        buf_put_u8(bad, why.data[i] == '\n' ? ' ' : why.data[i]);
    buf_put_u8(bad, '\n');
}

/* Bad lines that were not taken are found again when they are sent again. */
static void
put_bad(struct buf *out, struct slice bad, size_t taken)
{
    while (bad.size > 0) {
        struct slice line = slice_cut(&bad, '\n'), rest = line;
        uint64_t offset;

        (void)slice_cut(&rest, ' ');
        INSIST(number_parse_u64(slice_cut(&rest, ' '), &offset));
        if (offset >= taken)
            continue;
        buf_put_slice(out, line);
        buf_put_u8(out, '\n');
    }
}

/* Imports follow the rule for new metrics that the client names. */
static enum status
write_block(const struct api *a, const struct import_block *b, struct buf *out,
            struct error *e)
{
    const struct import_rules rules = { .create_metrics = b->create,
                                        .json = b->json,
                                        .stop_at_bad = b->stop,
                                        .wait_ms = BUSY_MAX_MS };
    struct import_writer *w = import_writer_new(a, &rules);
    struct import_counts n = { 0 };
    struct buf bad = BUF_INIT;
    size_t taken = b->lines.size;
    enum status st;

    st = import_writer_write(w, b->lines, report_bad, &bad, &n, e);
    if (st == ST_BUSY && import_writer_taken(w, &taken) && taken > 0)
        st = ST_OK;
    if (st == ST_OK)
        st = import_writer_commit(w, b->sync, e);
    buf_printf(out, "taken %" PRIu64 " %" PRIu64 "\n", n.points, n.records);
    if (taken < b->lines.size)
        buf_printf(out, "next %zu\n", taken);
    out->failed |= bad.failed;
    put_bad(out, buf_slice(&bad), taken);
    import_writer_free(&w);
    buf_fini(&bad);
    return st;
}

void
api_tool_import(const struct api *a, const struct http_request *r,
                struct http_reply *out)
{
    struct import_block b = { .lines = http_body(r),
                              .json = is_true(r, "json"),
                              .create = is_true(r, "create"),
                              .stop = is_true(r, "stop"),
                              .sync = is_true(r, "sync") };
    struct buf *text = http_reply_body(out);
    struct error e;

    buf_printf(text, "server %" PRId64 "\n", a->started_ms);
    if (write_block(a, &b, text, &e) == ST_OK)
        http_reply_type(out, "text/plain; charset=UTF-8");
    else
        http_reply_failure(out, &e);
}
