#include "base/text/digit.h"

#include <stddef.h>
#include <string.h>

#include "tests/harness.h"

/* Every byte: its place in the alphabet, or -1. */
static int
place(const char *alphabet, int c)
{
    const char *at = c == 0 ? NULL : strchr(alphabet, c);

    return at == NULL ? -1 : (int)(at - alphabet);
}

START_TEST(hex_of_either_case)
{
    for (int c = 0; c < 256; c++) {
        int lower = place("0123456789abcdef", c);
        int upper = place("0123456789ABCDEF", c);

        ck_assert_int_eq(digit_hex((uint8_t)c), lower >= 0 ? lower : upper);
    }
}
END_TEST

START_TEST(base64_of_the_standard_alphabet)
{
    for (int c = 0; c < 256; c++)
        ck_assert_int_eq(digit_base64((uint8_t)c),
                         place("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "abcdefghijklmnopqrstuvwxyz0123456789+/",
                               c));
}
END_TEST

TEST_MAIN("digit", TEST(hex_of_either_case),
          TEST(base64_of_the_standard_alphabet))
