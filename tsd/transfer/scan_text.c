#include "tsd/transfer/scan_text.h"

#include <time.h>

#include "base/text/number.h"
#include "base/utf8.h"
#include "tsd/put/put_value.h"

#define MS_QUALIFIER UINT32_C(0xf0000000)

static void
put_i64(struct buf *out, int64_t v)
{
    uint8_t *to = buf_reserve(out, NUMBER_TEXT_MAX);

    if (to != NULL)
        out->size += number_format_i64(v, (char *)to);
}

static bool
has_ms(int64_t ts_ms)
{
    return ts_ms % 1000 != 0;
}

void
scan_put_time(struct buf *out, int64_t ts_ms)
{
    put_i64(out, has_ms(ts_ms) ? ts_ms : ts_ms / 1000);
}

void
scan_put_value(struct buf *out, const struct point *p)
{
    uint8_t *to = buf_reserve(out, NUMBER_TEXT_MAX);

    if (to == NULL)
        return;
    out->size += p->is_float ? number_format_double(p->v.d, (char *)to)
                             : number_format_i64(p->v.i, (char *)to);
}

static void
put_tags(struct buf *out, const struct scan_series *s, const char *before,
         const char *between)
{
    for (size_t i = 0; i < s->tags_len; i++) {
        buf_put_str(out, i == 0 ? before : between);
        buf_put_slice(out, s->tags[i].key);
        buf_put_u8(out, '=');
        buf_put_slice(out, s->tags[i].value);
    }
}

static bool
has_any(struct slice s, const char *bytes)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] != '\0' && strchr(bytes, s.data[i]) != NULL)
            return true;
    return false;
}

bool
scan_lines_can_name(const struct scan_series *s)
{
    bool can = s->metric.size > 0 && !has_any(s->metric, " \r\n");

    for (size_t i = 0; i < s->tags_len && can; i++)
        can = !has_any(s->tags[i].key, " \r\n=") &&
              !has_any(s->tags[i].value, " \r\n=");
    return can;
}

void
scan_put_lines(struct buf *out, const struct scan_series *s,
               const struct points *p)
{
    struct buf tail = BUF_INIT;

    put_tags(&tail, s, " ", " ");
    buf_put_u8(&tail, '\n');
    for (size_t i = 0; i < p->len; i++) {
        struct point x = points_at(p, i);

        if (s->metric.data[0] == '#' || slice_eq_str(s->metric, "put") ||
            utf8_skip_mark(s->metric).size < s->metric.size)
            buf_put_str(out, "put ");
        buf_put_slice(out, s->metric);
        buf_put_u8(out, ' ');
        scan_put_time(out, x.ts_ms);
        buf_put_u8(out, ' ');
        scan_put_value(out, &x);
        buf_put_slice(out, buf_slice(&tail));
    }
    out->failed |= tail.failed;
    buf_fini(&tail);
}

/* -- the raw format -------------------------------------------------------- */

/* " (Tue Jan 01 00:00:00 UTC 2013)" */
static void
put_date(struct buf *out, int64_t ts_ms, const struct timezone *zone)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t local_ms = ts_ms + timezone_offset_ms(zone, ts_ms);
    time_t s = (time_t)(local_ms / 1000 - (local_ms % 1000 < 0));
    struct tm tm = { 0 };

    (void)gmtime_r(&s, &tm);
    buf_printf(out, "(%.3s %.3s %02d %02d:%02d:%02d %s %d)",
               days + (size_t)tm.tm_wday * 3, months + (size_t)tm.tm_mon * 3,
               tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
               timezone_abbreviation(zone, ts_ms), tm.tm_year + 1900);
}

static void
put_cell(struct buf *out, uint32_t base, const struct point *p,
         const struct timezone *zone)
{
    int64_t offset = p->ts_ms - (int64_t)base * 1000;
    uint8_t value[8];
    unsigned size = put_value_cell(p, true, value);
    uint32_t flags = (p->is_float ? 8u : 0u) | (size - 1);
    struct buf qualifier = BUF_INIT;

    if (has_ms(p->ts_ms))
        buf_put_u32(&qualifier, MS_QUALIFIER | (uint32_t)offset << 6 | flags);
    else
        buf_put_u16(&qualifier,
                    (uint16_t)((uint32_t)(offset / 1000) << 4 | flags));
    buf_put_str(out, "  ");
    put_bytes_print(out, buf_slice(&qualifier));
    buf_put_u8(out, '\t');
    put_bytes_print(out, slice_of(value, size));
    buf_put_u8(out, '\t');
    put_i64(out, has_ms(p->ts_ms) ? offset : offset / 1000);
    buf_put_str(out, p->is_float ? "\tf\t" : "\tl\t");
    scan_put_time(out, p->ts_ms);
    buf_put_u8(out, '\t');
    put_date(out, p->ts_ms, zone);
    buf_put_u8(out, '\n');
    buf_fini(&qualifier);
}

void
scan_put_row(struct buf *out, const struct scan_series *s, int salt,
             struct slice tsuid, size_t metric_width, uint32_t base,
             const struct points *p, const struct timezone *zone)
{
    struct buf key = BUF_INIT;

    if (salt >= 0)
        buf_put_u8(&key, (uint8_t)salt);
    buf_put(&key, tsuid.data, metric_width);
    buf_put_u32(&key, base);
    buf_put(&key, tsuid.data + metric_width, tsuid.size - metric_width);
    put_bytes_print(out, buf_slice(&key));
    buf_fini(&key);
    buf_put_u8(out, ' ');
    buf_put_slice(out, s->metric);
    buf_put_u8(out, ' ');
    put_i64(out, base);
    buf_put_u8(out, ' ');
    put_date(out, (int64_t)base * 1000, zone);
    buf_put_str(out, " {");
    put_tags(out, s, "", ", ");
    buf_put_str(out, "}\n");
    for (int ms = 0; ms <= 1; ms++)
        for (size_t i = 0; i < p->len; i++) {
            struct point x = points_at(p, i);

            if (has_ms(x.ts_ms) == (ms == 1))
                put_cell(out, base, &x, zone);
        }
}
