#include "base/error.h"

#include <string.h>

#include "tests/harness.h"

START_TEST(wrap_puts_context_first)
{
    struct error e;

    (void)error_set(&e, ST_IO, "No such file");
    ck_assert_int_eq(error_wrap(&e, ST_IO, "open %s", "data"), ST_IO);
    ck_assert_str_eq(e.text, "open data: No such file");
}
END_TEST

START_TEST(wrap_never_overflows)
{
    struct error e;
    char big[900];

    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    (void)error_set(&e, ST_IO, "%s", big);
    (void)error_wrap(&e, ST_IO, "%s", big);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
}
END_TEST

START_TEST(null_is_taken)
{
    ck_assert_int_eq(error_set(NULL, ST_BUSY, "x"), ST_BUSY);
    ck_assert_int_eq(error_wrap(NULL, ST_BUSY, "x"), ST_BUSY);
}
END_TEST

START_TEST(names_and_codes)
{
    ck_assert_int_eq(status_http(ST_OK), 200);
    ck_assert_int_eq(status_http(ST_LIMIT), 413);
    ck_assert_int_eq(status_http(ST_BUSY), 503);
}
END_TEST

TEST_MAIN("error", TEST(wrap_puts_context_first), TEST(wrap_never_overflows),
          TEST(null_is_taken), TEST(names_and_codes))
