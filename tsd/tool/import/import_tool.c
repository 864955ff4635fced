/* 'import': files of lines into a store. */
#include "tsd/tool/import/import_tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/log.h"
#include "base/text/number.h"
#include "query/parse/parse.h"
#include "tsd/tool/import/import_remote.h"
#include "tsd/transfer/fetch/fetch.h"
#include "tsd/transfer/import/import.h"

#define BAD_LINES_SHOWN   20 /* the others are counted */
#define FETCH_PROGRESS_US 200000
#define TO_LINE_START     "\r\x1b[K" /* and what was there is gone */

struct import_tool {
    struct tool *t;
    bool creates;  /* new metrics */
    FILE *rejects; /* NULL: none */
    bool shows_progress;
    bool progress_shown; /* there is such a line */
    bool skip_errors;
    int64_t from_us;
    uint64_t shown; /* bad lines */
};

/* Whether there is anything to import, as source_open() will say it: a store is
 * not made for a name that was misspelt. */
static int
check_first_file(struct tool *t)
{
    const char *path = t->args->words[0];

    if (strcmp(path, "-") == 0 || access(path, R_OK) == 0)
        return 0;
    return tool_fail(t, "%s (%s)", path, strerror(errno));
}

/* False: it is no such number. */
static bool
threads_option(struct tool *t, size_t *out)
{
    const char *text = tool_option(t, "--threads");
    uint64_t n = 0;

    if (text != NULL &&
        (!number_parse_u64(slice_str(text), &n) || n == 0 || n > 1024))
        return false;
    *out = (size_t)n;
    return true;
}

int
tool_import_check(struct tool *t)
{
    bool from = tool_option(t, "--from") != NULL;
    size_t threads;

    if (tool_words(t) == 0 && !from)
        return tool_usage(t, "Not enough arguments.");
    if (tool_words(t) > 0 && from)
        return tool_usage(t, "--from takes no files.");
    if (!from && (tool_option(t, "--since") != NULL ||
                  tool_option(t, "--until") != NULL ||
                  tool_option(t, "--only") != NULL ||
                  tool_option(t, "--metrics") != NULL))
        return tool_usage(t, "--since, --until, --only and --metrics want "
                             "--from: of files all is imported.");
    if (!threads_option(t, &threads))
        return tool_usage(t, "--threads: a number from 1 to 1024.");
    return from ? 0 : check_first_file(t);
}

/* -- a store of this process ----------------------------------------------- */

static enum status
take_here(void *ctx, struct slice lines, import_bad *bad, void *bad_ctx,
          struct import_counts *counts, struct error *e)
{
    return import_writer_write(ctx, lines, bad, bad_ctx, counts, e);
}

static enum status
sync_here(void *ctx, struct error *e)
{
    return import_writer_commit(ctx, true, e);
}

/* An open of struct import: a store of this process, or a server's. */
static bool
open_taker(void *ctx, struct import_taker *out, struct error *e)
{
    struct import_tool *x = ctx;
    const struct import_rules rules = {
        .json = tool_option(x->t, "--json") != NULL ||
                tool_option(x->t, "--from") != NULL,
        .create = x->creates,
        .stop_at_bad = x->t->as_tsdb && !x->skip_errors,
    };
    struct import_writer *w;

    if (x->t->api == NULL) {
        import_remote_open(x->t->remote, &rules, tool_cancel(x->t), out);
        return true;
    }
    w = import_writer_new(x->t->api, rules.create, rules.json, 0);
    if (rules.stop_at_bad)
        import_writer_stop_at_bad(w);
    import_writer_wait_until(w, tool_cancel(x->t));
    *out = (struct import_taker){ take_here, sync_here, w };
    return true;
}

static void
close_taker(void *ctx, struct import_taker *taker)
{
    const struct import_tool *x = ctx;
    struct import_writer *w = taker->ctx;

    if (x->t->api == NULL)
        import_remote_close(taker);
    else
        import_writer_free(&w);
}

/* -- what is told ---------------------------------------------------------- */

static void
clear_progress(struct import_tool *x)
{
    if (x->progress_shown)
        (void)fputs(TO_LINE_START, stderr);
    x->progress_shown = false;
}

static double
seconds_since(int64_t from_us)
{
    int64_t us = clock_monotonic_us() - from_us;

    return us < 1 ? 1e-6 : (double)us / 1e6;
}

static void
show_progress(void *ctx, const struct import_totals *n)
{
    struct import_tool *x = ctx;
    double s = seconds_since(x->from_us);
    double part =
        n->bytes_all == 0 ? 0 : (double)n->bytes_read / (double)n->bytes_all;

    if (!x->shows_progress)
        return;
    (void)fprintf(stderr,
                  TO_LINE_START "%" PRIu64 " points, %.0f points/s, %" PRIu64
                                " bad lines",
                  n->points, (double)n->points / s, n->bad);
    if (part > 0)
        (void)fprintf(stderr, ", %.0f %%, %.0f s left", part * 100,
                      s / part - s);
    (void)fflush(stderr);
    x->progress_shown = true;
}

static void
keep_reject(struct import_tool *x, struct slice line)
{
    if (x->rejects != NULL) {
        (void)fwrite(line.data, 1, line.size, x->rejects);
        (void)fputc('\n', x->rejects);
    }
    clear_progress(x);
}

/* What is bad beyond BAD_LINES_SHOWN is not. */
static void
show_bad(struct import_tool *x, const char *text)
{
    if (++x->shown > BAD_LINES_SHOWN)
        return;
    tool_say(x->t, "%s", text);
    if (x->shown == BAD_LINES_SHOWN)
        tool_say(x->t, "Other bad lines are counted, and not shown.");
}

static void
report_bad(void *ctx, const char *path, const struct source_line *line,
           struct slice why)
{
    struct import_tool *x = ctx;
    struct buf text = BUF_INIT;

    keep_reject(x, line->text);
    if (x->t->as_tsdb && !x->skip_errors) {
        tool_say(x->t, "%.*s", SLICE_ARG(why));
        return;
    }
    buf_printf(&text, "%s:%" PRIu64 ": %.*s", path, line->number,
               SLICE_ARG(why));
    show_bad(x, buf_cstr(&text));
    buf_fini(&text);
}

static void
tell_of_end(void *ctx, const struct import_file *f)
{
    log_info("import",
             "Processed %s in %" PRId64 " ms, %" PRIu64
             " data points (%.1f points/s)",
             f->path, f->us / 1000, f->totals.points,
             (double)f->totals.points * 1e6 / (double)(f->us < 1 ? 1 : f->us));
}

static void
tell_of_all(struct import_tool *x, const struct import_totals *n)
{
    double s = seconds_since(x->from_us);

    clear_progress(x);
    if (x->t->as_tsdb)
        log_info("import",
                 "Total: imported %" PRIu64
                 " data points in %.3fs (%.1f points/s)",
                 n->points, s, (double)n->points / s);
    else
        tool_say(x->t,
                 "%" PRIu64 " points in %.1f s (%.0f points/s), %" PRIu64
                 " other records, %" PRIu64 " bad lines",
                 n->points, s, (double)n->points / s, n->records, n->bad);
}

/* -- the command ----------------------------------------------------------- */

static bool
open_rejects(struct import_tool *x)
{
    const char *path = tool_option(x->t, "--rejects");

    if (path == NULL)
        return true;
    x->rejects = fopen(path, "ae");
    if (x->rejects == NULL)
        (void)tool_fail(x->t, "%s (%s)", path, strerror(errno));
    return x->rejects != NULL;
}

static enum status
close_rejects(struct import_tool *x, struct error *e)
{
    FILE *f = x->rejects;
    bool ok;

    if (f == NULL)
        return ST_OK;
    /* A pipe has no disk to sync. */
    ok = ferror(f) == 0 && fflush(f) == 0 &&
         (fdatasync(fileno(f)) == 0 || errno == EINVAL);
    (void)fclose(f);
    return ok ? ST_OK
              : error_set(e, ST_IO, "%s: not all bad lines could be written",
                          tool_option(x->t, "--rejects"));
}

/* -- from another server ----------------------------------------------------
 */

struct fetch_tool {
    struct import_tool *x;
    const char *url;
    struct import_taker taker;
    struct import_counts counts;
    struct import_totals totals;
    struct slice block;
    uint64_t lines;
    int64_t progress_us;
};

/* An import_bad. */
static void
reject_fetched(void *ctx, size_t offset, struct slice why)
{
    struct fetch_tool *f = ctx;
    struct source_line line = source_line_at(f->block, f->lines, offset);

    f->totals.bad++;
    report_bad(f->x, f->url, &line, why);
}

static enum status
take_fetched(void *ctx, struct slice lines, struct error *e)
{
    struct fetch_tool *f = ctx;
    enum status st;

    f->block = lines;
    st = f->taker.take(f->taker.ctx, lines, reject_fetched, f, &f->counts, e);
    f->lines += source_count_lines(lines);
    f->totals.points = f->counts.points;
    f->totals.records = f->counts.records;
    if (clock_monotonic_us() >= f->progress_us) {
        f->progress_us = clock_monotonic_us() + FETCH_PROGRESS_US;
        show_progress(f->x, &f->totals);
    }
    return st;
}

static bool
fetch_time(struct tool *t, const char *name, int64_t fallback_s, int64_t *s,
           struct error *e)
{
    const char *text = tool_option(t, name);
    int64_t ms;

    *s = fallback_s;
    if (text == NULL)
        return true;
    if (parse_time(slice_str(text), clock_now_ms(&clock_system), t->zone, &ms,
                   e) != ST_OK)
        return false;
    *s = ms / 1000;
    return true;
}

static bool
fetch_parts(struct tool *t, unsigned *parts, struct error *e)
{
    const char *only = tool_option(t, "--only");
    struct slice left = slice_str(only == NULL ? "" : only);

    *parts = only == NULL ? FETCH_ALL : 0;
    while (left.size > 0) {
        struct slice word = slice_cut(&left, ',');
        unsigned part = fetch_part_find(word);

        if (part == 0) {
            (void)error_set(e, ST_INVALID, "--only: there is no part '%.*s'",
                            SLICE_ARG(word));
            return false;
        }
        *parts |= part;
    }
    return true;
}

static void
report_missed(void *ctx, const char *metric, const struct error *why)
{
    struct fetch_tool *f = ctx;

    f->totals.bad++;
    clear_progress(f->x);
    tool_say(f->x->t, "%s: %s: %s", f->url, metric, why->text);
}

static void
report_bad_record(void *ctx, const char *metric, struct slice record,
                  const struct error *why)
{
    struct fetch_tool *f = ctx;
    struct buf text = BUF_INIT;

    f->totals.bad++;
    keep_reject(f->x, record);
    buf_printf(&text, "%s: %s: %s", f->url, metric, why->text);
    show_bad(f->x, buf_cstr(&text));
    buf_fini(&text);
}

static void
report_note(void *ctx, const char *text)
{
    struct fetch_tool *f = ctx;

    clear_progress(f->x);
    tool_say(f->x->t, "%s: %s", f->url, text);
}

static int
import_from(struct import_tool *x, const char *url)
{
    struct tool *t = x->t;
    struct fetch_tool f = { .x = x, .url = url };
    struct fetch fetch = { .url = url,
                           .cacert = tool_option(t, "--cacert"),
                           .metrics = tool_option(t, "--metrics"),
                           .lines = take_fetched,
                           .missed = report_missed,
                           .bad = report_bad_record,
                           .note = report_note,
                           .ctx = &f,
                           .cancel = tool_cancel(t) };
    struct error e;
    enum status st;

    if (!fetch_time(t, "--since", 1, &fetch.from_s, &e) ||
        !fetch_time(t, "--until", clock_now_ms(&clock_system) / 1000,
                    &fetch.to_s, &e) ||
        !fetch_parts(t, &fetch.parts, &e) || !open_taker(x, &f.taker, &e))
        return tool_fail(t, "%s", e.text);
    st = fetch_all(&fetch, &e);
    if (st == ST_OK)
        st = f.taker.sync(f.taker.ctx, &e);
    close_taker(x, &f.taker);
    tell_of_all(x, &f.totals);
    if (st != ST_OK)
        return tool_fail(t, "%s", e.text);
    return f.totals.bad == 0 || x->skip_errors ? 0 : TOOL_FAILED;
}

static int
import_files(struct import_tool *x)
{
    struct tool *t = x->t;
    struct import m = {
        .paths = t->args->words,
        .paths_len = t->args->len,
        .opentsdb = t->as_tsdb,
        .stop_at_bad = t->as_tsdb && !x->skip_errors,
        .open = open_taker,
        .close = close_taker,
        .bad = report_bad,
        .progress = show_progress,
        .ended = tell_of_end,
        .ctx = x,
        .cancel = tool_cancel(t),
    };
    struct import_totals n = { 0 };
    struct error e;
    enum status st;

    INSIST(threads_option(t, &m.threads));
    st = import_run(&m, &n, &e);
    tell_of_all(x, &n);
    if (st != ST_OK && (st != ST_INVALID || !m.stop_at_bad))
        return tool_fail(t, "%s", e.text);
    return st == ST_OK && (n.bad == 0 || x->skip_errors) ? 0 : TOOL_FAILED;
}

int
tool_import(struct tool *t)
{
    struct import_tool x = {
        .t = t,
        .shows_progress = isatty(STDERR_FILENO) == 1,
        .skip_errors = tool_option(t, "--skip-errors") != NULL,
        .from_us = clock_monotonic_us(),
    };
    struct error e;
    int rc;

    if (!open_rejects(&x))
        return TOOL_FAILED;
    x.creates = !t->as_tsdb || tool_option(t, "--auto-metric") != NULL ||
                settings_bool(t->settings, "tsd.core.auto_create_metrics");
    rc = tool_option(t, "--from") != NULL
             ? import_from(&x, tool_option(t, "--from"))
             : import_files(&x);
    return close_rejects(&x, &e) == ST_OK ? rc : tool_fail(t, "%s", e.text);
}
