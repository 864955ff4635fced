#include "base/utf8.h"

#include <string.h>

#include "tests/harness.h"

static const struct {
    const char *text;
    uint32_t first;
    size_t takes;
} cases[] = {
    { "a", 'a', 1 },
    { "\x7f\x80", 0x7f, 1 },
    { "\xc3\xa4z", 0xe4, 2 },
    { "\xe2\x82\xac", 0x20ac, 3 },
    { "\xf0\x9d\x84\x9e", 0x1d11e, 4 },
    { "\xf4\x8f\xbf\xbf", 0x10ffff, 4 },
    { "\x80", UTF8_BAD, 1 }, /* goes on with nothing */
    { "\x99zzzzzzzzzzzz", UTF8_BAD, 1 },
    { "\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf", UTF8_BAD, 1 },
    { "\xc0\x80", UTF8_BAD, 1 }, /* too long */
    { "\xc1\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf", UTF8_BAD, 1 },
    { "\xe0\x9f\xbf", UTF8_BAD, 1 },
    { "\xf0\x8f\xbf\xbf", UTF8_BAD, 1 },
    { "\xed\xa0\x80", UTF8_BAD, 1 },     /* half of a pair */
    { "\xf4\x90\x80\x80", UTF8_BAD, 1 }, /* beyond the last */
    { "\xf5\x80\x80\x80", UTF8_BAD, 1 },
    { "\xff", UTF8_BAD, 1 },
    { "\xc3", UTF8_BAD, 1 }, /* ends too soon */
    { "\xe2\x82", UTF8_BAD, 1 },
    { "\xe2\x82z", UTF8_BAD, 1 },
};

START_TEST(takes_one)
{
    size_t size = strlen(cases[_i].text);
    uint8_t *bytes = malloc(size); /* not one byte more */
    struct slice s = slice_of(bytes, size);

    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, cases[_i].text, size);
    ck_assert_uint_eq(utf8_take(&s), cases[_i].first);
    ck_assert_uint_eq(s.size, size - cases[_i].takes);
    ck_assert_ptr_eq(s.data, bytes + cases[_i].takes);
    free(bytes);
}
END_TEST

/* Each character there is comes back from its bytes. */
START_TEST(takes_them_all)
{
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        uint8_t bytes[4];
        size_t n = 0;
        struct slice s;

        if (c >= 0xd800 && c < 0xe000)
            continue;
        if (c < 0x80)
            bytes[n++] = (uint8_t)c;
        else if (c < 0x800)
            bytes[n++] = (uint8_t)(0xc0 | c >> 6);
        else if (c < 0x10000)
            bytes[n++] = (uint8_t)(0xe0 | c >> 12);
        else
            bytes[n++] = (uint8_t)(0xf0 | c >> 18);
        for (unsigned shift = c < 0x80      ? 0
                              : c < 0x800   ? 6
                              : c < 0x10000 ? 12
                                            : 18;
             shift > 0;) {
            shift -= 6;
            bytes[n++] = (uint8_t)(0x80 | (c >> shift & 0x3f));
        }
        s = slice_of(bytes, n);
        if (utf8_take(&s) != c || s.size != 0)
            ck_abort_msg("U+%04X", (unsigned)c);
    }
}
END_TEST

TEST_MAIN("utf8", LOOP(takes_one, cases), TEST(takes_them_all))
