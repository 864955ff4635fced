/* Requests, and what OpenTSDB 2.4 makes of them. */
#include "query/parse/parse.h"

#include <math.h>

#include "query/parse/nesting.h"
#include "tests/query/parse/parse_case.h"

#define NOW INT64_C(1795298406358)

static const struct parse_options options = { .now_ms = NOW };

static const struct {
    const char *text, *zone;
    int64_t ms;
} times[] = {
    { "1356998400", NULL, 1356998400000 },
    { "1356998400000", NULL, 1356998400000 },
    { "0", NULL, 0 },
    { "+5", NULL, 5000 },
    { "1356998460.000", NULL, 1356998460000 },
    { "1356998459.999", NULL, 1356998459999 },
    { "1356998400.5", NULL, 1356998400500 },
    { "1356998400.05", NULL, 1356998400050 },
    { "1356998400.50", NULL, 1356998400500 },
    { "50.5", NULL, 50500 },
    { "0.001", NULL, 1 },
    { "1356998460000ms", NULL, 1356998460000 },
    { "5ms", NULL, 5 },
    { "now", NULL, NOW },
    { "NoW", NULL, NOW },
    { "1h-ago", NULL, NOW - 3600000 },
    { "2H-AGO", NULL, NOW - 7200000 },
    { "5M-ago", NULL, NOW - 300000 },
    { "1n-ago", NULL, NOW - INT64_C(2592000000) },
    { "10ms-ago", NULL, NOW - 10 },
    { "2013/01/01", NULL, 1356998400000 },
    { "2013/01/01", "Asia/Tokyo", 1356966000000 },
    { "2013/01/01-00:00", NULL, 1356998400000 },
    { "2013/01/01 00:01", NULL, 1356998460000 },
    { "2013/01/01-00:01:07", NULL, 1356998467000 },
    { "2013/01/01 00:01:07", "America/New_York", 1357016467000 },
    { "2013/13/45", NULL, 1392336000000 },
    { "2013/01/01-25:00", NULL, 1357088400000 },
    { "2013/ 1/ 1", NULL, 1356998400000 },
    { "2013/1/001", NULL, 1356998400000 },
    { "2013/01/01-00:00:0x", NULL, 1356998400000 },
};

START_TEST(reads_times)
{
    const struct timezone *z = NULL;
    int64_t ms = -1;
    struct error e = { ST_OK, "" };

    if (times[_i].zone != NULL)
        ck_assert_int_eq(timezone_find(slice_str(times[_i].zone), &z, &e),
                         ST_OK);
    ck_assert_msg(parse_time(slice_str(times[_i].text), NOW, z, &ms, &e) ==
                      ST_OK,
                  "%s", e.text);
    ck_assert_int_eq(ms, times[_i].ms);
}
END_TEST

static const struct {
    const char *text, *error;
} bad_times[] = {
    { "abc", "Invalid time: abc. Invalid character 'a' in abc" },
    { "ago", "Invalid time: ago. Invalid character 'a' in ago" },
    { "-", "Invalid time: -. Just a sign, no value: -" },
    { "-1", "Invalid time: -1. Negative timestamps are not supported." },
    { "1é", "Invalid time: 1é. Invalid character 'é' in 1é" },
    { "12345678901234567890",
      "Invalid time: 12345678901234567890. Value too long: "
      "12345678901234567890" },
    { "9999999999999999999",
      "Invalid time: 9999999999999999999. Overflow in 9999999999999999999" },
    { "1356998400.1234",
      "Invalid time: 1356998400.1234. Millisecond timestamps must be in the "
      "format <seconds>.<ms> where the milliseconds are limited to 3 digits" },
#define BAD_FRACTION(text)                                                     \
    {                                                                          \
        text, "Invalid time: " text ". Millisecond timestamps must be in the " \
              "format <seconds>.<ms> where the milliseconds are limited to 3 " \
              "digits"                                                         \
    }
    BAD_FRACTION("1356998400."),
    BAD_FRACTION(".5"),
    BAD_FRACTION("1356998400.5.5"),
    BAD_FRACTION("1356998400.+5"),
    BAD_FRACTION("-1356998400.5"),
    BAD_FRACTION("13569984000.5"),
    BAD_FRACTION("1356998400000.5"),
    BAD_FRACTION("1.3569984e9"),
#undef BAD_FRACTION
    { "-ago", "Cannot parse null or empty duration" },
    { "h-ago", "Invalid duration (number): h. " DURATION_UNITS },
    { "-1h-ago", "Invalid duration (number): -1h. " DURATION_UNITS },
    { "+1h-ago", "Invalid duration (number): +1h. " DURATION_UNITS },
    { " 1h-ago", "Invalid duration (number):  1h. " DURATION_UNITS },
    { "5-ago",
      "Invalid duration, must have an integer and unit: 5. " DURATION_UNITS },
    { "0h-ago", "Zero or negative duration: 0h" },
/* OpenTSDB reads the last letter of these. */
#define BAD_UNIT(text)                                                      \
    {                                                                       \
        text "-ago", "Invalid duration (suffix): " text ". " DURATION_UNITS \
    }
    BAD_UNIT("1z"),
    BAD_UNIT("5min"),
    BAD_UNIT("15mins"),
    BAD_UNIT("10secs"),
    BAD_UNIT("2hours"),
    BAD_UNIT("1day"),
    BAD_UNIT("7days"),
    BAD_UNIT("2weeks"),
    BAD_UNIT("1mon"),
    BAD_UNIT("1month"),
    BAD_UNIT("1.5h"),
    BAD_UNIT("1h30m"),
    BAD_UNIT("1d12h"),
    BAD_UNIT("1 h"),
    BAD_UNIT("1h "),
    BAD_UNIT("1ss"),
    BAD_UNIT("1sm"),
    BAD_UNIT("1e3s"),
#undef BAD_UNIT
    { "99999999999y-ago",
      "Duration must be < Long.MAX_VALUE ms: 99999999999y" },
    { "2013/1/1", "Invalid absolute date: 2013/1/1" },
    { "2013/01/01T00:00:00",
      "Invalid date: 2013/01/01T00:00:00. Unparseable date: "
      "\"2013/01/01T00:00:00\"" },
    { "2013/01/xx", "Invalid date: 2013/01/xx. Unparseable date: "
                    "\"2013/01/xx\"" },
    { "999999999/1/1 0:0:0",
      "Invalid date: 999999999/1/1 0:0:0. Unparseable date: "
      "\"999999999/1/1 0:0:0\"" },
};

START_TEST(rejects_times)
{
    struct error e;
    int64_t ms;

    ck_assert_int_eq(
        parse_time(slice_str(bad_times[_i].text), NOW, NULL, &ms, &e),
        ST_INVALID);
    ck_assert_str_eq(e.text, bad_times[_i].error);
}
END_TEST

static const struct {
    const char *text;
    int64_t ms;
    int count;
    enum time_unit unit;
    enum fill_policy fill;
    bool all, calendar;
} downsamples[] = {
    { "10m-avg", 600000, 10, UNIT_M, FILL_NONE, false, false },
    { "1m-avg-", 60000, 1, UNIT_M, FILL_NONE, false, false },
    { "1H-sum-NaN", 3600000, 1, UNIT_H, FILL_NAN, false, false },
    { "500ms-max-zero", 500, 500, UNIT_MS, FILL_ZERO, false, false },
    { "2H-min-null", 7200000, 2, UNIT_H, FILL_NULL, false, false },
    { "1n-sum-scalar", 2592000000, 1, UNIT_N, FILL_SCALAR, false, false },
    { "1y-sum", 31536000000, 1, UNIT_Y, FILL_NONE, false, false },
    { "2wc-sum", 1209600000, 2, UNIT_W, FILL_NONE, false, true },
    { "0all-sum", 0, 0, UNIT_MS, FILL_NONE, true, false },
    { "1all-sum", 0, 0, UNIT_MS, FILL_NONE, true, false },
    { "1s-count", 1000, 1, UNIT_S, FILL_NONE, false, false },
    { "7d-p99", 604800000, 7, UNIT_D, FILL_NONE, false, false },
};

START_TEST(reads_downsampling)
{
    struct downsample d;
    struct error e = { ST_OK, "" };

    ck_assert_msg(
        parse_downsample(slice_str(downsamples[_i].text), a, &d, &e) == ST_OK,
        "%s", e.text);
    ck_assert(d.on);
    ck_assert_int_eq(d.interval_ms, downsamples[_i].ms);
    ck_assert_int_eq(d.count, downsamples[_i].count);
    ck_assert_int_eq(d.unit, downsamples[_i].unit);
    ck_assert_int_eq(d.fill, downsamples[_i].fill);
    ck_assert_int_eq(d.all, downsamples[_i].all);
    ck_assert_int_eq(d.calendar, downsamples[_i].calendar);
    ck_assert_ptr_eq(d.zone, timezone_utc());
}
END_TEST

static const struct {
    const char *text, *error;
} bad_downsamples[] = {
    { "1", "Invalid downsampling specifier '1': must provide at least interval "
           "and function" },
    { "-", "Invalid downsampling specifier '-': must provide at least interval "
           "and function" },
    { "1m-sum-nan-x",
      "Invalid downsampling specifier '1m-sum-nan-x': must consist of "
      "interval, function, and optional fill policy" },
    { "-sum", "String index out of range: -1" },
    { "c-sum", "Cannot parse null or empty duration" },
    { "0m-sum", "Zero or negative duration: 0m" },
    { "4294967296001ms-sum",
      "The interval is longer than 4294967296 seconds: 4294967296001ms" },
    { "9223372036854775807ms-avg",
      "The interval is longer than 4294967296 seconds: 9223372036854775807ms" },
    { "137yc-sum", "The interval is longer than 4294967296 seconds: 137y" },
    { "1x-sum", "Invalid duration (suffix): 1x. " DURATION_UNITS },
    { "5min-sum", "Invalid duration (suffix): 5min. " DURATION_UNITS },
    { "5minc-sum", "Invalid duration (suffix): 5min. " DURATION_UNITS },
    { "1day-sum", "Invalid duration (suffix): 1day. " DURATION_UNITS },
    { "1m30s-sum", "Invalid duration (suffix): 1m30s. " DURATION_UNITS },
    { "1.5h-sum", "Invalid duration (suffix): 1.5h. " DURATION_UNITS },
    { "1hall-sum", "Invalid duration (suffix): 1hall. " DURATION_UNITS },
    { "60-sum",
      "Invalid duration, must have an integer and unit: 60. " DURATION_UNITS },
    { "1m-bogus", "No such downsampling function: bogus" },
    { "1m-none", "cannot use the NONE aggregator for downsampling" },
    { "1m-sum-5", "Unrecognized fill policy: 5" },
};

START_TEST(rejects_downsampling)
{
    struct downsample d;
    struct error e;

    ck_assert_int_eq(
        parse_downsample(slice_str(bad_downsamples[_i].text), a, &d, &e),
        ST_INVALID);
    ck_assert_str_eq(e.text, bad_downsamples[_i].error);
    ck_assert(!d.on);
}
END_TEST

/* Filters as "tagk:type:text:group", separated by blanks. */
static const struct {
    const char *text, *metric, *filters;
} metrics[] = {
    { "m", "m", "" },
    { "m{}", "m", "" },
    { "m{}{}", "m", "" },
    { "{h=a}", "", "h:literal_or:a:1 " },
    { "m{h=a,d=*}", "m", "h:literal_or:a:1 d:wildcard:*:1 " },
    { "m{h=a}{d=b,e=c*}", "m",
      "d:literal_or:b:0 e:wildcard:c*:0 h:literal_or:a:1 " },
    { "m{}{h=regexp(x.*)}", "m", "h:regexp:x.*:0 " },
    { "m{h=a}{h=a}", "m", "h:literal_or:a:1 " },
    { "m{h=*}{h=*}", "m", "h:wildcard:*:1 " },
    { "m{h=a,h=b}", "m", "h:literal_or:a:1 h:literal_or:b:1 " },
    { "m{h=a}}", "m", "h:literal_or:a}:0 h:literal_or:a:1 " },
    /* Brackets nest. */
    { "m{h=web01:8082}", "m", "h:literal_or:web01:8082:1 " },
    { "m{h=regexp((?:a|b)),d=x}", "m", "h:regexp:(?:a|b):1 d:literal_or:x:1 " },
    { "m{h=regexp(x{2,3})}", "m", "h:regexp:x{2,3}:1 " },
    { "m{}{h=regexp([a-z]{2,3}[,)}]),d=b}", "m",
      "h:regexp:[a-z]{2,3}[,)}]:0 d:literal_or:b:0 " },
    { "m{h=regexp(a\\)b\\(),d=c}", "m",
      "h:regexp:a\\)b\\(:1 d:literal_or:c:1 " },
    { "m{h=regexp(a(?=b))}{d=c}", "m", "d:literal_or:c:0 h:regexp:a(?=b):1 " },
    { "m{h=literal_or(a,b|{c},d)}", "m", "h:literal_or:a,b|{c},d:1 " },
    { "m{h=(a),d=(b:c)}", "m", "h:literal_or:(a):1 d:literal_or:(b:c):1 " },
    { "m{h=(a*)}", "m", "h:wildcard:(a*):1 " },
    { "m{h=Ponte(TO)}{d=x(*),e=y(1|2)}", "m",
      "d:wildcard:x(*):0 e:literal_or:y(1|2):0 h:literal_or:Ponte(TO):1 " },
    { "m{h={a,b}}", "m", "h:literal_or:{a,b}:1 " },
    { "m{h=C:\\}", "m", "h:literal_or:C:\\:1 " },
    { "m h=a}", "m h=a}", "" },
};

START_TEST(reads_metrics)
{
    struct filter_list list;
    struct filter *f;
    struct slice metric;
    struct error e = { ST_OK, "" };
    char text[256] = "";
    size_t n = 0;

    ck_assert_msg(parse_metric_and_filters(slice_str(metrics[_i].text), true, a,
                                           &metric, &list, &e) == ST_OK,
                  "%s", e.text);
    f = list.items;
    ck_assert(slice_eq_str(metric, metrics[_i].metric));
    for (size_t i = 0; i < list.len; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s:%s:%.*s:%d ",
                              SLICE_ARG(f[i].tagk), filter_type_name(f[i].type),
                              SLICE_ARG(f[i].text), f[i].group_by);
        filter_fini(&f[i]);
    }
    ck_assert_str_eq(text, metrics[_i].filters);
}
END_TEST

static const struct {
    const char *text;
    const char *error; /* NULL: it is taken */
    const char *tags;  /* then: "metric key=value ..." */
} tag_texts[] = {
    { "m", NULL, "m" },
    { "m{}", NULL, "m" },
    { "m{a=b,c=d,a=b}", NULL, "m a=b c=d" },
    { "m{a=b,a=c}", "When parsing tag 'a=c': duplicate tag: a=c", "" },
    { "m{a=}", "When parsing tag 'a=': invalid tag: a=", "" },
    { "m{a=b", "Missing '}' at the end of: m{a=b", "" },
    { "m{a=web01:8082}", NULL, "m a=web01:8082" },
    { "m{a=f(x,y),b={c}}", NULL, "m a=f(x,y) b={c}" },
    { "m{a=b=c}", "When parsing tag 'a=b=c': invalid tag: a=b=c", "" },
};

START_TEST(reads_tags)
{
    struct tag *t;
    struct slice metric;
    struct error e;
    char text[256];
    size_t len, n;
    enum status st = parse_metric_and_tags(slice_str(tag_texts[_i].text), a,
                                           &metric, &t, &len, &e);

    if (tag_texts[_i].error != NULL) {
        ck_assert_int_eq(st, ST_INVALID);
        ck_assert_str_eq(e.text, tag_texts[_i].error);
    } else {
        n = (size_t)snprintf(text, sizeof text, "%.*s", SLICE_ARG(metric));
        for (size_t i = 0; i < len; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, " %.*s=%.*s",
                                  SLICE_ARG(t[i].key), SLICE_ARG(t[i].value));
        ck_assert_str_eq(text, tag_texts[_i].tags);
    }
}
END_TEST

/* A query string that needs no decoding. */
static enum status
parse_uri(const char *text, struct parse_error *e)
{
    struct query_param params[16];
    size_t len = 0;

    while (*text != '\0') {
        size_t n = strcspn(text, "&"), name = strcspn(text, "=&");

        params[len].name = slice_of(text, name);
        params[len].value = slice_of(text + name, 0);
        if (name < n)
            params[len].value = slice_of(text + name + 1, n - name - 1);
        len++;
        text += n + (text[n] == '&');
    }
    return query_parse_uri(params, len, &options, a, &q, e);
}

static const struct {
    const char *text, *message;
    bool details; /* the message again */
} bad_uris[] = {
    { "m=sum:x", "Missing parameter <code>start</code>", false },
    { "start=&m=sum:x", "Missing parameter <code>start</code>", false },
    { "start=1", "Missing sub queries", false },
    { "start=1&m=", "The query string was empty", false },
    { "start=1&tsuid=", "The tsuid query string was empty", false },
    { "start=1&m=x", "Invalid parameter m=x (not enough :-separated parts)",
      false },
    { "start=1&tsuid=a:b:c:d:e:f",
      "Invalid parameter m=a:b:c:d:e:f (too many :-separated parts)", false },
    { "start=1&m=sum:", "Metric cannot be null or empty", false },
    { "start=1&m=sum::x", "Two colons with nothing between them", false },
    { "start=1&m=sum:x{h=a", "Missing '}' at the end of: x{h=a", false },
    { "start=1&m=sum:x{h=}", "When parsing tag 'h=': invalid tag: h=", false },
    { "start=1&m=sum:x{h=a,}", "When parsing tag '': invalid tag: ", false },
    { "start=1&m=sum:x{}{h=bogus(a)}",
      "When parsing filter 'h=bogus(a)': Could not find a tag value filter of "
      "the type: bogus",
      false },
    { "start=1&m=sum:rate{:x", "Invalid rate options specification: rate{",
      false },
    { "start=1&m=sum:rate{counter,abc}:x",
      "Max value of counter was not a number, received 'abc'", false },
    { "start=1&m=sum:rate{counter,1,abc}:x",
      "Reset value of counter was not a number, received 'abc'", false },
    { "start=1&m=sum:rate{counter,1,2,3}:x",
      "Incorrect number of values in rate options specification, must be "
      "counter[,counter max value,reset value], recieved: 4 parts",
      false },
    { "start=1&m=sum:percentiles[x]:x", "For input string: \"x\"", false },
    { "start=1&m=sum:percentiles:x",
      "Malformated percentile query paramater: percentiles", false },
    { "start=1&m=sum:percentiles[101]:x",
      "Invalid percentile parameters: 101.0", true },
    { "start=1&m=max:percentiles[50]:x",
      "Only NONE or SUM aggregation function supported for histogram query",
      true },
    { "start=1&m=sum:1m-avg:percentiles[50]:x",
      "Only SUM downsampling aggregation supported for histogram query", true },
    { "start=x&m=sum:x", "Invalid time: x. Invalid character 'x' in x", true },
    { "start=5&end=5&m=sum:x",
      "End time [5000] must be greater than the start time [5000]", true },
    { "start=99999999999999&end=99999999999999999&m=sum:x",
      "Invalid timestamp: 99999999999999", true },
    { "start=1&m=:x", "Missing the aggregation function", true },
    { "start=1&m=SUM:x", "No such aggregation function: SUM", true },
    { "start=1&m=sum:{h=a}",
      "Missing the metric or tsuids, provide at least one", true },
    { "start=1&tsuid=sum:,",
      "Missing the metric or tsuids, provide at least one", true },
    { "start=1&m=sum:1m-sum:x&tz=Mars/Olympus",
      "The timezone specification could not be found", true },
    { "start=2013/01/01&m=sum:x&tz=Mars/Olympus",
      "Invalid timezone name: Mars/Olympus", true },
    { "start=1&m=sum:2147483648msc-sum:x",
      "Calendar intervals have at most 2147483647 units: 2147483648msc-sum",
      true },
};

START_TEST(rejects_uris)
{
    struct parse_error e;

    ck_assert_int_eq(parse_uri(bad_uris[_i].text, &e), ST_INVALID);
    ck_assert_str_eq(e.message.text, bad_uris[_i].message);
    ck_assert_str_eq(e.details,
                     bad_uris[_i].details ? bad_uris[_i].message : "");
}
END_TEST

/* The units are listed; a message that OpenTSDB has, too, stays as it is. */
static const struct {
    const char *uri, *message;
} bad_durations[] = {
    { "start=1&m=sum:1z-sum:x", "Invalid duration (suffix): 1z" },
    { "start=1week-ago&m=sum:x", "Invalid duration (suffix): 1week" },
    { "start=h-ago&m=sum:x", "Invalid duration (number): h" },
    { "start=5-ago&m=sum:x",
      "Invalid duration, must have an integer and unit: 5" },
    { "start=5min-ago&m=sum:x",
      "Invalid duration (suffix): 5min. " DURATION_UNITS },
    { "start=1&m=sum:1.5H-sum:x",
      "Invalid duration (suffix): 1.5H. " DURATION_UNITS },
};

START_TEST(lists_the_units)
{
    struct parse_error e;

    ck_assert_int_eq(parse_uri(bad_durations[_i].uri, &e), ST_INVALID);
    ck_assert_str_eq(e.message.text, bad_durations[_i].message);
    ck_assert_ptr_nonnull(strstr(e.details, DURATION_UNITS));
}
END_TEST

static const struct {
    const char *option;
    bool rate, given, counter, drop;
    int64_t max, reset;
} rates[] = {
    { "1m-sum", false, false, false, false, INT64_MAX, 0 },
    { "rate", true, false, false, false, INT64_MAX, 0 },
    { "ratex", true, false, false, false, INT64_MAX, 0 },
    { "rate{}", true, true, false, false, INT64_MAX, 0 },
    { "rate{bogus}", true, true, false, false, INT64_MAX, 0 },
    { "rate{counter}", true, true, true, false, INT64_MAX, 0 },
    { "RATE{COUNTER}", true, true, false, false, INT64_MAX, 0 },
    { "rate{counter", true, true, false, false, INT64_MAX, 0 },
    { "rate{counter,,100}", true, true, true, false, INT64_MAX, 100 },
    { "rate{counter,65535,100}", true, true, true, false, 65535, 100 },
    { "rate{dropcounter,-5}", true, true, true, true, -5, 0 },
};

START_TEST(reads_rates)
{
    struct parse_error e = { 0 };
    char text[128];

    (void)snprintf(text, sizeof text, "start=1&m=sum:%s:x", rates[_i].option);
    ck_assert_msg(parse_uri(text, &e) == ST_OK, "%s", e.message.text);
    ck_assert_int_eq(q.subs[0].rate, rates[_i].rate);
    ck_assert_int_eq(q.subs[0].rate_options_given, rates[_i].given);
    ck_assert_int_eq(q.subs[0].rate_options.counter, rates[_i].counter);
    ck_assert_int_eq(q.subs[0].rate_options.drop_resets, rates[_i].drop);
    ck_assert_int_eq(q.subs[0].rate_options.counter_max, rates[_i].max);
    ck_assert_int_eq(q.subs[0].rate_options.reset_value, rates[_i].reset);
}
END_TEST

START_TEST(reads_uris)
{
    struct parse_error e = { 0 };

    ck_assert_msg(
        parse_uri("start=1&start=2013/01/01&end=2013/01/02&tz=Asia/Tokyo&ms"
                  "&show_tsuids=false&use_calendar&arrays"
                  "&m=sum:1d-avg:x{h=a}&m=sum:1d-avg:x{h=a}"
                  "&m=none:pre-agg:ROLLUP_raw:explicit_tags:bogus:x"
                  "&tsuid=max:rate:0A,0B",
                  &e) == ST_INVALID,
        "%s", e.message.text);
    ck_assert_ptr_nonnull(strstr(e.message.text, "too many"));
    query_fini(&q);
    ck_assert_msg(
        parse_uri("start=1&start=2013/01/01&end=2013/01/02&tz=Asia/Tokyo&ms"
                  "&show_tsuids=false&use_calendar&arrays"
                  "&m=sum:1d-avg:x{h=a}&m=sum:1d-avg:x{h=a}"
                  "&m=none:pre-agg:ROLLUP_raw:explicit_tags:x"
                  "&tsuid=max:rate:0A,0B",
                  &e) == ST_OK,
        "%s", e.message.text);
    ck_assert_int_eq(q.start_ms, 1356966000000);
    ck_assert_int_eq(q.end_ms, 1357052400000);
    ck_assert(q.ms_resolution && q.show_tsuids && q.use_calendar && q.arrays);
    ck_assert(!q.padding && !q.show_query);
    /* tsuids come first, and of two equal sub-queries one is left. */
    ck_assert_uint_eq(q.subs_len, 3);
    ck_assert_uint_eq(q.subs[0].tsuids_len, 2);
    ck_assert(slice_eq_str(q.subs[0].tsuids[1], "0B"));
    ck_assert(q.subs[0].rate && q.subs[0].metric.size == 0);
    ck_assert_uint_eq(q.subs[1].index, 1);
    ck_assert(q.subs[1].downsample.calendar);
    ck_assert(!q.subs[0].downsample.calendar);
    ck_assert_ptr_eq(q.subs[1].downsample.zone, q.zone);
    ck_assert_ptr_ne(q.zone, timezone_utc());
    ck_assert(q.subs[2].aggregator->kind == KIND_NONE);
    ck_assert(q.subs[2].pre_aggregate && q.subs[2].explicit_tags);
    ck_assert(slice_eq_str(q.subs[2].rollup_usage, "ROLLUP_RAW"));
    ck_assert(!q.subs[2].downsample.on);
}
END_TEST

static const struct {
    const char *m;
    bool colons;
    const char *metric; /* NULL: it is rejected */
    const char *downsample, *tags;
} nested[] = {
    { "sum:x{h=web01:8082}", false, "x", "", "h=web01:8082" },
    { "sum:1m-avg:rate{counter,5}:x{h=regexp((?:a|b):1)}", false, "x", "1m-avg",
      "h=(?:a|b):1" },
    { "sum:1m-avg:x{h=a}{d=b:c}", false, "x", "1m-avg", "d=b:c" },
    { "sum:percentiles[50,99]:x{h=::1}", false, "x", "", "h=::1" },
    /* A bracket without its partner: every colon counts. */
    { "sum:1m-avg:x{h=(a:b}", false, "b}", "1m-avg", "" },
    { "sum:rate{:x{h=a:b}", false, NULL, "", "" },
    /* OpenTSDB passes over a word that it does not know. */
    { "sum:a:b", false, "b", "", "" },
    { "sum:a:b", true, "a:b", "", "" },
    { "sum:1m-avg:rate:a:b:c:d{h=e:f}", true, "a:b:c:d", "1m-avg", "h=e:f" },
    { "sum:10:b", true, "10:b", "", "" },
    { "sum:rate:b", true, "b", "", "" },
    { "sum:a:", true, "a:", "", "" },
    { "sum:a:b:c:d:e:f", false, NULL, "", "" },
};

START_TEST(nests_in_uris)
{
    struct parse_options o = options;
    struct query_param params[] = {
        { slice_str("start"), slice_str("1") },
        { slice_str("m"), slice_str(nested[_i].m) },
    };
    struct parse_error e = { 0 };
    const struct sub_query *s;
    char tags[64] = "";
    enum status st;

    o.colons_in_names = nested[_i].colons;
    st = query_parse_uri(params, 2, &o, a, &q, &e);
    if (nested[_i].metric == NULL) {
        ck_assert_int_eq(st, ST_INVALID);
        return;
    }
    ck_assert_msg(st == ST_OK, "%s", e.message.text);
    s = &q.subs[0];
    ck_assert_msg(slice_eq_str(s->metric, nested[_i].metric), "%.*s",
                  SLICE_ARG(s->metric));
    ck_assert(slice_eq_str(s->downsample.text, nested[_i].downsample));
    if (s->filters_len > 0)
        (void)snprintf(tags, sizeof tags, "%.*s=%.*s",
                       SLICE_ARG(s->filters[0].tagk),
                       SLICE_ARG(s->filters[0].text));
    ck_assert_str_eq(tags, nested[_i].tags);
}
END_TEST

START_TEST(nesting_stays_linear)
{
    struct buf b = BUF_INIT;
    struct slice *parts;
    struct error e;
    size_t len;

    for (int i = 0; i < 200000; i++)
        buf_put_str(&b, i % 2 == 0 ? "(," : ":[");
    ck_assert_int_eq(nesting_split(buf_slice(&b), ',', a, &parts, &len, &e),
                     ST_OK);
    ck_assert_uint_eq(len, 100001);
    buf_fini(&b);
}
END_TEST

START_TEST(an_unused_zone_is_no_fault)
{
    struct parse_error e = { 0 };

    ck_assert_int_eq(parse_uri("start=1&tz=Mars/Olympus&m=sum:x", &e), ST_OK);
    ck_assert_ptr_eq(q.zone, timezone_utc());
}
END_TEST

START_TEST(sorts_percentiles)
{
    struct parse_error e = { 0 };

    ck_assert_int_eq(parse_uri("start=1&m=sum:percentiles[99.9, 50,95]:x", &e),
                     ST_OK);
    ck_assert_uint_eq(q.subs[0].percentiles_len, 3);
    ck_assert(q.subs[0].percentiles[0] == 50);
    ck_assert(q.subs[0].percentiles[2] == 99.9);
}
END_TEST

TEST_MAIN_WITH(setup, teardown, "parse", LOOP(reads_times, times),
               LOOP(rejects_times, bad_times),
               LOOP(reads_downsampling, downsamples),
               LOOP(rejects_downsampling, bad_downsamples),
               LOOP(reads_metrics, metrics), LOOP(reads_tags, tag_texts),
               LOOP(rejects_uris, bad_uris),
               LOOP(lists_the_units, bad_durations), LOOP(reads_rates, rates),
               TEST(reads_uris), LOOP(nests_in_uris, nested),
               TEST(nesting_stays_linear), TEST(an_unused_zone_is_no_fault),
               TEST(sorts_percentiles))
