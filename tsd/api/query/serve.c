/* See tsd/api/query/serve.h. */
#include "tsd/api/query/serve.h"

#include "base/counters.h"
#include "base/log.h"
#include "tsd/stats/queries.h"

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
    http_reply_error(out, status, m->text, *details == '\0' ? NULL : details);
    return status;
}

enum status
serve_check_size(const struct serving *s, struct error *e)
{
    return http_reply_body(s->out)->failed
               ? error_set(e, ST_LIMIT,
                           "The answer is larger than %zu bytes. Please ask "
                           "for less time, fewer series or coarser points.",
                           s->a->answer_bytes)
               : ST_OK;
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
        if (run(ctx, &e) == ST_OK) {
            counter_add(CNT_QUERY_SUCCESS, 1);
        } else {
            status = serve_reject(s->out, &e);
            log_debug("query", "%u %s: %s", status, e.message.text,
                      log_quote(buf_slice(query)));
        }
        queries_add_costs(entry, s->result.stats, s->result.stats_len);
        queries_end(s->a->queries, &entry, status,
                    status == 200 ? NULL : e.message.text, s->points,
                    clock_now_ms(s->a->clock));
    }
    buf_fini(query);
}
