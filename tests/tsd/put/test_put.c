#include "tsd/put/put.h"

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "tests/harness.h"
#include "tests/tsd/fake_ingest.h"
#include "tsd/put/put_json.h"
#include "tsd/put/put_priv.h"

/* Of the case that runs. */
static struct put_path *path;
static struct put_batch *batch;
static struct buf errors = BUF_INIT; /* as telnet would print them */

static void
on_failed(void *ctx, size_t id, enum put_fault fault, struct slice why)
{
    static const char *const names[] = { "invalid value", "illegal argument",
                                         "unknown metric", "storage error" };
    (void)ctx;
    (void)id;
    buf_printf(&errors, "put: %s: ", names[fault]);
    buf_put_slice(&errors, why);
    buf_put_str(&errors, "\n");
}

static void
setup(void)
{
    struct put_options o = { .rules = { true, true, true, 8, false } };

    fake_reset();
    path = put_path_new(NULL, NULL, NULL, &o);
    batch = put_batch_new(path, on_failed, NULL);
}

static void
teardown(void)
{
    put_batch_free(&batch);
    put_path_free(&path);
    buf_fini(&errors);
    fake_reset();
}

static size_t
flush(void)
{
    size_t stored = 0;

    ck_assert_int_eq(put_batch_flush(batch, &stored), ST_OK);
    return stored;
}

/* Sixty characters of a name, and what becomes of a line. */
static const struct {
    const char *line;   /* behind "put "; NULL: a bare "put" */
    const char *stored; /* as the fake logs it, or NULL */
    const char *error;  /* without the newline, or NULL */
} lines[] = {
#define S(line, stored)         \
    {                           \
        line, stored "\n", NULL \
    }
#define E(line, error)                 \
    {                                  \
        line, NULL, "put: " error "\n" \
    }
#define ARG "illegal argument: "
#define VAL "invalid value: "
    S("a.b 1356998400 1 h=a", "a.b{h=a} 1356998400000 1"),
    S("a.b 1356998400 -3 h=a", "a.b{h=a} 1356998400000 -3"),
    S("a.b 1356998400 2.5 h=a", "a.b{h=a} 1356998400000 2.5"),
    S("a.b 1356998400 -2.50 h=a", "a.b{h=a} 1356998400000 -2.5"),
    S("a.b 1356998400 1e3 h=a", "a.b{h=a} 1356998400000 1000.0"),
    S("a.b 1356998400 -1.5E-2 h=a", "a.b{h=a} 1356998400000 -0.015"),
    S("a.b 1356998400 +5 h=a", "a.b{h=a} 1356998400000 5"),
    S("a.b 1356998400 .5 h=a", "a.b{h=a} 1356998400000 0.5"),
    S("a.b 1356998400 5. h=a", "a.b{h=a} 1356998400000 5.0"),
    S("a.b 1356998400 -0 h=a", "a.b{h=a} 1356998400000 0"),
    S("a.b 1356998400 -0.0 h=a", "a.b{h=a} 1356998400000 -0.0"),
    S("a.b 1356998400 00012 h=a", "a.b{h=a} 1356998400000 12"),
    S("a.b 1356998400 1.5f h=a", "a.b{h=a} 1356998400000 1.5"),
    S("a.b 1356998400 1e1D h=a", "a.b{h=a} 1356998400000 10.0"),
    S("a.b 1356998400 0x1.8p1 h=a", "a.b{h=a} 1356998400000 3.0"),
    S("a.b 1356998400 0.1234567890123456 h=a",
      "a.b{h=a} 1356998400000 0.1234567890123456"),
    S("a.b 1356998400 123456789012345.25 h=a",
      "a.b{h=a} 1356998400000 1.2345678901234525E14"),
    S("a.b 1356998400 1e39 h=a", "a.b{h=a} 1356998400000 1.0E39"),
    S("a.b 1356998400 9223372036854775807 h=a",
      "a.b{h=a} 1356998400000 9223372036854775807"),
    S("a.b 1356998400 -9223372036854775808 h=a",
      "a.b{h=a} 1356998400000 -9223372036854775808"),
    S("a.b 1356998400 1 h=a  dc=x  ", "a.b{dc=x,h=a} 1356998400000 1"),
    S("a.b 1356998400 1 h=a h=a", "a.b{h=a} 1356998400000 1"),
    /* Times: what fits into 32 bits is seconds. */
    S("a.b 1 1 h=a", "a.b{h=a} 1000 1"),
    S("a.b 4294967295 1 h=a", "a.b{h=a} 4294967295000 1"),
    S("a.b 4294967296 1 h=a", "a.b{h=a} 4294967296 1"),
    S("a.b 1356998400123 1 h=a", "a.b{h=a} 1356998400123 1"),
    S("a.b 1356998400.123 1 h=a", "a.b{h=a} 1356998400123 1"),
    S("a.b 1356998400.5 1 h=a", "a.b{h=a} 1356998400500 1"),
    S("a.b 1356998400.05 1 h=a", "a.b{h=a} 1356998400050 1"),
    S("a.b 1356998400.50 1 h=a", "a.b{h=a} 1356998400500 1"),
    S("a.b 4294968.5 1 h=a", "a.b{h=a} 4294968500 1"),
    S("a.b 4294967295.9 1 h=a", "a.b{h=a} 4294967295900 1"),
    S("a.b 1.356998400 1 h=a", "a.b{h=a} 1356998400000 1"),
    S("a.b 1356998400. 1 h=a", "a.b{h=a} 1356998400000 1"),
    E("a.b 13569984.0051 1 h=a",
      VAL "Invalid time: 13569984.0051. A fraction of a second has 1 to 3 "
          "digits"),
    E("a.b 135699840012.3 1 h=a",
      VAL "Invalid time: 135699840012.3. A fraction of a second has 1 to 3 "
          "digits"),
    E("a.b 1.5 1 h=a",
      VAL "Invalid time: 1.5. Times before 1970-02-19T17:02:48 have no "
          "fraction"),
    E("a.b 1356998400.1234 1 h=a",
      ARG "bad timestamp=13569984001234 when trying to add value=[1]/0 to "
          "metric=a.b, tags={h=a}"),
    E("a.b -1356998400.5 1 h=a", ARG "invalid timestamp: -13569984005"),
    S("a.b 00000000012 1 h=a", "a.b{h=a} 12000 1"),
    S("a.b 4294967295999 1 h=a", "a.b{h=a} 4294967295999 1"),
    E("a.b 4294967296000 1 h=a",
      ARG "bad timestamp=4294967296000 when trying to add value=[1]/0 to "
          "metric=a.b, tags={h=a}"),
    E("a.b 17000000001234567 300 h=a",
      ARG "bad timestamp=17000000001234567 when trying to add value=[1, 44]/1 "
          "to metric=a.b, tags={h=a}"),
    E("a.b 17000000001234567 2.5 z=1 h=a",
      ARG "bad timestamp=17000000001234567 when trying to add value="
          "[64, 32, 0, 0]/11 to metric=a.b, tags={h=a, z=1}"),
    E("a.b 17000000001234567 0.1 h=a",
      ARG "bad timestamp=17000000001234567 when trying to add value="
          "[63, -71, -103, -103, -103, -103, -103, -102]/15 to metric=a.b, "
          "tags={h=a}"),
    E("a.b 0 1 h=a", ARG "invalid timestamp: 0"),
    E("a.b -5 1 h=a", ARG "invalid timestamp: -5"),
    E("a.b abc 1 h=a", VAL "Invalid character 'a' in abc"),
    E("a.b  1 h=a", VAL "Empty string"),
    E("a.b . 1 h=a", VAL "Empty string"),
    E("a.b 13569984000000000000000 1 h=a",
      VAL "Value too long: 13569984000000000000000"),
    /* Arguments. */
    E(NULL, ARG "not enough arguments (need least 4, got 0)"),
    E("", ARG "not enough arguments (need least 4, got 1)"),
    E("a.b", ARG "not enough arguments (need least 4, got 1)"),
    E("a.b 1 2", ARG "not enough arguments (need least 4, got 3)"),
    E("a.b 1 1 ", ARG "Need at least one tag (metric=a.b, tags={})"),
    E("a.b   ", VAL "Empty string"),
    E("a.b 1  ", ARG "empty value"),
    E("    ", ARG "empty metric name"),
    /* A word is missing. */
    E(" 1356998400 1 h=a", ARG "empty metric name"),
    E(" 1356998400 1 h=a dc=x", ARG "empty metric name"),
    E("a.b 1  h=a", ARG "empty value"),
    /* Doubled blanks. */
    S(" a.b 1 1 h=a", "a.b{h=a} 1000 1"),
    S("a.b  1 1 h=a", "a.b{h=a} 1000 1"),
    S("a.b 1  1 h=a", "a.b{h=a} 1000 1"),
    S("   a.b   1   2.5   h=a   dc=x   ", "a.b{dc=x,h=a} 1000 2.5"),
    E("a.b 1 1 h", ARG "invalid tag: h"),
    E("a.b 1 1 h=", ARG "invalid tag: h="),
    E("a.b 1 1 =a", ARG "invalid tag: =a"),
    E("a.b 1 1 h=a=b", ARG "invalid tag: h=a=b"),
    E("a.b 1 1 h=a h=b", ARG "duplicate tag: h=b, tags={h=a}"),
    E("a.b 1 1 h=1 h2=2 h3=3 h4=4 h5=5 h6=6 h7=7 h8=8 h9=9",
      ARG "Too many tags: 9 maximum allowed: 8, tags: {h8=8, h9=9, h=1, h2=2, "
          "h3=3, h4=4, h5=5, h6=6, h7=7}"),
    E("a.b 1 1 k0=v k1=v k2=v k3=v k4=v k5=v k6=v k7=v k8=v k9=v k10=v",
      ARG "Too many tags: 11 maximum allowed: 8, tags: {k0=v, k1=v, k2=v, "
          "k3=v, k4=v, k5=v, k6=v, k10=v, k7=v, k8=v, k9=v}"),
    E("a!b 1 1 h=a", ARG "Invalid metric name (\"a!b\"): illegal character: !"),
    E("a.b 1 1 h$=a",
      ARG "Invalid tag name with value [a] (\"h$\"): illegal character: $"),
    E("a.b 1 1 h=a:b",
      ARG "Invalid tag value with key [h] (\"a:b\"): illegal character: :"),
    /* UTF-8 where all of the line is, ISO-8859-1 otherwise. */
    S("x.\xc3\xa9 1 1 h=a", "x.\xc3\xa9{h=a} 1000 1"),
    E("x.\xc3\xa9 1 1 h=\xe9",
      ARG "Invalid metric name (\"x.\xc3\x83\xc2\xa9\"): illegal character: "
          "\xc2\xa9"),
    S("x.\xe9 1 1 h=a", "x.\xc3\xa9{h=a} 1000 1"),
    /* Values. */
    E("a.b 1 x h=a", VAL "Invalid character 'x' in x"),
    E("a.b 1 1x h=a", VAL "Invalid character 'x' in 1x"),
    E("a.b 1 1.2.3 h=a", VAL "multiple points"),
    E("a.b 1 true h=a", VAL "For input string: \"true\""),
    E("a.b 1 NaN h=a", VAL "Invalid character 'N' in NaN"),
    E("a.b 1 -inf h=a", VAL "Invalid character 'i' in -inf"),
    E("a.b 1 0x10 h=a", VAL "Invalid character 'x' in 0x10"),
    E("a.b 1 -- h=a", VAL "Invalid character '-' in --"),
    E("a.b 1 - h=a", VAL "Just a sign, no value: -"),
    E("a.b 1 9223372036854775808 h=a", VAL "Overflow in 9223372036854775808"),
    E("a.b 1 -9223372036854775809 h=a", VAL "Overflow in -9223372036854775809"),
    E("a.b 1 1e400 h=a",
      ARG "value is NaN or Infinite: Infinity for metric=a.b timestamp=1"),
    E("a.b 1 -1e400 h=a",
      ARG "value is NaN or Infinite: -Infinity for metric=a.b timestamp=1"),
};

START_TEST(takes_lines)
{
    const char *line = lines[_i].line;

    /* Twice: what the cache knows is treated as what it does not know. */
    for (int round = 0; round < 2; round++) {
        struct slice s = line == NULL ? slice_of(NULL, 0) : slice_str(line);
        size_t stored;

        buf_clear(&fake.log);
        buf_clear(&errors);
        put_batch_line(batch, s, 0, false);
        stored = flush();
        ck_assert_uint_eq(stored, lines[_i].stored != NULL);
        ck_assert_str_eq(fake_log(),
                         lines[_i].stored == NULL ? "" : lines[_i].stored);
        ck_assert_str_eq(buf_cstr(&errors),
                         lines[_i].error == NULL ? "" : lines[_i].error);
    }
    /* Lines that begin with a blank or have two side by side are not cached. */
    ck_assert_uint_le(
        fake.resolved,
        line != NULL && (line[0] == ' ' || strstr(line, "  ")) ? 2 : 1);
}
END_TEST

/* -- JSON ------------------------------------------------------------------ */

#define P(v)                                                                   \
    "{\"metric\":\"m\",\"timestamp\":1,\"value\":" v ",\"tags\":{\"h\":\"a\"}" \
    "}"
#define T(t)                                                                   \
    "{\"metric\":\"m\",\"timestamp\":" t ",\"value\":1,\"tags\":{\"h\":\"a\"}" \
    "}"
#define G(g) "{\"metric\":\"m\",\"timestamp\":1,\"value\":1,\"tags\":" g "}"

static const struct {
    const char *body;
    const char *result; /* log, errors; NULL: a fault of the syntax */
} bodies[] = {
    { P("1"), "m{h=a} 1000 1\n" },
    { P("-1.50"), "m{h=a} 1000 -1.5\n" },
    { P("\"1e3\""), "m{h=a} 1000 1000.0\n" },
    { P("\"+7\""), "m{h=a} 1000 7\n" },
    { P("\"\\u0037\""), "m{h=a} 1000 7\n" },
    { P("\" 5.5 \""), "m{h=a} 1000 5.5\n" },
    { P("\" 5\""), "value: Unable to parse value to a number\n" },
    { P("NaN"), "value: Unable to parse value to a number\n" },
    { P("-Infinity"), "value: Unable to parse value to a number\n" },
    { P("true"), "value: Unable to parse value to a number\n" },
    { P("18446744073709551615"), "value: Unable to parse value to a number\n" },
    { P("1e400"), "argument: value is NaN or Infinite: Infinity for metric=m "
                  "timestamp=1\n" },
    { P("null"), "argument: Empty value\n" },
    { P("\"\""), "argument: Empty value\n" },
    { P("[1]"), NULL },
    { P("{}"), NULL },
    { P("01"), NULL },
    { P("+1"), NULL },
    { P(".5"), NULL },
    { P("5."), NULL },
    { P("1e"), NULL },
    { P("nul"), NULL },
    { P("nullx"), NULL },
    { P("'1'"), NULL },
    { T("\"1356998401\""), "m{h=a} 1356998401000 1\n" },
    { T("1356998402.9"), "m{h=a} 1356998402900 1\n" },
    { T("1356998402.05"), "m{h=a} 1356998402050 1\n" },
    { T("1356998402.0"), "m{h=a} 1356998402000 1\n" },
    { T("1356998402.123456"), "m{h=a} 1356998402123 1\n" },
    { T("1356998402123.5"), "m{h=a} 1356998402123 1\n" },
    { T("\"1356998402.5\""), "m{h=a} 1356998402500 1\n" },
    { T("\" 1356998402.25 \""), "m{h=a} 1356998402250 1\n" },
    { T("1e9"), "m{h=a} 1000000000000 1\n" },
    { T("1.3569984025E9"), "m{h=a} 1356998402500 1\n" },
    { T("1.35699840212345e+9"), "m{h=a} 1356998402123 1\n" },
    { T("13569984025E-1"), "m{h=a} 1356998402500 1\n" },
    { T("1.356998402E9"), "m{h=a} 1356998402000 1\n" },
    { T("1.3569984025E12"), "m{h=a} 1356998402500 1\n" },
    { T("-1.3569984025E9"), "argument: Invalid timestamp\n" },
    { T("1356998403123"), "m{h=a} 1356998403123 1\n" },
    { T("\"\""), "argument: Invalid timestamp\n" },
    { T("null"), "argument: Invalid timestamp\n" },
    { T("-1"), "argument: Invalid timestamp\n" },
    { T("135699840312345"),
      "argument: bad timestamp=135699840312345 when trying to add value=[1]/0 "
      "to metric=m, tags={h=a}\n" },
    { T("\"1356998402.\""), NULL },
    { T("\".1356998402\""), NULL },
    { T("\"1356998402.5x\""), NULL },
    { T("\"abc\""), NULL },
    { T("99999999999999999999"), NULL },
    { T("true"), NULL },
    { G("{\"h\":5}"), "m{h=5} 1000 1\n" },
    { G("{\"h\":true,\"a\":1.50}"), "m{a=1.50,h=true} 1000 1\n" },
    { G("{\"h\":\"x\",\"h\":\"b\"}"), "m{h=b} 1000 1\n" },
    { G("{ \"h\" : \"\\u0061\\u00e9\" }"), "m{h=a\xc3\xa9} 1000 1\n" },
    { G("{\"h\":null}"), "argument: Invalid tag value with key [h]: null\n" },
    { G("{\"h\":\"\"}"),
      "argument: Invalid tag value with key [h]: empty string\n" },
    { G("{\"\":\"a\"}"),
      "argument: Invalid tag name with value [a]: empty string\n" },
    { G("{\"h\":\"\\ud800\"}"),
      "argument: Invalid tag value with key [h] (\"\xef\xbf\xbd\"): illegal "
      "character: \xef\xbf\xbd\n" },
    { G("{\"h\":\"\xff\"}"),
      "argument: Invalid tag value with key [h] (\"\xef\xbf\xbd\"): illegal "
      "character: \xef\xbf\xbd\n" },
    { G("{\"h\":\"}\"}"),
      "argument: Invalid tag value with key [h] (\"}\"): illegal character: "
      "}\n" },
    { G("{}"), "argument: Missing tags\n" },
    { G("null"), "argument: Missing tags\n" },
    { G("{\"h\":[\"x\"]}"), NULL },
    { G("[]"), NULL },
    { G("\"x\""), NULL },
    { G("{\"h\":\"a\nb\"}"), NULL },
    { G("{\"h\":\"\\x\"}"), NULL },
    { G("{\"h\":\"a\",}"), NULL },
    { G("{\"h\" \"a\"}"), NULL },
    { "{}", "argument: Metric name was empty\n" },
    { "[{}]", "argument: Metric name was empty\n" },
    { "[null]", "argument: Unexpected null datapoint encountered in set.\n" },
    { "[" P("1") "," P("\"x\"") "," P("2") "]",
      "m{h=a} 1000 1\nm{h=a} 1000 2\nvalue: Unable to parse value to a "
      "number\n" },
    { " [ " P("1") " , " P("2") " ] trailing",
      "m{h=a} 1000 1\nm{h=a} 1000 2\n" },
    { P("1") " trailing", "m{h=a} 1000 1\n" },
    { "[]", "" },
    { "[ ]", "" },
    { "{\"x\":{\"y\":[1,{\"z\":[]},\"]\"],\"w\":{}},\"m\\u0065tric\":\"m\","
      "\"timestamp\":1,\"value\":1,\"tags\":{\"h\":\"a\"},\"n\":null}",
      "m{h=a} 1000 1\n" },
    { "{\"metric\":\"m\",\"metric\":\"n\",\"timestamp\":1,\"value\":1,"
      "\"tags\":{\"h\":\"a\"}}",
      "n{h=a} 1000 1\n" },
    { "", NULL },
    { "null", NULL },
    { "5", NULL },
    { "\"str\"", NULL },
    { "\xef\xbb\xbf[]", NULL },
    { "{", NULL },
    { "[", NULL },
    { "[1]", NULL },
    { "[[" P("1") "]]", NULL },
    { "[" P("1") "", NULL },
    { "[" P("1") ",]", NULL },
    { "[" P("1") P("1") "]", NULL },
    { "{'metric':'m'}", NULL },
    { "{\"x\":[1,2}", NULL },
    { "{\"x\":{1:2}}", NULL },
};

static void
on_json_failed(void *ctx, size_t id, enum put_fault fault, struct slice why)
{
    static const char *const names[] = { "value", "argument", "unknown",
                                         "storage" };
    (void)ctx;
    (void)id;
    buf_printf(&errors, "%s: ", names[fault]);
    buf_put_slice(&errors, why);
    buf_put_str(&errors, "\n");
}

static void
fail_as_json(void)
{
    put_batch_free(&batch);
    batch = put_batch_new(path, on_json_failed, NULL);
}

static struct put_json_point points[PUT_BATCH_MAX];

/* All points of a body; false for a fault of the syntax. */
static bool
put_body(struct slice body)
{
    struct put_json r;
    size_t n = 0;

    if (!put_json_open(&r, body))
        return false;
    while (n < PUT_BATCH_MAX && put_json_next(&r, &points[n]))
        n++;
    if (put_json_status(&r, NULL) != ST_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        put_batch_json(batch, &points[i], i, false);
    (void)flush();
    return true;
}

START_TEST(takes_bodies)
{
    fail_as_json();
    for (int round = 0; round < 2; round++) {
        bool ok = put_body(slice_str(bodies[_i].body));

        ck_assert_int_eq(ok, bodies[_i].result != NULL);
        buf_put_slice(&fake.log, buf_slice(&errors));
        if (ok)
            ck_assert_str_eq(fake_log(), bodies[_i].result);
        buf_clear(&fake.log);
        buf_clear(&errors);
    }
}
END_TEST

/* Deep nesting costs no stack and ends at a limit. */
START_TEST(bounds_depth)
{
    struct buf body = BUF_INIT;
    struct put_json r;
    struct put_json_point x;

    for (int depth = 60; depth < 70; depth++) {
        buf_clear(&body);
        buf_put_str(&body, "{\"x\":");
        for (int i = 0; i < depth; i++)
            buf_put_str(&body, "[");
        for (int i = 0; i < depth; i++)
            buf_put_str(&body, "]");
        buf_put_str(&body, "}");
        ck_assert(put_json_open(&r, buf_slice(&body)));
        ck_assert_int_eq(put_json_next(&r, &x), depth <= 64);
    }
    buf_fini(&body);
}
END_TEST

/* A tag from a header is added to each point, and wins. */
START_TEST(adds_the_header_tag)
{
    fail_as_json();
    put_batch_set_extra(batch, slice_str("dc"), slice_str("lga"));
    ck_assert(put_body(
        slice_str("[" P("1") "," G("{\"dc\":\"x\"}") "," G("{}") "]")));
    ck_assert_str_eq(fake_log(), "m{dc=lga,h=a} 1000 1\nm{dc=lga} 1000 1\n"
                                 "m{dc=lga} 1000 1\n");
}
END_TEST

/* -- the store's answers --------------------------------------------------- */

static void
put_lines(size_t n, size_t series)
{
    static char text[PUT_BATCH_MAX][80];

    for (size_t i = 0; i < n; i++) {
        (void)snprintf(text[i], sizeof text[i], "m %zu %zu h=%zu", i + 1, i,
                       i % series);
        put_batch_line(batch, slice_str(text[i]), i, false);
    }
}

START_TEST(resolves_each_spelling_once)
{
    for (int round = 0; round < 3; round++) {
        put_batch_line(batch, slice_str("m 1 1 a=b c=d"), 0, false);
        put_batch_line(batch, slice_str("m 2 1 c=d a=b"), 0, false);
        ck_assert_uint_eq(flush(), 2);
    }
    ck_assert_uint_eq(fake.resolved, 2);
    ck_assert_uint_eq(fake.series_len, 1);
    put_path_drop_cache(path);
    put_batch_line(batch, slice_str("m 1 1 a=b c=d"), 0, false);
    ck_assert_uint_eq(flush(), 1);
    ck_assert_uint_eq(fake.resolved, 3);
}
END_TEST

START_TEST(counts_points_of_the_future)
{
    uint64_t before = counter_get(CNT_POINTS_FUTURE);
    long long now_s = clock_now_ms(&clock_system) / 1000;
    char soon[64], late[64];

    (void)snprintf(soon, sizeof soon, "m %lld 1 a=b", now_s + 30);
    (void)snprintf(late, sizeof late, "m %lld 1 a=b", now_s + 600);
    for (size_t round = 0; round < 2; round++) {
        put_batch_line(batch, slice_str("m 1356998400 1 a=b"), 0, false);
        put_batch_line(batch, slice_str(soon), 1, false);
        put_batch_line(batch, slice_str(late), 2, false);
        ck_assert_uint_eq(flush(), 3);
        ck_assert_uint_eq(counter_get(CNT_POINTS_FUTURE) - before, round + 1);
    }
}
END_TEST

/* The same tags behind each other are read once, whatever the metric. */
START_TEST(knows_tags_from_the_row_before)
{
    static const char *const sent[] = {
        "m 1 1 a=b c=d", "n 1 2 a=b c=d",  "o 1 3 a=x",     "m 1 4 a=x",
        "n 1 5 a=x",     "m 2 6 a=x ",     "n 2 7 a=x c=d", "m 2 8 a=x c=d e",
        "o 2 9 a=x c=d", "m 2 10 a=x c=d", "m 2 11 a=b",    "bad! 2 12 a=b",
        "o 2 13 a=b",
    };

    put_batch_line(batch, slice_str("m 1 0 z=z"), 0, false);
    put_batch_line(batch, slice_str("n 1 0 z=z"), 0, false);
    put_batch_line(batch, slice_str("o 1 0 z=z"), 0, false);
    ck_assert_uint_eq(flush(), 3);
    ck_assert_uint_eq(fake.short_ways, 0); /* the metrics were new */
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++)
        put_batch_line(batch, slice_str(sent[i]), i, false);
    ck_assert_uint_eq(flush(), 11);
    ck_assert_uint_eq(fake.short_ways, 6);
    ck_assert_str_eq(
        fake_log(),
        "m{z=z} 1000 0\nn{z=z} 1000 0\no{z=z} 1000 0\n"
        "m{a=b,c=d} 1000 1\nn{a=b,c=d} 1000 2\no{a=x} 1000 3\n"
        "m{a=x} 1000 4\nn{a=x} 1000 5\nm{a=x} 2000 6\nn{a=x,c=d} 2000 7\n"
        "o{a=x,c=d} 2000 9\nm{a=x,c=d} 2000 10\nm{a=b} 2000 11\n"
        "o{a=b} 2000 13\n");
}
END_TEST

START_TEST(asks_again_for_stale_series)
{
    put_lines(100, 7);
    ck_assert_uint_eq(flush(), 100);
    fake_forget();
    put_lines(100, 7);
    ck_assert_uint_eq(flush(), 100);
    ck_assert_uint_eq(errors.size, 0);
    ck_assert_uint_eq(fake.series_len, 14);
    put_lines(100, 7);
    ck_assert_uint_eq(flush(), 100);
    ck_assert_uint_eq(fake.series_len, 14);
}
END_TEST

START_TEST(waits_while_the_store_is_busy)
{
    size_t stored = 0;

    fake.is_busy = true;
    fake.busy = 40;
    put_lines(100, 7);
    put_batch_line(batch, slice_str("m bad"), 100, false);
    ck_assert_int_eq(put_batch_flush(batch, &stored), ST_BUSY);
    ck_assert_uint_eq(stored, 40);
    ck_assert_int_eq(put_batch_flush(batch, &stored), ST_BUSY);
    ck_assert_uint_eq(stored, 40);
    fake.is_busy = false;
    ck_assert_int_eq(put_batch_flush(batch, &stored), ST_OK);
    ck_assert_uint_eq(stored, 100);
    ck_assert_uint_eq(fake.points, 100);
    ck_assert_str_eq(buf_cstr(&errors),
                     "put: illegal argument: not enough arguments (need least "
                     "4, got 2)\n");
}
END_TEST

START_TEST(reports_a_failing_store)
{
    fake.fails = true;
    put_lines(2, 1);
    ck_assert_uint_eq(flush(), 0);
    ck_assert_str_eq(buf_cstr(&errors),
                     "put: storage error: the disk is on fire\n"
                     "put: storage error: the disk is on fire\n");
    fake.fails = false;
    buf_clear(&errors);
    fake.unknown_metrics = true;
    put_path_drop_cache(path);
    put_lines(1, 1);
    ck_assert_uint_eq(flush(), 0);
    ck_assert_str_eq(buf_cstr(&errors),
                     "put: unknown metric: No such name for 'metrics': 'm'\n");
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "put", LOOP(takes_lines, lines),
               LOOP(takes_bodies, bodies), TEST(bounds_depth),
               TEST(adds_the_header_tag), TEST(resolves_each_spelling_once),
               TEST(counts_points_of_the_future),
               TEST(knows_tags_from_the_row_before),
               TEST(asks_again_for_stale_series),
               TEST(waits_while_the_store_is_busy),
               TEST(reports_a_failing_store))
