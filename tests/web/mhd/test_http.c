/* Conversations with a server: routes, methods, errors, parameters, CORS,
 * compression, keep-alive.  Limits and hangs are in test_http_limits.c. */
#include <microhttpd.h>

#include "tests/web/rig.h"

#include <zlib.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n"
#define JSON      "application/json; charset=UTF-8"
#define HTML      "text/html; charset=UTF-8"

static const struct talk {
    const char *request; /* without the empty line */
    unsigned status;
    const char *type; /* NULL: none */
    const char *body; /* NULL: any; "<": a page which holds... nothing more */
} talks[] = {
    { GET("/api/echo"), 200, JSON,
      "{\"method\":1,\"path\":\"/api/echo\",\"params\":[],\"body\":\"\"}" },
    { GET("/API/V1/Echo/"), 200, JSON,
      "{\"method\":1,\"path\":\"/api/echo\",\"params\":[],\"body\":\"\"}" },
    { GET("/api/echo/Deep/er?x"), 200, JSON,
      "{\"method\":1,\"path\":\"/api/echo/deep/er\",\"params\":[\"x\",\"\"],"
      "\"body\":\"\"}" },
    { GET("/api/work?a=1&b=%7B%2B+x;a=2"), 200, JSON,
      "{\"method\":1,\"path\":\"/api/work\",\"params\":[\"a\",\"1\",\"b\","
      "\"{+ x\",\"a\",\"2\"],\"body\":\"\"}" },
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n", 200, JSON,
      NULL },
    { GET("/page"), 200, "application/json", NULL },
    { GET("/"), 200, "application/json", NULL },
    { GET("//api/echo"), 200, JSON, NULL },
    { GET("/api/empty"), 204, NULL, "" },
    { GET("/api/fail"), 503, JSON,
      "{\"error\":{\"code\":503,\"message\":\"not \\\"now\\\"\"}}" },
    /* for want of memory: the client did nothing wrong, and sends it again */
    { GET("/api/lack"), 503, JSON,
      "{\"error\":{\"code\":503,\"message\":\"The server is short of "
      "memory\",\"details\":\"Please try again\"}}" },
    { GET("/api/lack?status=413"), 503, JSON, NULL },
    { GET("/api/lack?status=500"), 500, JSON, NULL },
    { GET("/api/large"), 400, JSON,
      "{\"error\":{\"code\":400,\"message\":\"n is missing\","
      "\"details\":\"say how many\"}}" },
    /* what is not there */
    { GET("/api/nosuch"), 404, JSON,
      "{\"error\":{\"code\":404,\"message\":\"Endpoint not found\"}}" },
    { GET("/api"), 404, JSON, NULL },
    { GET("/api/"), 404, JSON, NULL },
    { GET("/api/v1"), 404, JSON, NULL },
    { GET("/api//echo"), 200, JSON, NULL },
    { GET("/nosuch"), 404, HTML, NULL },
    { GET("/nosuch?json"), 404, "application/json",
      "{\"err\":\"Page Not Found\"}" },
    { GET("/api/v9/echo"), 501, JSON,
      "{\"error\":{\"code\":501,\"message\":\"Requested API version is greater "
      "than the max implemented\",\"details\":\"API version [9] is greater "
      "than "
      "the max [1]\"}}" },
    { GET("/api/v1x/echo"), 400, JSON,
      "{\"error\":{\"code\":400,\"message\":\"Invalid API version format "
      "supplied\",\"details\":\"API version [1x] cannot be parsed to an "
      "integer\"}}" },
    /* methods */
    { "PUT /api/get HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n", 405, JSON,
      "{\"error\":{\"code\":405,\"message\":\"Method not allowed\",\"details\":"
      "\"The HTTP method [PUT] is not permitted for this endpoint\"}}" },
    { "BOGUS /api/get HTTP/1.1\r\nHost: x\r\n", 405, JSON,
      "{\"error\":{\"code\":405,\"message\":\"Method not allowed\",\"details\":"
      "\"The HTTP method [BOGUS] is not permitted for this endpoint\"}}" },
    { "PUT /page HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n", 400, HTML,
      NULL },
    { "HEAD /api/echo HTTP/1.1\r\nHost: x\r\n", 200, JSON, "" },
    { "HEAD /api/get HTTP/1.1\r\nHost: x\r\n", 405, JSON, "" },
    { "OPTIONS /api/echo HTTP/1.1\r\nHost: x\r\n", 405, JSON,
      "{\"error\":{\"code\":405,\"message\":\"Method not allowed\",\"details\":"
      "\"The HTTP method [OPTIONS] is not permitted\"}}" },
    { GET("/api/echo/deep?method_override=DELETE"), 200, JSON,
      "{\"method\":8,\"path\":\"/api/echo/deep\",\"params\":"
      "[\"method_override\",\"DELETE\"],\"body\":\"\"}" },
    { GET("/api/echo/deep?method_override"), 405, JSON,
      "{\"error\":{\"code\":405,\"message\":"
      "\"Missing method override value\"}}" },
    { GET("/api/echo/deep?method_override=x"), 405, JSON,
      "{\"error\":{\"code\":405,\"message\":"
      "\"Unknown or unsupported method override value\"}}" },
    { GET("/api/get?method_override=x"), 200, JSON, NULL },
    /* parameters */
    { GET("/api/echo?serializer=xml"), 400, JSON,
      "{\"error\":{\"code\":400,\"message\":\"Requested serializer was not "
      "found\",\"details\":\"Could not find a serializer with the name: "
      "xml\"}}" },
    { GET("/api/echo?serializer=json"), 200, JSON, NULL },
    { GET("/api/fail?jsonp=a.b"), 503, JSON,
      "a.b({\"error\":{\"code\":503,\"message\":\"not \\\"now\\\"\"}})" },
    { GET("/api/fail?jsonp="), 503, JSON, NULL },
    { GET("/api/fail?jsonp=%3Cscript%3E"), 400, JSON, NULL },
    { GET("/api/echo?a=%zz"), 400, JSON, NULL },
    { GET("/api/echo?a=%4"), 400, JSON, NULL },
    { GET("/api/echo?a=%"), 400, JSON, NULL },
    { GET("/page?a=%"), 400, HTML, NULL },
    { GET("/api/%zz"), 404, JSON, NULL },
    { GET("/api/ech%6F"), 404, JSON, NULL },
    { GET("/api/echo%00x"), 404, JSON, NULL },
    /* targets that are no paths */
    { GET("http://y/api/echo"), 400, NULL, "" },
    { "OPTIONS * HTTP/1.1\r\nHost: x\r\n", 400, NULL, "" },
    { GET("/api/echo x"), 400, JSON, NULL },
    { GET("/api/echo\rx"), 400, JSON, NULL },
    { GET("/api/echo HTTP/1.1"), 400, JSON, NULL },
    /* heads that a proxy may read otherwise */
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: "
      "1\r\nContent-Length: 2\r\n",
      400, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: "
      "1\r\nContent-Length: 1\r\n",
      400, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
      "Transfer-Encoding: chunked\r\n",
      400, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
      "Transfer-Encoding: chunked\r\n",
      400, JSON, NULL },
    { "POST /api/echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", 400, JSON,
      NULL },
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, "
      "chunked\r\n",
      400, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked \r\n",
      400, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n "
      "chunked\r\n",
      400, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n "
      "x\r\n",
      400, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length : 1\r\n", 400, JSON,
      NULL },
    { GET("/api/echo") "X: a\r\n folded\r\n", 400, JSON, NULL },
    { GET("/api/echo") "X: a\r\n\tfolded\r\n more\r\nY: b\r\n", 400, JSON,
      NULL },
    { GET("/api/echo") ": chunked\r\n", 400, JSON, NULL },
    { GET("/api/echo") "X: a\r\n: b\r\nY: c\r\n", 400, JSON, NULL },
    { GET("/api/echo") "X: a\nY: c\r\n", 400, JSON, NULL },
    { GET("/api/echo") " \r\nX: a\r\n", 400, JSON, NULL },
    { GET("/api/echo") "X:a\r\nY:  \t b \r\nZ:\r\n", 200, JSON, NULL },
    { "GET /api/echo HTTP/1.1\r\nHost: x \t\r\n", 200, JSON, NULL },
    { GET("/api/echo") "Host: x\r\n", 400, JSON, NULL },
    { GET("/api/echo") "X: a\rContent-Length: 5\r\n", 400, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\n"
      "Content-Length: 18446744073709551615\r\n",
      413, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Encoding: zstd\r\n"
      "Content-Length: 2\r\n\r\n{}",
      415, JSON,
      "{\"error\":{\"code\":415,\"message\":\"Unsupported Content-Encoding\","
      "\"details\":\"Only gzip and deflate are taken, not zstd\"}}" },
    { "CONNECT /api/echo HTTP/1.1\r\nHost: x\r\n", 405, JSON, NULL },
    { "TRACE /api/echo HTTP/1.1\r\nHost: x\r\n", 405, JSON, NULL },
    { "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n", 405, HTML, NULL },
    { "OPTIONS / HTTP/1.0\r\n", 204, NULL, "" },
    { GET("http://x/api/echo"), 200, JSON,
      "{\"method\":1,\"path\":\"/api/echo\",\"params\":[],\"body\":\"\"}" },
    { GET("//api///echo//deep//"), 200, JSON,
      "{\"method\":1,\"path\":\"/api/echo/deep\",\"params\":[],"
      "\"body\":\"\"}" },
    { GET("//"), 200, "application/json", NULL },
    { "POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"
      "\xef\xbb\xbf{}",
      200, JSON,
      "{\"method\":2,\"path\":\"/api/echo\",\"params\":[],\"body\":\"{}\"}" },
};

START_TEST(talks_as_opentsdb)
{
    const struct talk *t = &talks[_i];
    char request[1024], type[128];
    struct answer a;

    /* 0.9 does not know it for chunks, and would read on without end. */
    if (strstr(t->request, "chunked \r\n") != NULL &&
        atoi(MHD_get_version()) >= 1)
        return;
    (void)snprintf(request, sizeof request, "%s\r\n", t->request);
    a = rig_ask(request);
    ck_assert_msg(a.status == t->status, "%s: %u, not %u", t->request, a.status,
                  t->status);
    if (t->body != NULL)
        ck_assert_str_eq(rig_body(&a), t->body);
    if (rig_is_library_error(&a))
        ck_assert_uint_eq(a.status, t->status);
    else if (rig_header(&a, "Content-Type", type, sizeof type))
        ck_assert_str_eq(type, t->type == NULL ? "none" : t->type);
    else
        ck_assert_msg(t->type == NULL, "%s: no type", t->request);
    buf_fini(&a.body);
}
END_TEST

START_TEST(says_what_is_allowed)
{
    char value[64];
    struct answer a;

    a = rig_ask("PUT /api/get HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert(rig_header(&a, "Allow", value, sizeof value));
    ck_assert_str_eq(value, "GET");
    buf_fini(&a.body);
    a = rig_ask("OPTIONS /api/echo HTTP/1.1\r\nHost: x\r\n\r\n");
    ck_assert(rig_header(&a, "Allow", value, sizeof value));
    ck_assert_str_eq(value, "GET, POST, PUT, DELETE, HEAD");
    buf_fini(&a.body);
}
END_TEST

START_TEST(keeps_connections)
{
    struct answer a;
    int fd = rig_connect();

    for (int i = 0; i < 20; i++) {
        rig_send(fd, i % 2 == 0 ? GET("/api/echo") "\r\n"
                                : GET("/api/work") "\r\n");
        a = rig_read(fd);
        ck_assert_uint_eq(a.status, 200);
        buf_fini(&a.body);
    }
    rig_send(fd, GET("/api/work") "Connection: close\r\n\r\n");
    a = rig_read(fd);
    ck_assert_uint_eq(a.status, 200);
    buf_fini(&a.body);
    ck_assert(rig_is_closed(fd));
    ck_assert(rig_wait(&rig.closed, 1));
    (void)close(fd);
}
END_TEST

/* -- framing ----------------------------------------------------------------
 */

#define PIPELINE                                                               \
    "POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nfirst"     \
    "POST /api/work HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" \
    "3\r\nsec\r\n3\r\nond\r\n0\r\nTrailer: x\r\n\r\n"                          \
    "HEAD /api/echo HTTP/1.1\r\nHost: x\r\n\r\n"                               \
    "GET /api/empty HTTP/1.1\r\nHost: x\r\n\r\n"                               \
    "GET /api/work?last HTTP/1.0\r\n\r\n"

static void
read_pipeline(int fd)
{
    static const char *const holds[] = { "\"first\"", "\"second\"", NULL, NULL,
                                         "\"last\"" };

    for (size_t i = 0; i < 5; i++) {
        struct answer a = rig_read_answer(fd, i == 2);

        ck_assert_uint_eq(a.status, i == 3 ? 204 : 200);
        if (holds[i] != NULL)
            ck_assert_msg(strstr(rig_body(&a), holds[i]) != NULL, "%s",
                          rig_body(&a));
        else
            ck_assert_uint_eq(a.body.size, 0);
        buf_fini(&a.body);
    }
    ck_assert(rig_is_closed(fd));
}

START_TEST(pipelines)
{
    int fd = rig_connect();

    rig_send(fd, PIPELINE);
    read_pipeline(fd);
    (void)close(fd);
}
END_TEST

/* The same bytes in two writes, cut at each place. */
START_TEST(splits_anywhere)
{
    static const char text[] = PIPELINE;

    for (size_t i = 1; i + 1 < sizeof text; i++) {
        int fd = rig_connect();

        rig_send_bytes(fd, text, i);
        rig_send_bytes(fd, text + i, sizeof text - 1 - i);
        read_pipeline(fd);
        (void)close(fd);
    }
}
END_TEST

START_TEST(takes_single_bytes)
{
    static const char text[] = PIPELINE;
    int fd = rig_connect();

    for (size_t i = 0; i + 1 < sizeof text; i++)
        rig_send_bytes(fd, text + i, 1);
    read_pipeline(fd);
    (void)close(fd);
}
END_TEST

/* A client that half-closes behind its request still gets the answer. */
START_TEST(answers_after_half_close)
{
    static const char *const requests[] = {
        "POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab",
        "POST /api/work HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab",
    };

    for (size_t i = 0; i < 2; i++) {
        int fd = rig_connect();
        struct answer a;

        rig_send(fd, requests[i]);
        (void)shutdown(fd, SHUT_WR);
        a = rig_read(fd);
        ck_assert_uint_eq(a.status, 200);
        buf_fini(&a.body);
        (void)close(fd);
    }
}
END_TEST

START_TEST(asks_to_continue)
{
    struct answer a;
    int fd;

    rig_start(&(struct http_options){ .body_bytes = 100 });
    fd = rig_connect();
    rig_send(fd,
             "POST /api/echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
             "Content-Length: 2\r\n\r\n");
    a = rig_read(fd);
    ck_assert_uint_eq(a.status, 100);
    rig_send(fd, "ab");
    a = rig_read(fd);
    ck_assert_uint_eq(a.status, 200);
    ck_assert(strstr(rig_body(&a), "\"ab\"") != NULL);
    buf_fini(&a.body);
    /* what will be rejected is not asked for */
    rig_send(fd,
             "POST /api/echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
             "Content-Length: 101\r\n\r\n");
    a = rig_read(fd);
    ck_assert_uint_eq(a.status, 413);
    ck_assert(strncmp(rig_body(&a), "{\"error\":{\"code\":413,", 21) == 0);
    buf_fini(&a.body);
    ck_assert(rig_is_closed(fd));
    (void)close(fd);
}
END_TEST

/* A body is never read as a request, whatever became of its own. */
START_TEST(drops_bodies_of_rejected_requests)
{
    static const char *const heads[] = {
        "POST /api/nosuch HTTP/1.1\r\nHost: x\r\n",
        "POST /api/get HTTP/1.1\r\nHost: x\r\n",
        "POST /api/echo?serializer=x HTTP/1.1\r\nHost: x\r\n",
        "POST /nosuch HTTP/1.1\r\nHost: x\r\n",
        "POST /api/v7/echo HTTP/1.1\r\nHost: x\r\n",
    };

    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        int fd = rig_connect();
        struct answer a;

        rig_send(fd, heads[i]);
        rig_send(
            fd,
            "Content-Length: 34\r\n\r\nGET /api/echo HTTP/1.1\r\nHost: x\r\n\r"
            "GET /api/empty HTTP/1.1\r\nHost: x\r\n\r\n");
        a = rig_read(fd);
        ck_assert_uint_ge(a.status, 400);
        buf_fini(&a.body);
        a = rig_read(fd);
        ck_assert_uint_eq(a.status, 204);
        (void)close(fd);
    }
}
END_TEST

/* -- options -----------------------------------------------------------------
 */

START_TEST(rejects_chunks_when_told)
{
    struct answer a;
    char type[64];

    rig_start(&(struct http_options){ .chunked = false });
    a = rig_ask("POST /api/echo HTTP/1.1\r\nHost: x\r\n"
                "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n");
    ck_assert_uint_eq(a.status, 400);
    ck_assert(strstr(rig_body(&a), "Chunked request not supported.") != NULL);
    ck_assert(rig_header(&a, "Content-Type", type, sizeof type));
    ck_assert_str_eq(type, HTML);
    buf_fini(&a.body);
}
END_TEST

START_TEST(shows_a_trace_when_told)
{
    struct answer a;

    rig_start(&(struct http_options){ .show_stack_trace = true });
    a = rig_ask(GET("/api/fail") "\r\n");
    ck_assert(strstr(rig_body(&a), ",\"trace\":\"http_reply_error") != NULL);
    buf_fini(&a.body);
    a = rig_ask(GET("/api/nosuch") "\r\n");
    ck_assert(strstr(rig_body(&a), "trace") == NULL);
    buf_fini(&a.body);
}
END_TEST

static const struct cors_case {
    const char *domains;
    const char *request;
    unsigned status;
    const char *origin; /* allowed; NULL: none */
    const char *body;   /* NULL: any */
} cors[] = {
    { "*", GET("/api/echo") "Origin: http://a.b\r\n", 200, "http://a.b", NULL },
    { "*", GET("/api/nosuch") "Origin: http://a.b\r\n", 404, "http://a.b",
      NULL },
    { "*", GET("/api/echo"), 200, NULL, NULL },
    { "*", "OPTIONS /api/echo HTTP/1.1\r\nHost: x\r\nOrigin: q\r\n", 200, "q",
      "" },
    { "*", "OPTIONS /nosuch HTTP/1.1\r\nHost: x\r\nOrigin: q\r\n", 200, "q",
      "" },
    { "*", "OPTIONS /api/echo HTTP/1.1\r\nHost: x\r\n", 405, NULL, NULL },
    { "*", "OPTIONS /page HTTP/1.1\r\nHost: x\r\n", 400, NULL, NULL },
    { "http://a.b, http://C.d", GET("/api/echo") "Origin: HTTP://c.D\r\n", 200,
      "HTTP://c.D", NULL },
    { "http://a.b", GET("/api/echo") "Origin: http://c.d\r\n", 200, NULL,
      "{\"error\":{\"code\":200,\"message\":\"CORS domain not allowed\","
      "\"details\":\"The domain [http://c.d] is not permitted access\"}}" },
    { "", GET("/api/echo") "Origin: http://a.b\r\n", 200, NULL, NULL },
    { "", "OPTIONS /api/echo HTTP/1.1\r\nHost: x\r\nOrigin: q\r\n", 405, NULL,
      NULL },
};

static const struct site_case {
    const char *headers; /* with the Host "h:4242" */
    const char *domains;
    unsigned status;
} sites[] = {
    { "", "", 200 },
    { "Sec-Fetch-Site: same-origin\r\n", "", 200 },
    { "Sec-Fetch-Site: none\r\n", "", 200 },
    { "Sec-Fetch-Site: cross-site\r\n", "", 403 },
    { "Sec-Fetch-Site: same-site\r\n", "", 403 },
    { "Referer: http://h:4242/page\r\n", "", 200 },
    { "Referer: http://evil/h:4242/\r\n", "", 403 },
    { "Referer: http://evil?http://h:4242\r\n", "", 403 },
    { "Referer: http://h:4243/\r\n", "", 403 },
    { "Referer: http://a.b/page\r\nSec-Fetch-Site: cross-site\r\n",
      "http://a.b", 200 },
    { "Referer: http://a.c/\r\n", "http://a.b", 403 },
    { "Origin: http://a.c\r\n", "", 403 },
    { "Origin: null\r\n", "", 403 },
    { "Origin: http://a.b\r\n", "http://a.b", 200 },
};

START_TEST(keeps_scripts_of_other_sites_out)
{
    const struct site_case *c = &sites[_i];
    char request[512];
    struct answer a;

    rig_start(&(struct http_options){ .cors_domains = c->domains });
    for (int jsonp = 0; jsonp < 2; jsonp++) {
        (void)snprintf(request, sizeof request,
                       "GET /api/echo%s HTTP/1.1\r\nHost: h:4242\r\n%s\r\n",
                       jsonp ? "?jsonp=f" : "", c->headers);
        a = rig_ask(request);
        ck_assert_uint_eq(a.status, jsonp ? c->status : 200);
        ck_assert((strncmp(rig_body(&a), "f(", 2) == 0) ==
                  (jsonp && a.status == 200));
        buf_fini(&a.body);
    }
}
END_TEST

START_TEST(switches_jsonp_off)
{
    struct answer a;

    rig_start(&(struct http_options){ .no_jsonp = true });
    a = rig_ask(GET("/api/echo?jsonp=f") "\r\n");
    ck_assert_uint_eq(a.status, 403);
    buf_fini(&a.body);
}
END_TEST

static const struct host_case {
    const char *host;
    unsigned status;
} hosts[] = {
    { "db.example", 200 },  { "DB.example:4242", 200 }, { "b", 200 },
    { "127.0.0.1:1", 200 }, { "[::1]:4242", 200 },      { "localhost:1", 200 },
    { "evil", 403 },        { "db.example.evil", 403 }, { "db", 403 },
    { "1.evil", 403 },      { "localhost.evil", 403 },
};

START_TEST(knows_its_names)
{
    char request[512];
    struct answer a;

    rig_start(&(struct http_options){ .hosts = "db.example, b" });
    (void)snprintf(request, sizeof request,
                   "GET /page HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[_i].host);
    a = rig_ask(request);
    ck_assert_uint_eq(a.status, hosts[_i].status);
    ck_assert(a.status != 403 ||
              strstr(rig_body(&a), "add it to halite.http.hosts") != NULL);
    buf_fini(&a.body);
}
END_TEST

/* What a shared cache must know, and what a browser must not guess. */
START_TEST(tells_caches_what_it_looked_at)
{
    char value[64];
    struct answer a;

    rig_start(&(struct http_options){ .cors_domains = "http://a.b" });
    a = rig_ask(GET("/api/echo") "\r\n");
    ck_assert(strstr(a.head, "\r\nVary: Accept-Encoding\r\n") != NULL);
    ck_assert(strstr(a.head, "\r\nVary: Origin\r\n") != NULL);
    ck_assert(rig_header(&a, "X-Content-Type-Options", value, sizeof value));
    ck_assert_str_eq(value, "nosniff");
    buf_fini(&a.body);
}
END_TEST

START_TEST(shares_with_origins)
{
    const struct cors_case *c = &cors[_i];
    char request[512], value[128];
    struct answer a;
    bool allowed;

    rig_start(&(struct http_options){ .cors_domains = c->domains,
                                      .cors_headers = "X-A, X-B" });
    (void)snprintf(request, sizeof request, "%s\r\n", c->request);
    a = rig_ask(request);
    ck_assert_uint_eq(a.status, c->status);
    if (c->body != NULL)
        ck_assert_str_eq(rig_body(&a), c->body);
    allowed =
        rig_header(&a, "Access-Control-Allow-Origin", value, sizeof value);
    ck_assert(allowed == (c->origin != NULL));
    if (allowed) {
        ck_assert_str_eq(value, c->origin);
        ck_assert(rig_header(&a, "Access-Control-Allow-Headers", value,
                             sizeof value));
        ck_assert_str_eq(value, "X-A, X-B");
        ck_assert(rig_header(&a, "Access-Control-Allow-Methods", value,
                             sizeof value));
        ck_assert_str_eq(value, "GET, POST, PUT, DELETE");
    }
    buf_fini(&a.body);
}
END_TEST

static const struct bad_options {
    const char *domains, *headers;
} bad_options[] = {
    { "*,http://a.b", "" }, { "", "X-A, *" }, { "", "X-A," }, { "", "X A" }
};

START_TEST(rejects_bad_options)
{
    struct http_options o = { .cors_domains = bad_options[_i].domains,
                              .cors_headers = bad_options[_i].headers };
    struct http_server *s;
    struct error e = { 0 };

    ck_assert_int_eq(http_server_start(&o, &s, &e), ST_INVALID);
    ck_assert_ptr_null(s);
    ck_assert(e.text[0] != '\0');
}
END_TEST

/* -- compression
 * --------------------------------------------------------------- */

static const struct accept_case {
    const char *accept;
    const char *coding; /* NULL: none */
} accepts[] = {
    { "gzip", "gzip" },
    { "gzip, deflate", "gzip" },
    { "gzip, deflate, br, zstd", "gzip" },
    { "deflate", "deflate" },
    { "gzip;q=0.5, deflate;q=0.8", "deflate" },
    { "gzip;q=0, deflate;q=0.001", "deflate" },
    { "gzip;q=0", NULL },
    { "*", "gzip" },
    { "*;q=0.1, gzip;q=0", "deflate" },
    { "identity", NULL },
    { "br", NULL },
    { "gzip;q=x", NULL },
    { ",,;=", NULL },
};

static void
inflate_answer(struct answer *a, struct buf *to)
{
    z_stream z = { 0 };

    ck_assert_int_eq(inflateInit2(&z, 15 + 32), Z_OK);
    z.next_in = a->body.data;
    z.avail_in = (uInt)a->body.size;
    z.next_out = buf_reserve(to, 1 << 24);
    z.avail_out = 1 << 24;
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    to->size = z.total_out;
    ck_assert_int_eq(inflateEnd(&z), Z_OK);
}

START_TEST(compresses_replies)
{
    static const char *const paths[] = { "/api/echo", "/api/nosuch",
                                         "/api/large?n=3000000",
                                         "/api/large?n=90000&chunks=7",
                                         "/page" };
    const struct accept_case *c = &accepts[_i];

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char request[256], coding[32];
        struct answer a, plain;
        struct buf text = BUF_INIT;
        bool coded;

        (void)snprintf(request, sizeof request,
                       "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", paths[i]);
        plain = rig_ask(request);
        (void)snprintf(
            request, sizeof request,
            "GET %s HTTP/1.1\r\nHost: x\r\nAccept-Encoding: %s\r\n\r\n",
            paths[i], c->accept);
        a = rig_ask(request);
        ck_assert_uint_eq(a.status, plain.status);
        coded = rig_header(&a, "Content-Encoding", coding, sizeof coding);
        ck_assert(coded == (c->coding != NULL));
        if (coded) {
            ck_assert_str_eq(coding, c->coding);
            inflate_answer(&a, &text);
            ck_assert(slice_eq(buf_slice(&text), buf_slice(&plain.body)));
        } else {
            ck_assert(slice_eq(buf_slice(&a.body), buf_slice(&plain.body)));
        }
        buf_fini(&text);
        buf_fini(&a.body);
        buf_fini(&plain.body);
    }
}
END_TEST

START_TEST(empty_replies_are_not_compressed)
{
    struct answer a;
    char value[64];

    a = rig_ask(GET("/api/empty") "Accept-Encoding: gzip\r\n\r\n");
    ck_assert_uint_eq(a.status, 204);
    ck_assert(!rig_header(&a, "Content-Encoding", value, sizeof value));
}
END_TEST

/* However many there are, they go out as if they were one. */
START_TEST(sends_chunks)
{
    static const unsigned chunks[] = { 1, 2, 3, 100, 1024, 1025, 3000 };
    int fd = rig_connect();

    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        char request[256], value[32];
        struct answer a;

        (void)snprintf(
            request, sizeof request,
            "GET /api/large?n=1500000&chunks=%u HTTP/1.1\r\nHost: x\r\n"
            "\r\n",
            chunks[i]);
        rig_send(fd, request);
        a = rig_read(fd);
        ck_assert_uint_eq(a.status, 200);
        ck_assert(rig_header(&a, "Content-Length", value, sizeof value));
        ck_assert_str_eq(value, "1500000");
        ck_assert_uint_eq(a.body.size, 1500000);
        for (size_t k = 0; k < a.body.size; k++)
            if (a.body.data[k] != rig_large_byte(k))
                ck_abort_msg("byte %zu differs", k);
        buf_fini(&a.body);
    }
    (void)close(fd);
}
END_TEST

START_TEST(wraps_chunks_for_scripts)
{
    struct answer a;

    a = rig_ask(GET("/api/large?n=9&chunks=3&jsonp=f") "\r\n");
    ck_assert_str_eq(buf_cstr(&a.body), "f(abcdefghi)");
    buf_fini(&a.body);
}
END_TEST

static void
start(void)
{
    rig_start(&(struct http_options){ .chunked = true });
}

TEST_MAIN_WITH(start, rig_stop, "http", LOOP(talks_as_opentsdb, talks),
               TEST(says_what_is_allowed), TEST(keeps_connections),
               TEST(pipelines), TEST(splits_anywhere), TEST(takes_single_bytes),
               TEST(answers_after_half_close), TEST(asks_to_continue),
               TEST(drops_bodies_of_rejected_requests),
               TEST(rejects_chunks_when_told), TEST(shows_a_trace_when_told),
               LOOP(shares_with_origins, cors),
               LOOP(keeps_scripts_of_other_sites_out, sites),
               TEST(switches_jsonp_off), LOOP(knows_its_names, hosts),
               TEST(tells_caches_what_it_looked_at),
               LOOP(rejects_bad_options, bad_options),
               LOOP(compresses_replies, accepts),
               TEST(empty_replies_are_not_compressed), TEST(sends_chunks),
               TEST(wraps_chunks_for_scripts))
