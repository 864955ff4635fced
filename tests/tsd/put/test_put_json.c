#include "tsd/put/put_json.h"

#include "tests/harness.h"
#include "tests/tsd/json_oracle.h"

static uint64_t state;

static uint64_t
roll(uint64_t n)
{
    return harness_random(&state) % n;
}

static const char *
pick(const char *const *all, size_t len)
{
    return all[roll(len)];
}

#define PICK(all) pick(all, sizeof(all) / sizeof *(all))

static void
put_string(struct buf *out)
{
    static const char *const parts[] = { "a",
                                         "host",
                                         "\\n",
                                         "\\u0041",
                                         "\\\\",
                                         "\\\"",
                                         "\\/",
                                         "}",
                                         "\\u00e9",
                                         "{",
                                         "\xc3\xa9",
                                         " ",
                                         "\\ud83d\\ude00",
                                         "a rather long chunk of text" };

    buf_put_str(out, "\"");
    for (uint64_t n = roll(4); n > 0; n--)
        buf_put_str(out, PICK(parts));
    buf_put_str(out, "\"");
}

static void
put_number(struct buf *out)
{
    static const char *const forms[] = { "0",       "-0",    "1.5",
                                         "-2.25e3", "1E-5",  "1e15",
                                         "true",    "false", "null" };

    if (roll(2) == 0)
        buf_put_str(out, PICK(forms));
    else
        buf_printf(out, "%lld",
                   (long long)(harness_random(&state) >> roll(64)) - 1000);
}

static void
put_blank(struct buf *out)
{
    static const char *const blanks[] = { "", "", "", "", " ", "\n\t ", "\r" };

    buf_put_str(out, PICK(blanks));
}

/* Anything, nested a little. */
static void
put_value(struct buf *out, unsigned depth)
{
    uint64_t kind = roll(depth == 0 ? 2 : 4), n = roll(4);

    put_blank(out);
    if (kind == 0)
        put_string(out);
    else if (kind == 1)
        put_number(out);
    for (uint64_t i = 0; kind >= 2 && i <= n; i++) {
        buf_put_str(out, i > 0 ? "," : kind == 2 ? "[" : "{");
        if (kind == 3)
            buf_printf(out, "\"k%llu\":", (unsigned long long)i);
        put_value(out, depth - 1);
    }
    if (kind >= 2)
        buf_put_str(out, kind == 2 ? "]" : "}");
    put_blank(out);
}

static void
put_tags(struct buf *out)
{
    uint64_t n = roll(5);

    if (roll(20) == 0) {
        put_value(out, 1);
        return;
    }
    buf_put_str(out, "{");
    for (uint64_t i = 0; i < n; i++) {
        buf_printf(out, "%s\"t%llu\":", i > 0 ? "," : "",
                   (unsigned long long)i);
        put_value(out, roll(20) == 0);
    }
    buf_put_str(out, "}");
}

static void
put_point(struct buf *out)
{
    static const char *const names[] = { "metric",      "timestamp", "value",
                                         "tags",        "other",     "metri",
                                         "m\\u0065tric" };
    uint64_t from = roll(7), len = roll(8);

    if (roll(30) == 0) {
        put_value(out, 2);
        return;
    }
    buf_put_str(out, "{");
    for (uint64_t i = 0; i < len; i++) {
        const char *name = names[(from + i) % 6];

        buf_put_str(out, i > 0 ? "," : "");
        put_blank(out);
        buf_printf(out, "\"%s\"",
                   (from + i) % 6 == 0 && roll(9) == 0 ? names[6] : name);
        put_blank(out);
        buf_put_str(out, ":");
        put_blank(out);
        if ((from + i) % 6 == 1 && roll(9) != 0)
            buf_printf(out, "%u", (unsigned)roll(UINT32_MAX));
        else if ((from + i) % 6 == 3)
            put_tags(out);
        else
            put_value(out, (from + i) % 6 == 4 ? 3 : 0);
        put_blank(out);
    }
    buf_put_str(out, "}");
}

static void
put_document(struct buf *out)
{
    uint64_t n = roll(5);

    put_blank(out);
    if (roll(4) == 0) {
        put_point(out);
    } else {
        buf_put_str(out, "[");
        for (uint64_t i = 0; i < n; i++) {
            buf_put_str(out, i > 0 ? "," : "");
            put_point(out);
        }
        buf_put_str(out, "]");
    }
    put_blank(out);
}

/* Usually one document, sometimes several. */
static void
put_body(struct buf *out)
{
    static const char *const between[] = { "",     "\n", ",", " , ", "\x1e",
                                           "\r\n", ",,", "x", "\"" };

    put_document(out);
    while (roll(3) == 0) {
        buf_put_str(out, PICK(between));
        put_document(out);
    }
    if (roll(8) == 0)
        buf_put_str(out, PICK(between));
}

START_TEST(agrees_with_jansson)
{
    struct buf body = BUF_INIT;
    size_t compared = 0;

    state = harness_seed(7);
    for (int i = 0; i < 20000; i++) {
        buf_clear(&body);
        put_body(&body);
        /* Now and then a byte is wrong. */
        if (body.size > 0 && roll(4) == 0)
            body.data[roll(body.size)] = (uint8_t)roll(256);
        if (body.size > 0 && roll(4) == 0)
            body.data[roll(body.size)] = (uint8_t) "[]{},:\"0"[roll(8)];
        compared += json_oracle_check(buf_slice(&body));
    }
    ck_assert_uint_gt(compared, 9000);
    buf_fini(&body);
}
END_TEST

/* A body may be taken up in the middle: a copy of the reader is a bookmark. */
START_TEST(can_be_copied)
{
    struct buf body = BUF_INIT;
    struct put_json r, mark;
    struct put_json_point x, y;
    size_t n = 0;

    buf_put_str(&body, "[");
    for (int i = 1; i <= 100; i++)
        buf_printf(&body, "%s{\"timestamp\":%d,\"tags\":{\"a\":\"%d\"}}",
                   i > 1 ? "," : "", i, i / 3);
    buf_put_str(&body, "]");
    ck_assert(put_json_open(&r, buf_slice(&body)));
    while (put_json_next(&r, &x))
        if (++n == 50)
            mark = r;
    ck_assert_uint_eq(n, 100);
    ck_assert_int_eq(put_json_status(&r, NULL), ST_OK);
    while (put_json_next(&mark, &y))
        n++;
    ck_assert_uint_eq(n, 150);
    ck_assert_int_eq(x.time, y.time);
    ck_assert(slice_eq(x.tags, y.tags));
    buf_fini(&body);
}
END_TEST

#define A "{\"timestamp\":1}"
#define B "{\"timestamp\":2}"
#define C "{\"timestamp\":3}"

/* Every point of the body is read, or the body is rejected. */
START_TEST(reads_several_documents)
{
    static const struct {
        const char *body;
        int points; /* -1: the body is rejected */
    } cases[] = {
        { A, 1 },
        { A "\n", 1 },
        { A B C, 3 },
        { A "\n" B "\n" C "\n", 3 },
        { A "\r\n\r\n" B, 2 },
        { A "," B "," C, 3 },
        { A "\n,\t" B, 2 },
        { "[" A "," B "][" C "]", 3 },
        { "[" A "]\n[" B "," C "]\n", 3 },
        { "[" A "]," B, 2 },
        { A "[]" B "[ ]", 2 },
        { "[][]", 0 },
        { "[][null]", 1 },
        { "\x1e" A "\n\x1e" B "\n", 2 },
        /* What cannot be a point is ignored. */
        { A ",", 1 },
        { A ";", 1 },
        { A " trailing", 1 },
        { "[" A "]]", 1 },
        { A "\nnull", 1 },
        /* What could be one is a fault. */
        { A ";" B, -1 },
        { A ",," B, -1 },
        { A " trailing " B, -1 },
        { A "\nnull\n" B, -1 },
        { A "\n\"" B, -1 },
        { A "]" B, -1 },
        { A "\n{\"timestamp\":2", -1 },
        { A "\n{", -1 },
        { A "\n[", -1 },
        { "[" A "][" B, -1 },
        { "[" A "][" B ",]", -1 },
        { "[" A " " B "]", -1 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct put_json_point x;
        struct put_json r;
        int n = 0;

        ck_assert(put_json_open(&r, slice_str(cases[i].body)));
        while (put_json_next(&r, &x)) {
            ck_assert(x.absent || x.time == n + 1);
            n++;
        }
        if (put_json_status(&r, NULL) != ST_OK)
            n = -1;
        ck_assert_msg(n == cases[i].points, "%s: %d, not %d", cases[i].body, n,
                      cases[i].points);
        ck_assert(!put_json_next(&r, &x));
    }
}
END_TEST

TEST_MAIN("put_json", TEST(agrees_with_jansson), TEST(can_be_copied),
          TEST(reads_several_documents))
