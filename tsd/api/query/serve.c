#include "tsd/api/query/serve.h"

#include <stdatomic.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"
#include "base/process/log_throttle.h"
#include "query/answer/chunks.h"
#include "tsd/stats/queries.h"

/* No warning is added to a header that has so many bytes. */
#define WARNING_BYTES 1024

unsigned
serve_reject(struct http_reply *out, const struct parse_error *e)
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
    if (m->status == ST_LIMIT)
        counter_add(CNT_QUERY_LIMITED, 1);
    if (m->status == ST_BUSY)
        counter_add(CNT_QUERY_CANCELLED, 1);
    http_reply_error(out, status, m->text, *details == '\0' ? NULL : details);
    if (m->status == ST_BUSY)
        http_reply_header(out, "Retry-After", "1");
    return status;
}

struct parse_options
serve_options(const struct api *a)
{
    return (struct parse_options){ .now_ms = clock_now_ms(a->clock),
                                   .default_zone = a->zone,
                                   .colons_in_names = a->colons_in_names,
                                   .parens_in_names = a->parens_in_names };
}

enum status
serve_parse_uri(const struct api *a, const struct http_request *r,
                struct query *q, struct parse_error *e)
{
    const struct parse_options o = serve_options(a);
    struct arena *arena = http_arena(r);
    size_t len;
    const struct http_param *params = http_params(r, &len);
    struct query_param *copy = arena_array(arena, len + 1, sizeof *copy);

    if (copy == NULL)
        return error_set(&e->message, ST_LIMIT, "too many parameters");
    for (size_t i = 0; i < len; i++)
        copy[i] = (struct query_param){ params[i].name, params[i].value };
    return query_parse_uri(copy, len, &o, arena, q, e);
}

static bool
is_over(void *ctx)
{
    const struct serving *s = ctx;

    return http_is_cancelled(s->r) ||
           (s->entry != NULL && query_is_stopped(s->entry));
}

static bool
same_dropped(const struct dropped *a, const struct dropped *b)
{
    return a->before_ms == b->before_ms && strcmp(a->what, b->what) == 0;
}

/* Where hourly values are all there is, and some cannot be read. */
static void
warn_of_damage(const struct serving *s)
{
    int64_t before_ms = 0;
    char text[120];

    for (size_t i = 0; i < s->result.stats_len; i++)
        if (s->result.stats[i].damaged_before_ms > before_ms)
            before_ms = s->result.stats[i].damaged_before_ms;
    if (before_ms == 0)
        return;
    (void)snprintf(text, sizeof text,
                   "299 - \"hourly values before %lld are damaged, and some "
                   "are missing\"",
                   (long long)before_ms / 1000);
    http_reply_header(s->out, "Warning", text);
}

enum status
serve_run(struct serving *s, const struct query *q, struct chunks *chunks,
          struct parse_error *e)
{
    enum status st = engine_run(s->a->engine, q, (struct cancel){ is_over, s },
                                chunks, http_arena(s->r), &s->result, e);

    if (st == ST_OK) {
        const struct query_result *r = &s->result;
        struct buf b = BUF_INIT;

        /* A header also reaches those who ask for no statistics, and answers
         * without groups.  Warnings beyond WARNING_BYTES are in the statistics
         * only. */
        for (size_t i = 0; i < r->stats_len && b.size < WARNING_BYTES; i++) {
            bool known = r->stats[i].dropped.before_ms == 0;

            for (size_t k = 0; k < i && !known; k++)
                known =
                    r->stats[k].dropped.before_ms > 0 &&
                    same_dropped(&r->stats[k].dropped, &r->stats[i].dropped);
            if (!known) {
                const struct dropped *dropped = &r->stats[i].dropped;
                char text[DROPPED_TEXT];

                /* Writes one warning.  If the query has several sub-queries, it
                 * lists those that the warning is about. */
                dropped_text(dropped, text);
                buf_printf(&b, "%s299 - \"%s", b.size > 0 ? ", " : "", text);
                for (size_t k = i; r->stats_len > 1 && k < r->stats_len; k++)
                    if (r->stats[k].dropped.before_ms > 0 &&
                        same_dropped(&r->stats[k].dropped, dropped))
                        buf_printf(&b, "%s%zu", k == i ? ", sub-queries " : " ",
                                   k);
                buf_put_u8(&b, '"');
            }
        }
        buf_put_u8(&b, '\0');
        if (b.size > 1)
            http_reply_header(s->out, "Warning", (const char *)b.data);
        buf_fini(&b);
        warn_of_damage(s);
    }
    return st;
}

enum status
serve_check_size(const struct serving *s, struct error *e)
{
    return chunks_check_text(http_reply_body(s->out), s->a->answer_bytes, e);
}

#define LOGGED_QUERY_MAX  ((size_t)64 << 10) /* bytes of one query */
#define LOGGED_MINUTE_MAX ((size_t)1 << 20)  /* bytes of all queries */

/* Returns true if 'size' bytes of queries may be written to the log: at most
 * LOGGED_MINUTE_MAX in a minute, so that a client which repeats a large query
 * does not fill the disk. */
static bool
may_log(size_t size)
{
    static _Atomic uint64_t minute;
    static atomic_size_t logged; /* bytes in that minute */
    uint64_t now = (uint64_t)clock_monotonic_us() / 60000000;

    if (atomic_exchange(&minute, now) != now)
        atomic_store(&logged, 0);
    return atomic_fetch_add(&logged, size) + size <= LOGGED_MINUTE_MAX;
}

/* Logs which query exceeded a limit or found no memory, and whose it was, for
 * the operator. Other rejected queries are the client's mistake. */
static void
log_rejection(const struct serving *s, unsigned status, const char *why,
              struct slice query)
{
    static struct log_throttle throttle;
    size_t size = query.size < LOGGED_QUERY_MAX ? query.size : LOGGED_QUERY_MAX;
    char what[200], more[LOG_MORE_SIZE];

    if (status != 413 && (status != 503 || http_is_cancelled(s->r))) {
        log_debug("query", "%u for %s: %s: %s", status, http_peer(s->r), why,
                  log_quote(query));
        return;
    }
    (void)snprintf(what, sizeof what, "%u for %s: %.120s", status,
                   http_peer(s->r), why);
    if (may_log(size))
        log_text(LOG_INFO, "query", what, slice_of(query.data, size));
    else if (log_throttle_pass(&throttle, more))
        log_info("query", "%s (the query is not logged)%s", what, more);
}

void
serve_query(struct serving *s, struct buf *query,
            enum status (*run)(void *ctx, struct parse_error *e), void *ctx)
{
    struct parse_error e = { 0 };
    struct query_entry *entry =
        api_begin_query(s->a, s->r, buf_slice(query), &e.message);
    unsigned status = 200;

    if (entry == NULL) {
        (void)parse_fail_twice(&e, e.message.status);
        (void)serve_reject(s->out, &e);
    } else {
        s->entry = entry;
        if (run(ctx, &e) == ST_OK) {
            counter_add(CNT_QUERY_SUCCESS, 1);
        } else {
            if (e.message.status == ST_BUSY && query_is_stopped(entry))
                (void)error_set(&e.message, ST_LIMIT, "The query was stopped");
            status = serve_reject(s->out, &e);
            log_rejection(s, status, e.message.text, buf_slice(query));
        }
        s->entry = NULL;
        queries_add_costs(entry, s->result.stats, s->result.stats_len);
        queries_end(s->a->queries, &entry, status,
                    status == 200 ? NULL : e.message.text, s->points,
                    clock_now_ms(s->a->clock));
    }
    buf_fini(query);
}
