/* /api/query, and /api/query/gexp: parse, run, write. */
#include <stdatomic.h>

#include "tsd/api/api.h"
#include "query/parse/parse.h"
#include "tsd/api/query/api_gexp.h"
#include "tsd/api/query/group_notes.h"
#include "tsd/api/query/query_json.h"
#include "tsd/api/query/serve.h"
#include "tsd/stats/query_costs.h"
#include "uid/meta/annotation.h"
#include "web/json/json.h"

/* Less is copied: one buffer is sent at once. */
#define COPY_BYTES ((size_t)128 << 10)
/* How many groups a chunk has that are written after all of them are made. */
#define CHUNK_GROUPS 512
/* A connection's thread parses no more. */
#define QUICK_BYTES ((size_t)8 << 10)

/* A query being served. */
struct work {
    struct serving s;
    const struct api *a;
    struct arena *arena;
    struct query q;
    bool is_gexp;
    struct gexp gexp;
    struct notes globals;
    const struct dps *before; /* of columns: the group that was written last */
    struct chunks chunks;
    bool is_open; /* the bracket of the answer was written */
    /* With a summary: how long the groups of each sub-query were written. */
    _Atomic int64_t *write_us;
    int64_t started_us, ran_us;
};

static enum status read_query(struct work *w, struct parse_error *e);
static bool parse(struct work *w);
static void explain(struct work *w);
static enum status run(void *ctx, struct parse_error *e);
static enum status write_answer(struct work *w, struct error *e);

void
api_query(void *ctx, const struct http_request *r, struct http_reply *out)
{
    struct work w = { .s = { .a = ctx, .r = r, .out = out },
                      .a = ctx,
                      .arena = http_arena(r) };
    struct buf query = BUF_INIT;

    w.started_us = clock_monotonic_us();
    w.is_gexp = slice_eq_str(api_sub_path(r), "gexp");
    /* "?method_override=put" means nothing here, and OpenTSDB does not mind;
     * nor does "=delete" where that is not allowed. */
    if (http_method(r) == HTTP_PUT && !http_is_overridden(r)) {
        http_reply_bad_method(out, r);
        return;
    }
    if (!http_is_overridden(r) &&
        !api_may_delete(ctx, r, http_method(r) == HTTP_DELETE, out))
        return;
    if (http_has_param(r, "explain")) {
        if (parse(&w))
            explain(&w);
    } else if (parse(&w) && api_may_delete(ctx, r, w.q.delete_points, out)) {
        query_json_query(&query, &w.q, w.a->uids);
        serve_query(&w.s, &query, run, &w);
    }
    chunks_fini(&w.chunks);
    plan_drop(&w.q);
    query_fini(&w.q);
}

/* Outside of gexp their metrics are asked for, and nothing is computed. */
static bool
names_expressions(const struct http_request *r)
{
    return http_has_param(r, "exp") &&
           (http_method(r) != HTTP_POST || http_is_overridden(r));
}

static bool
names_regexp(struct slice s)
{
    static const char name[] = "regexp";
    size_t size = sizeof name - 1;

    for (size_t i = 0; i + size <= s.size; i++)
        if (slice_eq_nocase(slice_of(s.data + i, size), slice_str(name)))
            return true;
    return false;
}

/* To parse what is large, or to compile regular expressions, takes long itself;
 * a connection's thread has others to serve. */
static bool
is_parsed_quickly(const struct http_request *r)
{
    struct slice body = http_body(r);
    size_t len;
    const struct http_param *params = http_params(r, &len);

    /* Behind a backslash JSON could hide the name. */
    if (body.size > QUICK_BYTES || strlen(http_url(r)) > QUICK_BYTES ||
        names_regexp(body) ||
        (body.size > 0 && memchr(body.data, '\\', body.size) != NULL))
        return false;
    for (size_t i = 0; i < len; i++)
        if (names_regexp(params[i].value))
            return false;
    return true;
}

/* It is served as it is parsed and, where it is small, planned here.  Without
 * regular expressions query_fini() has nothing to release. */
bool
api_query_is_quick(void *ctx, const struct http_request *r, void **kept)
{
    struct work w = { .s = { .a = ctx, .r = r },
                      .a = ctx,
                      .arena = http_arena(r) };
    struct parse_error e = { 0 };
    struct query *q;

    if (!is_parsed_quickly(r) || api_sub_path(r).size > 0 ||
        names_expressions(r) || http_method(r) == HTTP_DELETE ||
        http_method(r) == HTTP_PUT || http_has_param(r, "explain"))
        return false;
    if (read_query(&w, &e) != ST_OK) {
        query_fini(&w.q);
        return false;
    }
    q = *kept = arena_copy(w.arena, &w.q, sizeof w.q);
    return q != NULL && !q->delete_points &&
           engine_is_small(w.a->engine, q, w.arena);
}

/* Replies if a sub-query asks for what this server, or this endpoint, does not
 * do.  Expressions compute with points: they need all of them. */
static bool
may_run_subs(const struct work *w)
{
    struct parse_error e = { 0 };

    for (size_t i = 0; i < w->q.subs_len; i++) {
        const struct sub_query *sub = &w->q.subs[i];

        if (sub->pre_aggregate && !w->a->settings->rollups_enable)
            (void)error_set(&e.message, ST_INVALID,
                            "Pre-aggregates need tsd.rollups.enable");
        else if (w->is_gexp && sub->downsample.thin != THIN_NONE)
            (void)error_set(&e.message, ST_INVALID,
                            "'minmax' and 'm4' do not go with expressions");
        else
            continue;
        (void)snprintf(e.details, sizeof e.details, "sub-query %zu", i);
        (void)serve_reject(w->s.out, &e);
        return false;
    }
    return true;
}

static enum status
read_query(struct work *w, struct parse_error *e)
{
    const struct parse_options o = serve_options(w->a);
    struct slice body = http_body(w->s.r);
    const struct query *kept = http_kept(w->s.r);
    enum status st;

    if (kept != NULL) {
        w->q = *kept;
        return ST_OK;
    }
    if (w->is_gexp || names_expressions(w->s.r)) {
        st = api_gexp_parse(w->s.r, &o, w->arena, &w->gexp, &w->q, e);
        w->q.whole_hours = w->is_gexp;
        return st;
    }
    if (http_method(w->s.r) != HTTP_POST || http_is_overridden(w->s.r))
        return serve_parse_uri(w->a, w->s.r, &w->q, e);
    if (body.size > 0)
        return query_parse_json(body, &o, w->arena, &w->q, e);
    (void)snprintf(e->details, sizeof e->details,
                   "Supply valid JSON formatted data in the body of your "
                   "request");
    return error_set(&e->message, ST_INVALID, "Missing message content");
}

static bool
parse(struct work *w)
{
    struct parse_error e = { 0 };

    if (read_query(w, &e) != ST_OK) {
        (void)serve_reject(w->s.out, &e);
        return false;
    }
    if (!may_run_subs(w))
        return false;
    w->q.arrays = http_has_param(w->s.r, "arrays");
    w->q.columns = http_has_param(w->s.r, "columns");
    if (http_method(w->s.r) == HTTP_DELETE && w->a->allow_delete)
        w->q.delete_points = true;
    return true;
}

static void
write_plan(struct buf *b, const struct explanation *p)
{
    static const char *const ways[] = { "hints", "range", "seeks" };
    static const char *const reads[] = { "points", "buckets", "summaries" };
    char text[DROPPED_TEXT];

    json_put_text(b, "rollupTable", slice_str(p->table));
    json_put_text(b, "way", slice_str(ways[p->path]));
    json_put_text(b, "plan", slice_str(p->text));
    json_put_text(b, "reads", slice_str(reads[p->reads]));
    json_put_int(b, "series", (int64_t)p->series);
    json_put_int(b, "seriesOfMetric", (int64_t)p->tagk_set_series);
    json_put_int(b, "hours", (int64_t)p->hours);
    json_put_int(b, "rows", (int64_t)p->rows);
    json_put_int(b, "seeks", (int64_t)p->seeks);
    json_put_int(b, "price", (int64_t)p->price);
    json_open(b, "prices", '{');
    for (int i = 0; i < 3; i++)
        json_put_int(b, ways[i], (int64_t)p->prices[i]);
    buf_put_u8(b, '}');
    if (p->dropped.before_ms == 0)
        return;
    dropped_text(&p->dropped, text);
    json_put_int(b, "droppedBefore", p->dropped.before_ms);
    json_put_text(b, "warning", slice_str(text));
}

/* The dry run: it deletes nothing and is not listed among the queries.  It
 * answers with each sub-query and the sums: {"queries":[{..},..],"series":..,
 * "rows":..,"seeks":..,"price":..}. */
static void
explain(struct work *w)
{
    struct parse_error e = { 0 };
    struct buf *b = http_reply_body(w->s.out);
    uint64_t series = 0, rows = 0, seeks = 0, price = 0;
    struct explained *explained;
    enum status st = engine_explain(w->a->engine, &w->q, api_cancel(w->s.r),
                                    w->arena, &explained, &e.message);

    if (st != ST_OK) {
        (void)serve_reject(w->s.out, &e);
        return;
    }
    buf_put_str(b, "{\"queries\":[");
    for (size_t i = 0; i < w->q.subs_len; i++) {
        const struct explained *x = &explained[i];
        const struct explanation *p = &x->plan;

        json_open(b, NULL, '{');
        json_put_int(b, "index", (int64_t)w->q.subs[i].index);
        json_put_text(b, "metric", w->q.subs[i].metric);
        write_plan(b, p);
        if (x->cheaper != NULL) {
            json_open(b, "cheaper", '{');
            json_put_text(b, "downsample", slice_str(x->cheaper));
            write_plan(b, &x->cheaper_plan);
            buf_put_u8(b, '}');
        }
        buf_put_u8(b, '}');
        series += p->series;
        rows += p->rows;
        seeks += p->seeks;
        price += p->price;
    }
    buf_put_u8(b, ']');
    json_put_int(b, "series", (int64_t)series);
    json_put_int(b, "rows", (int64_t)rows);
    json_put_int(b, "seeks", (int64_t)seeks);
    json_put_int(b, "price", (int64_t)price);
    buf_put_u8(b, '}');
}

/* Several threads call this at the same time, each with an arena of its own for
 * the notes.  Only one calls it for columns. */
static enum status
write_group(void *ctx, struct buf *b, const struct result_group *g,
            struct chunks_tags *tags, size_t *points, struct error *e)
{
    struct work *w = ctx;
    struct arena *own =
        group_notes_wanted(&w->q, g)
            ? arena_new_within(w->a->answer_bytes, w->chunks.budget)
            : NULL;
    struct group_json j = {
        .q = &w->q,
        .group = g,
        .uids = w->a->uids,
        .notes.always = g->lists_notes && !w->q.no_annotations,
        .globals = w->globals,
        .stats =
            w->q.show_stats ? &w->s.result.stats[g->sub - w->q.subs] : NULL,
        .before = w->before,
    };
    enum status st = own == NULL
                         ? ST_OK
                         : group_notes_read(w->a, &w->q, g, own, &j.notes, e);

    if (st == ST_OK) {
        int64_t from_us = w->write_us == NULL ? 0 : clock_monotonic_us();

        buf_put_u8(b, ',');
        *points = query_json_group(b, &j, tags);
        /* Several threads may write groups of one sub-query. */
        if (w->write_us != NULL)
            atomic_fetch_add(&w->write_us[g->sub - w->q.subs],
                             clock_monotonic_us() - from_us);
        if (w->q.columns)
            w->before = &g->dps;
    }
    arena_free(&own);
    return st;
}

/* Writes groups that are all made. */
static enum status
write_groups(struct work *w, const struct query_result *r, struct error *e)
{
    enum status st = ST_OK;

    if (!chunks_init(&w->chunks, 1) ||
        !chunks_begin(&w->chunks, 0, r->groups_len, CHUNK_GROUPS))
        return error_no_memory(e);
    for (size_t i = 0; i < r->groups_len && st == ST_OK; i++) {
        struct slice tags = { NULL, 0 };

        st = chunks_put(&w->chunks, 0, i, &r->groups[i], &tags, e);
    }
    return st == ST_OK ? chunks_end(&w->chunks, 0, e) : st;
}

/* Behind the answer, which has the annotations that go. */
static enum status
delete_points(struct work *w, struct error *e)
{
    uint64_t deleted;

    return w->q.delete_points
               ? engine_delete(w->a->engine, &w->q, &w->s.result, &deleted, e)
               : ST_OK;
}

static enum status
run(void *ctx, struct parse_error *e)
{
    struct work *w = ctx;
    struct annotation *globals = NULL;
    enum status st = ST_OK;

    if (!w->q.no_annotations && w->q.global_annotations)
        st = annotation_globals(w->a->records, w->q.start_ms / 1000,
                                w->q.end_ms / 1000, w->arena, &globals,
                                &w->globals.len, &e->message);
    w->globals.list = globals;
    if (st == ST_OK && w->q.show_summary) {
        w->write_us = arena_array(w->arena, w->q.subs_len, sizeof *w->write_us);
        if (w->write_us == NULL)
            st = error_no_memory(&e->message);
    }
    if (st == ST_OK) {
        bool at_once = !w->is_gexp && !w->q.delete_points && !w->q.show_stats &&
                       !w->q.columns;
        struct query_result answer;

        /* Runs the query and writes its groups into w->chunks: as they come,
         * or, where something depends on all of them, at the end. */
        w->chunks.write = write_group;
        w->chunks.ctx = w;
        w->chunks.max_bytes = w->a->answer_bytes;
        w->chunks.budget = http_reply_budget(w->s.out);
        st = serve_run(&w->s, &w->q, at_once ? &w->chunks : NULL, e);
        answer = w->s.result;
        if (st == ST_OK && w->is_gexp)
            st = gexp_run(&w->gexp, &w->q, &answer, w->a->uids, w->arena,
                          &e->message);
        w->ran_us = clock_monotonic_us();
        if (st == ST_OK && !at_once)
            st = write_groups(w, &answer, &e->message);
    }
    /* What fails while it runs is told twice; what does not parse is not. */
    if (st == ST_INVALID && e->details[0] == '\0')
        (void)snprintf(e->details, sizeof e->details, "%s", e->message.text);
    if (st == ST_OK)
        st = write_answer(w, &e->message);
    return st == ST_OK ? delete_points(w, &e->message) : st;
}

/* The comma of the first group is the bracket that opens them all. */
static void
give_chunk(void *ctx, struct buf *chunk)
{
    struct work *w = ctx;

    if (!w->is_open)
        chunk->data[0] = '[';
    w->is_open = true;
    if (w->chunks.bytes > COPY_BYTES)
        http_reply_append_owned(w->s.out, chunk);
    else
        buf_put_slice(http_reply_body(w->s.out), buf_slice(chunk));
}

static enum status
write_answer(struct work *w, struct error *e)
{
    struct buf *b = http_reply_body(w->s.out);
    struct chunks_total total = chunks_total(&w->chunks);

    b->max = w->a->answer_bytes;
    w->s.points = total.points;
    chunks_each(&w->chunks, give_chunk, w);
    if (!w->is_open)
        buf_put_u8(b, '[');
    if (w->q.show_summary) {
        int64_t now = clock_monotonic_us();
        struct query_costs all;
        int64_t sum_us = 0, max_us = 0;
        size_t len;

        buf_put_str(b, total.groups > 0 ? ",{" : "{");
        buf_printf(b, "\"statsSummary\":{\"emittedDPs\":%zu,", w->s.points);
        /* Totals of all sub-queries, and each by itself. */
        all = (struct query_costs){ .subs = 0 };
        len = w->s.result.stats_len;
        for (size_t i = 0; i < len; i++) {
            const struct result_stats *s = &w->s.result.stats[i];
            int64_t us = atomic_load(&w->write_us[i]);

            query_costs_add(&all, s);
            sum_us += us;
            max_us = us > max_us ? us : max_us;
            buf_printf(b, "\"queryIdx_%02zu\":{\"queryIndex\":%zu,", i, i);
            query_json_costs(b, s);
            query_costs_put_ms(b, "serializationTime", us);
            buf_put_u8(b, ',');
            query_json_scans(b, s);
            buf_put_str(b, "},");
        }
        query_costs_write(&all, b);
        query_costs_put_ms(b, "maxSerializationTime", max_us);
        query_costs_put_ms(b, "avgSerializationTime",
                           len == 0 ? 0 : sum_us / (int64_t)len);
        query_costs_put_ms(b, "queryScanTime", w->ran_us - w->started_us);
        query_costs_put_ms(b, "serializationTime", now - w->ran_us);
        query_costs_put_ms(b, "processingPreWriteTime", now - w->started_us);
        query_costs_put_ms(b, "totalTime", now - w->started_us);
        buf_put_str(b, "}}");
    }
    buf_put_u8(b, ']');
    return serve_check_size(&w->s, e);
}
