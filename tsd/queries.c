/* See tsd/queries.h. */
#include "config.h"

#include "tsd/queries.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/obj.h"
#include "web/json.h"

#define QUERIES_MAGIC FOURCC('Q', 'R', 'Y', 'S')

struct query_entry {
    struct query_entry *next, *previous; /* while it runs */
    char *question;
    char remote[64];
    int64_t start_ms, end_ms, start_us, took_us;
    size_t points;
    unsigned http_status;
    char exception[256]; /* "": none */
};

struct queries {
    uint32_t magic;
    struct lock lock;
    struct query_entry *running GUARDED_BY(lock);
    size_t running_len GUARDED_BY(lock);
    /* The i-th that ended lies at i % QUERIES_COMPLETED. */
    struct query_entry *completed[QUERIES_COMPLETED] GUARDED_BY(lock);
    size_t completed_len GUARDED_BY(lock);
};

struct queries *
queries_new(void)
{
    struct queries *q = mem_new(sizeof *q);

    q->magic = QUERIES_MAGIC;
    lock_init(&q->lock);
    return q;
}

static void
free_entry(struct query_entry *e)
{
    if (e != NULL)
        free(e->question);
    free(e);
}

void
queries_free(struct queries **qp) NO_TS_CHECK
{
    struct queries *q = *qp;

    *qp = NULL;
    if (q == NULL)
        return;
    OBJ_CHECK(q, QUERIES_MAGIC);
    INSIST(q->running == NULL);
    for (size_t i = 0; i < QUERIES_COMPLETED; i++)
        free_entry(q->completed[i]);
    lock_fini(&q->lock);
    OBJ_CLEAR(q);
    free(q);
}

struct query_entry *
queries_begin(struct queries *q, struct slice question, const char *remote,
              int64_t now_ms)
{
    struct query_entry *e = mem_new(sizeof *e);

    OBJ_CHECK(q, QUERIES_MAGIC);
    e->question = question.size <= QUERIES_TEXT
                      ? mem_strndup(question.data, question.size)
                      : mem_strdup("null");
    (void)snprintf(e->remote, sizeof e->remote, "%s", remote);
    e->start_ms = now_ms;
    e->start_us = clock_monotonic_us();
    lock_take(&q->lock);
    e->next = q->running;
    if (e->next != NULL)
        e->next->previous = e;
    q->running = e;
    q->running_len++;
    lock_drop(&q->lock);
    return e;
}

void
queries_end(struct queries *q, struct query_entry **ep, unsigned http_status,
            const char *exception, size_t points, int64_t now_ms)
{
    struct query_entry *e = *ep, *old;

    OBJ_CHECK(q, QUERIES_MAGIC);
    *ep = NULL;
    e->end_ms = now_ms;
    e->took_us = clock_monotonic_us() - e->start_us;
    e->points = points;
    e->http_status = http_status;
    if (exception != NULL)
        (void)snprintf(e->exception, sizeof e->exception, "%s", exception);
    lock_take(&q->lock);
    if (e->previous != NULL)
        e->previous->next = e->next;
    else
        q->running = e->next;
    if (e->next != NULL)
        e->next->previous = e->previous;
    q->running_len--;
    old = q->completed[q->completed_len % QUERIES_COMPLETED];
    q->completed[q->completed_len++ % QUERIES_COMPLETED] = e;
    lock_drop(&q->lock);
    free_entry(old);
}

static void
write_common(const struct query_entry *e, struct buf *b)
{
    buf_printf(b, "{\"query\":%s,\"remote\":", e->question);
    json_put_string(b, slice_str(e->remote));
    buf_put_str(b, ",\"user\":null,\"requestHeaders\":{}");
    buf_printf(b, ",\"queryStartTimestamp\":%lld", (long long)e->start_ms);
}

static void
write_running(const struct query_entry *e, struct buf *b)
{
    write_common(e, b);
    buf_printf(b, ",\"queryStart\":%lld,\"elapsed\":%.3f}",
               (long long)e->start_ms,
               (double)(clock_monotonic_us() - e->start_us) / 1000);
}

static void
write_completed(const struct query_entry *e, size_t running, struct buf *b)
{
    write_common(e, b);
    buf_printf(b, ",\"queryCompletedTimestamp\":%lld,\"exception\":",
               (long long)e->end_ms);
    if (e->exception[0] == '\0')
        buf_put_str(b, "null");
    else
        json_put_string(b, slice_str(e->exception));
    buf_printf(b,
               ",\"httpResponse\":{\"code\":%u},\"numRunningQueries\":%zu,"
               "\"executed\":1,\"stats\":{\"emittedDPs\":%zu,"
               "\"totalTime\":%.3f}}",
               e->http_status, running, e->points, (double)e->took_us / 1000);
}

void
queries_write(struct queries *q, struct buf *b)
{
    size_t from;

    OBJ_CHECK(q, QUERIES_MAGIC);
    buf_put_str(b, "{\"running\":[");
    lock_take(&q->lock);
    for (const struct query_entry *e = q->running; e != NULL; e = e->next) {
        if (e != q->running)
            buf_put_u8(b, ',');
        write_running(e, b);
    }
    buf_put_str(b, "],\"completed\":[");
    from = q->completed_len > QUERIES_COMPLETED
               ? q->completed_len - QUERIES_COMPLETED
               : 0;
    for (size_t i = from; i < q->completed_len; i++) {
        if (i > from)
            buf_put_u8(b, ',');
        write_completed(q->completed[i % QUERIES_COMPLETED], q->running_len, b);
    }
    lock_drop(&q->lock);
    buf_put_str(b, "]}");
}
