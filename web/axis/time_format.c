#include "web/axis/time_format.h"

#include <stdio.h>
#include <time.h>

static const char *const months[] = { "January", "February", "March",
                                      "April",   "May",      "June",
                                      "July",    "August",   "September",
                                      "October", "November", "December" };
static const char *const days[] = { "Sunday",    "Monday",   "Tuesday",
                                    "Wednesday", "Thursday", "Friday",
                                    "Saturday" };

bool
time_format_is_good(struct slice format)
{
    bool has_time = false;

    if (format.size > TIME_FORMAT_BYTES)
        return false;
    for (size_t i = 0; i < format.size; i++) {
        if (format.data[i] == '\0')
            return false;
        if (format.data[i] != '%')
            continue;
        if (++i == format.size || format.data[i] == '\0' ||
            strchr(TIME_FORMAT_LETTERS, format.data[i]) == NULL)
            return false;
        has_time |= format.data[i] != '%';
    }
    return has_time;
}

struct local {
    struct tm tm;
    int64_t utc_s;
    long offset_m;
};

/* At most 20 bytes. */
static int
write_letter(char letter, const struct local *l, char *to, size_t size)
{
    const struct tm *t = &l->tm;

    switch (letter) {
    case 'a':
        return snprintf(to, size, "%.3s", days[t->tm_wday]);
    case 'A':
        return snprintf(to, size, "%s", days[t->tm_wday]);
    case 'b':
        return snprintf(to, size, "%.3s", months[t->tm_mon]);
    case 'B':
        return snprintf(to, size, "%s", months[t->tm_mon]);
    case 'd':
        return snprintf(to, size, "%02d", t->tm_mday);
    case 'e':
        return snprintf(to, size, "%d", t->tm_mday);
    case 'F':
        return snprintf(to, size, "%d-%02d-%02d", t->tm_year + 1900,
                        t->tm_mon + 1, t->tm_mday);
    case 'H':
        return snprintf(to, size, "%02d", t->tm_hour);
    case 'I':
        return snprintf(to, size, "%02d", (t->tm_hour + 11) % 12 + 1);
    case 'j':
        return snprintf(to, size, "%03d", t->tm_yday + 1);
    case 'm':
        return snprintf(to, size, "%02d", t->tm_mon + 1);
    case 'M':
        return snprintf(to, size, "%02d", t->tm_min);
    case 'p':
        return snprintf(to, size, "%s", t->tm_hour < 12 ? "AM" : "PM");
    case 'R':
        return snprintf(to, size, "%02d:%02d", t->tm_hour, t->tm_min);
    case 's':
        return snprintf(to, size, "%lld", (long long)l->utc_s);
    case 'S':
        return snprintf(to, size, "%02d", t->tm_sec);
    case 'T':
        return snprintf(to, size, "%02d:%02d:%02d", t->tm_hour, t->tm_min,
                        t->tm_sec);
    case 'y':
        return snprintf(to, size, "%02d", (t->tm_year % 100 + 100) % 100);
    case 'Y':
        return snprintf(to, size, "%d", t->tm_year + 1900);
    case 'z':
        return snprintf(to, size, "%c%02ld%02ld", l->offset_m < 0 ? '-' : '+',
                        labs(l->offset_m) / 60, labs(l->offset_m) % 60);
    default:
        return snprintf(to, size, "%%");
    }
}

void
time_format_write(const char *format, int64_t utc_ms,
                  const struct timezone *zone, char out[TIME_LABEL_MAX])
{
    int64_t offset_ms = timezone_offset_ms(zone, utc_ms);
    struct local l = { .utc_s = utc_ms / 1000,
                       .offset_m = (long)(offset_ms / 60000) };
    time_t local_s = (time_t)((utc_ms + offset_ms) / 1000);
    size_t size = 0;

    if (gmtime_r(&local_s, &l.tm) == NULL)
        format = ""; /* a year that no int holds */
    for (; *format != '\0' && size < TIME_LABEL_MAX - 24; format++) {
        if (*format != '%')
            out[size++] = *format;
        else
            size += (size_t)write_letter(*++format, &l, out + size, 24);
    }
    out[size] = '\0';
}
