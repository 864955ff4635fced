/* /api/query, and /api/query/gexp: parse, run, write. */
#include "config.h"

#include "tsd/api/api.h"

#include "base/counters.h"
#include "base/log.h"
#include "query/aggregate/aggregate.h"
#include "query/engine/engine.h"
#include "query/parse/parse.h"
#include "tsd/api/query/api_gexp.h"
#include "tsd/stats/queries.h"
#include "tsd/api/query/query_json.h"
#include "uid/meta/annotation.h"

/* Less is copied: one buffer is sent at once. */
#define COPY_BYTES ((size_t)128 << 10)

/* A query being served. */
struct work {
    const struct api *a;
    const struct http_request *r;
    struct http_reply *out;
    struct arena *arena;
    struct query q;
    struct query_result result;
    bool is_gexp;
    struct gexp gexp;
    struct gexp_group *computed; /* what is answered, with gexp */
    size_t computed_len;
    struct notes globals;
    bool has_notes; /* there may be some */
    bool at_once;   /* groups are written as they come */
    struct chunks chunks;
    size_t points, groups_written;
    int64_t started_us, ran_us;
};

static bool parse(struct work *w);
static bool run(struct work *w, struct parse_error *e);
static bool write_answer(struct work *w, struct parse_error *e);
static unsigned reject(const struct work *w, const struct parse_error *e);

static void
serve(struct work *w)
{
    struct parse_error e = { 0 };
    struct buf query = BUF_INIT;
    struct query_entry *entry;
    unsigned status = 200;
    bool good;

    query_json_query(&query, &w->q, w->a->uids);
    entry = api_begin_query(w->a, w->r, buf_slice(&query), &e.message);
    if (entry == NULL) {
        (void)snprintf(e.details, sizeof e.details, "%s", e.message.text);
        (void)reject(w, &e);
        buf_fini(&query);
        return;
    }
    good = run(w, &e);
    queries_add_costs(entry, w->result.stats, w->result.stats_len);
    good = good && write_answer(w, &e);
    if (good) {
        counter_add(CNT_QUERY_SUCCESS, 1);
    } else {
        status = reject(w, &e);
        log_debug("query", "%u %s: %s", status, e.message.text,
                  log_quote(buf_slice(&query)));
    }
    queries_end(w->a->queries, &entry, status, good ? NULL : e.message.text,
                w->points, clock_now_ms(w->a->clock));
    buf_fini(&query);
}

void
api_query(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct work w = { .a = ctx, .r = r, .out = out, .arena = http_arena(r) };

    w.started_us = clock_monotonic_us();
    w.is_gexp = api_is_gexp(r);
    /* "?method_override=put" means nothing here, and OpenTSDB does not mind;
     * nor does "=delete" where that is not allowed. */
    if (http_method(r) == HTTP_PUT && !http_is_overridden(r)) {
        http_reply_bad_method(out, r);
        return;
    }
    if (!http_is_overridden(r) &&
        !api_may_delete(ctx, r, http_method(r) == HTTP_DELETE, out))
        return;
    if (parse(&w) && api_may_delete(ctx, r, w.q.delete_points, out))
        serve(&w);
    chunks_fini(&w.chunks);
    query_fini(&w.q);
}

static bool
may_pre_aggregate(const struct work *w)
{
    struct parse_error e = { 0 };

    for (size_t i = 0; i < w->q.subs_len; i++)
        if (w->q.subs[i].pre_aggregate &&
            !settings_bool(w->a->settings, "tsd.rollups.enable")) {
            (void)error_set(&e.message, ST_INVALID,
                            "Pre-aggregates need tsd.rollups.enable");
            (void)snprintf(e.details, sizeof e.details, "sub-query %zu", i);
            (void)reject(w, &e);
            return false;
        }
    return true;
}

static enum status
parse_params(struct work *w, const struct parse_options *o,
             struct parse_error *e)
{
    size_t len;
    const struct http_param *params = http_params(w->r, &len);
    struct query_param *copy = arena_array(w->arena, len + 1, sizeof *copy);

    if (copy == NULL)
        return error_set(&e->message, ST_LIMIT, "too many parameters");
    for (size_t i = 0; i < len; i++)
        copy[i] = (struct query_param){ params[i].name, params[i].value };
    return query_parse_uri(copy, len, o, w->arena, &w->q, e);
}

/* Outside of gexp their metrics are asked for, and nothing is computed. */
static bool
names_expressions(const struct http_request *r)
{
    return http_has_param(r, "exp") &&
           (http_method(r) != HTTP_POST || http_is_overridden(r));
}

static bool
parse(struct work *w)
{
    const struct parse_options o = {
        .now_ms = clock_now_ms(w->a->clock),
        .default_zone = w->a->zone,
    };
    struct parse_error e = { 0 };
    struct slice body = http_body(w->r);
    enum status st;

    if (w->is_gexp || names_expressions(w->r)) {
        st = api_gexp_parse(w->r, &o, w->arena, &w->gexp, &w->q, &e);
        w->q.whole_hours = w->is_gexp;
    } else if (http_method(w->r) == HTTP_POST && !http_is_overridden(w->r)) {
        if (body.size == 0) {
            (void)error_set(&e.message, ST_INVALID, "Missing message content");
            (void)snprintf(e.details, sizeof e.details,
                           "Supply valid JSON formatted data in the body of "
                           "your request");
            (void)reject(w, &e);
            return false;
        }
        st = query_parse_json(body, &o, w->arena, &w->q, &e);
    } else {
        st = parse_params(w, &o, &e);
    }
    if (st != ST_OK) {
        (void)reject(w, &e);
        return false;
    }
    if (!may_pre_aggregate(w))
        return false;
    w->q.arrays = http_has_param(w->r, "arrays");
    if (http_method(w->r) == HTTP_DELETE && w->a->allow_delete)
        w->q.delete_points = true;
    return true;
}

/* An unknown name is the client's fault here: 400, not 404. */
static unsigned
reject(const struct work *w, const struct parse_error *e)
{
    const struct error *m = &e->message;
    unsigned status = (unsigned)status_http(m->status);
    const char *details = e->details;

    if (m->status == ST_NOT_FOUND) {
        status = 400;
        if (*details == '\0')
            details = m->text;
    }
    counter_add(status < 500 ? CNT_QUERY_INVALID : CNT_QUERY_EXCEPTIONS, 1);
    http_reply_error(w->out, status, m->text,
                     *details == '\0' ? NULL : details);
    return status;
}

static bool
is_gone(void *ctx)
{
    return http_is_cancelled(ctx);
}

static size_t
write_at_once(void *ctx, struct buf *b, const struct result_group *g,
              struct chunks_tags *tags)
{
    const struct work *w = ctx;
    const struct notes notes = {
        .always = g->is_split && !w->q.no_annotations,
    };

    buf_put_u8(b, ',');
    return query_json_group(b, &w->q, g, tags, &notes, &w->globals, NULL,
                            w->a->uids);
}

static enum status
run_engine(struct work *w, struct parse_error *e)
{
    /* The engine takes any pointer; is_gone() reads it. */
    void *gone_ctx = (void *)(uintptr_t)w->r;

    if (!w->at_once)
        return engine_run(w->a->engine, &w->q, is_gone, gone_ctx, NULL,
                          w->arena, &w->result, e);
    w->chunks.write = write_at_once;
    w->chunks.ctx = w;
    w->chunks.max_bytes = w->a->answer_bytes;
    return engine_run(w->a->engine, &w->q, is_gone, gone_ctx, &w->chunks,
                      w->arena, &w->result, e);
}

static bool
run(struct work *w, struct parse_error *e)
{
    struct annotation *globals = NULL;
    uint64_t deleted;
    enum status st = ST_OK;

    w->has_notes = !w->q.no_annotations && annotation_any(w->a->annotations);
    if (!w->q.no_annotations && w->q.global_annotations)
        st = annotation_globals(w->a->annotations, w->q.start_ms / 1000,
                                w->q.end_ms / 1000, w->arena, &globals,
                                &w->globals.len, &e->message);
    w->globals.list = globals;
    w->at_once = !w->is_gexp && !w->has_notes && !w->q.delete_points &&
                 !w->q.show_stats && !w->q.lazy;
    if (st == ST_OK)
        st = run_engine(w, e);
    if (st == ST_OK && w->is_gexp)
        st = gexp_run(&w->gexp, &w->q, &w->result, w->a->uids, w->arena,
                      &w->computed, &w->computed_len, &e->message);
    if (st == ST_OK && w->q.delete_points)
        st = engine_delete(w->a->engine, &w->q, &w->result, &deleted,
                           &e->message);
    w->ran_us = clock_monotonic_us();
    /* What fails while it runs is told twice; what does not parse is not. */
    if (st == ST_INVALID && e->details[0] == '\0')
        (void)snprintf(e->details, sizeof e->details, "%s", e->message.text);
    return st == ST_OK;
}

/* The series of a group whose points were read, and those without any. */
static struct slice *
noted_series(const struct result_group *g, struct arena *a, size_t *len)
{
    size_t with_points = g->tsuids_len - g->split_tsuids;
    struct slice *all =
        with_points > 0 ? g->tsuids + g->split_tsuids : g->tsuids;

    *len = with_points + g->note_tsuids_len;
    if (g->note_tsuids_len == 0)
        return all;
    all = arena_array(a, *len, sizeof *all);
    if (all == NULL)
        return NULL;
    if (with_points > 0)
        memcpy(all, g->tsuids + g->split_tsuids, with_points * sizeof *all);
    memcpy(all + with_points, g->note_tsuids, g->note_tsuids_len * sizeof *all);
    return all;
}

/* Those of the rows that the query touched, be they in the range or not. */
static enum status
read_notes(struct work *w, const struct result_group *g, struct notes *out,
           struct error *e)
{
    struct query read = w->q;
    struct annotation *list;
    struct slice *series;
    size_t len;
    uint32_t from, to;
    enum status st;

    *out = (struct notes){ 0 };
    if (!w->has_notes)
        return ST_OK;
    if (g->split_ms != 0) /* rollups have none */
        read.start_ms = g->split_ms;
    numbers_scan_range(&read, g->sub, &from, &to);
    series = noted_series(g, w->arena, &len);
    if (series == NULL && len > 0)
        return error_set(e, ST_LIMIT, "no memory for the annotations");
    st = annotation_list(w->a->annotations, series, len, (int64_t)from * 1000,
                         ((int64_t)to + HOUR_S) * 1000 - 1, w->arena, &list,
                         &out->len, e);
    out->list = list;
    return st;
}

static void
write_summary(struct work *w, struct buf *b)
{
    int64_t now = clock_monotonic_us();

    buf_put_str(b, w->groups_written > 0 ? ",{" : "{");
    buf_printf(b, "\"statsSummary\":{\"emittedDPs\":%zu,", w->points);
    for (size_t i = 0; i < w->result.stats_len; i++) {
        buf_printf(b, "\"queryIdx_%02zu\":{\"queryIndex\":%zu,", i, i);
        query_json_costs(b, &w->result.stats[i]);
        buf_put_u8(b, ',');
        query_json_scans(b, &w->result.stats[i]);
        buf_put_str(b, "},");
    }
    buf_printf(b,
               "\"queryScanTime\":%.3f,\"serializationTime\":%.3f,"
               "\"processingPreWriteTime\":%.3f,\"totalTime\":%.3f}}",
               (double)(w->ran_us - w->started_us) / 1000,
               (double)(now - w->ran_us) / 1000,
               (double)(now - w->started_us) / 1000,
               (double)(now - w->started_us) / 1000);
}

static const struct result_stats *
stats_of(const struct work *w, const struct result_group *g)
{
    return &w->result.stats[g->sub - w->q.subs];
}

static bool
write_group(struct work *w, const struct result_group *g, bool is_computed,
            struct error *e)
{
    struct buf *b = http_reply_body(w->out);
    struct notes notes;

    if (read_notes(w, g, &notes, e) != ST_OK)
        return false;
    notes.always = (is_computed || g->is_split) && !w->q.no_annotations;
    if (w->groups_written++ > 0)
        buf_put_u8(b, ',');
    w->points += query_json_group(b, &w->q, g, NULL, &notes, &w->globals,
                                  stats_of(w, g), w->a->uids);
    return true;
}

static bool
write_groups(struct work *w, struct error *e)
{
    struct buf *b = http_reply_body(w->out);
    size_t len = w->is_gexp ? w->computed_len : w->result.groups_len;
    bool good = true;

    for (size_t i = 0; i < len && !b->failed && good; i++)
        if (w->is_gexp)
            good = write_group(w, &w->computed[i].group,
                               w->computed[i].is_computed, e);
        else
            good = write_group(w, &w->result.groups[i], false, e);
    return good;
}

static void
give_chunk(void *ctx, struct buf *chunk)
{
    struct work *w = ctx;
    struct buf *b = http_reply_body(w->out);

    if (w->chunks.bytes > COPY_BYTES)
        http_reply_append_owned(w->out, chunk);
    else
        buf_put_slice(b, buf_slice(chunk));
}

static void
first_chunk(void *ctx, struct buf *chunk)
{
    struct buf **first = ctx;

    *first = *first == NULL ? chunk : *first;
}

/* The first group's comma is the bracket that opens them all. */
static void
give_chunks(struct work *w)
{
    struct chunks_total total = chunks_total(&w->chunks);
    struct buf *first = NULL;

    w->points = total.points;
    w->groups_written = total.groups;
    chunks_each(&w->chunks, first_chunk, &first);
    if (first == NULL)
        buf_put_u8(http_reply_body(w->out), '[');
    else
        first->data[0] = '[';
    chunks_each(&w->chunks, give_chunk, w);
    if (w->chunks.failed)
        http_reply_body(w->out)->failed = true;
}

static bool
write_answer(struct work *w, struct parse_error *e)
{
    struct buf *b = http_reply_body(w->out);

    b->max = w->a->answer_bytes;
    if (w->at_once)
        give_chunks(w);
    else
        buf_put_u8(b, '[');
    if (!w->at_once && !write_groups(w, &e->message))
        return false;
    if (w->q.show_summary)
        write_summary(w, b);
    buf_put_u8(b, ']');
    if (!b->failed)
        return true;
    (void)error_set(&e->message, ST_LIMIT,
                    "The answer is larger than %zu bytes. Please ask for less "
                    "time, fewer series or coarser points.",
                    w->a->answer_bytes);
    return false;
}
