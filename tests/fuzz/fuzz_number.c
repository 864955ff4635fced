/* Numbers: what is taken is what the C library reads, what is written is read
 * back as it was.
 *
 *     <text>                    eight bytes of it are a double and a float, too
 */
#include "base/text/number.h"

#include <errno.h>
#include <stdlib.h>

#include "base/obj.h"
#include "tests/fuzz/target.h"

static bool
same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void
check_text(struct slice text)
{
    char copy[512];
    uint64_t u;
    int64_t i;
    double d;
    char *end;

    if (text.size >= sizeof copy)
        text.size = sizeof copy - 1;
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    errno = 0;
    if (number_parse_u64(text, &u))
        INSIST(u == strtoull(copy, &end, 10) && errno == 0 && *end == '\0');
    if (number_parse_i64(text, &i))
        INSIST(i == strtoll(copy, &end, 10) && errno == 0 && *end == '\0');
    if (number_parse_double(text, &d))
        INSIST(same_bits(d, strtod(copy, &end)) && *end == '\0');
}

/* Java's names of what is no number are not read back. */
static void
check_double(double v)
{
    char text[NUMBER_TEXT_MAX + 1];
    size_t n = number_format_double(v, text);
    double again;

    INSIST(n > 0 && n <= NUMBER_TEXT_MAX);
    text[n] = '\0';
    if (v - v == 0) { /* finite */
        INSIST(number_parse_double(slice_of(text, n), &again));
        INSIST(same_bits(v, again));
    }
}

static void
check_float(float v)
{
    char text[NUMBER_TEXT_MAX + 1];
    size_t n = number_format_float(v, text);

    INSIST(n > 0 && n <= NUMBER_TEXT_MAX);
    text[n] = '\0';
    if (v - v == 0)
        INSIST(strtof(text, NULL) == v);
}

FUZZ_TARGET(data, size)
{
    char text[NUMBER_TEXT_MAX];
    int64_t i, again;
    double d;
    float f;

    check_text(slice_of(data, size));
    if (size < 8)
        return 0;
    memcpy(&d, data, sizeof d);
    memcpy(&f, data, sizeof f);
    memcpy(&i, data, sizeof i);
    check_double(d);
    check_float(f);
    INSIST(
        number_parse_i64(slice_of(text, number_format_i64(i, text)), &again) &&
        again == i);
    return 0;
}
