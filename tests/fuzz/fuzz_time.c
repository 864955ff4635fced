/* Times, durations, names of zones and their files, and the calendar's buckets.
 *
 *     <kind> <text> */
#include "query/parse/parse.h"
#include "base/time/timezone_priv.h"

#include "base/cursor.h"
#include "base/obj.h"
#include "tests/fuzz/target.h"

static void
use_zone(const struct timezone *z, int64_t ts_ms)
{
    for (int unit = UNIT_S; unit <= UNIT_Y; unit++) {
        int64_t at = calendar_floor(z, ts_ms, 7, (enum time_unit)unit);

        INSIST(calendar_next(z, at, 7, (enum time_unit)unit) > at);
        (void)calendar_length(z, at, ts_ms, 1, (enum time_unit)unit);
    }
    (void)timezone_offset_ms(z, ts_ms);
}

static void
use_file(struct slice file)
{
    static const int64_t times[] = { 0, 1795298406358, 9999999999999 };
    struct timezone *z;

    if (timezone_read(file, slice_str("fuzz"), &z, NULL) != ST_OK)
        return;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        use_zone(z, times[i]);
    timezone_free(&z);
}

FUZZ_TARGET(data, size)
{
    struct cursor c = cursor_of(slice_of(data, size));
    uint8_t kind = cursor_u8(&c);
    struct slice text = cursor_bytes(&c, cursor_left(&c));
    const struct timezone *z;
    struct zone_rule rule;
    struct duration d;
    int64_t ms;

    switch (kind) {
    case 'd':
        if (parse_duration(text, &d, NULL) == ST_OK)
            INSIST(d.ms >= d.count && d.count > 0);
        break;
    case 'f':
        use_file(text);
        break;
    case 'r':
        (void)timezone_read_rule(text, &rule);
        break;
    case 'z':
        if (timezone_find(text, &z, NULL) == ST_OK)
            use_zone(z, 1795298406358);
        break;
    default:
        if (parse_time(text, 1795298406358, NULL, &ms, NULL) == ST_OK)
            use_zone(timezone_utc(), ms);
    }
    return 0;
}
