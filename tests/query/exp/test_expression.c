#include "query/exp/expression.h"

#include <math.h>

#include "tests/harness.h"

/* With a = 7, b = 2, c = 0.5, n = NaN, z = 0. */
static const struct slice names[] = {
    { (const uint8_t *)"a", 1 }, { (const uint8_t *)"b", 1 },
    { (const uint8_t *)"c", 1 }, { (const uint8_t *)"n", 1 },
    { (const uint8_t *)"z", 1 },
};
static const double numbers[] = { 7, 2, 0.5, NAN, 0 };

static const struct {
    const char *text;
    double result;
} results[] = {
    { "a", 7 },
    { " a + b * c ", 8 },
    { "(a + b) * c", 4.5 },
    { "a - b - c", 4.5 },
    { "a - (b - c)", 5.5 },
    { "a / b / b", 1.75 },
    { "a % b", 1 },
    { "-a % b", -1 },
    { "a mod b div b", 0.5 },
    { "-a", -7 },
    { "- - a", 7 },
    { "a - -b", 9 },
    { "-a * b", -14 },
    { "a * 2.5", 17.5 },
    { "a * 1.5e1", 105 },
    { "a;", 7 },
    { "((((a))))", 7 },
    /* A division by nothing is nothing. */
    { "a / z", 0 },
    { "a / 0", 0 },
    { "a % 0", 0 },
    { "a * (1 / 0)", 0 },
    /* Integers divide as integers; among them a float counts as one. */
    { "1 / 2 * a", 0 },
    { "1.0 / 2 * a", 3.5 },
    { "-7 % 4 * a", 7 },
    { "010 * a", 56 },
    { "0x1F * a", 217 },
    { "7L * a", 49 },
    { "9223372036854775807 + a", 9223372036854775807.0 },
    /* A literal is a float: the double that prints like it. */
    { "0.1 * a", 0.7000000000000001 },
    { "3.14159265358979 * z + 3.14159265358979", 3.1415927 },
    { "3.14159265358979d", 3.14159265358979 },
    /* Truths. */
    { "a > b", 1 },
    { "a lt b", 0 },
    { "a >= 7 && b <= 2", 1 },
    { "a ge 7 and b le 2", 1 },
    { "a == 7 || z", 1 },
    { "z or n", 0 },
    { "!a", 0 },
    { "not z", 1 },
    { "!(a > b) == false", 1 },
    { "a != b", 1 },
    { "a ne 7", 0 },
    { "a eq 7.0", 1 },
    { "-(a > b)", 0 },
    { "(a > b) * c", 0.5 },
    { "(a > b) + c", 1.5 },
    { "(a > b) > c", 1 },
    { "true", 1 },
    { "true && z", 0 },
    /* NaN equals itself and is less than anything. */
    { "n == n", 1 },
    { "n < z", 1 },
    { "n > z", 0 },
    { "z > n", 1 },
    { "n && a", 0 },
    /* Choices. */
    { "a > b ? a : b", 7 },
    { "a < b ? a : b", 2 },
    { "z ? a : b ? c : n", 0.5 },
    { "a ? b ? c : n : z", 0.5 },
    { "z ?: b", 2 },
    { "a ?: b", 7 },
    { "z ? a : (b ? c : n)", 0.5 },
    { "a > 1 ? b + 1 : c * 2", 3 },
    { "a + 1 > 7 ? b : c", 2 },
    /* Bits of a double are 0. */
    { "(a & b) + c", 0.5 },
    { "(6 & 3) + c", 2.5 },
    { "(6 | 3) + c", 7.5 },
    { "(6 ^ 3) + c", 5.5 },
    { "(~6) + c", -6.5 },
    { "(1 | 2 ^ 3 & 2) + c", 1.5 },
    { "null + a", 7 },
    { "null == a", 0 },
    /* What is not needed may fail. */
    { "a ? b : true + true", 2 },
    { "z && (true + true)", 0 },
};

static enum status
run(const char *text, size_t cap, double *out, struct error *e)
{
    struct arena *a = arena_new(cap);
    struct expression *x;
    enum status st = expression_parse(slice_str(text), a, &x, e);
    double values[8];
    size_t len;

    if (st == ST_OK) {
        const struct slice *used = expression_names(x, &len);

        ck_assert_uint_le(len, 5);
        for (size_t i = 0; i < len; i++)
            for (size_t k = 0; k < 5; k++)
                if (slice_eq(used[i], names[k]))
                    values[i] = numbers[k];
        st = expression_run(x, values, out, e);
    }
    arena_free(&a);
    return st;
}

START_TEST(computes)
{
    struct error e = { 0 };
    double result;
    enum status st = run(results[_i].text, 0, &result, &e);

    ck_assert_msg(st == ST_OK, "%s: %s", results[_i].text, e.text);
    ck_assert_msg(result == results[_i].result, "%s: %.17g", results[_i].text,
                  result);
}
END_TEST

static const struct {
    const char *text, *why;
} rejected[] = {
    { "", "a value is missing at character 1" },
    { ";", "a value is missing" },
    { "a b", "an operator is missing at character 3" },
    { "a +", "a value is missing at character 4" },
    { "* a", "a value is missing at character 1" },
    { "a * / b", "a value is missing" },
    { "and b", "an operator without its first value" },
    { "(a", "a '(' without ')'" },
    { "a)", "a ')' without '('" },
    { "()", "a value is missing" },
    { "a ? b", "a '?' without ':'" },
    { "(a ? b) : c", "a '?' without ':'" },
    { "a : b", "a ':' without '?'" },
    { "(a : b)", "a ':' without '?'" },
    { "a < b < c", "comparisons do not chain" },
    { "a == b != c", "comparisons do not chain" },
    { "a * 2d", "a number with a letter behind" },
    { "2a", "a number with a letter behind" },
    { "1.", "an operator is missing" },
    { ".5", "a value is missing" },
    { "09 + a", "not octal" },
    { "a.b", "functions, lists and members are not available" },
    { "max(a, b)", "functions, lists and members are not available" },
    { "a[1]", "functions, lists and members are not available" },
    { "a = b", "an operator is missing" },
    { "a; b", "an operator is missing" },
    { "'x' + a", "texts are not available" },
    { "if (a) b", "a word that is reserved" },
    { "a + \x01", "a value is missing" },
    /* What comes out must be a double or a truth. */
    { "1 + 1", "result of type: integer" },
    { "a > b ? 1 : z", "result of type: integer" },
    { "a > b ? 0.5 : z", "result of type: float" },
    { "a & b", "result of type: integer" },
    { "null", "result of type: null" },
    { "true + true", "result of type: error" },
    { "-null", "result of type: error" },
};

START_TEST(rejects)
{
    struct error e = { 0 };
    double result;
    enum status st = run(rejected[_i].text, 0, &result, &e);

    ck_assert_msg(st == ST_INVALID, "%s", rejected[_i].text);
    ck_assert_msg(strstr(e.text, rejected[_i].why) != NULL, "%s: %s",
                  rejected[_i].text, e.text);
}
END_TEST

/* A text of 'n' times 'first', "a", and 'n' times 'last'. */
static enum status
run_nested(const char *first, const char *last, int n, struct error *e)
{
    char *text = calloc(1, (size_t)n * (strlen(first) + strlen(last)) + 2);
    double result = 0;
    enum status st;

    ck_assert_ptr_nonnull(text);
    for (int i = 0; i < n; i++)
        strcat(text, first);
    strcat(text, "a");
    for (int i = 0; i < n; i++)
        strcat(text, last);
    st = run(text, 0, &result, e);
    free(text);
    return st;
}

START_TEST(depth_has_a_limit)
{
    struct error e;

    ck_assert_int_eq(run_nested("(", ")", 700, &e), ST_OK);
    ck_assert_int_eq(run_nested("(", ")", 900, &e), ST_LIMIT);
    ck_assert_int_eq(run_nested("-", "", 700, &e), ST_OK);
    ck_assert_int_eq(run_nested("-", "", 900, &e), ST_LIMIT);
    ck_assert_int_eq(run_nested("a + (", ")", 190, &e), ST_OK);
    ck_assert_int_eq(run_nested("a + (", ")", 210, &e), ST_LIMIT);
    ck_assert_int_eq(run_nested("a ? a : ", "", 90, &e), ST_OK);
    ck_assert_int_eq(run_nested("a ? a : ", "", 210, &e), ST_LIMIT);
    /* Long, but not deep. */
    ck_assert_int_eq(run_nested("a + ", "", 2000, &e), ST_OK);
    ck_assert_int_eq(run_nested("a + ", "", 2100, &e), ST_LIMIT);
    ck_assert_msg(strstr(e.text, "8192 bytes") != NULL, "%s", e.text);
}
END_TEST

START_TEST(names_come_once)
{
    struct arena *a = arena_new(0);
    struct expression *x;
    size_t len;
    const struct slice *used;

    ck_assert_int_eq(
        expression_parse(slice_str("b + a * b1 - a / $x"), a, &x, NULL), ST_OK);
    used = expression_names(x, &len);
    ck_assert_uint_eq(len, 4);
    ck_assert(slice_eq_str(used[0], "b"));
    ck_assert(slice_eq_str(used[1], "a"));
    ck_assert(slice_eq_str(used[2], "b1"));
    ck_assert(slice_eq_str(used[3], "$x"));
    arena_free(&a);
}
END_TEST

START_TEST(small_arenas_are_a_limit)
{
    struct error e;
    double result;

    for (size_t cap = 1; cap < 8000; cap += 97) {
        enum status st = run("a + b", cap, &result, &e);

        ck_assert(st == ST_OK || st == ST_LIMIT);
    }
}
END_TEST

TEST_MAIN("expression", LOOP(computes, results), LOOP(rejects, rejected),
          TEST(depth_has_a_limit), TEST(names_come_once),
          TEST(small_arenas_are_a_limit))
