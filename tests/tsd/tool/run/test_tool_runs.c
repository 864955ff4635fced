/* Tools that a server runs: what is read of them, and how they end. */
#include "tsd/tool/run/tool_runs.h"

#include <unistd.h>

#include "tests/tsd/tool/workbench.h"

#define NAMES 40000 /* so many that they do not fit into what may wait */

static bool
leaves(void *ctx)
{
    (void)ctx;
    return true;
}

static void
add_names(struct workbench *w)
{
    struct error e;
    char name[64];
    uint64_t id;

    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "metric.with.a.long.name.%d", i);
        ck_assert_int_eq(uid_get_or_create(w->db.api.uids, UID_METRIC,
                                           slice_str(name), &id, &e),
                         ST_OK);
    }
}

static enum status
begin(struct tool_runs *r, struct workbench *w, const char *const *words,
      char id[RUN_ID_SIZE], struct error *e)
{
    struct tool_call call = { .words = words, .zone = w->db.api.zone };

    while (words[call.len] != NULL)
        call.len++;
    return tool_runs_begin(r, &w->db.api, &call, id, e);
}

#define BEGIN(r, w, id, e, ...) \
    begin(r, w, (const char *const[]){ __VA_ARGS__, NULL }, id, e)

/* Reads it to its end; what it printed goes to w->out and w->err. */
static int
read_all(struct tool_runs *r, struct workbench *w, const char *id)
{
    struct buf frames = BUF_INIT;
    struct error e;
    int status = -1;

    buf_clear(&w->out);
    buf_clear(&w->err);
    while (status < 0) {
        struct slice rest, bytes;
        enum tool_frame kind;

        buf_clear(&frames);
        ck_assert_int_eq(tool_runs_read(r, id, CANCEL_NEVER, &frames, &e),
                         ST_OK);
        ck_assert_uint_le(frames.size, RUN_PENDING_BYTES + 2 * TOOL_CHUNK);
        rest = buf_slice(&frames);
        while (tool_frame_cut(&rest, &kind, &bytes))
            if (kind == TOOL_FRAME_OUT)
                buf_put_slice(&w->out, bytes);
            else if (kind == TOOL_FRAME_ERR)
                buf_put_slice(&w->err, bytes);
            else if (kind == TOOL_FRAME_EXIT)
                status = bytes.data[0];
        ck_assert_uint_eq(rest.size, 0);
    }
    buf_fini(&frames);
    return status;
}

START_TEST(reads_all_and_the_status)
{
    struct tool_runs *r = tool_runs_new();
    char id[RUN_ID_SIZE];
    struct workbench w;
    struct buf got = BUF_INIT;
    struct error e;
    size_t lines = 0;

    workbench_open(&w, NULL);
    add_names(&w);
    ck_assert_int_eq(BEGIN(r, &w, id, &e, "uid", "grep", "."), ST_OK);
    ck_assert_int_eq(read_all(r, &w, id), 0);
    for (size_t i = 0; i < w.out.size; i++)
        lines += w.out.data[i] == '\n';
    ck_assert_uint_eq(lines, NAMES);
    ck_assert_int_eq(tool_runs_read(r, id, CANCEL_NEVER, &got, &e),
                     ST_NOT_FOUND);
    ck_assert_int_eq(BEGIN(r, &w, id, &e, "uid", "metrics", "x"), ST_OK);
    ck_assert_int_eq(read_all(r, &w, id), 1);
    ck_assert_str_eq(buf_cstr(&w.err), "No such name for 'metrics': 'x'\n");
    ck_assert_int_eq(BEGIN(r, &w, id, &e, "uid"), ST_OK);
    ck_assert_int_eq(read_all(r, &w, id), 2);
    buf_fini(&got);
    tool_runs_close(&r);
    workbench_close(&w);
}
END_TEST

START_TEST(rejects_what_is_no_tool)
{
    struct tool_runs *r = tool_runs_new();
    char id[RUN_ID_SIZE];
    struct workbench w;
    struct error e;

    workbench_open(&w, NULL);
    ck_assert_int_eq(BEGIN(r, &w, id, &e, "nosuch"), ST_INVALID);
    ck_assert_int_eq(BEGIN(r, &w, id, &e, "import", "file"), ST_INVALID);
    ck_assert_int_eq(BEGIN(r, &w, id, &e, "uid", "--bogus"), ST_INVALID);
    ck_assert_str_eq(e.text, "Unrecognized option --bogus");
    tool_runs_close(&r);
    workbench_close(&w);
}
END_TEST

/* Each waits, as it prints more than may be pending; closing ends them. */
START_TEST(so_many_at_a_time)
{
    struct tool_runs *r = tool_runs_new();
    char id[RUNS_MAX + 1][RUN_ID_SIZE];
    struct workbench w;
    struct error e;
    int tries = 0;

    workbench_open(&w, NULL);
    add_names(&w);
    for (int i = 0; i < RUNS_MAX; i++)
        ck_assert_int_eq(BEGIN(r, &w, id[i], &e, "uid", "grep", "."), ST_OK);
    ck_assert_int_eq(BEGIN(r, &w, id[RUNS_MAX], &e, "uid", "grep", "."),
                     ST_BUSY);
    tool_runs_cancel(r, id[0]);
    while (BEGIN(r, &w, id[0], &e, "uid", "grep", ".") != ST_OK) {
        ck_assert_int_lt(tries++, 1000);
        (void)usleep(10000);
    }
    tool_runs_close(&r);
    workbench_close(&w);
}
END_TEST

START_TEST(a_client_that_leaves_cancels)
{
    struct tool_runs *r = tool_runs_new();
    char id[RUN_ID_SIZE];
    struct buf got = BUF_INIT;
    struct workbench w;
    struct error e;
    int tries = 0;

    workbench_open(&w, NULL);
    add_names(&w);
    ck_assert_int_eq(BEGIN(r, &w, id, &e, "uid", "grep", "nosuch|."), ST_OK);
    while (tool_runs_read(r, id, (struct cancel){ leaves, NULL }, &got, &e) ==
           ST_OK) {
        ck_assert_int_lt(tries++, 1000);
        (void)usleep(1000);
    }
    buf_fini(&got);
    tool_runs_close(&r);
    workbench_close(&w);
}
END_TEST

/* It has printed a part only. */
START_TEST(cancelled_is_failed)
{
    struct tool_runs *r = tool_runs_new();
    char id[RUN_ID_SIZE];
    struct workbench w;
    struct error e;

    workbench_open(&w, NULL);
    add_names(&w);
    ck_assert_int_eq(BEGIN(r, &w, id, &e, "uid", "grep", "."), ST_OK);
    tool_runs_cancel(r, id);
    ck_assert_int_eq(read_all(r, &w, id), TOOL_FAILED);
    ck_assert_str_eq(buf_cstr(&w.err),
                     "Cancelled: the client has not read on\n");
    tool_runs_close(&r);
    workbench_close(&w);
}
END_TEST

START_TEST(frames_are_cut_whole)
{
    struct buf b = BUF_INIT;
    struct slice rest, bytes;
    enum tool_frame kind;

    tool_frame_put(&b, TOOL_FRAME_OUT, slice_str("text"));
    tool_frame_put(&b, TOOL_FRAME_EXIT, slice_str("\2"));
    for (size_t size = 0; size < b.size; size++) {
        rest = slice_of(b.data, size);
        while (tool_frame_cut(&rest, &kind, &bytes))
            ck_assert_int_eq(kind, TOOL_FRAME_OUT);
        ck_assert_uint_le(rest.size, size);
    }
    rest = buf_slice(&b);
    ck_assert(tool_frame_cut(&rest, &kind, &bytes));
    ck_assert(slice_eq_str(bytes, "text"));
    ck_assert(tool_frame_cut(&rest, &kind, &bytes));
    ck_assert_int_eq(kind, TOOL_FRAME_EXIT);
    ck_assert_uint_eq(rest.size, 0);
    ck_assert(!tool_frame_cut(&rest, &kind, &bytes));
    b.data[0] = 'q';
    rest = buf_slice(&b);
    ck_assert(!tool_frame_cut(&rest, &kind, &bytes));
    buf_fini(&b);
}
END_TEST

TEST_MAIN("tool_runs", TEST(reads_all_and_the_status),
          TEST(rejects_what_is_no_tool), TEST(so_many_at_a_time),
          TEST(a_client_that_leaves_cancels), TEST(cancelled_is_failed),
          TEST(frames_are_cut_whole))
