/* 'tsdb fsck': OpenTSDB's flags and report over our own check. */
#include "tsd/tool/points/tool_fsck.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/number.h"
#include "query/plan/plan.h"
#include "tsd/config/store_place.h"
#include "tsd/tool/points/query_words.h"
#include "tsd/transfer/dump.h"
#include "uid/fsck/uid_fsck.h"

#define THREADS_A_CPU 4

static const char *const repairing_flags[] = {
    "--delete-bad-compacts", "--delete-bad-rows",        "--delete-bad-values",
    "--delete-orphans",      "--delete-unknown-columns", "--resolve-duplicates",
};

/* -- what 'uid fsck' needs, too -------------------------------------------- */

void
tool_fsck_say(struct tool *t, const struct finding *f)
{
    struct buf line = BUF_INIT;

    buf_printf(&line, "%s ", f->code);
    if (f->key.size > 0)
        api_put_hex(&line, f->key);
    buf_printf(&line, "%s%s%s%s", f->key.size > 0 ? ": " : "", f->text,
               f->repaired == NULL ? "" : "; repaired: ",
               f->repaired == NULL ? "" : f->repaired);
    tool_say(t, "%s", buf_cstr(&line));
    buf_fini(&line);
}

char *
tool_fsck_aside(struct tool *t)
{
    const char *dir = store_place_folder(t->settings);
    char date[32], *path = NULL;
    time_t now = time(NULL);
    struct tm tm;
    int n;

    if (t->at_server || dir == NULL) {
        tool_say(t, "A store that is in use is not repaired: stop its server");
        return NULL;
    }
    (void)strftime(date, sizeof date, "%Y%m%d-%H%M%S", gmtime_r(&now, &tm));
    n = asprintf(&path, "%s/aside-%s", dir, date);
    INSIST(n > 0);
    return path;
}

/* -- flags ----------------------------------------------------------------- */

static int
check_threads(struct tool *t)
{
    const char *text = tool_option(t, "--threads");
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t threads;

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

static int
miss_query(struct tool *t)
{
    (void)tool_usage(t, "Must supply a query or use the '--full-scan' flag");
    return TOOL_FAILED;
}

int
tool_fsck_check(struct tool *t)
{
    if (tool_words(t) == 0 && tool_option(t, "--full-scan") == NULL)
        return miss_query(t);
    return check_threads(t);
}

/* Points go only where that is asked for. */
static bool
wants_orphans_deleted(const struct tool *t)
{
    return tool_option(t, "--fix-all") != NULL ||
           (tool_option(t, "--fix") != NULL &&
            tool_option(t, "--delete-orphans") != NULL);
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

/* Of each kind how many were found and repaired. */
struct tally {
    uint64_t found, repaired;
};

struct fscking {
    struct tool *t;
    struct check_counts counts;
    struct tally keys, orphans, values, unknown, all;
    int64_t from_us;
};

static void
count(struct tally *n, const struct finding *f)
{
    n->found++;
    n->repaired += f->repaired != NULL;
}

static void
take_finding(void *ctx, const struct finding *f)
{
    struct fscking *k = ctx;

    if (f->is_note)
        return;
    tool_fsck_say(k->t, f);
    count(&k->all, f);
    if (strcmp(f->code, "row-key") == 0 || strcmp(f->code, "row-salt") == 0)
        count(&k->keys, f);
    else if (strcmp(f->code, "uid-lost") == 0 ||
             strcmp(f->code, "series-id") == 0 ||
             strstr(f->code, "-orphan") != NULL)
        count(&k->orphans, f);
    else if (strcmp(f->code, "row-block") == 0)
        count(&k->values, f);
    else if (strcmp(f->code, "no-table") == 0)
        count(&k->unknown, f);
}

static enum status
take_row(void *ctx, const struct dump_row *row, struct error *e)
{
    struct fscking *k = ctx;

    (void)e;
    k->counts.rows++;
    k->counts.points += row->points->len;
    return ST_OK;
}

/* While others write to the store, what one table says of another is in motion:
 * the rows alone are read. */
static enum status
look_at_rows(struct fscking *k, struct error *e)
{
    struct dump d = {
        .a = k->t->api,
        .to_base = UINT32_MAX,
        .kinds = true,
        .f = take_row,
        .ctx = k,
        .cancel = tool_cancel(k->t),
    };
    enum status st = dump_all(&d, e);

    k->orphans.found += d.nameless;
    k->all.found += d.nameless;
    if (d.nameless > 0)
        tool_say(k->t, "Unable to resolve the names of %llu rows",
                 (unsigned long long)d.nameless);
    if (st != ST_CORRUPT)
        return st;
    take_finding(k, &(struct finding){ .code = "row-block", .text = e->text });
    return ST_OK;
}

static enum status
look_at_all(struct fscking *k, const char *aside, struct error *e)
{
    struct check c = {
        .say = take_finding,
        .ctx = k,
        .aside = aside,
        .finds_orphans = true,
        .drops_orphans = wants_orphans_deleted(k->t),
    };
    enum status st = store_flush(k->t->api->store, e);

    return st == ST_OK ? check_tables(k->t->api->store, &c, &k->counts, e) : st;
}

/* -- the report ------------------------------------------------------------ */

static void
report(const struct fscking *k)
{
    const struct check_counts *n = &k->counts;
    const struct {
        const char *text;
        uint64_t n;
    } lines[] = {
        { "Key Values Processed", n->rows + n->histograms + n->notes },
        { "Rows Processed", n->rows },
        { "Valid Datapoints", n->points },
        { "Annotations", n->notes },
        { "Invalid Row Keys Found", k->keys.found },
        { "Invalid Rows Deleted", k->keys.repaired },
        { "Duplicate Datapoints", 0 },
        { "Duplicate Datapoints Resolved", 0 },
        { "Orphaned UID Rows", k->orphans.found },
        { "Orphaned UID Rows Deleted", k->orphans.repaired },
        { "Possible Future Objects", 0 },
        { "Unknown Objects", k->unknown.found },
        { "Unknown Objects Deleted", k->unknown.repaired },
        { "Unparseable Datapoint Values", k->values.found },
        { "Unparseable Datapoint Values Deleted", k->values.repaired },
        { "Improperly Encoded Floating Point Values", 0 },
        { "Improperly Encoded Floating Point Values Fixed", 0 },
        { "Unparseable Compacted Columns", 0 },
        { "Unparseable Compacted Columns Deleted", 0 },
        { "Datapoints Qualified for VLE ", 0 },
        { "Datapoints Compressed with VLE", 0 },
        { "Bytes Saved with VLE", 0 },
        { "Total Errors", k->all.found },
        { "Total Correctable Errors", k->all.found },
        { "Total Errors Fixed", k->all.repaired },
    };

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        tool_say(k->t, "%s: %llu", lines[i].text,
                 (unsigned long long)lines[i].n);
    tool_say(k->t, "Completed fsck in [%lld] seconds",
             (long long)((clock_monotonic_us() - k->from_us) / 1000000));
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
        struct plan plan = { 0 };

        st = plan_make(&c, q, &q->subs[i], &deadline, t->arena, &plan, e);
        plan_fini(&plan);
    }
    return st;
}

/* A query that makes no sense, or whose names are not known, is an error,
 * though all is looked at. */
static enum status
check_words(struct tool *t, size_t *queries, struct error *e)
{
    struct query_words w = { 0 };
    enum status st = ST_OK;

    if (tool_words(t) > 0)
        st = query_words_parse(t->args->words, tool_words(t),
                               clock_now_ms(t->api->clock), t->zone, t->arena,
                               &w, e);
    if (st == ST_OK)
        st = check_names(t, &w.query, e);
    *queries = w.query.subs_len;
    query_fini(&w.query);
    return st;
}

int
tool_fsck(struct tool *t)
{
    struct fscking k = { .t = t, .from_us = clock_monotonic_us() };
    char *aside = NULL;
    size_t queries;
    struct error e;
    enum status st = check_words(t, &queries, &e);

    if (st == ST_OK && queries == 0 && tool_option(t, "--full-scan") == NULL)
        return miss_query(t);
    if (st == ST_OK && wants_repair(t)) {
        aside = tool_fsck_aside(t);
        if (aside == NULL)
            return TOOL_FAILED;
    }
    if (st == ST_OK)
        st = t->at_server ? look_at_rows(&k, &e) : look_at_all(&k, aside, &e);
    free(aside);
    if (st != ST_OK)
        return tool_fail(t, "%s", e.text);
    report(&k);
    return k.all.found == 0 ? 0 : TOOL_FAILED;
}
