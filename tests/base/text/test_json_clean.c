#include "base/text/json_clean.h"

#include "tests/harness.h"

#define BAD "\xef\xbf\xbd"

static const struct {
    const char *text, *clean; /* NULL: as it is */
} texts[] = {
    { "", NULL },
    { "{\"a\":[1,\"b\\\"\\\\\\u00e9\\n\"]}", NULL },
    { "\"\xe2\x82\xac\xf0\x9f\x98\x80\"", NULL },
    { "\"\\ud83d\\uDE00\"", NULL },
    { "\"\\\\ud800\"", NULL },
    { "\\ud800", NULL }, /* in no text */
    { "\"a\xff\"", "\"a" BAD "\"" },
    { "\"\xe2\x82 \xc3\"", "\"" BAD " " BAD "\"" },
    { "\"\xc0\xaf\"", "\"" BAD BAD "\"" },
    { "\"\\\xff\\\"\"", "\"\\" BAD "\\\"\"" },
    { "\"a\\ud800b\"", "\"a" BAD "b\"" },
    { "\"\\uDC00\"", "\"" BAD "\"" },
    { "\"\\ud800\\ud83d\\ude00\"", "\"" BAD "\\ud83d\\ude00\"" },
    { "\"\\ud800\\u0041\\ude00\"", "\"" BAD "\\u0041" BAD "\"" },
    { "\"\\ud800\\udc0\"", "\"" BAD "\\udc0\"" },
    { "\"\\ud80", NULL },
    { "\"\\", NULL },
    { "\"\xf0\x9f", "\"" BAD },
    { "[\xff]", "[" BAD "]" },
};

START_TEST(replaces)
{
    struct buf out = BUF_INIT;
    bool changed = json_clean(slice_str(texts[_i].text), &out);

    ck_assert(changed == (texts[_i].clean != NULL));
    if (changed)
        ck_assert_str_eq(buf_cstr(&out), texts[_i].clean);
    else
        ck_assert_uint_eq(out.size, 0);
    buf_fini(&out);
}
END_TEST

START_TEST(does_not_grow_for_ever)
{
    static char text[600000];
    struct buf out = BUF_INIT;

    memset(text, 0xff, sizeof text);
    ck_assert(json_clean(slice_of(text, 500000), &out));
    ck_assert_uint_eq(out.size, 1500000);
    buf_clear(&out);
    ck_assert(!json_clean(slice_of(text, sizeof text), &out));
    buf_fini(&out);
}
END_TEST

TEST_MAIN("json_clean", LOOP(replaces, texts), TEST(does_not_grow_for_ever))
