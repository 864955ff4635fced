/* Conversations with a server: routes, methods, errors, parameters, CORS,
 * compression, keep-alive.  Limits and hangs are in test_http_limits.c. */
#include "config.h"

#include "tests/web/rig.h"

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
    { "POST /api/echo HTTP/1.1\r\nContent-Length: 0\r\n", 200, JSON, NULL },
    { GET("/page"), 200, "application/json", NULL },
    { GET("/"), 200, "application/json", NULL },
    { GET("//api/echo"), 200, "application/json", NULL },
    { GET("/api/empty"), 204, NULL, "" },
    { GET("/api/fail"), 503, JSON,
      "{\"error\":{\"code\":503,\"message\":\"not \\\"now\\\"\"}}" },
    { GET("/api/large"), 400, JSON,
      "{\"error\":{\"code\":400,\"message\":\"n is missing\","
      "\"details\":\"say how many\"}}" },
    /* what is not there */
    { GET("/api/nosuch"), 404, JSON,
      "{\"error\":{\"code\":404,\"message\":\"Endpoint not found\"}}" },
    { GET("/api"), 404, JSON, NULL },
    { GET("/api/"), 404, JSON, NULL },
    { GET("/api/v1"), 404, JSON, NULL },
    { GET("/api//echo"), 404, JSON, NULL },
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
    { "PUT /api/get HTTP/1.1\r\nContent-Length: 0\r\n", 405, JSON,
      "{\"error\":{\"code\":405,\"message\":\"Method not allowed\",\"details\":"
      "\"The HTTP method [PUT] is not permitted for this endpoint\"}}" },
    { "BOGUS /api/get HTTP/1.1\r\n", 405, JSON,
      "{\"error\":{\"code\":405,\"message\":\"Method not allowed\",\"details\":"
      "\"The HTTP method [BOGUS] is not permitted for this endpoint\"}}" },
    { "PUT /page HTTP/1.1\r\nContent-Length: 0\r\n", 400, HTML, NULL },
    { "HEAD /api/echo HTTP/1.1\r\n", 200, JSON, "" },
    { "HEAD /api/get HTTP/1.1\r\n", 405, JSON, "" },
    { "OPTIONS /api/echo HTTP/1.1\r\n", 405, JSON,
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
    { GET("/api/fail?jsonp="), 503, JSON,
      "{\"error\":{\"code\":503,\"message\":\"not \\\"now\\\"\"}}" },
    { GET("/api/fail?jsonp=%3Cscript%3E"), 400, JSON, NULL },
    { GET("/api/echo?a=%zz"), 400, JSON, NULL },
    { GET("/api/echo?a=%4"), 400, JSON, NULL },
    { GET("/api/echo?a=%"), 400, JSON, NULL },
    { GET("/page?a=%"), 400, HTML, NULL },
    { GET("/api/%zz"), 400, JSON, NULL },
    { GET("/api/echo%00x"), 400, JSON, NULL },
    /* targets that are no paths */
    { GET("http://x/api/echo"), 400, NULL, "" },
    { "OPTIONS * HTTP/1.1\r\n", 400, NULL, "" },
    { GET("/api/echo x"), 400, HTML, NULL },
    /* heads that a proxy may read otherwise */
    { "POST /api/echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
      400, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
      400, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nContent-Length: 1\r\n"
      "Transfer-Encoding: chunked\r\n",
      400, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
      "Transfer-Encoding: chunked\r\n",
      400, JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n", 400,
      JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nTransfer-Encoding: chunked \r\n", 400, JSON,
      NULL },
    { "POST /api/echo HTTP/1.1\r\nTransfer-Encoding:\r\n chunked\r\n", 400,
      JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n x\r\n", 400,
      JSON, NULL },
    { "POST /api/echo HTTP/1.1\r\nContent-Length : 1\r\n", 400, JSON, NULL },
    { GET("/api/echo") "X: a\r\n folded\r\n", 400, JSON, NULL },
    { GET("/api/echo") "X: a\r\n\tfolded\r\n more\r\nY: b\r\n", 400, JSON,
      NULL },
    { GET("/api/echo") "X:a\r\nY:  \t b \r\nZ:\r\n", 200, JSON, NULL },
};

START_TEST(talks_as_opentsdb)
{
    const struct talk *t = &talks[_i];
    struct rig rig;
    char request[1024], type[128];
    struct answer a;

    rig_start(&rig, &(struct http_options){ .chunked = true });
    (void)snprintf(request, sizeof request, "%s\r\n", t->request);
    a = rig_ask(&rig, request);
    ck_assert_msg(a.status == t->status, "%s: %u, not %u", t->request, a.status,
                  t->status);
    if (t->body != NULL)
        ck_assert_str_eq(rig_body(&a), t->body);
    if (rig_header(&a, "Content-Type", type, sizeof type))
        ck_assert_str_eq(type, t->type == NULL ? "none" : t->type);
    else
        ck_assert_msg(t->type == NULL, "%s: no type", t->request);
    buf_fini(&a.body);
    rig_stop(&rig);
}
END_TEST

START_TEST(keeps_connections)
{
    struct rig rig;
    struct answer a;
    int fd;

    rig_start(&rig, &(struct http_options){ .chunked = true });
    fd = rig_connect(&rig);
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
    ck_assert(rig_wait(&rig, &rig.closed, 1));
    (void)close(fd);
    rig_stop(&rig);
}
END_TEST

TEST_MAIN("http", LOOP(talks_as_opentsdb, talks), TEST(keeps_connections))
