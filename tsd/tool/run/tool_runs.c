#include "tsd/tool/run/tool_runs.h"

#include <jansson.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/process/clock.h"
#include "base/process/lock.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "tsd/tool/run/tool_commands.h"

#define RUNS_MAGIC FOURCC('T', 'R', 'N', 'S')
#define WAIT_MS    1000 /* a read, until there is something */
#define LOOK_MS    50   /* how often it asks whether its client is there */

struct run {
    struct tool_runs *runs;
    char id[RUN_ID_SIZE];
    json_t *json; /* lends the words */
    struct tool_args args;
    struct tool tool;
    pthread_t thread;
    struct cond changed; /* anything below */
    /* Under the lock of the runs. */
    struct buf pending; /* frames */
    bool ended, cancelled, is_read;
    bool handed; /* by the last read, whose client has not shown yet that it
                    has it */
    int status;
    int64_t asked_us; /* when a read ended */
};

struct tool_runs {
    uint32_t magic;
    struct lock lock;
    struct run *list[RUNS_MAX];
};

struct tool_runs *
tool_runs_new(void)
{
    struct tool_runs *r = mem_new(sizeof *r);

    r->magic = RUNS_MAGIC;
    lock_init(&r->lock);
    return r;
}

/* -- a run ----------------------------------------------------------------- */

static bool
is_idle(const struct run *run)
{
    return !run->is_read &&
           clock_monotonic_us() - run->asked_us > (int64_t)RUN_IDLE_MS * 1000;
}

static bool
run_is_cancelled(void *ctx)
{
    struct run *run = ctx;
    bool cancelled;

    lock_take(&run->runs->lock);
    run->cancelled |= is_idle(run);
    cancelled = run->cancelled;
    lock_drop(&run->runs->lock);
    return cancelled;
}

static bool
run_write(struct run *run, enum tool_frame kind, struct slice bytes)
{
    struct lock *lock = &run->runs->lock;
    bool taken;

    lock_take(lock);
    while (run->pending.size >= RUN_PENDING_BYTES && !run->cancelled) {
        cond_wait_ms(&run->changed, lock, WAIT_MS);
        run->cancelled |= is_idle(run);
    }
    taken = !run->cancelled;
    if (taken)
        tool_frame_put(&run->pending, kind, bytes);
    cond_broadcast(&run->changed);
    lock_drop(lock);
    return taken;
}

static bool
write_out(void *ctx, struct slice bytes)
{
    return run_write(ctx, TOOL_FRAME_OUT, bytes);
}

static bool
write_err(void *ctx, struct slice bytes)
{
    return run_write(ctx, TOOL_FRAME_ERR, bytes);
}

/* Who asks for more has got what was handed over. */
static bool
drain_out(void *ctx)
{
    struct run *run = ctx;
    struct lock *lock = &run->runs->lock;
    bool taken;

    lock_take(lock);
    while ((run->pending.size > 0 || run->handed) && !run->cancelled) {
        cond_wait_ms(&run->changed, lock, WAIT_MS);
        run->cancelled |= is_idle(run);
    }
    taken = !run->cancelled;
    lock_drop(lock);
    return taken;
}

/* What was printed may not be all of it: a client that comes back is told. */
static void *
run_main(void *arg)
{
    struct run *run = arg;
    struct tool *t = &run->tool;
    int status = tool_check(t);

    if (status == 0)
        status = tool_run(t);
    lock_take(&run->runs->lock);
    if (run->cancelled) {
        tool_frame_put(&run->pending, TOOL_FRAME_ERR,
                       slice_str("Cancelled: the client has not read on\n"));
        status = TOOL_FAILED;
    }
    run->status = status;
    run->ended = true;
    cond_broadcast(&run->changed);
    lock_drop(&run->runs->lock);
    return NULL;
}

static void
run_free(struct run *run)
{
    json_decref(run->json);
    tool_args_fini(&run->args);
    buf_fini(&run->pending);
    cond_fini(&run->changed);
    free(run);
}

static enum status
check_mode(struct tool *t, struct error *e)
{
    enum settings_mode mode = t->settings->mode;
    const char *name = t->command->name;
    bool reads = (t->command->flags & TOOL_READS) != 0;
    bool deletes =
        strcmp(name, "scan") == 0 && tool_option(t, "--delete") != NULL;

    if (mode == MODE_RO && (!reads || deletes))
        return error_set(e, ST_INVALID, "%s: this server reads only", name);
    if (mode == MODE_WO && reads)
        return error_set(e, ST_INVALID, "%s: this server writes only", name);
    return ST_OK;
}

static enum status
run_new(struct tool_runs *r, const struct api *a, const struct tool_call *call,
        struct run **out, struct error *e)
{
    const struct tool_command *c = tool_command_find(call->words[0]);
    struct run *run;
    enum status st;
    uint8_t bytes[16];

    if (c == NULL || (c->flags & TOOL_AT_CLIENT) != 0)
        return error_set(e, ST_INVALID, "%s is no tool of a server",
                         log_quote(slice_str(call->words[0])));
    run = mem_new(sizeof *run);
    run->runs = r;
    cond_init(&run->changed);
    INSIST(getrandom(bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(run->id + 2 * i, 3, "%02x", bytes[i]);
    run->json = json_incref(call->json);
    run->asked_us = clock_monotonic_us();
    run->tool = (struct tool){
        .command = c,
        .args = &run->args,
        .settings = a->settings,
        .api = a,
        .at_server = true,
        .zone = call->zone,
        .as_tsdb = call->as_tsdb,
        .out = { write_out, run, drain_out },
        .err = { write_err, run, NULL },
        .cancel = { run_is_cancelled, run },
    };
    st = tool_args_parse(&run->args, c->options, tool_common_options,
                         call->len - 1, call->words + 1, e);
    if (st == ST_OK)
        st = check_mode(&run->tool, e);
    if (st != ST_OK)
        run_free(run);
    *out = run;
    return st;
}

/* -- all of them ----------------------------------------------------------- */

enum status
tool_runs_begin(struct tool_runs *r, const struct api *a,
                const struct tool_call *call, char id[RUN_ID_SIZE],
                struct error *e)
{
    struct run *run;
    size_t free_at = RUNS_MAX;
    enum status st;
    int rc = 0;

    OBJ_CHECK(r, RUNS_MAGIC);
    st = run_new(r, a, call, &run, e);
    if (st != ST_OK)
        return st;
    memcpy(id, run->id, RUN_ID_SIZE);
    lock_take(&r->lock);
    /* What ended and was not asked for any more goes. */
    for (size_t i = 0; i < RUNS_MAX; i++) {
        struct run *old = r->list[i];

        if (old != NULL && old->ended && !old->is_read &&
            (old->cancelled || is_idle(old))) {
            (void)pthread_join(old->thread, NULL);
            run_free(old);
            r->list[i] = NULL;
        }
        if (r->list[i] == NULL)
            free_at = i;
    }
    if (free_at == RUNS_MAX)
        st =
            error_set(e, ST_BUSY, "The server runs %d tools already", RUNS_MAX);
    else if ((rc = pthread_create(&run->thread, NULL, run_main, run)) != 0)
        st = error_set(e, ST_BUSY, "start a thread: %s", strerror(rc));
    else
        r->list[free_at] = run;
    lock_drop(&r->lock);
    if (st != ST_OK)
        run_free(run);
    return st;
}

static struct run **
find_run(struct tool_runs *r, const char *id) REQUIRES(r->lock)
{
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (r->list[i] != NULL && strcmp(r->list[i]->id, id) == 0)
            return &r->list[i];
    return NULL;
}

/* Until there is something to read, or a little while. */
static void
wait_for_text(struct tool_runs *r, struct run *run, struct cancel cancel)
    REQUIRES(r->lock)
{
    for (int ms = 0; ms < WAIT_MS && run->pending.size == 0 && !run->ended;
         ms += LOOK_MS) {
        cond_wait_ms(&run->changed, &r->lock, LOOK_MS);
        lock_drop(&r->lock);
        if (cancel_asked(cancel)) {
            lock_take(&r->lock);
            run->cancelled = true;
            return;
        }
        lock_take(&r->lock);
    }
}

enum status
tool_runs_read(struct tool_runs *r, const char *id, struct cancel cancel,
               struct buf *out, struct error *e)
{
    struct run **place, *run, *over = NULL;
    uint8_t status;

    OBJ_CHECK(r, RUNS_MAGIC);
    lock_take(&r->lock);
    place = find_run(r, id);
    if (place == NULL || (*place)->is_read) {
        lock_drop(&r->lock);
        return error_set(e, ST_NOT_FOUND, "There is no such run of a tool");
    }
    run = *place;
    run->is_read = true;
    run->handed = false;
    cond_broadcast(&run->changed);
    wait_for_text(r, run, cancel);
    buf_put_slice(out, buf_slice(&run->pending));
    run->handed = run->pending.size > 0;
    buf_clear(&run->pending);
    run->is_read = false;
    run->asked_us = clock_monotonic_us();
    cond_broadcast(&run->changed);
    if (run->ended) {
        over = run;
        *place = NULL;
    }
    lock_drop(&r->lock);
    if (over == NULL) {
        tool_frame_put(out, TOOL_FRAME_NEXT, slice_str(id));
        return ST_OK;
    }
    status = (uint8_t)over->status;
    tool_frame_put(out, TOOL_FRAME_EXIT, slice_of(&status, 1));
    (void)pthread_join(over->thread, NULL);
    run_free(over);
    return ST_OK;
}

void
tool_runs_cancel(struct tool_runs *r, const char *id)
{
    struct run **place;

    OBJ_CHECK(r, RUNS_MAGIC);
    lock_take(&r->lock);
    place = find_run(r, id);
    if (place != NULL) {
        (*place)->cancelled = true;
        cond_broadcast(&(*place)->changed);
    }
    lock_drop(&r->lock);
}

void
tool_runs_close(struct tool_runs **rp)
{
    struct tool_runs *r = OBJ_TAKE(rp, RUNS_MAGIC);

    if (r == NULL)
        return;
    lock_take(&r->lock);
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (r->list[i] != NULL) {
            r->list[i]->cancelled = true;
            cond_broadcast(&r->list[i]->changed);
        }
    lock_drop(&r->lock);
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (r->list[i] != NULL) {
            (void)pthread_join(r->list[i]->thread, NULL);
            run_free(r->list[i]);
        }
    lock_fini(&r->lock);
    OBJ_FREE(r);
}

/* -- frames ---------------------------------------------------------------- */

#define FRAME_HEAD ((size_t)5) /* bytes in front of a frame's own */

void
tool_frame_put(struct buf *out, enum tool_frame kind, struct slice bytes)
{
    buf_put_u8(out, (uint8_t)kind);
    buf_put_u32(out, (uint32_t)bytes.size);
    buf_put_slice(out, bytes);
}

bool
tool_frame_cut(struct slice *in, enum tool_frame *kind, struct slice *bytes)
{
    const uint8_t *p = in->data;
    size_t size;

    if (in->size < FRAME_HEAD || strchr("oenx", p[0]) == NULL || p[0] == '\0')
        return false;
    size = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (size > in->size - FRAME_HEAD || (p[0] == TOOL_FRAME_EXIT && size != 1))
        return false;
    *kind = (enum tool_frame)p[0];
    *bytes = slice_of(p + FRAME_HEAD, size);
    *in = slice_of(p + FRAME_HEAD + size, in->size - FRAME_HEAD - size);
    return true;
}
