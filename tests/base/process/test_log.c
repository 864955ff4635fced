#include "base/process/log.h"

#include <unistd.h>

#include "tests/harness.h"

static const struct {
    const char *bytes;
    size_t size;
    const char *quoted;
} quotes[] = {
    { "", 0, "\"\"" },
    { "abc", 3, "\"abc\"" },
    { "a\"b\\c", 5, "\"a\\\"b\\\\c\"" },
    { "a\nb\r\t", 5, "\"a\\x0ab\\x0d\\x09\"" },
    { "\0\x1b\x7f", 3, "\"\\x00\\x1b\\x7f\"" },
    { "\xc3\xa9", 2, "\"\xc3\xa9\"" },
    /* What an 8-bit terminal obeys, as UTF-8 too. */
    { "\x9bx", 2, "\"\\x9bx\"" },
    { "\xc2\x9bx", 3, "\"\\xc2\\x9bx\"" },
    { "\xc3", 1, "\"\\xc3\"" },
    { "\xff\xe9", 2, "\"\\xff\\xe9\"" },
};

START_TEST(quotes_client_bytes)
{
    ck_assert_str_eq(log_quote(slice_of(quotes[_i].bytes, quotes[_i].size)),
                     quotes[_i].quoted);
}
END_TEST

/* 120 bytes whole; of 121 as many, and dots; the worst of them fit. */
START_TEST(quotes_are_cut)
{
    char bytes[200];

    memset(bytes, 'a', sizeof bytes);
    ck_assert_uint_eq(strlen(log_quote(slice_of(bytes, 120))), 122);
    ck_assert_uint_eq(strlen(log_quote(slice_of(bytes, 121))), 125);
    ck_assert_uint_eq(strlen(log_quote(slice_of(bytes, 200))), 125);
    memset(bytes, '\n', sizeof bytes);
    ck_assert_uint_eq(strlen(log_quote(slice_of(bytes, 200))), 4 * 120 + 5);
}
END_TEST

struct recent {
    size_t len;
    char last[1024];
};

static void
count(void *ctx, const char *line)
{
    struct recent *r = ctx;

    r->len++;
    (void)snprintf(r->last, sizeof r->last, "%s", line);
}

START_TEST(keeps_the_last_lines)
{
    struct recent r = { 0 };
    char *big = calloc(1, 3000);

    log_recent(count, &r);
    ck_assert_uint_eq(r.len, 0);
    log_set_level(LOG_WARN);
    log_info("test", "not shown");
    log_recent(count, &r);
    ck_assert_uint_eq(r.len, 0);
    log_warn("test", "a %s", "line\nand \x1b[31mmore");
    log_recent(count, &r);
    ck_assert_uint_eq(r.len, 1);
    /* 2026-11-21T12:00:00.123Z warn  test: ... */
    ck_assert_str_eq(r.last + 24, " warn  test: a line and  [31mmore");
    memset(big, 'x', 2999);
    log_error("test", "%s", big);
    r.len = 0;
    log_recent(count, &r);
    ck_assert_uint_eq(r.len, 2);
    ck_assert_uint_eq(strlen(r.last), 639);
    free(big);
}
END_TEST

START_TEST(forgets_the_oldest)
{
    struct recent r = { 0 };

    for (int i = 0; i < 1030; i++)
        log_error("test", "line %d", i);
    log_recent(count, &r);
    ck_assert_uint_eq(r.len, 1024);
    ck_assert_str_eq(r.last + 24, " error test: line 1029");
}
END_TEST

/* What the journal takes off a line is not part of it for others. */
START_TEST(priorities_stand_in_front)
{
    static const char *const priorities[] = { "<3>2", "<4>2", "<6>2" };
    struct recent r = { 0 };
    int ends[2], kept = dup(STDERR_FILENO);
    char text[1000] = "";

    ck_assert_int_eq(pipe(ends), 0);
    (void)dup2(ends[1], STDERR_FILENO);
    log_set_priorities(true);
    for (enum log_level level = LOG_ERROR; level <= LOG_INFO; level++) {
        log_line(level, "test", "a line");
        ck_assert_int_gt(read(ends[0], text, sizeof text), 20);
        ck_assert_int_eq(strncmp(text, priorities[level], 4), 0);
    }
    log_set_priorities(false);
    log_error("test", "a line");
    ck_assert_int_gt(read(ends[0], text, sizeof text), 20);
    ck_assert_int_eq(text[0], '2');
    (void)dup2(kept, STDERR_FILENO);
    log_recent(count, &r);
    ck_assert_uint_eq(r.len, 4);
    ck_assert_int_eq(r.last[0], '2');
}
END_TEST

static void
add_text(void *ctx, const char *line)
{
    const char *text = strstr(line, "): ");

    ck_assert_ptr_nonnull(strstr(line, "info  test: a query (part "));
    (void)strcat(ctx, text + 3);
}

START_TEST(long_texts_are_whole)
{
    static char text[5000], got[8000];
    struct recent r = { 0 };

    log_text(LOG_INFO, "test", "a query", slice_str("a\xc2\x9b[b\nc"));
    log_recent(count, &r);
    ck_assert_uint_eq(r.len, 1);
    ck_assert_str_eq(r.last + 24, " info  test: a query: a  [b c");
    log_text(LOG_DEBUG, "test", "a query", slice_str("x"));
    for (size_t i = 0; i < 1024; i++)
        log_info("test", "a query (part 0): ");
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = (char)('a' + i % 26);
    log_text(LOG_INFO, "test", "a query", slice_str(text));
    log_recent(add_text, got);
    ck_assert_str_eq(got, text);
}
END_TEST

TEST_MAIN_FORKED("log", TEST(long_texts_are_whole),
                 LOOP(quotes_client_bytes, quotes), TEST(quotes_are_cut),
                 TEST(keeps_the_last_lines), TEST(forgets_the_oldest),
                 TEST(priorities_stand_in_front))
