/* 'scan --delete': nothing is deleted that its reader has not got. */
#include "tests/tsd/tool/workbench.h"

#include "tsd/put/put.h"

#define HOURS 400
#define LINES 60 /* of an hour: all are more than one batch of printed text */

struct reader {
    struct buf got;
    size_t had;               /* bytes of it that the last drain confirmed */
    unsigned drains, gone_at; /* the drain that fails */
};

static bool
reader_write(void *ctx, struct slice bytes)
{
    struct reader *r = ctx;

    buf_put_slice(&r->got, bytes);
    return true;
}

static bool
reader_drain(void *ctx)
{
    struct reader *r = ctx;

    if (++r->drains == r->gone_at)
        return false;
    r->had = r->got.size;
    return true;
}

static void
put_hours(struct workbench *w)
{
    struct put_batch *b = put_batch_new(w->db.api.put, NULL, NULL);
    size_t stored = 0;
    char line[64];

    for (unsigned i = 0; i < HOURS * LINES; i++) {
        (void)snprintf(line, sizeof line, "d.m %u %u h=a",
                       1356998400 + i * (3600 / LINES), i);
        put_batch_line(b, slice_str(line), i, false);
        ck_assert_int_eq(put_batch_flush(b, &stored), ST_OK);
    }
    ck_assert_uint_eq(stored, HOURS * LINES);
    put_batch_free(&b);
}

static int
scan_and_delete(struct workbench *w, struct reader *r)
{
    static const char *const words[] = { "--delete", "1356998400", "1400000000",
                                         "sum", "d.m" };
    struct tool_args args;
    struct tool t = {
        .command = tool_command_find("scan"),
        .args = &args,
        .settings = w->settings,
        .api = &w->db.api,
        .zone = w->db.api.zone,
        .out = { reader_write, r, reader_drain },
        .err = { .write = workbench_keep, .ctx = &w->err },
    };
    struct error e;
    int rc;

    ck_assert_int_eq(tool_args_parse(&args, t.command->options,
                                     tool_common_options,
                                     sizeof words / sizeof words[0], words, &e),
                     ST_OK);
    rc = tool_run(&t);
    tool_args_fini(&args);
    return rc;
}

/* And of flushed rows, of several hours each. */
static const struct {
    unsigned gone_at;
    bool flushed;
} reads[] = { { 1, false }, { 2, false }, { 0, false },
              { 1, true },  { 2, true },  { 0, true } };

/* What is left begins where the reader left. */
START_TEST(what_the_reader_has_is_deleted)
{
    const unsigned gone_at = reads[_i].gone_at;
    struct reader r = { .gone_at = gone_at };
    struct buf all = BUF_INIT;
    struct workbench w;
    struct slice left;
    struct error e;

    workbench_open(&w, NULL);
    put_hours(&w);
    if (reads[_i].flushed)
        ck_assert_int_eq(store_flush(w.db.api.store, &e), ST_OK);
    ck_assert_int_eq(RUN(&w, "scan", "--import"), 0);
    buf_put_slice(&all, buf_slice(&w.out));
    ck_assert_int_eq(scan_and_delete(&w, &r), gone_at == 0 ? 0 : 1);
    ck_assert_uint_gt(r.drains, gone_at == 0 ? 1 : 0);
    ck_assert_uint_lt(r.drains, HOURS / 4);
    ck_assert(slice_starts(buf_slice(&all), buf_slice(&r.got)));
    ck_assert_int_eq(RUN(&w, "scan", "--import"), 0);
    left = slice_of(all.data + r.had, all.size - r.had);
    ck_assert(slice_eq(left, buf_slice(&w.out)));
    ck_assert_uint_eq(left.size == 0, gone_at == 0);
    buf_fini(&all);
    buf_fini(&r.got);
    workbench_close(&w);
}
END_TEST

TEST_MAIN("tool_scan", LOOP(what_the_reader_has_is_deleted, reads))
