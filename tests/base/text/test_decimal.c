#include "base/text/decimal.h"

#include "tests/harness.h"

START_TEST(puts_four)
{
    for (unsigned v = 0; v < 10000; v++) {
        char text[16], want[16];

        decimal_put_four(text, v);
        text[4] = '\0';
        (void)snprintf(want, sizeof want, "%04u", v);
        ck_assert_str_eq(text, want);
    }
}
END_TEST

START_TEST(puts_short)
{
    for (unsigned v = 0; v < 1000000; v++) {
        char text[16], want[16];

        text[decimal_put_short(text, v)] = '\0';
        (void)snprintf(want, sizeof want, "%u", v);
        if (strcmp(text, want) != 0)
            ck_abort_msg("%s, not %s", text, want);
    }
}
END_TEST

TEST_MAIN("decimal", TEST(puts_four), TEST(puts_short))
