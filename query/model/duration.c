#include "query/model/duration.h"

#include "base/text/number.h"

#define SECOND_MS INT64_C(1000)

static const struct unit {
    const char *name;
    enum time_unit unit;
    int64_t ms;
} units[] = {
    { "ms", UNIT_MS, 1 },
    { "s", UNIT_S, SECOND_MS },
    { "m", UNIT_M, 60 * SECOND_MS },
    { "h", UNIT_H, 3600 * SECOND_MS },
    { "d", UNIT_D, 86400 * SECOND_MS },
    { "w", UNIT_W, 7 * 86400 * SECOND_MS },
    { "n", UNIT_N, 30 * 86400 * SECOND_MS },
    { "y", UNIT_Y, 365 * 86400 * SECOND_MS },
};

static const struct unit *
find_unit(struct slice name)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (slice_eq_nocase(name, slice_str(units[i].name)))
            return &units[i];
    return NULL;
}

/* The text as an error shows it: what is longer would push the list of units
 * out of the message. */
#define SHOWN(text) \
    (int)((text).size < 100 ? (text).size : 100), (const char *)(text).data

enum status
parse_duration(struct slice text, struct duration *out, struct error *e)
{
    const struct unit *unit;
    size_t digits = 0;

    *out = (struct duration){ 0 };
    if (text.size == 0)
        return error_set(e, ST_INVALID, "Cannot parse null or empty duration");
    while (digits < text.size && text.data[digits] >= '0' &&
           text.data[digits] <= '9')
        digits++;
    if (digits == text.size)
        return error_set(e, ST_INVALID,
                         "Invalid duration, must have an integer and unit: "
                         "%.*s. " DURATION_UNITS,
                         SHOWN(text));
    if (!number_parse_i64(slice_of(text.data, digits), &out->count))
        return error_set(e, ST_INVALID,
                         "Invalid duration (number): %.*s. " DURATION_UNITS,
                         SHOWN(text));
    unit = find_unit(slice_of(text.data + digits, text.size - digits));
    if (unit == NULL)
        return error_set(e, ST_INVALID,
                         "Invalid duration (suffix): %.*s. " DURATION_UNITS,
                         SHOWN(text));
    if (out->count == 0)
        return error_set(e, ST_INVALID, "Zero or negative duration: %.*s",
                         SHOWN(text));
    if (__builtin_mul_overflow(out->count, unit->ms, &out->ms))
        return error_set(e, ST_INVALID,
                         "Duration must be < Long.MAX_VALUE ms: %.*s",
                         SHOWN(text));
    out->unit = unit->unit;
    return ST_OK;
}

size_t
duration_message_size(const char *text)
{
    static const char suffix[] = "Invalid duration (suffix): ";
    const char *list = strstr(text, ". " DURATION_UNITS);

    /* OpenTSDB accepts what ends in the letter of a unit. */
    if (list == NULL || list == text ||
        (strncmp(text, suffix, strlen(suffix)) == 0 &&
         strchr("smhdwny", list[-1] | 0x20) != NULL))
        return strlen(text);
    return (size_t)(list - text);
}
