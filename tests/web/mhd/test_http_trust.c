/* Which requests are believed: heads that can be read in one way only, and who
 * is trusted with what, by address, by the headers of browsers and of proxies,
 * and by settings. */
#include "base/process/counters.h"
#include "base/process/log.h"
#include "tests/web/rig.h"

/* Heads that are rejected, and what the answer and the log say about it. */
static const struct head_case {
    const char *head;
    const char *why;
} heads[] = {
#define TO "GET /api/echo HTTP/1.1\r\nHost: x\r\n"
    { "GET /api/a\tb HTTP/1.1\r\nHost: x\r\n", NULL },
    { "G(T /api/echo HTTP/1.1\r\nHost: x\r\n", "the method is not a token" },
    { TO "a b: c\r\n", NULL },
    { TO "Content-Length: 1\r\nContent-Length: 2\r\n", NULL },
    { TO "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "there is more than one Transfer-Encoding" },
    { TO "Host: y\r\n", NULL },
    { TO "Transfer-Encoding: gzip\r\n", NULL },
    { TO "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", NULL },
    { TO "folded: a\r\n b\r\n", NULL },
};

static void
find_line(void *ctx, const char *line)
{
    if (strstr(line, "rejected the head of a request from 127.0.0.1:") != NULL)
        (void)snprintf(ctx, 600, "%s", line);
}

/* libmicrohttpd rejects some of them itself, depending on its version: then it
 * is only known that it did. */
START_TEST(rejects_heads_aloud)
{
    const struct head_case *c = &heads[_i];
    uint64_t before = counter_get(CNT_HEADS_REJECTED);
    struct answer a;
    char request[512], line[600] = "";

    rig_start(&(struct http_options){ .chunked = true });
    (void)snprintf(request, sizeof request, "%s\r\n", c->head);
    a = rig_ask(request);
    ck_assert_uint_ge(a.status, 400);
    rig_stop();
    ck_assert_uint_eq(counter_get(CNT_HEADS_REJECTED) - before, 1);
    log_recent(find_line, line);
    ck_assert_str_ne(line, "");
    if (c->why != NULL && strstr(rig_body(&a), "ambiguous") != NULL) {
        ck_assert_ptr_nonnull(strstr(rig_body(&a), c->why));
        ck_assert_ptr_nonnull(strstr(line, c->why));
    }
    buf_fini(&a.body);
}
END_TEST

/* What a request of this machine is trusted with: to administer, to change, to
 * run scripts. */
static const struct trust_case {
    const char *headers, *domains;
    struct http_options o;
    const char *trusted;
} trusts[] = {
#define HERE "Host: localhost:4242\r\n"
    { HERE, "", { 0 }, "acs" },
    { HERE, "*", { 0 }, "acs" },
    { HERE, "", { .no_local = true }, "-cs" },
    { "Host: [::1]:1\r\n", "", { 0 }, "acs" },
    { "Host: db\r\n", "", { 0 }, "-cs" },
    { "Host: db\r\n", "", { .hosts = "db" }, "acs" },
    /* Our own pages. */
    { HERE "Origin: http://localhost:4242\r\n", "", { 0 }, "acs" },
    { HERE "Referer: http://localhost:4242/x\r\n", "", { 0 }, "acs" },
    { HERE "Sec-Fetch-Site: same-origin\r\n", "", { 0 }, "acs" },
    { HERE "Sec-Fetch-Site: none\r\n", "", { 0 }, "acs" },
    { HERE "Origin: http://localhost:4242\r\n",
      "",
      { .no_local = true },
      "-cs" },
    /* A page whose name was pointed at this machine. */
    { "Host: evil\r\nOrigin: http://evil\r\n", "", { 0 }, "-cs" },
    /* Proxies on this machine. */
    { HERE "Forwarded: for=1.2.3.4\r\n", "", { 0 }, "-cs" },
    { HERE "X-Forwarded-For: 1.2.3.4\r\n", "", { 0 }, "-cs" },
    { HERE "x-forwarded-for: 127.0.0.1\r\n", "", { 0 }, "-cs" },
    { HERE "X-Real-IP: 1.2.3.4\r\n", "", { 0 }, "-cs" },
    { HERE "Via: 1.1 p\r\n", "", { 0 }, "-cs" },
    /* Pages of other sites. */
    { HERE "Origin: http://evil\r\n", "", { 0 }, "---" },
    { HERE "Origin: null\r\n", "", { 0 }, "---" },
    { HERE "Referer: http://evil/localhost:4242\r\n", "", { 0 }, "---" },
    { HERE "Referer: http://localhost:4243/\r\n", "", { 0 }, "---" },
    { HERE "Sec-Fetch-Site: cross-site\r\n", "", { 0 }, "---" },
    { HERE "Sec-Fetch-Site: same-site\r\n", "", { 0 }, "---" },
    { HERE "Origin: http://evil\r\n",
      "",
      { .allow_cross_site_writes = true },
      "-cs" },
    /* '*' opens reading. */
    { HERE "Origin: http://evil\r\n", "*", { 0 }, "--s" },
    { HERE "Origin: null\r\n", "*", { 0 }, "--s" },
    { HERE "Referer: http://evil/\r\n", "*", { 0 }, "--s" },
    { HERE "Sec-Fetch-Site: cross-site\r\n", "*", { 0 }, "---" },
    { HERE "Origin: http://localhost:4242\r\n", "*", { 0 }, "acs" },
    /* Friends are named. */
    { HERE "Origin: http://a.b\r\n", "http://x, http://a.b", { 0 }, "-cs" },
    { HERE "Origin: http://a.b\r\nSec-Fetch-Site: cross-site\r\n",
      "http://a.b",
      { 0 },
      "-cs" },
    { HERE "Referer: http://a.b/c\r\n", "http://a.b", { 0 }, "-cs" },
    { HERE "Referer: http://a.b.evil/\r\n", "http://a.b", { 0 }, "---" },
};

START_TEST(trusts_whom_it_should)
{
    const struct trust_case *c = &trusts[_i];
    struct http_options o = c->o;
    char request[512];
    struct answer a;

    o.cors_domains = c->domains;
    rig_start(&o);
    (void)snprintf(request, sizeof request, "GET /api/trust HTTP/1.1\r\n%s\r\n",
                   c->headers);
    a = rig_ask(request);
    ck_assert_uint_eq(a.status, 200);
    ck_assert_str_eq(rig_body(&a), c->trusted);
    buf_fini(&a.body);
}
END_TEST

TEST_MAIN_WITH(NULL, rig_stop, "http_trust", LOOP(rejects_heads_aloud, heads),
               LOOP(trusts_whom_it_should, trusts))
