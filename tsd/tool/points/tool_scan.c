/* 'scan': rows as they are stored, hour by hour; and their deletion. */
#include "tsd/tool/tool.h"

#include "base/process/clock.h"
#include "base/process/log.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "storage/histogram/histogram_table.h"
#include "tsd/tool/points/query_words.h"
#include "tsd/transfer/dump.h"
#include "tsd/transfer/json/json_export.h"
#include "uid/meta/annotation.h"

#define EXPANSION_LIMIT 4096 /* so many values of a filter are looked up */

/* So much is printed before the reader is waited for, and so many hours. */
#define PRINTED_BYTES ((size_t)256 << 10)
#define PRINTED_HOURS 4096

#define SERIES_NAMED 20 /* of those that are left out */

struct scan_tool {
    struct tool *t;
    struct buf text; /* of a row */
    bool raw, deletes, json;
    /* Hours that were printed and are still there: <size:2> TSUID <base:4>. */
    struct buf printed;
    size_t printed_hours, printed_bytes; /* of text */
    /* Lines cannot express the names of some series: these are left out. */
    struct buf left_out; /* the TSUID of the last one */
    uint64_t hours_left_out;
    unsigned series_named; /* of them */
};

static bool
has_option(const struct tool *t, const char *name)
{
    return tool_option(t, name) != NULL;
}

int
tool_scan_check(struct tool *t)
{
    size_t words = tool_words(t);

    if (has_option(t, "--json") && words > 0)
        return tool_usage(t, "--json takes no query.");
    if (words == 0 && !has_option(t, "--delete") &&
        (has_option(t, "--import") || has_option(t, "--json")))
        return 0;
    return words < 3 ? tool_usage(t, "Not enough arguments.") : 0;
}

/* The hour with all that lies in it. */
static enum status
delete_hour(const struct api *a, struct slice tsuid, uint32_t base,
            uint64_t *lsn, struct error *e)
{
    int64_t from_ms = (int64_t)base * 1000, to_ms = from_ms + HOUR_MS - 1;
    uint64_t deleted;
    enum status st =
        store_delete(a->store, tsuid, from_ms, to_ms, NULL, lsn, e);

    if (st == ST_OK)
        st = annotation_delete_range(
            a->records,
            &(struct annotation_query){ &tsuid, 1, from_ms, to_ms, NULL },
            &deleted, e);
    return st == ST_OK ? histogram_delete(a->store, tsuid, from_ms, to_ms,
                                          &deleted, lsn, e)
                       : st;
}

static enum status
reader_is_gone(struct error *e)
{
    return error_set(e, ST_BUSY, "the reader is gone");
}

/* Once the reader has what was printed. */
static enum status
delete_printed(struct scan_tool *x, struct error *e)
{
    const struct api *a = x->t->api;
    struct cursor c = cursor_of(buf_slice(&x->printed));
    uint64_t lsn = 0;
    enum status st = ST_OK;

    if (x->printed.size == 0)
        return ST_OK;
    tool_drain(x->t);
    if (tool_is_cancelled(x->t))
        return reader_is_gone(e);
    while (st == ST_OK && cursor_left(&c) > 0) {
        struct slice tsuid = cursor_bytes(&c, cursor_u16(&c));

        st = delete_hour(a, tsuid, cursor_u32(&c), &lsn, e);
    }
    buf_clear(&x->printed);
    x->printed_hours = x->printed_bytes = 0;
    return st == ST_OK ? store_commit(a->store, lsn, false, e) : st;
}

static enum status
note_printed(struct scan_tool *x, const struct dump_row *row, struct error *e)
{
    buf_put_u16(&x->printed, (uint16_t)row->tsuid.size);
    buf_put_slice(&x->printed, row->tsuid);
    buf_put_u32(&x->printed, row->base);
    if (x->printed.failed)
        return error_no_memory(e);
    x->printed_bytes += x->text.size;
    return ++x->printed_hours < PRINTED_HOURS &&
                   x->printed_bytes < PRINTED_BYTES
               ? ST_OK
               : delete_printed(x, e);
}

/* A dump_row_fn. */
static enum status
scan_row(void *ctx, const struct dump_row *row, struct error *e)
{
    struct scan_tool *x = ctx;
    const struct key_layout *w = store_layout(x->t->api->store);

    buf_clear(&x->text);
    if (!x->raw && !x->json && !scan_lines_can_name(&row->series)) {
        /* The hour is neither printed nor deleted. */
        const struct scan_series *s = &row->series;
        struct buf tags = BUF_INIT;

        x->hours_left_out++;
        if (slice_eq(buf_slice(&x->left_out), row->tsuid))
            return ST_OK;
        buf_clear(&x->left_out);
        buf_put_slice(&x->left_out, row->tsuid);
        if (x->series_named++ >= SERIES_NAMED)
            return ST_OK;
        for (size_t i = 0; i < s->tags_len; i++) {
            buf_put_str(&tags, i == 0 ? "" : ", ");
            buf_put_slice(&tags, s->tags[i].key);
            buf_put_u8(&tags, '=');
            buf_put_slice(&tags, s->tags[i].value);
        }
        tool_say(x->t, "lines cannot express the names of metric %s, tags %s",
                 log_quote(s->metric), log_quote(buf_slice(&tags)));
        buf_fini(&tags);
        return ST_OK;
    }
    if (x->raw)
        scan_put_row(&x->text, &row->series,
                     w->salt_width == 0 ? -1 : (int)key_salt(w, row->tsuid),
                     row->tsuid, w->metric_width, row->base, row->points,
                     x->t->zone);
    else if (x->json)
        json_export_row(&x->text, row);
    else
        scan_put_lines(&x->text, &row->series, row->points);
    if (x->text.failed)
        return error_no_memory(e);
    tool_write(x->t, buf_slice(&x->text));
    if (tool_is_cancelled(x->t))
        return reader_is_gone(e);
    return x->deletes ? note_printed(x, row, e) : ST_OK;
}

/* A json_line_fn. */
static enum status
scan_record(void *ctx, struct slice line, struct error *e)
{
    struct scan_tool *x = ctx;

    tool_write(x->t, line);
    return tool_is_cancelled(x->t) ? reader_is_gone(e) : ST_OK;
}

/* All queries are planned before the first one is read: an unknown name
 * prints nothing. */
static enum status
scan_queries(struct scan_tool *x, struct dump *d, struct query *q,
             struct arena *arena, struct error *e)
{
    const struct api *a = x->t->api;
    const struct plan_context c = { .store = a->store,
                                    .uids = a->uids,
                                    .series = a->series,
                                    .options = {
                                        .expansion_limit = EXPANSION_LIMIT,
                                        .force_path = -1,
                                    } };
    const struct deadline deadline = deadline_start(0, tool_cancel(x->t));
    struct plan *plans = mem_new_array(q->subs_len + 1, sizeof *plans);
    enum status st = ST_OK;
    size_t planned = 0;

    for (; planned < q->subs_len && st == ST_OK; planned++) {
        struct sub_query *sub = &q->subs[planned];
        struct query_reading reading;

        sub->rate = false;
        sub->downsample = (struct downsample){ .on = false };
        reading_make(&reading, q, sub);
        st = plan_make(&c, sub, &reading, &deadline, arena, &plans[planned], e);
    }
    for (size_t i = 0; i < planned && st == ST_OK; i++)
        st = dump_plan(d, &plans[i], e);
    for (size_t i = 0; i < planned; i++)
        plan_fini(&plans[i]);
    free(plans);
    return st;
}

static enum status
scan_words(struct scan_tool *x, struct dump *d, struct error *e)
{
    const struct tool *t = x->t;
    struct arena *arena = arena_new(0);
    struct query_words words;
    enum status st = query_words_parse(t->args->words, t->args->len,
                                       clock_now_ms(t->api->clock), t->zone,
                                       arena, &words, e);

    if (st == ST_OK)
        st = scan_queries(x, d, &words.query, arena, e);
    query_fini(&words.query);
    arena_free(&arena);
    return st;
}

static enum status
scan_all(struct scan_tool *x, struct dump *d, struct error *e)
{
    enum status st = ST_OK;

    if (x->json)
        st = json_export_records(x->t->api, scan_record, x, &d->nameless, e);
    return st == ST_OK ? dump_all(d, e) : st;
}

int
tool_scan(struct tool *t)
{
    struct scan_tool x = {
        .t = t,
        .deletes = has_option(t, "--delete"),
        .json = has_option(t, "--json"),
    };
    struct dump d = {
        .a = t->api,
        .to_base = hour_base(POINT_MAX_TS_MS),
        .kinds = x.json,
        .f = scan_row,
        .ctx = &x,
        .cancel = tool_cancel(t),
    };
    struct error e;
    enum status st;

    x.raw = d.by_hours = !x.deletes && !x.json && !has_option(t, "--import");
    st = tool_words(t) == 0 ? scan_all(&x, &d, &e) : scan_words(&x, &d, &e);
    if (st == ST_OK)
        st = delete_printed(&x, &e);
    buf_fini(&x.printed);
    buf_fini(&x.left_out);
    buf_fini(&x.text);
    if (d.nameless > 0)
        tool_say(t,
                 "%llu hours or records of names that were deleted are left "
                 "out",
                 (unsigned long long)d.nameless);
    if (st != ST_OK)
        return tool_fail(t, "%s", e.text);
    return x.hours_left_out == 0
               ? 0
               : tool_fail(t,
                           "%llu hours of series whose names lines cannot "
                           "express are left out%s: 'scan --json' prints them",
                           (unsigned long long)x.hours_left_out,
                           x.deletes ? ", and not deleted" : "");
}
