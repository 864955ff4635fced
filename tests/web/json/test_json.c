/* Writing strings, and the limits of parsing. */
#include "web/json/json.h"

#include <jansson.h>

#include "tests/harness.h"

static const struct string_case {
    const char *in;
    size_t size;
    const char *out;
} strings[] = {
    { "", 0, "\"\"" },
    { "plain text", 10, "\"plain text\"" },
    { "a\"b\\c/d", 7, "\"a\\\"b\\\\c/d\"" },
    { "\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"" },
    { "\0\x1f\x7f", 3, "\"\\u0000\\u001F\x7f\"" },
    { "h\xc3\xb6he", 5, "\"h\xc3\xb6he\"" },
    { "\xe2\x82\xac\xf0\x9f\x98\x80", 7, "\"\xe2\x82\xac\xf0\x9f\x98\x80\"" },
    /* no UTF-8: one U+FFFD for each part that could not be continued */
    { "\xff", 1, "\"\xef\xbf\xbd\"" },
    { "a\xc3", 2, "\"a\xef\xbf\xbd\"" },
    { "\xc0\x80", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
    { "\xe2\x82", 2, "\"\xef\xbf\xbd\"" },
    { "\xe2\x82x", 3, "\"\xef\xbf\xbdx\"" },
    { "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
    { "\xf4\x90\x80\x80", 4,
      "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
};

START_TEST(writes_strings)
{
    const struct string_case *c = &strings[_i];
    struct buf b = BUF_INIT;

    json_put_string(&b, slice_of(c->in, c->size));
    ck_assert_str_eq(buf_cstr(&b), c->out);
    buf_fini(&b);
}
END_TEST

/* Whatever bytes go in, Jansson reads it; UTF-8 without NUL comes back. */
START_TEST(what_is_written_can_be_read)
{
    uint64_t seed = harness_seed(20260101);
    struct buf b = BUF_INIT;

    for (int round = 0; round < 2000; round++) {
        uint8_t bytes[64];
        size_t size = harness_random(&seed) % sizeof bytes;
        uint8_t mask = round % 2 == 0 ? 0x7f : 0xff;
        struct json_t *j;
        struct error e = { 0 };

        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)(1 + harness_random(&seed) % 255) & mask;
        for (size_t i = 0; i < size; i++)
            bytes[i] = bytes[i] == 0 ? 'x' : bytes[i];
        buf_clear(&b);
        json_put_string(&b, slice_of(bytes, size));
        ck_assert_msg(json_parse(buf_slice(&b), JSON_REQUEST_VALUES, &j, &e) ==
                          ST_OK,
                      "%s", e.text);
        if (mask == 0x7f) {
            ck_assert_uint_eq(json_string_length(j), size);
            ck_assert_mem_eq(json_string_value(j), bytes, size);
        }
        json_decref(j);
    }
    buf_fini(&b);
}
END_TEST

static const struct parse_case {
    const char *text;
    enum status status;
} parses[] = {
    { "{}", ST_OK },
    { " [1, 2.5, \"x\", null] ", ST_OK },
    { "\"text\"", ST_OK },
    { "\"[[[{{{\\\"[\"", ST_OK },
    { "", ST_INVALID },
    { "{", ST_INVALID },
    { "{\"a\":}", ST_INVALID },
    { "[1] x", ST_OK }, /* as Jackson reads it */
    { "x [1]", ST_INVALID },
    { "[NaN]", ST_INVALID },
    { "\"\xff\"", ST_INVALID },
};

START_TEST(parses_text)
{
    struct json_t *j;
    struct error e = { 0 };

    ck_assert_int_eq(
        json_parse(slice_str(parses[_i].text), JSON_REQUEST_VALUES, &j, &e),
        parses[_i].status);
    ck_assert((j != NULL) == (parses[_i].status == ST_OK));
    ck_assert((e.text[0] != '\0') == (j == NULL));
    json_decref(j);
}
END_TEST

START_TEST(the_last_of_a_name_wins)
{
    struct json_t *j;

    ck_assert_int_eq(json_parse(slice_str("{\"a\":1,\"a\":2}"),
                                JSON_REQUEST_VALUES, &j, NULL),
                     ST_OK);
    ck_assert_int_eq(json_integer_value(json_object_get(j, "a")), 2);
    json_decref(j);
}
END_TEST

/* 64 levels, not 65, however many brackets there are in all. */
START_TEST(limits_depth)
{
    struct buf b = BUF_INIT;
    struct json_t *j;
    struct error e = { 0 };

    for (int depth = 64; depth <= 65; depth++) {
        buf_clear(&b);
        buf_put_str(&b, "[\"]\",");
        for (int i = 1; i < depth; i++)
            buf_put_u8(&b, '[');
        for (int i = 1; i < depth; i++)
            buf_put_u8(&b, ']');
        buf_put_str(&b, ",[],[],{}]");
        ck_assert_int_eq(json_parse(buf_slice(&b), JSON_REQUEST_VALUES, &j, &e),
                         depth == 64 ? ST_OK : ST_INVALID);
        json_decref(j);
    }
    buf_clear(&b);
    for (int i = 0; i < 1000000; i++)
        buf_put_u8(&b, '[');
    ck_assert_int_eq(json_parse(buf_slice(&b), JSON_REQUEST_VALUES, &j, &e),
                     ST_INVALID);
    buf_fini(&b);
}
END_TEST

START_TEST(limits_values)
{
    static const struct {
        const char *text;
        size_t values;
    } texts[] = { { "1", 1 },
                  { "[1,\"a,b\\\",c\"]", 3 },
                  { "{\"a\":[{},{}]}", 7 } };
    struct json_t *j;
    struct error e;

    for (size_t i = 0; i < 3; i++) {
        struct slice text = slice_str(texts[i].text);

        ck_assert_int_eq(json_parse(text, texts[i].values, &j, &e), ST_OK);
        json_decref(j);
        ck_assert_int_eq(json_parse(text, texts[i].values - 1, &j, &e),
                         ST_LIMIT);
    }
}
END_TEST

static enum status
add_up(void *ctx, json_t *element, struct error *e)
{
    struct buf *sum = ctx;

    if (json_is_null(element))
        return error_set(e, ST_LIMIT, "null");
    buf_printf(sum, "%zu;",
               json_is_integer(element) ? (size_t)json_integer_value(element)
                                        : json_array_size(element));
    return ST_OK;
}

static const struct {
    const char *text, *sum;
    enum status status;
} arrays[] = {
    { "[]", "", ST_OK },
    { " [ \r\n] x", "", ST_OK },
    { "[7]", "7;", ST_OK },
    { " [ 1 ,[1,2,[3]] ,\n3\t] ", "1;3;3;", ST_OK },
    { "", "", ST_INVALID },
    { "{}", "", ST_INVALID },
    { "[", "", ST_INVALID },
    { "[1", "1;", ST_INVALID },
    { "[1,", "1;", ST_INVALID },
    { "[1,]", "1;", ST_INVALID },
    { "[1 2]", "1;", ST_INVALID },
    { "[1,[2]", "1;1;", ST_INVALID },
    { "[1,null,2]", "1;", ST_LIMIT },
};

START_TEST(takes_each_element)
{
    struct buf sum = BUF_INIT;
    struct error e;

    ck_assert_int_eq(json_each(slice_str(arrays[_i].text), add_up, &sum, &e),
                     arrays[_i].status);
    ck_assert_str_eq(buf_cstr(&sum), arrays[_i].sum);
    buf_fini(&sum);
}
END_TEST

TEST_MAIN("json", LOOP(writes_strings, strings),
          TEST(what_is_written_can_be_read), LOOP(parses_text, parses),
          TEST(the_last_of_a_name_wins), TEST(limits_depth),
          TEST(limits_values), LOOP(takes_each_element, arrays))
