/* A whole daemon in memory, on a free port, asked over HTTP: what its endpoints
 * answer, and which of them exist. */
#include "tsd/daemon.h"

#include "tests/harness.h"
#include "tests/tsd/rig.h"

struct step {
    const char *method, *path, *body;
    int status;
    const char *has; /* NULL: whatever */
};

static void
talk(const struct rig *g, const struct step *steps, size_t len)
{
    struct buf got = BUF_INIT;

    for (size_t i = 0; i < len; i++) {
        const struct step *s = &steps[i];

        rig_ask(g, s->method, s->path, s->body, &got);
        ck_assert_msg(
            strncmp(buf_cstr(&got), "HTTP/1.1 ", 9) == 0 &&
                atoi(buf_cstr(&got) + 9) == s->status &&
                (s->has == NULL || strstr(buf_cstr(&got), s->has) != NULL),
            "%s %s: wanted %d with %s, got\n%s", s->method, s->path, s->status,
            s->has == NULL ? "" : s->has, buf_cstr(&got));
    }
    buf_fini(&got);
}

#define LEN(a) (sizeof(a) / sizeof(a)[0])
#define RANGE  "start=1356998400&end=1356998500"
#define NOT_FOUND \
    "{\"error\":{\"code\":404,\"message\":\"Endpoint not found\"}}"

static const struct step conversation[] = {
    { "POST", "/api/put",
      "[{\"metric\":\"m\",\"timestamp\":1356998400,\"value\":1,"
      "\"tags\":{\"host\":\"a\"}},"
      "{\"metric\":\"m\",\"timestamp\":1356998460,\"value\":2.5,"
      "\"tags\":{\"host\":\"b\"}}]",
      204, NULL },
    /* queries */
    { "GET", "/api/query?" RANGE "&m=sum:m%7Bhost=*%7D", NULL, 200,
      "[{\"metric\":\"m\",\"tags\":{\"host\":\"a\"},\"aggregateTags\":[],"
      "\"dps\":{\"1356998400\":1}},{\"metric\":\"m\",\"tags\":{\"host\":"
      "\"b\"},\"aggregateTags\":[],\"dps\":{\"1356998460\":2.5}}]" },
    { "GET", "/api/query?" RANGE "&m=sum:m&arrays&ms&show_tsuids", NULL, 200,
      "\"aggregateTags\":[\"host\"],\"tsuids\":[\"000001000001000001\","
      "\"000001000001000002\"],\"dps\":[[1356998400000,1.0]," },
    { "POST", "/api/query",
      "{\"start\":1356998400,\"end\":1356998500,\"showStats\":true,"
      "\"showSummary\":true,\"queries\":[{\"aggregator\":\"max\","
      "\"metric\":\"m\"}]}",
      200, "},{\"statsSummary\":{" },
    { "GET", "/api/query?" RANGE "&m=sum:x", NULL, 400,
      "\"message\":\"No such name for 'metrics': 'x'\",\"details\":"
      "\"No such name for 'metrics': 'x'\"" },
    { "GET", "/api/query", NULL, 400, "Missing parameter" },
    { "POST", "/api/query", "", 400, "Missing message content" },
    { "POST", "/api/query", "{", 400, "Unable to parse the given JSON" },
    { "PUT", "/api/query", "{}", 405, "[PUT] is not permitted" },
    { "DELETE", "/api/query?" RANGE "&m=sum:m", NULL, 400,
      "Deleting data is not enabled" },
    { "POST", "/api/query",
      "{\"start\":1,\"delete\":true,\"queries\":[{\"aggregator\":\"sum\","
      "\"metric\":\"m\"}]}",
      400, "Deleting data is not enabled" },
    /* names */
    { "GET", "/api/suggest?type=tagv", NULL, 200, "[\"a\",\"b\"]" },
    { "GET", "/suggest?type=tagk&q=h", NULL, 200, "[\"host\"]" },
    { "POST", "/api/suggest", "{\"type\":\"tagv\",\"max\":\"1\"}", 200,
      "[\"a\"]" },
    { "GET", "/api/suggest?type=x", NULL, 400, "Invalid 'type' parameter:x" },
    { "GET", "/api/suggest?type=tagk&max=x", NULL, 400,
      "Unable to parse 'max' as a number" },
    { "GET", "/api/search/lookup?m=m%7Bhost=b%7D", NULL, 200,
      "\"results\":[{\"tsuid\":\"000001000001000002\",\"metric\":\"m\","
      "\"tags\":{\"host\":\"b\"}}],\"startIndex\":0,\"totalResults\":1" },
    { "GET", "/api/search/lookup?m=m&limit=1", NULL, 200,
      "\"totalResults\":1" },
    { "GET", "/api/search/lookup?m=%7B*=a%7D", NULL, 200,
      "{\"type\":\"LOOKUP\",\"tags\":[{\"key\":\"*\",\"value\":\"a\"}]" },
    { "POST", "/api/search/lookup",
      "{\"tags\":[{\"key\":\"host\",\"value\":\"a\"},{\"key\":\"host\","
      "\"value\":\"b\"}]}",
      200, "\"totalResults\":2" },
    { "GET", "/api/search/lookup?m=m%7B*=*%7D", NULL, 400, NULL },
    { "GET", "/api/search/lookup?m=m%7Bhost=c%7D", NULL, 404,
      "Unable to resolve one or more UIDs" },
    { "GET", "/api/search/lookup?m=m%7Bhost", NULL, 400,
      "Missing '}' at the end of: m{host" },
    { "GET", "/api/search/tsmeta?query=x", NULL, 400,
      "Searching is not enabled" },
    { "GET", "/api/search/x", NULL, 400, "Unknown type: x" },
    { "GET", "/api/uid/assign?metric=n,m", NULL, 400,
      "{\"metric\":{\"n\":\"000002\"},\"metric_errors\":{\"m\":\"Name already "
      "exists with UID: 000001\"}}" },
    { "GET", "/api/uid/rename?metric=n&name=o", NULL, 200,
      "{\"result\":\"true\"}" },
    { "POST", "/api/uid/rename", "{\"metric\":\"n\",\"name\":\"p\"}", 400,
      "\"result\":\"false\"" },
    { "GET", "/api/uid/rename?metric=o", NULL, 400, "Missing necessary" },
    { "GET", "/api/uid/rename?tagv=b&name=c", NULL, 200, NULL },
    { "GET", "/api/query?" RANGE "&m=sum:m%7Bhost=*%7D", NULL, 200,
      "},{\"metric\":\"m\",\"tags\":{\"host\":\"c\"}," },
    { "GET", "/api/uid/rename?tagv=c&name=b", NULL, 200, NULL },
    { "GET", "/api/query?" RANGE "&m=sum:m%7Bhost=*%7D", NULL, 200,
      "},{\"metric\":\"m\",\"tags\":{\"host\":\"b\"}," },
    { "POST", "/api/uid/assign", "{\"tagk\":\"x\"}", 400, "Unable to parse" },
    /* annotations */
    { "POST", "/api/annotation",
      "{\"startTime\":1356998410,\"tsuid\":\"000001000001000001\","
      "\"description\":\"d\",\"custom\":{\"k\":\"v\"}}",
      200,
      "{\"tsuid\":\"000001000001000001\",\"description\":\"d\",\"notes\":\"\","
      "\"custom\":{\"k\":\"v\"},\"startTime\":1356998410,\"endTime\":0}" },
    { "POST", "/api/annotation", "{\"startTime\":1356998420}", 304, NULL },
    { "POST", "/api/annotation", "{\"description\":\"x\"}", 400,
      "The start timestamp has not been set" },
    { "POST", "/api/annotation",
      "{\"startTime\":1356998420,\"notes\":\"for all\"}", 200, NULL },
    { "GET", "/api/query?" RANGE "&m=sum:m&global_annotations", NULL, 200,
      "\"annotations\":[{\"tsuid\":\"000001000001000001\"" },
    { "GET", "/api/annotation?start_time=1356998411", NULL, 404,
      "Unable to locate annotation in storage" },
    { "GET", "/api/annotation", NULL, 400, "Missing start time" },
    { "GET", "/api/annotations?start_time=1356998400&end_time=1356998500", NULL,
      200, "[{\"tsuid\":\"\",\"description\":\"\",\"notes\":\"for all\"" },
    { "POST", "/api/annotation/bulk", "[{\"description\":\"x\"}]", 400,
      "Annotation error: TSUID:  Start: 0  Description: x" },
    { "DELETE", "/api/annotation/bulk?start_time=1356998400&global", NULL, 200,
      "\"totalDeleted\":1" },
    { "DELETE", "/api/annotation/bulk", "{\"startTime\":1356998400}", 400,
      "Missing the TSUIDs or global annotations flag" },
    { "DELETE",
      "/api/annotation?start_time=1356998410&tsuid="
      "000001000001000001",
      NULL, 204, NULL },
    /* the daemon itself */
    { "GET", "/api/aggregators", NULL, 200, "\"squareSum\"" },
    { "GET", "/api/config", NULL, 200, "\"tsd.mode\":\"rw\"" },
    { "GET", "/api/config/filters", NULL, 200, "\"literal_or\":{" },
    { "GET", "/api/version", NULL, 200, "\"version\":\"" PACKAGE_VERSION },
    { "GET", "/version", NULL, 200, "built at revision" },
    { "GET", "/api/stats", NULL, 200, "\"metric\":\"tsd.rpc.received\"" },
    { "GET", "/stats", NULL, 200, "tsd.datapoints.added " },
    { "GET", "/stats?json", NULL, 200, "[\"tsd." },
    { "GET", "/api/stats/query", NULL, 200, "\"running\":[]" },
    { "GET", "/api/stats/jvm", NULL, 200, "heapMemoryUsage" },
    { "GET", "/api/stats/threads", NULL, 200, "\"threadID\"" },
    { "GET", "/api/dropcaches", NULL, 200, "Caches dropped" },
    { "POST", "/api/dropcaches", "", 405, NULL },
    { "GET", "/api/serializers", NULL, 200, "\"serializer\":\"json\"" },
    { "GET", "/logs", NULL, 200, NULL },
    { "GET", "/logs?level=nosuch", NULL, 400, NULL },
    { "GET", "/health", NULL, 200, "{\"status\":\"ok\"}" },
    { "GET", "/", NULL, 200, "<h1>Halite" },
    { "GET", "/favicon.ico", NULL, 200, "image/x-icon" },
    { "GET", "/s/x", NULL, 404, "Page not found" },
    { "GET", "/s/../x", NULL, 400, NULL },
    { "GET", "/api/nosuch", NULL, 404, NOT_FOUND },
    { "GET", "/api/v2/version", NULL, 501, NULL },
};

START_TEST(converses)
{
    struct rig g;

    rig_open(&g, NULL);
    talk(&g, conversation, LEN(conversation));
    rig_close(&g);
}
END_TEST

START_TEST(deletes_exactly_when_allowed)
{
    static const char *const words[] = { "tsd.http.query.allow_delete=true",
                                         NULL };
    static const struct step steps[] = {
        { "POST", "/api/put",
          "[{\"metric\":\"m\",\"timestamp\":1356998400,\"value\":1,"
          "\"tags\":{\"h\":\"a\"}},{\"metric\":\"m\",\"timestamp\":1356998600,"
          "\"value\":2,\"tags\":{\"h\":\"a\"}}]",
          204, NULL },
        { "DELETE", "/api/query?" RANGE "&m=sum:m", NULL, 200,
          "\"dps\":{\"1356998400\":1}" },
        { "GET", "/api/query?start=1356998400&end=1356999999&m=sum:m", NULL,
          200, "\"dps\":{\"1356998600\":2}" },
    };
    struct rig g;

    rig_open(&g, words);
    talk(&g, steps, LEN(steps));
    rig_close(&g);
}
END_TEST

static const struct {
    const char *words[3];
    struct step step;
} modes[] = {
    { { "tsd.mode=ro" }, { "POST", "/api/put", "{}", 404, NOT_FOUND } },
    { { "tsd.mode=ro" },
      { "GET", "/api/annotation?start_time=1", NULL, 404, NOT_FOUND } },
    { { "tsd.mode=ro" },
      { "GET", "/api/suggest?type=metrics", NULL, 200, "[]" } },
    { { "tsd.mode=wo" }, { "GET", "/api/query", NULL, 404, NOT_FOUND } },
    { { "tsd.mode=wo" }, { "GET", "/", NULL, 404, NULL } },
    { { "tsd.mode=wo" }, { "GET", "/api/version", NULL, 200, NULL } },
    { { "tsd.core.enable_api=false" },
      { "GET", "/api/version", NULL, 404, NOT_FOUND } },
    { { "tsd.core.enable_api=false" }, { "GET", "/version", NULL, 200, NULL } },
    { { "tsd.core.enable_ui=false" }, { "GET", "/version", NULL, 404, NULL } },
    { { "tsd.core.enable_ui=false" }, { "GET", "/health", NULL, 200, NULL } },
    { { "tsd.no_diediedie=true" }, { "GET", "/diediedie", NULL, 404, NULL } },
    { { "my.Password=secret" },
      { "GET", "/api/config", NULL, 200, "\"my.Password\":\"********\"" } },
};

START_TEST(has_what_its_mode_has)
{
    struct rig g;

    rig_open(&g, modes[_i].words);
    talk(&g, &modes[_i].step, 1);
    rig_close(&g);
}
END_TEST

START_TEST(stops_when_told)
{
    static const struct step step = { "GET", "/diediedie", NULL, 200,
                                      "Cleaning up" };
    uint64_t told = 0;
    struct rig g;

    rig_open(&g, NULL);
    talk(&g, &step, 1);
    ck_assert_int_eq(read(g.stop_fd, &told, sizeof told), sizeof told);
    rig_close(&g);
}
END_TEST

static const struct {
    const char *say, *hear;
} lines[] = {
    { "help\n",
      "available commands: stats dropcaches version exit help put rollup "
      "histogram diediedie \n" },
    { "version\n", "halite " PACKAGE_VERSION " built at revision" },
    { "stats\n", "tsd.rpc.received " },
    { "dropcaches\n", "Caches dropped.\n" },
    { "put m 1 1\n", "put: illegal argument: " },
    { "put m 1356998400 1 h=a\nexit\n", "" },
    { "nosuch\n", "unknown command: nosuch.  Try `help'.\n" },
    { "diediedie\n", "Cleaning up and exiting now.\n" },
};

START_TEST(speaks_telnet)
{
    struct buf got = BUF_INIT;
    struct rig g;
    int fd;

    rig_open(&g, NULL);
    fd = rig_connect(&g);
    wire_send(fd, lines[_i].say, strlen(lines[_i].say));
    (void)shutdown(fd, SHUT_WR);
    while (wire_read(fd, &got, got.size + 1))
        continue;
    ck_assert_msg(
        strncmp(buf_cstr(&got), lines[_i].hear, strlen(lines[_i].hear)) == 0 ||
            strstr(buf_cstr(&got), lines[_i].hear) != NULL,
        "%s", buf_cstr(&got));
    (void)close(fd);
    buf_fini(&got);
    rig_close(&g);
}
END_TEST

START_TEST(rejects_bad_addresses)
{
    struct settings *s = settings_new();
    struct daemon *d;
    struct error e;

    settings_set(s, "halite.store", "memory");
    settings_set(s, "tsd.network.port", "0");
    settings_set(s, "tsd.network.bind", "192.0.2.1");
    ck_assert_int_ne(daemon_start(s, -1, &d, &e), ST_OK);
    ck_assert_ptr_nonnull(strstr(e.text, "192.0.2.1"));
    ck_assert_ptr_null(d);
    settings_free(&s);
}
END_TEST

TEST_MAIN("daemon", TEST(converses), TEST(deletes_exactly_when_allowed),
          LOOP(has_what_its_mode_has, modes), TEST(stops_when_told),
          LOOP(speaks_telnet, lines), TEST(rejects_bad_addresses))
