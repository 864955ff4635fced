#include "tsd/stats/queries.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/clock.h"
#include "base/hash.h"
#include "base/process/lock.h"
#include "base/mem.h"
#include "base/obj.h"
#include "tsd/stats/query_costs.h"
#include "web/json/json.h"

#define QUERIES_MAGIC FOURCC('Q', 'R', 'Y', 'S')

struct query_entry {
    struct query_entry *next, *previous; /* while it runs */
    uint64_t id;
    atomic_bool stopped;
    unsigned refs; /* of lists that it is in, and of readers; under the lock */
    char *query, *headers;
    char remote[64];
    int64_t start_ms, end_ms, start_us, took_us;
    size_t points;
    unsigned http_status;
    unsigned executed;
    uint64_t hash; /* of query and remote */
    struct query_costs costs;
    int64_t ran_us; /* when costs were added: what comes after is the writing */
    char exception[256]; /* "": none */
    char plan[256];      /* of the sub-query that took longest to read */
};

/* The slowest that ended in some ten minutes, in no order. */
#define SLOW_MS    (INT64_C(10) * 60 * 1000)
#define SLOW_SLOTS 7 /* an hour, and what has begun */
struct slow_slot {
    int64_t period; /* time / SLOW_MS */
    size_t len;
    struct query_entry *entries[QUERIES_SLOWEST];
};

struct queries {
    uint32_t magic;
    bool once;
    struct latency latency;
    struct lock lock;
    struct query_entry *running GUARDED_BY(lock);
    size_t running_len GUARDED_BY(lock);
    /* The i-th that ended lies at i % QUERIES_COMPLETED. */
    struct query_entry *completed[QUERIES_COMPLETED] GUARDED_BY(lock);
    size_t completed_len GUARDED_BY(lock);
    struct slow_slot slow[SLOW_SLOTS] GUARDED_BY(lock);
    uint64_t last_id GUARDED_BY(lock);
};

struct queries *
queries_new(bool once)
{
    struct queries *q = mem_new(sizeof *q);

    q->magic = QUERIES_MAGIC;
    q->once = once;
    lock_init(&q->lock);
    return q;
}

static void
free_entry(struct query_entry *e)
{
    free(e->query);
    free(e->headers);
    free(e);
}

/* Takes it off one of the lists, or ends a reader's use. */
static void
drop_entry(struct query_entry *e)
{
    if (e != NULL && --e->refs == 0)
        free_entry(e);
}

static void
clear_slow(struct slow_slot *s)
{
    for (size_t i = 0; i < s->len; i++)
        drop_entry(s->entries[i]);
    s->len = 0;
}

void
queries_free(struct queries **qp) NO_TS_CHECK
{
    struct queries *q = OBJ_TAKE(qp, QUERIES_MAGIC);

    if (q == NULL)
        return;
    INSIST(q->running == NULL);
    for (size_t i = 0; i < QUERIES_COMPLETED; i++)
        drop_entry(q->completed[i]);
    for (size_t i = 0; i < SLOW_SLOTS; i++)
        clear_slow(&q->slow[i]);
    lock_fini(&q->lock);
    OBJ_FREE(q);
}

static char *
keep_text(struct slice text, const char *fallback)
{
    return text.size > 0 && text.size <= QUERIES_TEXT
               ? mem_strndup(text.data, text.size)
               : mem_strdup(fallback);
}

/* "1.2.3.4:5" and "1.2.3.4:6" are one machine. */
static bool
is_same_address(const char *a, const char *b)
{
    const char *end_a = strrchr(a, ':'), *end_b = strrchr(b, ':');

    return end_a != NULL && end_b != NULL && end_a - a == end_b - b &&
           memcmp(a, b, (size_t)(end_a - a)) == 0;
}

static struct query_entry *
make_entry(const struct queries_ask *ask, int64_t now_ms)
{
    struct query_entry *e = mem_new(sizeof *e);

    e->query = keep_text(ask->query, "null");
    e->headers = keep_text(ask->headers, "");
    (void)snprintf(e->remote, sizeof e->remote, "%s", ask->remote);
    e->start_ms = now_ms;
    e->start_us = clock_monotonic_us();
    e->executed = 1;
    e->refs = 1; /* among those that run */
    e->hash = hash_slice(slice_str(e->query), 0) ^
              hash_slice(slice_str(e->remote), 1);
    return e;
}

struct query_entry *
queries_begin(struct queries *q, const struct queries_ask *ask, int64_t now_ms,
              struct error *e)
{
    struct query_entry *entry = make_entry(ask, now_ms);
    const struct query_entry *one;
    bool may_run;

    OBJ_CHECK(q, QUERIES_MAGIC);
    lock_take(&q->lock);
    for (one = q->once ? q->running : NULL; one != NULL; one = one->next)
        if (is_same_address(one->remote, entry->remote) &&
            strcmp(one->query, entry->query) == 0)
            break;
    may_run = one == NULL;
    if (may_run) {
        entry->next = q->running;
        if (entry->next != NULL)
            entry->next->previous = entry;
        q->running = entry;
        q->running_len++;
        entry->id = ++q->last_id;
    }
    lock_drop(&q->lock);
    if (may_run)
        return entry;
    (void)error_set(e, ST_INVALID,
                    "Query is already executing for endpoint: %s",
                    entry->remote);
    free_entry(entry);
    return NULL;
}

void
queries_add_costs(struct query_entry *entry, const struct result_stats *stats,
                  size_t len)
{
    int64_t longest_us = -1;

    for (size_t i = 0; stats != NULL && i < len; i++) {
        const struct result_stats *s = &stats[i];

        query_costs_add(&entry->costs, s);
        if (s->plan != NULL && s->scan_us > longest_us) {
            longest_us = s->scan_us;
            (void)snprintf(entry->plan, sizeof entry->plan, "%s", s->plan);
        }
    }
    entry->ran_us = clock_monotonic_us();
}

/* Where an entry that ended goes: to an equal one's place, or to the oldest's.
 */
static size_t
place_of(struct queries *q, struct query_entry *e) REQUIRES(q->lock)
{
    size_t len = q->completed_len < QUERIES_COMPLETED ? q->completed_len
                                                      : QUERIES_COMPLETED;

    for (size_t i = 0; i < len; i++) {
        const struct query_entry *old = q->completed[i];

        if (old->hash == e->hash && old->http_status == e->http_status &&
            strcmp(old->remote, e->remote) == 0 &&
            strcmp(old->query, e->query) == 0) {
            e->executed += old->executed;
            return i;
        }
    }
    return q->completed_len++ % QUERIES_COMPLETED;
}

/* Keeps it if it is among the slowest of its ten minutes. */
static void
keep_slow(struct queries *q, struct query_entry *e) REQUIRES(q->lock)
{
    int64_t period = e->end_ms / SLOW_MS;
    struct slow_slot *s = &q->slow[(uint64_t)period % SLOW_SLOTS];
    struct query_entry **least = &s->entries[0];

    if (s->period != period)
        clear_slow(s);
    s->period = period;
    if (s->len < QUERIES_SLOWEST) {
        s->entries[s->len++] = e;
        e->refs++;
        return;
    }
    for (size_t i = 1; i < s->len; i++)
        if (s->entries[i]->took_us < (*least)->took_us)
            least = &s->entries[i];
    if ((*least)->took_us >= e->took_us)
        return;
    drop_entry(*least);
    *least = e;
    e->refs++;
}

void
queries_end(struct queries *q, struct query_entry **ep, unsigned http_status,
            const char *exception, size_t points, int64_t now_ms)
{
    struct query_entry *e = *ep, *old;
    size_t at;

    OBJ_CHECK(q, QUERIES_MAGIC);
    *ep = NULL;
    e->end_ms = now_ms;
    e->took_us = clock_monotonic_us() - e->start_us;
    latency_add(&q->latency, (uint64_t)e->took_us);
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
    at = place_of(q, e);
    old = q->completed[at];
    q->completed[at] = e;
    e->refs++;
    keep_slow(q, e);
    drop_entry(old);
    drop_entry(e); /* it does not run any more */
    lock_drop(&q->lock);
}

static void
write_common(const struct query_entry *e, struct buf *b)
{
    json_next(b);
    buf_printf(b, "{\"query\":%s", e->query);
    json_put_text(b, "remote", slice_str(e->remote));
    buf_printf(b,
               ",\"user\":null,\"requestHeaders\":{%s},"
               "\"queryStartTimestamp\":%lld",
               e->headers, (long long)e->start_ms);
    json_put_int(b, "id", (int64_t)e->id);
}

static void
write_costs(const struct query_entry *e, struct buf *b)
{
    const struct query_costs *c = &e->costs;

    query_costs_put_ms(b, "stringToUidTime", c->plan_us);
    json_put_int(b, "columnsFromStorage", (int64_t)c->keys);
    json_put_int(b, "rowsFromStorage", (int64_t)c->rows);
    json_put_int(b, "rowsFromMemory", (int64_t)c->head_rows);
    json_put_int(b, "bytesFromStorage", (int64_t)c->bytes);
    query_costs_write(c, b);
    query_costs_put_ms(b, "queryScanTime", c->scan_us);
    query_costs_put_ms(b, "aggregationTime", c->numbers_us);
    query_costs_put_ms(b, "serializationTime",
                       e->start_us + e->took_us - e->ran_us);
    json_put_int(b, "seeks", (int64_t)c->seeks);
    json_put_int(b, "series", (int64_t)c->series);
    json_put_text(b, "plan", slice_str(e->plan));
}

static void
write_completed(const struct query_entry *e, size_t running, struct buf *b)
{
    write_common(e, b);
    json_put_int(b, "queryCompletedTimestamp", e->end_ms);
    json_put_text(b, "exception",
                  e->exception[0] == '\0' ? (struct slice){ NULL, 0 }
                                          : slice_str(e->exception));
    buf_printf(b,
               ",\"httpResponse\":{\"code\":%u},\"numRunningQueries\":%zu,"
               "\"executed\":%u,\"stats\":{",
               e->http_status, running, e->executed);
    if (e->costs.subs > 0)
        write_costs(e, b);
    json_put_int(b, "emittedDPs", (int64_t)e->points);
    query_costs_put_ms(b, "processingPreWriteTime", e->took_us);
    query_costs_put_ms(b, "totalTime", e->took_us);
    buf_put_str(b, "}}");
}

const struct latency *
queries_latency(const struct queries *q)
{
    OBJ_CHECK(q, QUERIES_MAGIC);
    return &q->latency;
}

size_t
queries_running(struct queries *q)
{
    size_t len;

    OBJ_CHECK(q, QUERIES_MAGIC);
    lock_take(&q->lock);
    len = q->running_len;
    lock_drop(&q->lock);
    return len;
}

bool
queries_stop(struct queries *q, uint64_t id)
{
    struct query_entry *e;

    OBJ_CHECK(q, QUERIES_MAGIC);
    lock_take(&q->lock);
    for (e = q->running; e != NULL && e->id != id; e = e->next)
        continue;
    if (e != NULL)
        atomic_store(&e->stopped, true);
    lock_drop(&q->lock);
    return e != NULL;
}

bool
query_is_stopped(const struct query_entry *entry)
{
    return atomic_load_explicit(&entry->stopped, memory_order_relaxed);
}

static int
compare_slow(const void *a, const void *b)
{
    const struct query_entry *const *x = a, *const *y = b;

    return ((*x)->took_us < (*y)->took_us) - ((*x)->took_us > (*y)->took_us);
}

/* Entries that a reader holds, so that it can format them, which may take long,
 * while queries begin and end.  What it reads of an entry does not change: of
 * one that runs the request, of one that ended all. */
struct picked {
    struct query_entry **list; /* those that run come first */
    size_t running, len, cap;
};

static void
pick_one(struct picked *p, struct query_entry *e)
{
    INSIST(p->len < p->cap);
    p->list[p->len++] = e;
    e->refs++;
}

/* Picks those that run.  False: there is no memory for a list. */
static bool
pick_running(struct queries *q, struct picked *p) REQUIRES(q->lock)
{
    p->cap = q->running_len + QUERIES_COMPLETED + SLOW_SLOTS * QUERIES_SLOWEST;
    p->list = mem_try_array(p->cap, sizeof(struct query_entry *));
    if (p->list == NULL)
        return false;
    for (struct query_entry *e = q->running; e != NULL; e = e->next)
        pick_one(p, e);
    p->running = p->len;
    return true;
}

static void
pick_end(struct queries *q, struct picked *p)
{
    lock_take(&q->lock);
    for (size_t i = 0; i < p->len; i++)
        drop_entry(p->list[i]);
    lock_drop(&q->lock);
    free(p->list);
}

/* Those that ended are written under 'name', 'most' of them. */
static void
write_picked(const struct picked *p, const char *name, size_t most,
             struct buf *b)
{
    buf_put_str(b, "{\"running\":[");
    for (size_t i = 0; i < p->running; i++) {
        const struct query_entry *e = p->list[i];

        write_common(e, b);
        buf_printf(b, ",\"headers\":{%s},\"queryStart\":%lld,\"elapsed\":%.3f}",
                   e->headers, (long long)e->start_ms,
                   (double)(clock_monotonic_us() - e->start_us) / 1000);
    }
    buf_put_u8(b, ']');
    json_open(b, name, '[');
    for (size_t i = p->running; i < p->len && i - p->running < most; i++)
        write_completed(p->list[i], p->running, b);
    buf_put_str(b, "]}");
}

void
queries_write_slowest(struct queries *q, int64_t now_ms, struct buf *b)
{
    struct picked p = { 0 };

    OBJ_CHECK(q, QUERIES_MAGIC);
    lock_take(&q->lock);
    if (pick_running(q, &p)) {
        for (size_t i = 0; i < SLOW_SLOTS; i++)
            for (size_t k = 0; k < q->slow[i].len; k++)
                if (q->slow[i].entries[k]->end_ms > now_ms - 6 * SLOW_MS)
                    pick_one(&p, q->slow[i].entries[k]);
    }
    lock_drop(&q->lock);
    if (p.list == NULL) {
        b->failed = true;
        return;
    }
    qsort(p.list + p.running, p.len - p.running, sizeof p.list[0],
          compare_slow);
    write_picked(&p, "slowest", QUERIES_SLOWEST, b);
    pick_end(q, &p);
}

void
queries_write(struct queries *q, struct buf *b)
{
    struct picked p = { 0 };
    size_t from;

    OBJ_CHECK(q, QUERIES_MAGIC);
    lock_take(&q->lock);
    if (pick_running(q, &p)) {
        from = q->completed_len > QUERIES_COMPLETED
                   ? q->completed_len - QUERIES_COMPLETED
                   : 0;
        for (size_t i = from; i < q->completed_len; i++)
            pick_one(&p, q->completed[i % QUERIES_COMPLETED]);
    }
    lock_drop(&q->lock);
    if (p.list == NULL) {
        b->failed = true;
        return;
    }
    write_picked(&p, "completed", SIZE_MAX, b);
    pick_end(q, &p);
}
