/* 'tsdb fsck' and 'uid fsck': OpenTSDB's options for our own checks and their
 * report. */
#include "tsd/tool/tool.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/number.h"
#include "query/plan/plan.h"
#include "storage/place/place.h"
#include "tsd/tool/fsck_report.h"
#include "tsd/tool/points/query_words.h"
#include "tsd/transfer/dump.h"
#include "uid/fsck/uid_fsck.h"

#define THREADS_A_CPU 4
#define ERRORS_MAX    255 /* an exit status */

static const char *const repairing_flags[] = {
    "--delete-bad-compacts", "--delete-bad-rows",        "--delete-bad-values",
    "--delete-orphans",      "--delete-unknown-columns", "--resolve-duplicates",
};

static void
print_line(void *ctx, const char *line)
{
    tool_say(ctx, "%s", line);
}

/* A report whose lines go to 'err' of the tool. */
static struct fsck_report
tool_fsck_report(struct tool *t)
{
    return (struct fsck_report){ .print = print_line, .ctx = t, .all = true };
}

/* Where a repair puts what it takes out: to be free()d.  NULL with a line on
 * 'err' where it may not repair, as a server uses the store. */
static char *
tool_fsck_aside(struct tool *t)
{
    struct place place;
    char date[32], *path = NULL;
    time_t now = time(NULL);
    struct tm tm;
    int n;

    if (t->at_server ||
        place_parse(t->settings->store, &place, NULL) != ST_OK ||
        place.kind != PLACE_FOLDER) {
        tool_say(t, "A store that is in use is not repaired: stop its server");
        return NULL;
    }
    (void)strftime(date, sizeof date, "%Y%m%d-%H%M%S", gmtime_r(&now, &tm));
    n = asprintf(&path, "%s/aside-%s", place.at, date);
    INSIST(n > 0);
    return path;
}

/* -- flags ----------------------------------------------------------------- */

static int
miss_query(struct tool *t)
{
    (void)tool_usage(t, "Must supply a query or use the '--full-scan' flag");
    return TOOL_FAILED;
}

int
tool_fsck_check(struct tool *t)
{
    const char *text;
    long cpus;
    int64_t threads;

    if (tool_words(t) == 0 && tool_option(t, "--full-scan") == NULL)
        return miss_query(t);
    text = tool_option(t, "--threads");
    cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (text == NULL)
        return 0;
    if (!number_parse_i64(slice_str(text), &threads))
        return tool_fail(t, "For input string: \"%s\"", text);
    if (threads < 1)
        return tool_fail(t, "Must have at least one thread");
    if (threads > THREADS_A_CPU * (cpus > 0 ? cpus : 1))
        return tool_fail(t, "Not allowed to run more than %d threads per core",
                         THREADS_A_CPU);
    return 0;
}

/* As OpenTSDB: a flag without --fix changes nothing, nor does --fix alone. */
static bool
wants_repair(const struct tool *t)
{
    if (tool_option(t, "--fix-all") != NULL)
        return true;
    for (size_t i = 0; i < sizeof repairing_flags / sizeof repairing_flags[0];
         i++)
        if (tool_option(t, repairing_flags[i]) != NULL)
            return tool_option(t, "--fix") != NULL;
    return false;
}

/* -- looking --------------------------------------------------------------- */

/* A dump's rows are counted. */
static enum status
count_row(void *ctx, const struct dump_row *row, struct error *e)
{
    struct check_counts *counts = ctx;

    (void)e;
    counts->rows++;
    counts->points += row->points->len;
    return ST_OK;
}

/* While others write to the store its tables do not agree with each other at
 * every moment. So only the rows are read: can they be decoded, and do their
 * series have names? */
static enum status
look_at_rows(struct tool *t, struct fsck_report *r, uint64_t *found,
             struct error *e)
{
    struct check_counts counts = { 0 };
    struct dump d = {
        .a = t->api,
        .to_base = UINT32_MAX,
        .kinds = true,
        .f = count_row,
        .ctx = &counts,
        .cancel = tool_cancel(t),
    };
    enum status st = dump_all(&d, e);

    if (d.nameless > 0)
        tool_say(t, "Unable to resolve the names of %llu rows",
                 (unsigned long long)d.nameless);
    if (st != ST_OK && st != ST_CORRUPT)
        return st;
    if (st == ST_CORRUPT)
        fsck_report_finding(
            r, &(struct finding){ .code = "row-block", .text = e->text });
    *found = d.nameless + (st == ST_CORRUPT);
    tool_say(t, "looked at %llu rows of %llu points",
             (unsigned long long)counts.rows,
             (unsigned long long)counts.points);
    fsck_report_end(r, *found, 0);
    return ST_OK;
}

static enum status
look_at_all(struct tool *t, struct fsck_report *r, const char *aside,
            uint64_t *found, struct error *e)
{
    struct check_counts counts = { 0 };
    struct check c = {
        .say = fsck_report_finding,
        .ctx = r,
        .aside = aside,
        .finds_orphans = true,
        .drops_orphans = (tool_option(t, "--fix-all") != NULL ||
                          (tool_option(t, "--fix") != NULL &&
                           tool_option(t, "--delete-orphans") != NULL)),
    };
    enum status st = store_flush(t->api->store, e);

    if (st == ST_OK)
        st = check_tables(t->api->store, &c, &counts, e);
    if (st != ST_OK)
        return st;
    *found = c.found;
    fsck_report_counts(r, "looked at", &counts);
    fsck_report_end(r, c.found, c.repaired);
    return ST_OK;
}

static enum status
check_names(const struct tool *t, const struct query *q, struct error *e)
{
    const struct api *a = t->api;
    const struct plan_context c = { .store = a->store,
                                    .uids = a->uids,
                                    .series = a->series,
                                    .options = { .force_path = -1 } };
    const struct deadline deadline = deadline_start(0, tool_cancel(t));
    enum status st = ST_OK;

    for (size_t i = 0; i < q->subs_len && st == ST_OK; i++) {
        struct query_reading reading;
        struct plan plan = { 0 };

        reading_make(&reading, q, &q->subs[i]);
        st =
            plan_make(&c, &q->subs[i], &reading, &deadline, t->arena, &plan, e);
        plan_fini(&plan);
    }
    return st;
}

int
tool_fsck(struct tool *t)
{
    struct fsck_report report = tool_fsck_report(t);
    uint64_t found = 0;
    char *aside = NULL;
    size_t queries;
    struct error e;
    struct query_words w = { 0 };
    enum status st = ST_OK;

    /* A query that makes no sense, or whose names are not known, is an error,
     * though all is looked at. */
    if (tool_words(t) > 0)
        st = query_words_parse(t->args->words, tool_words(t),
                               clock_now_ms(t->api->clock), t->zone, t->arena,
                               &w, &e);
    if (st == ST_OK)
        st = check_names(t, &w.query, &e);
    queries = w.query.subs_len;
    query_fini(&w.query);
    if (st == ST_OK && queries == 0 && tool_option(t, "--full-scan") == NULL)
        return miss_query(t);
    if (st == ST_OK && wants_repair(t)) {
        aside = tool_fsck_aside(t);
        if (aside == NULL)
            return TOOL_FAILED;
    }
    if (st == ST_OK)
        st = t->at_server ? look_at_rows(t, &report, &found, &e)
                          : look_at_all(t, &report, aside, &found, &e);
    free(aside);
    if (st != ST_OK)
        return tool_fail(t, "%s", e.text);
    return found == 0 ? 0 : TOOL_FAILED;
}

int
tool_uid_fsck(struct tool *t)
{
    struct fsck_report report = tool_fsck_report(t);
    struct check c = { .say = fsck_report_finding, .ctx = &report };
    struct check_counts n;
    char *aside = NULL;
    struct error e;
    enum status st;
    bool fix = false;

    /* OpenTSDB's passes over words that are neither of the two. */
    for (size_t i = 1; i < tool_words(t); i++)
        if (slice_eq_str(tool_word(t, i), "fix"))
            fix = true;
        else if (!t->as_tsdb &&
                 !slice_eq_str(tool_word(t, i), "delete_unknown"))
            return tool_usage(t, "Unknown words behind 'fsck'");
    if (fix && (aside = tool_fsck_aside(t)) == NULL)
        return TOOL_FAILED;
    c.aside = aside;
    st = check_uids(t->api->store, &c, &n, &e);
    free(aside);
    if (st != ST_OK)
        return tool_fail(t, "%s", e.text);
    if (tool_is_verbose(t))
        tool_say(t, "%llu names and ids looked at",
                 (unsigned long long)n.names);
    if (c.found > 0)
        tool_say(t, "%llu errors found.", (unsigned long long)c.found);
    else if (tool_is_verbose(t))
        tool_say(t, "No errors found.");
    return c.found < ERRORS_MAX ? (int)c.found : ERRORS_MAX;
}
