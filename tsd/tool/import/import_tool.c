/* 'import': files of lines into a store. */
#include "tsd/tool/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/clock.h"
#include "base/process/log.h"
#include "base/text/number.h"
#include "query/parse/parse.h"
#include "tsd/client/client.h"
#include "tsd/tool/import/api_import.h"
#include "tsd/transfer/fetch/fetch.h"
#include "tsd/transfer/import/import.h"

#define BOOL_TEXT(b) ((b) ? "true" : "false")

#define RETRY_MS 200 /* after a server was too busy */

struct remote_taker {
    struct client *remote;
    char path[100];  /* with the rules of the import */
    uint64_t server; /* which process took; 0: none yet */
    struct cancel cancel;
    struct buf answer;
};

static enum status
no_import(struct error *e)
{
    return error_set(e, ST_IO, "that is no answer to an import");
}

/* Takes "word " off the line's front. */
static bool
take_word(struct slice *line, const char *word)
{
    struct slice rest = *line;

    if (!slice_eq_str(slice_cut(&rest, ' '), word))
        return false;
    *line = rest;
    return true;
}

static bool
take_number(struct slice *line, uint64_t *out)
{
    return number_parse_u64(slice_cut(line, ' '), out);
}

/* What the lines of an answer say; all but 'bad' come once. */
struct import_answer {
    uint64_t server, points, records;
    uint64_t next; /* 0: all lines were taken */
    bool has_server, has_taken;
};

/* What was sent: 'size' bytes of a block, from 'at' on; and who is told of its
 * bad lines. */
struct sent {
    size_t at, size;
    import_bad *bad;
    void *ctx;
};

static bool
read_line(struct import_answer *a, struct slice line, const struct sent *sent)
{
    uint64_t offset;

    if (take_word(&line, "server")) {
        if (a->has_server)
            return false;
        a->has_server = true;
        return take_number(&line, &a->server);
    }
    if (take_word(&line, "taken")) {
        if (a->has_taken)
            return false;
        a->has_taken = true;
        return take_number(&line, &a->points) &&
               take_number(&line, &a->records);
    }
    if (take_word(&line, "next"))
        return a->next == 0 && take_number(&line, &a->next) && a->next > 0 &&
               a->next < sent->size;
    if (take_word(&line, "bad")) {
        if (!take_number(&line, &offset) || offset >= sent->size)
            return false;
        sent->bad(sent->ctx, sent->at + (size_t)offset, line);
    }
    return true;
}

/* '*next' becomes where the rest begins of what was sent. */
static enum status
read_answer(struct remote_taker *x, const struct sent *sent,
            struct import_counts *counts, size_t *next, struct error *e)
{
    struct slice left = buf_slice(&x->answer);
    struct import_answer a = { 0 };

    while (left.size > 0)
        if (!read_line(&a, slice_cut(&left, '\n'), sent))
            return no_import(e);
    if (!a.has_server || !a.has_taken)
        return no_import(e);
    counts->points += a.points;
    counts->records += a.records;
    *next = sent->at + (a.next == 0 ? sent->size : (size_t)a.next);
    /* What another process has taken may not be on the disk, and a sync of this
     * one would not tell. */
    if (x->server != 0 && x->server != a.server)
        return error_set(e, ST_IO,
                         "the server was restarted during the import: run the "
                         "import again");
    x->server = a.server;
    return ST_OK;
}

static enum status
wait_for_server(struct remote_taker *x, struct error *e)
{
    if (cancel_asked(x->cancel))
        return error_set(e, ST_BUSY, "stopped while the server was busy");
    (void)usleep(RETRY_MS * 1000);
    return ST_OK;
}

static enum status
take_remote(void *ctx, struct slice lines, import_bad *bad, void *bad_ctx,
            struct import_counts *counts, struct error *e)
{
    struct remote_taker *x = ctx;
    struct sent sent = { .bad = bad, .ctx = bad_ctx };
    size_t next = 0;
    enum status st = ST_OK;

    while (next < lines.size && st == ST_OK) {
        sent.at = next;
        sent.size = lines.size - next;
        st = client_post(x->remote, x->path, "text/plain",
                         slice_of(lines.data + next, sent.size), &x->answer, e);
        if (st == ST_OK)
            st = read_answer(x, &sent, counts, &next, e);
        else if (st == ST_BUSY &&
                 slice_starts(slice_str(e->text), slice_str(IMPORT_THROTTLED)))
            st = wait_for_server(x, e);
    }
    return st;
}

static enum status
sync_remote(void *ctx, struct error *e)
{
    struct remote_taker *x = ctx;
    struct import_counts none = { 0 };
    struct sent nothing = { 0 };
    size_t next;
    enum status st = client_post(x->remote, "/api/tool/import?sync=true",
                                 "text/plain", slice_str(""), &x->answer, e);

    return st == ST_OK ? read_answer(x, &nothing, &none, &next, e) : st;
}

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
    const char *path;

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
    if (from)
        return 0;
    /* Whether there is anything to import, as source_open() will say it: a
     * store is not made for a name that was misspelt. */
    path = t->args->words[0];
    if (strcmp(path, "-") == 0 || access(path, R_OK) == 0)
        return 0;
    return tool_fail(t, "%s (%s)", path, strerror(errno));
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
static void
open_taker(void *ctx, struct import_taker *out)
{
    const struct import_tool *x = ctx;
    const struct import_rules rules = {
        .create_metrics = x->creates,
        .json = tool_option(x->t, "--json") != NULL ||
                tool_option(x->t, "--from") != NULL,
        .stop_at_bad = x->t->as_tsdb && !x->skip_errors,
        .cancel = tool_cancel(x->t),
    };
    struct remote_taker *remote;

    if (x->t->api == NULL) {
        remote = mem_new(sizeof *remote);
        remote->remote = client_dup(x->t->remote);
        remote->cancel = rules.cancel;
        (void)snprintf(remote->path, sizeof remote->path,
                       "/api/tool/import?json=%s&create=%s&stop=%s",
                       BOOL_TEXT(rules.json), BOOL_TEXT(rules.create_metrics),
                       BOOL_TEXT(rules.stop_at_bad));
        *out = (struct import_taker){ take_remote, sync_remote, remote };
        return;
    }
    *out = (struct import_taker){ take_here, sync_here,
                                  import_writer_new(x->t->api, &rules) };
}

static void
close_taker(void *ctx, struct import_taker *taker)
{
    const struct import_tool *x = ctx;
    struct remote_taker *remote = taker->ctx;
    struct import_writer *w = taker->ctx;

    if (x->t->api != NULL) {
        import_writer_free(&w);
        return;
    }
    client_close(&remote->remote);
    buf_fini(&remote->answer);
    free(remote);
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
        !fetch_parts(t, &fetch.parts, &e))
        return tool_fail(t, "%s", e.text);
    open_taker(x, &f.taker);
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
    const char *rejects = tool_option(t, "--rejects");
    struct error e;
    int rc;

    if (rejects != NULL && (x.rejects = fopen(rejects, "ae")) == NULL)
        return tool_fail(t, "%s (%s)", rejects, strerror(errno));
    x.creates = !t->as_tsdb || tool_option(t, "--auto-metric") != NULL ||
                t->settings->auto_create_metrics;
    rc = tool_option(t, "--from") != NULL
             ? import_from(&x, tool_option(t, "--from"))
             : import_files(&x);
    return close_rejects(&x, &e) == ST_OK ? rc : tool_fail(t, "%s", e.text);
}
