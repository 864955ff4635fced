#include "tsd/stats/queries.h"

#include <math.h>

#include "base/process/clock.h"
#include "tests/harness.h"
#include "tests/tsd/rig.h"

#include <pthread.h>
#include <stdatomic.h>

static struct error e;

static struct query_entry *
begin(struct queries *q, const char *query, const char *remote)
{
    const struct queries_ask ask = {
        .query = slice_str(query),
        .headers = slice_str("\"Host\":\"x\""),
        .remote = remote,
    };

    return queries_begin(q, &ask, 10, &e);
}

static const char *
shown(struct queries *q, struct buf *out)
{
    buf_clear(out);
    queries_write(q, out);
    return buf_cstr(out);
}

START_TEST(lists_queries)
{
    struct queries *q = queries_new(false);
    struct query_entry *a = begin(q, "1", "here:1");
    struct query_entry *b = begin(q, "2", "there:1");
    struct buf out = BUF_INIT;

    queries_end(q, &a, 400, "so bad", 0, 30);
    ck_assert_ptr_null(a);
    ck_assert_uint_eq(latency_below(queries_latency(q), 64), 1);
    (void)shown(q, &out);
    ck_assert_ptr_nonnull(strstr(
        buf_cstr(&out), "\"running\":[{\"query\":2,\"remote\":\"there:1\","
                        "\"user\":null,\"requestHeaders\":{\"Host\":\"x\"}"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "\"exception\":\"so bad\""));
    queries_end(q, &b, 200, NULL, 5, 30);
    for (int i = 0; i < 2 * QUERIES_COMPLETED; i++) {
        char text[20];

        (void)snprintf(text, sizeof text, "%d", i + 10);
        a = begin(q, text, "");
        queries_end(q, &a, 200, NULL, 0, 50);
    }
    ck_assert_ptr_nonnull(strstr(shown(q, &out), "\"running\":[]"));
    ck_assert_ptr_null(strstr(buf_cstr(&out), "there"));
    buf_fini(&out);
    queries_free(&q);
}
END_TEST

/* Begins and ends queries, more than are kept, until it is told to stop. */
static atomic_bool enough;

static void *
query_on(void *arg)
{
    struct queries *q = arg;
    struct error why;

    for (unsigned i = 0; !atomic_load(&enough); i++) {
        char text[20];
        struct queries_ask ask = { .remote = "here:1" };
        struct query_entry *one, *two;

        (void)snprintf(text, sizeof text, "%u", i);
        ask.query = slice_str(text);
        one = queries_begin(q, &ask, i, &why);
        two = queries_begin(q, &ask, i, &why);
        queries_end(q, &one, 200, NULL, 0, i);
        queries_end(q, &two, 200, NULL, 0, i);
    }
    return NULL;
}

/* What is being formatted stays there while its query ends and its place is
 * taken by another. */
START_TEST(is_read_while_queries_end)
{
    struct queries *q = queries_new(false);
    struct buf out = BUF_INIT;
    pthread_t threads[2];

    atomic_store(&enough, false);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, query_on, q), 0);
    for (int i = 0; i < 200; i++) {
        const char *text = shown(q, &out);

        ck_assert_int_eq(strncmp(text, "{\"running\":[", 12), 0);
        ck_assert_str_eq(text + strlen(text) - 2, "]}");
        buf_clear(&out);
        queries_write_slowest(q, 1000, &out);
    }
    atomic_store(&enough, true);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_eq(queries_running(q), 0);
    buf_fini(&out);
    queries_free(&q);
}
END_TEST

START_TEST(tells_the_costs)
{
    struct result_scan scans[] = { { .us = 600 }, { .us = 200 } };
    const struct result_stats stats[] = {
        { .scan = { .rows = 3, .bytes = 100 },
          .scans = scans,
          .scans_len = 2,
          .points = 7,
          .scan_us = 1000 },
        { .scan = { .head_rows = 2 }, .points = 1, .scan_us = 5000 },
    };
    struct queries *q = queries_new(false);
    struct query_entry *a = begin(q, "1", "here:1");
    struct buf out = BUF_INIT;

    queries_add_costs(a, stats, 2);
    queries_end(q, &a, 200, NULL, 4, 30);
    (void)shown(q, &out);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out),
                                 "\"rowsFromStorage\":3,\"rowsFromMemory\":2,"
                                 "\"bytesFromStorage\":100,\"dpsPreFilter\":8,"
                                 "\"dpsPostFilter\":8,\"rowsPreFilter\":3,"
                                 "\"rowsPostFilter\":3,\"successfulScan\":2,"
                                 "\"maxScannerTime\":0.600,"
                                 "\"avgScannerTime\":0.400,"
                                 "\"maxQueryScanTime\":5.000,"
                                 "\"avgQueryScanTime\":3.000,"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "\"queryScanTime\":6.000,"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "\"emittedDPs\":4,"));
    buf_fini(&out);
    queries_free(&q);
}
END_TEST

START_TEST(counts_equal_ones)
{
    struct queries *q = queries_new(false);
    struct buf out = BUF_INIT;

    for (int i = 0; i < 3; i++) {
        struct query_entry *a = begin(q, "1", "here:1");
        struct query_entry *b = begin(q, "1", "here:2");

        queries_end(q, &a, 200, NULL, 0, 30);
        queries_end(q, &b, i == 0 ? 400 : 200, NULL, 0, 30);
    }
    (void)shown(q, &out);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "\"executed\":3"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "\"executed\":2"));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "\"executed\":1"));
    buf_fini(&out);
    queries_free(&q);
}
END_TEST

START_TEST(runs_equal_ones_one_by_one)
{
    struct queries *q = queries_new(true);
    struct query_entry *a = begin(q, "1", "1.2.3.4:1"), *b;

    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_null(begin(q, "1", "1.2.3.4:2"));
    ck_assert_int_eq(e.status, ST_INVALID);
    ck_assert_str_eq(e.text,
                     "Query is already executing for endpoint: 1.2.3.4:2");
    b = begin(q, "2", "1.2.3.4:2");
    ck_assert_ptr_nonnull(b);
    queries_end(q, &b, 200, NULL, 0, 30);
    b = begin(q, "1", "1.2.3.5:2");
    ck_assert_ptr_nonnull(b);
    queries_end(q, &b, 200, NULL, 0, 30);
    queries_end(q, &a, 200, NULL, 0, 30);
    a = begin(q, "1", "1.2.3.4:2");
    ck_assert_ptr_nonnull(a);
    queries_end(q, &a, 200, NULL, 0, 30);
    queries_free(&q);
}
END_TEST

#define SERIES 300
#define SUBS   4000

static void
put_points(const struct rig *g)
{
    struct buf body = BUF_INIT, got = BUF_INIT;

    for (int i = 0; i < SERIES; i++)
        for (int k = 0; k < 10; k++)
            buf_printf(&body,
                       "%s{\"metric\":\"m\",\"timestamp\":%d,\"value\":%d,"
                       "\"tags\":{\"host\":\"h%d\"}}",
                       body.size == 0 ? "[" : ",", 1356998400 + k, k, i);
    buf_put_u8(&body, ']');
    rig_ask(g, "POST", "/api/put", buf_cstr(&body), &got);
    ck_assert_msg(strncmp(buf_cstr(&got), "HTTP/1.1 204", 12) == 0, "%s",
                  buf_cstr(&got));
    buf_fini(&body);
    buf_fini(&got);
}

/* Of so many sub-queries that it takes seconds. */
static void
make_long_query(struct buf *out)
{
    buf_put_str(out, "{\"start\":1356998400,\"end\":1356998500,\"queries\":[");
    for (int i = 0; i < SUBS; i++)
        buf_printf(out,
                   "%s{\"aggregator\":\"sum\",\"metric\":\"m\",\"downsample\":"
                   "\"%ds-avg\"}",
                   i == 0 ? "" : ",", i + 1);
    buf_put_str(out, "]}");
}

/* Asks until the list of queries has the text; false after a minute. */
static bool
wait_for(const struct rig *g, const char *text, struct buf *got)
{
    int64_t start_us = clock_monotonic_us();

    do
        rig_ask(g, "GET", "/api/stats/query", NULL, got);
    while (strstr(buf_cstr(got), text) == NULL &&
           clock_monotonic_us() - start_us < 60 * 1000000);
    return strstr(buf_cstr(got), text) != NULL;
}

START_TEST(stops_when_the_client_hangs_up)
{
    struct buf query = BUF_INIT, got = BUF_INIT;
    struct rig g;
    int64_t gone_us;
    int fd;

    rig_open(&g, NULL);
    put_points(&g);
    make_long_query(&query);
    fd = rig_send(&g, "POST", "/api/query", buf_cstr(&query));
    ck_assert_msg(wait_for(&g, "\"running\":[{", &got), "it does not start");
    (void)close(fd);
    gone_us = clock_monotonic_us();
    ck_assert_msg(wait_for(&g, "\"running\":[]", &got), "it does not stop");
    ck_assert_msg(strstr(buf_cstr(&got), "\"the client hung up\"") != NULL,
                  "it went on to the end");
    if (!harness_is_valgrind())
        ck_assert_int_lt(clock_monotonic_us() - gone_us, 1000000);
    rig_close(&g);
    buf_fini(&query);
    buf_fini(&got);
}
END_TEST

static const struct {
    const char *setting, *text;
} stopped[] = {
    { "tsd.query.timeout=50", "{\"error\":{\"code\":413,\"message\":\"Sorry, "
                              "your query timed out. Time "
                              "limit: 50 ms, fetch time: " },
    { "tsd.query.limits.data_points.default=2999",
      "{\"error\":{\"code\":413,\"message\":\"Sorry, you have attempted to "
      "fetch "
      "more than our limit of 2999 data points. Please try filtering using "
      "more tags or decrease your time range.\"" },
    { "tsd.query.limits.bytes.default=40000",
      "{\"error\":{\"code\":413,\"message\":\"Sorry, you have attempted to "
      "fetch "
      "more than our maximum amount of 0MB from storage. Please try filtering "
      "using more tags or decrease your time range.\"" },
};

START_TEST(stops_at_a_limit)
{
    const char *const words[] = { stopped[_i].setting, NULL };
    struct buf query = BUF_INIT, got = BUF_INIT;
    struct rig g;

    rig_open(&g, words);
    put_points(&g);
    make_long_query(&query);
    rig_ask(&g, "POST", "/api/query", buf_cstr(&query), &got);
    ck_assert_msg(strstr(buf_cstr(&got), stopped[_i].text) != NULL, "%.600s",
                  buf_cstr(&got));
    rig_close(&g);
    buf_fini(&query);
    buf_fini(&got);
}
END_TEST

START_TEST(rejects_duplicates)
{
    const char *const words[] = {
        "tsd.query.allow_simultaneous_duplicates=false", NULL
    };
    struct buf query = BUF_INIT, got = BUF_INIT;
    struct rig g;
    int fd;

    rig_open(&g, words);
    put_points(&g);
    make_long_query(&query);
    fd = rig_send(&g, "POST", "/api/query", buf_cstr(&query));
    ck_assert_msg(wait_for(&g, "\"running\":[{", &got), "it does not start");
    rig_ask(&g, "POST", "/api/query", buf_cstr(&query), &got);
    ck_assert_msg(
        strstr(buf_cstr(&got),
               "{\"error\":{\"code\":400,\"message\":\"Query is already "
               "executing for endpoint: 127.0.0.1:") != NULL,
        "%.600s", buf_cstr(&got));
    (void)close(fd);
    rig_close(&g);
    buf_fini(&query);
    buf_fini(&got);
}
END_TEST

static void
end_after(struct queries *q, struct query_entry *one, int64_t took_us,
          int64_t now_ms)
{
    int64_t end = clock_monotonic_us() + took_us;

    while (clock_monotonic_us() < end)
        continue;
    queries_end(q, &one, 200, NULL, 0, now_ms);
}

static void
check_descends(const char *text)
{
    static const char name[] = "\"totalTime\":";
    double before = INFINITY;

    while ((text = strstr(text, name)) != NULL) {
        double took = atof(text += sizeof name - 1);

        ck_assert(took <= before);
        before = took;
    }
}

/* Quick ones push a slow one out of the last ones, but not out of these. */
START_TEST(keeps_the_slowest_of_an_hour)
{
    const struct result_stats stats[] = {
        { .plan = "range; all", .scan = { .seeks = 3 }, .series = 4 },
        { .plan = "seeks; of the longest", .scan_us = 5 },
    };
    const int64_t hour_ms = 3600 * 1000;
    struct queries *q = queries_new(false);
    struct query_entry *slow = begin(q, "\"slow\"", "here:1");
    struct buf out = BUF_INIT;

    queries_add_costs(slow, stats, 2);
    end_after(q, slow, 50000, 1000);
    for (int i = 0; i < 2 * QUERIES_COMPLETED; i++) {
        char text[20];

        (void)snprintf(text, sizeof text, "%d", i + 10);
        end_after(q, begin(q, text, ""), 0, 1000);
    }
    end_after(q, begin(q, "\"less\"", "here:1"), 50000, hour_ms);
    ck_assert_ptr_null(strstr(shown(q, &out), "slow"));
    buf_clear(&out);
    queries_write_slowest(q, hour_ms, &out);
    ck_assert_ptr_nonnull(
        strstr(buf_cstr(&out), "{\"running\":[],\"slowest\":[{\"query\":"));
    check_descends(buf_cstr(&out));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "{\"query\":\"slow\","));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "{\"query\":\"less\","));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "\"seeks\":3,\"series\":4,"));
    ck_assert_ptr_nonnull(
        strstr(buf_cstr(&out), "\"plan\":\"seeks; of the longest\","));
    buf_clear(&out);
    queries_write_slowest(q, hour_ms + 2000, &out);
    ck_assert_ptr_null(strstr(buf_cstr(&out), "\"slow\""));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "\"less\""));
    /* The same ten minutes of another hour. */
    end_after(q, begin(q, "\"later\"", "here:1"), 0, 71 * hour_ms / 60);
    buf_clear(&out);
    queries_write_slowest(q, hour_ms, &out);
    ck_assert_ptr_null(strstr(buf_cstr(&out), "\"slow\""));
    buf_fini(&out);
    queries_free(&q);
}
END_TEST

START_TEST(stops_one_by_its_id)
{
    struct queries *q = queries_new(false);
    struct query_entry *a = begin(q, "1", "here:1"), *b = begin(q, "2", "here");
    struct buf out = BUF_INIT;

    ck_assert_ptr_nonnull(strstr(shown(q, &out), "\"id\":1,"));
    ck_assert(!queries_stop(q, 3));
    ck_assert(queries_stop(q, 2));
    ck_assert(!query_is_stopped(a));
    ck_assert(query_is_stopped(b));
    queries_end(q, &b, 413, "The query was stopped", 0, 30);
    ck_assert(!queries_stop(q, 2));
    queries_end(q, &a, 200, NULL, 0, 30);
    buf_fini(&out);
    queries_free(&q);
}
END_TEST

struct asking {
    struct rig g;
    struct buf got;
    atomic_bool ended;
};

/* Sub-queries that take some seconds together. */
static void *
ask_long(void *arg)
{
    struct asking *x = arg;
    struct buf path = BUF_INIT;

    buf_put_str(&path, "/api/query?start=1356998400&end=1388534400");
    for (int i = 1; i <= 200; i++)
        buf_printf(&path, "&m=none:%ds-p99-zero:m", 10 + i);
    rig_ask(&x->g, "GET", buf_cstr(&path), NULL, &x->got);
    atomic_store(&x->ended, true);
    buf_fini(&path);
    return NULL;
}

/* The whole way: a query that would take long ends when it is told to. */
START_TEST(a_running_query_is_stopped)
{
    struct asking x = { .got = BUF_INIT };
    struct buf got = BUF_INIT;
    pthread_t thread;
    const char *at = NULL;
    char path[80];

    rig_open(&x.g, NULL);
    rig_ask(&x.g, "POST", "/api/put",
            "{\"metric\":\"m\",\"timestamp\":1356998400,\"value\":1,"
            "\"tags\":{\"h\":\"a\"}}",
            &got);
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_long, &x), 0);
    while (at == NULL && !atomic_load(&x.ended)) {
        buf_clear(&got);
        rig_ask(&x.g, "GET", "/api/stats/query?slowest", NULL, &got);
        at = strstr(buf_cstr(&got), "\"id\":");
    }
    ck_assert_ptr_nonnull(at);
    (void)snprintf(path, sizeof path, "/api/stats/query?id=%d", atoi(at + 5));
    buf_clear(&got);
    rig_ask(&x.g, "DELETE", path, NULL, &got);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&got), "204 No Content"));
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&x.got), " 413 "));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&x.got), "The query was stopped"));
    buf_clear(&got);
    rig_ask(&x.g, "DELETE", path, NULL, &got);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&got), " 404 "));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&got), "No query runs with the id"));
    buf_fini(&got);
    buf_fini(&x.got);
    rig_close(&x.g);
}
END_TEST

TEST_MAIN("queries", TEST(keeps_the_slowest_of_an_hour),
          TEST(stops_one_by_its_id), TEST(a_running_query_is_stopped),
          TEST(lists_queries), TEST(is_read_while_queries_end),
          TEST(tells_the_costs), TEST(counts_equal_ones),
          TEST(runs_equal_ones_one_by_one),
          TEST(stops_when_the_client_hangs_up), LOOP(stops_at_a_limit, stopped),
          TEST(rejects_duplicates))
