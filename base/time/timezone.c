/* Zones are read from the system's files: its package manager keeps them up to
 * date.  localtime() would need the process' TZ, which threads share. */
#include "base/time/timezone.h"
#include "base/time/timezone_priv.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/file/file.h"
#include "base/process/lock.h"
#include "base/process/log.h"
#include "base/mem.h"

#define ZONE_MAGIC      FOURCC('Z', 'O', 'N', 'E')
#define ZONE_FOLDER     "/usr/share/zoneinfo/"
#define ZONE_FILE_MAX   (1 << 20)
#define MS_PER_DAY      INT64_C(86400000)
#define SECONDS_PER_DAY 86400

/* The zones read so far: a cache that only grows, bounded by the files that the
 * zone folder has. */
static struct zone_table {
    struct lock lock;
    struct timezone *first GUARDED_BY(lock);
} table = { .lock = LOCK_INIT };

static const struct timezone utc = { .magic = ZONE_MAGIC, .name = "UTC" };

/* Names of Java alone; the rest of its list are files. */
static const struct {
    const char *name, *file;
} aliases[] = { { "ACT", "Australia/Darwin" },
                { "AET", "Australia/Sydney" },
                { "AGT", "America/Argentina/Buenos_Aires" },
                { "ART", "Africa/Cairo" },
                { "AST", "America/Anchorage" },
                { "BET", "America/Sao_Paulo" },
                { "BST", "Asia/Dhaka" },
                { "CAT", "Africa/Harare" },
                { "CNT", "America/St_Johns" },
                { "CST", "America/Chicago" },
                { "CTT", "Asia/Shanghai" },
                { "EAT", "Africa/Addis_Ababa" },
                { "ECT", "Europe/Paris" },
                { "IET", "America/Indiana/Indianapolis" },
                { "IST", "Asia/Kolkata" },
                { "JST", "Asia/Tokyo" },
                { "MIT", "Pacific/Apia" },
                { "NET", "Asia/Yerevan" },
                { "NST", "Pacific/Auckland" },
                { "PLT", "Asia/Karachi" },
                { "PNT", "America/Phoenix" },
                { "PRT", "America/Puerto_Rico" },
                { "PST", "America/Los_Angeles" },
                { "SST", "Pacific/Guadalcanal" },
                { "VST", "Asia/Ho_Chi_Minh" } };

static bool name_is_safe(struct slice name);
static enum status zone_load(struct slice name, struct timezone **out,
                             struct error *e);
/* What holds between two changes. */
struct zone_period {
    int32_t offset_s;
    const char *name;
};
static struct zone_period period_at(const struct timezone *z, int64_t s,
                                    bool wall);

enum status
timezone_find(struct slice name, const struct timezone **out, struct error *e)
{
    struct timezone *z;
    enum status st = ST_OK;

    *out = NULL;
    if (slice_eq_str(name, "UTC") || slice_eq_str(name, "GMT")) {
        *out = &utc;
        return ST_OK;
    }
    if (!name_is_safe(name))
        return error_set(e, ST_INVALID, "Invalid timezone name: %.*s",
                         SLICE_ARG(name));
    lock_take(&table.lock);
    for (z = table.first; z != NULL; z = z->next)
        if (slice_eq_str(name, z->name))
            break;
    if (z == NULL) {
        st = zone_load(name, &z, e);
        if (st == ST_OK) {
            z->next = table.first;
            table.first = z;
        }
    }
    lock_drop(&table.lock);
    *out = z;
    return st;
}

const struct timezone *
timezone_utc(void)
{
    return &utc;
}

int64_t
timezone_offset_ms(const struct timezone *z, int64_t utc_ms)
{
    OBJ_CHECK(z, ZONE_MAGIC);
    return period_at(z, floor_div(utc_ms, 1000), false).offset_s *
           INT64_C(1000);
}

const char *
timezone_abbreviation(const struct timezone *z, int64_t utc_ms)
{
    OBJ_CHECK(z, ZONE_MAGIC);
    return period_at(z, floor_div(utc_ms, 1000), false).name;
}

int64_t
timezone_utc_ms(const struct timezone *z, int year, int month, int day,
                int hour, int minute, int second, int ms)
{
    int64_t wall_ms;

    OBJ_CHECK(z, ZONE_MAGIC);
    wall_ms = days_from_date(year, month, day) * MS_PER_DAY +
              hour * INT64_C(3600000) + minute * INT64_C(60000) +
              second * INT64_C(1000) + ms;
    return wall_ms - period_at(z, floor_div(wall_ms, 1000), true).offset_s *
                         INT64_C(1000);
}

/* Letters, digits and a few signs, and no part that begins with a dot: no such
 * name leaves the folder.  All zones begin with a capital; the files of the
 * folder that are none ("localtime", "posix/...") do not. */
static bool
name_is_safe(struct slice name)
{
    if (name.size == 0 || name.size >= TIMEZONE_NAME_MAX ||
        name.data[0] < 'A' || name.data[0] > 'Z')
        return false;
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i];
        bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     (c >= '0' && c <= '9') || c == '_';

        if (!plain && (c == '\0' || strchr("/+-", c) == NULL))
            return false;
    }
    return true;
}

static enum status
zone_load(struct slice name, struct timezone **out, struct error *e)
{
    char path[sizeof ZONE_FOLDER + TIMEZONE_NAME_MAX];
    struct slice file_name = name;
    struct error why;
    struct buf b = BUF_INIT;
    enum status st;

    *out = NULL;
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (slice_eq_str(name, aliases[i].name))
            file_name = slice_str(aliases[i].file);
    (void)snprintf(path, sizeof path, "%s%.*s", ZONE_FOLDER,
                   SLICE_ARG(file_name));
    st = file_read(path, ZONE_FILE_MAX, &b, &why);
    if (st == ST_OK) {
        st = timezone_read(buf_slice(&b), name, out, &why);
        if (st != ST_OK)
            log_warn("query", "cannot use %s: %s", path, why.text);
    }
    buf_fini(&b);
    if (st != ST_OK)
        return error_set(e, ST_INVALID, "Invalid timezone name: %.*s",
                         SLICE_ARG(name));
    return ST_OK;
}

/* The counts of a TZif header, and the version. */
struct tzif {
    uint8_t version;
    uint32_t isut, isstd, leap, time, type, chars;
};

static bool
read_header(struct cursor *c, struct tzif *h)
{
    struct slice id = cursor_bytes(c, 4);

    h->version = cursor_u8(c);
    (void)cursor_bytes(c, 15);
    h->isut = cursor_u32(c);
    h->isstd = cursor_u32(c);
    h->leap = cursor_u32(c);
    h->time = cursor_u32(c);
    h->type = cursor_u32(c);
    h->chars = cursor_u32(c);
    return !c->failed && slice_eq_str(id, "TZif") && h->type >= 1 &&
           h->type <= 256 && h->time <= TIMEZONE_TRANSITIONS_MAX &&
           h->chars <= 4096 && h->leap <= 4096 && h->isut <= 256 &&
           h->isstd <= 256;
}

static size_t
block_size(const struct tzif *h, unsigned width)
{
    return (size_t)h->time * (width + 1) + (size_t)h->type * 6 + h->chars +
           (size_t)h->leap * (width + 4) + h->isstd + h->isut;
}

/* The block of times, of 4 bytes or of 8. */
static bool
read_block(struct cursor *c, const struct tzif *h, unsigned width,
           struct timezone *z)
{
    int32_t offsets[256];
    uint8_t names[256];
    struct cursor times, indexes;
    struct slice chars;

    times = cursor_of(cursor_bytes(c, (size_t)h->time * width));
    indexes = cursor_of(cursor_bytes(c, h->time));
    for (uint32_t i = 0; i < h->type; i++) {
        offsets[i] = (int32_t)cursor_u32(c);
        (void)cursor_u8(c);
        names[i] = cursor_u8(c);
        if (offsets[i] < -26 * 3600 || offsets[i] > 26 * 3600 ||
            names[i] > h->chars)
            return false;
    }
    chars = cursor_bytes(c, h->chars);
    (void)cursor_bytes(c, (size_t)h->leap * (width + 4) + h->isstd + h->isut);
    if (c->failed)
        return false;
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): type >= 1 */
    z->first_s = offsets[0];
    z->first_name = names[0];
    z->names = mem_strndup(chars.data, chars.size);
    z->changes = mem_new_array(h->time + 1, sizeof z->changes[0]);
    z->changes_len = h->time;
    for (uint32_t i = 0; i < h->time; i++) {
        uint64_t at = cursor_uint(&times, width);
        uint8_t type = cursor_u8(&indexes);

        z->changes[i].at_s = width == 4 ? (int32_t)(uint32_t)at : (int64_t)at;
        if (type >= h->type || z->changes[i].at_s < -(INT64_C(1) << 59) ||
            z->changes[i].at_s > INT64_C(1) << 59 ||
            (i > 0 && z->changes[i].at_s <= z->changes[i - 1].at_s))
            return false;
        z->changes[i].offset_s = offsets[type];
        z->changes[i].name = names[type];
    }
    return true;
}

enum status
timezone_read(struct slice file, struct slice name, struct timezone **out,
              struct error *e)
{
    struct cursor c = cursor_of(file);
    struct timezone *z = mem_new(sizeof *z);
    struct tzif h;
    bool ok;

    *out = NULL;
    z->magic = ZONE_MAGIC;
    (void)snprintf(z->name, sizeof z->name, "%.*s", SLICE_ARG(name));
    ok = read_header(&c, &h);
    if (ok && h.version >= '2') {
        (void)cursor_bytes(&c, block_size(&h, 4));
        ok = read_header(&c, &h) && read_block(&c, &h, 8, z);
        if (ok && cursor_u8(&c) == '\n') {
            struct slice footer = { c.at, cursor_left(&c) };
            const uint8_t *end = memchr(footer.data, '\n', footer.size);

            footer.size = end == NULL ? 0 : (size_t)(end - footer.data);
            if (footer.size > 0)
                ok = timezone_read_rule(footer, &z->rule);
        }
    } else if (ok) {
        ok = read_block(&c, &h, 4, z);
    }
    if (!ok) {
        timezone_free(&z);
        return error_set(e, ST_CORRUPT, "not a time zone file");
    }
    *out = z;
    return ST_OK;
}

void
timezone_free(struct timezone **ref)
{
    struct timezone *z = OBJ_TAKE(ref, ZONE_MAGIC);

    if (z == NULL)
        return;
    free(z->changes);
    free(z->names);
    OBJ_FREE(z);
}

/* The moment of UTC at which a rule's day begins to hold, in a year. */
static int64_t
rule_day_s(const struct zone_day *d, int64_t year, int32_t before_s)
{
    int64_t days = days_from_date(year, 1, 1);
    bool leap = days_from_date(year + 1, 1, 1) - days == 366;

    switch (d->form) {
    case DAY_JULIAN:
        days += d->day - 1 + (leap && d->day >= 60);
        break;
    case DAY_ZERO_BASED:
        days += d->day;
        break;
    case DAY_OF_WEEK: {
        int64_t next = days_from_date(year, d->month + 1, 1);

        days = days_from_date(year, d->month, 1);
        days += (d->day - weekday_of_days(days) + 7) % 7 + 7 * (d->week - 1);
        if (days >= next) /* week 5 is the last one */
            days -= 7;
        break;
    }
    }
    return days * SECONDS_PER_DAY + d->at_s - before_s;
}

/* Has the change to 'offset_s' happened?  Times of the wall count with the
 * offset that the change brings: so java.util.TimeZone takes the old offset in
 * a gap, and the new one in an overlap. */
static bool
has_happened(int64_t at_s, int32_t offset_s, int64_t s, bool wall)
{
    return (wall ? at_s + offset_s : at_s) <= s;
}

static struct zone_period
period_by_rule(const struct timezone *z, int64_t s, bool wall)
{
    const struct zone_rule *r = &z->rule;
    const struct zone_period std = { r->std_s, r->std_name };
    const struct zone_period dst = { r->dst_s, r->dst_name };
    struct zone_period period = std;
    int64_t newest = INT64_MIN, year;
    int month, day;

    if (!r->has_dst)
        return std;
    date_from_days(floor_div(s, SECONDS_PER_DAY), &year, &month, &day);
    for (int64_t y = year - 1; y <= year + 1; y++) {
        int64_t on = rule_day_s(&r->to_dst, y, r->std_s);
        int64_t off = rule_day_s(&r->to_std, y, r->dst_s);

        if (has_happened(on, r->dst_s, s, wall) && on > newest) {
            newest = on;
            period = dst;
        }
        if (has_happened(off, r->std_s, s, wall) && off > newest) {
            newest = off;
            period = std;
        }
    }
    return period;
}

/* When the rule changes the clock: '*last' is the last change not after 's',
 * '*next' the first one after it.  INT64_MIN and INT64_MAX: there is none. */
static void
changes_by_rule(const struct zone_rule *r, int64_t s, int64_t *last,
                int64_t *next)
{
    int64_t year;
    int month, day;

    *last = INT64_MIN;
    *next = INT64_MAX;
    if (!r->has_dst)
        return;
    date_from_days(floor_div(s, SECONDS_PER_DAY), &year, &month, &day);
    for (int64_t y = year - 1; y <= year + 1; y++) {
        const int64_t at[] = { rule_day_s(&r->to_dst, y, r->std_s),
                               rule_day_s(&r->to_std, y, r->dst_s) };

        for (size_t i = 0; i < 2; i++) {
            if (at[i] <= s && at[i] > *last)
                *last = at[i];
            if (at[i] > s && at[i] < *next)
                *next = at[i];
        }
    }
}

static int64_t
ever_ms(int64_t s)
{
    if (s >= ZONE_EVER_MS / 1000)
        return ZONE_EVER_MS;
    return s <= -ZONE_EVER_MS / 1000 ? -ZONE_EVER_MS : s * 1000;
}

struct zone_stretch
timezone_stretch(const struct timezone *z, int64_t utc_ms)
{
    int64_t s = floor_div(utc_ms, 1000), since, until, offset_s;
    size_t from = 0, to;

    OBJ_CHECK(z, ZONE_MAGIC);
    to = z->changes_len;
    while (from < to) {
        size_t mid = from + (to - from) / 2;

        if (z->changes[mid].at_s <= s)
            from = mid + 1;
        else
            to = mid;
    }
    since = from == 0 ? INT64_MIN : z->changes[from - 1].at_s;
    until = from == z->changes_len ? INT64_MAX : z->changes[from].at_s;
    offset_s = from == 0 ? z->first_s : z->changes[from - 1].offset_s;
    if (from == z->changes_len && z->rule.on) {
        int64_t last;

        changes_by_rule(&z->rule, s, &last, &until);
        since = last > since ? last : since;
        offset_s = period_by_rule(z, s, false).offset_s;
    }
    return (struct zone_stretch){
        .since_ms = ever_ms(since),
        .until_ms = ever_ms(until),
        .offset_ms = offset_s * 1000,
    };
}

static const char *
name_at(const struct timezone *z, uint8_t at)
{
    return z->names == NULL ? z->name : z->names + at;
}

static struct zone_period
period_at(const struct timezone *z, int64_t s, bool wall)
{
    size_t from = 0, to = z->changes_len;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        const struct zone_change *c = &z->changes[mid];

        if (has_happened(c->at_s, c->offset_s, s, wall))
            from = mid + 1;
        else
            to = mid;
    }
    if (from == z->changes_len && z->rule.on)
        return period_by_rule(z, s, wall);
    if (from == 0)
        return (struct zone_period){ z->first_s, name_at(z, z->first_name) };
    return (struct zone_period){ z->changes[from - 1].offset_s,
                                 name_at(z, z->changes[from - 1].name) };
}

/* Howard Hinnant's well-known arithmetic: years begin in March, so that the
 * leap day is the last, and 400 of them have always 146,097 days. */
int64_t
days_from_date(int64_t year, int64_t month, int64_t day)
{
    int64_t years = floor_div(month - 1, 12), era, of_era, of_year;

    year += years;
    month -= 12 * years;
    year -= month <= 2;
    era = floor_div(year, 400);
    of_era = year - era * 400;
    of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           719468 + day - 1;
}

void
date_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t era, of_era, year_of_era, of_year, m;

    days += 719468;
    era = floor_div(days, 146097);
    of_era = days - era * 146097;
    year_of_era =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    of_year =
        of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    m = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}
