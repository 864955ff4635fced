#include "query/aggregate/aggregate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text/number.h"
#include "tests/harness.h"

static struct deadline deadline; /* without a timeout */

/* A case is text: series are separated by "|", points are TIME:VALUE, times are
 * seconds after 2013-01-01T00:00:00Z, the start of an hour; a value with a
 * point is a float.  tests/model compares random cases. */
#define BASE_MS INT64_C(1356998400000)

#define POINTS_MAX 64
#define SPANS_MAX  8

struct text_case {
    const char *rule;
    int64_t start, end; /* seconds after the base, both included */
    const char *aggregator;
    const char *downsample; /* "" or "60-sum-nan": seconds, 0 for all */
    const char *rate;       /* "", "rate" or "COUNTERMAX,RESET", "drop" */
    const char *spans;
    const char *want;
};

struct parsed {
    int64_t ts[SPANS_MAX][POINTS_MAX];
    union number v[SPANS_MAX][POINTS_MAX];
    uint8_t is_float[SPANS_MAX][POINTS_MAX];
    struct column spans[SPANS_MAX];
    size_t len;
};

static void
parse_point(struct parsed *p, const char *text)
{
    struct column *s = &p->spans[p->len - 1];
    const char *colon = strchr(text, ':');
    size_t i = s->len++;

    ck_assert(i < POINTS_MAX && colon != NULL);
    p->ts[p->len - 1][i] = BASE_MS + (int64_t)llround(atof(text) * 1000);
    p->is_float[p->len - 1][i] = strpbrk(colon, ".eN") != NULL;
    if (p->is_float[p->len - 1][i])
        p->v[p->len - 1][i].d = strtod(colon + 1, NULL);
    else
        p->v[p->len - 1][i].i = strtoll(colon + 1, NULL, 10);
}

static void
begin_span(struct parsed *p)
{
    size_t i = p->len++;

    ck_assert(i < SPANS_MAX);
    p->spans[i] = (struct column){ .ts_ms = p->ts[i],
                                   .v = p->v[i],
                                   .is_float = p->is_float[i] };
}

static void
parse_spans(const char *text, struct parsed *p)
{
    char copy[2048], *save = NULL;

    p->len = 0;
    begin_span(p);
    ck_assert(strlen(text) < sizeof copy);
    strcpy(copy, text);
    for (char *w = strtok_r(copy, " ", &save); w != NULL;
         w = strtok_r(NULL, " ", &save)) {
        if (strcmp(w, "|") == 0)
            begin_span(p);
        else
            parse_point(p, w);
    }
}

static void
parse_downsample(const char *text, struct downsample *d)
{
    static const char *fills[] = { "none", "zero", "nan", "null", "scalar" };
    char name[16], fill[16] = "none";
    long seconds;

    if (text[0] == '\0')
        return;
    ck_assert(sscanf(text, "%ld-%15[^-]-%15s", &seconds, name, fill) >= 2);
    d->on = true;
    d->all = seconds == 0;
    d->interval_ms = seconds * 1000;
    d->aggregator = aggregator_find(slice_str(name));
    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++)
        if (strcmp(fill, fills[i]) == 0)
            d->fill = (enum fill_policy)i;
}

static void
parse_rate(const char *text, struct sub_query *sq)
{
    struct rate_options *o = &sq->rate_options;

    sq->rate = text[0] != '\0';
    o->counter_max = INT64_MAX;
    if (!sq->rate || strcmp(text, "rate") == 0)
        return;
    o->counter = true;
    o->drop_resets = strcmp(text, "drop") == 0;
    if (!o->drop_resets)
        ck_assert(sscanf(text, "%" SCNd64 ",%" SCNd64, &o->counter_max,
                         &o->reset_value) == 2);
}

static void
print_dps(const struct dps *d, char *out, size_t size)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < d->len; i++) {
        char value[NUMBER_TEXT_MAX + 1] = "null";
        size_t n = 4;

        if (d->kind[i] == DP_INT)
            n = number_format_i64(d->v[i].i, value);
        else if (d->kind[i] == DP_DOUBLE)
            n = number_format_double(d->v[i].d, value);
        value[n] = '\0';
        at +=
            (size_t)snprintf(out + at, size - at, "%s%g:%s", i == 0 ? "" : " ",
                             (double)(d->ts_ms[i] - BASE_MS) / 1000, value);
        ck_assert(at < size);
    }
}

static enum status
aggregate(const struct query *q, const struct sub_query *sq,
          struct column *series, size_t len, struct deadline *end,
          struct arena *a, struct dps *out, struct error *e)
{
    struct query_reading r;

    reading_make(&r, q, sq);
    return aggregate_group(&(struct aggregate_job){ q, sq, &r, NULL, end },
                           series, len, a, out, e);
}

/* The answer as text, or the error's. */
static void
run_case(const struct text_case *c, char *out, size_t size)
{
    static struct parsed p;
    struct query q = { .start_ms = BASE_MS + c->start * 1000,
                       .end_ms = BASE_MS + c->end * 1000 };
    struct sub_query sq = { .aggregator =
                                aggregator_find(slice_str(c->aggregator)) };
    struct arena *a = arena_new(0);
    struct dps dps;
    struct error e;

    ck_assert_ptr_nonnull(sq.aggregator);
    parse_spans(c->spans, &p);
    parse_downsample(c->downsample, &sq.downsample);
    parse_rate(c->rate, &sq);
    if (aggregate(&q, &sq, p.spans, p.len, &deadline, a, &dps, &e) == ST_OK)
        print_dps(&dps, out, size);
    else
        (void)snprintf(out, size, "%s", e.text);
    arena_free(&a);
}

static const struct text_case cases[] = {
    { "one series passes as it is", 0, 100, "sum", "", "", "0:1 10:-2 20:3",
      "0:1 10:-2 20:3" },
    { "both ends of the range are in it", 10, 20, "sum", "", "",
      "9:1 10:2 20:3 21:4", "10:2 20:3" },

    /* Integers and floats. */
    { "a float next makes this moment a float", 0, 100, "sum", "", "",
      "0:7 10:8.5 20:-2 30:1", "0:7.0 10:8.5 20:-2 30:1" },
    { "so does one after the end of the range", 0, 10, "sum", "", "",
      "0:7 10:8 20:1.5", "0:7 10:8.0" },
    { "so does the first of a series to come", 0, 15, "sum", "", "",
      "0:1 10:2 | 20:3 30:3.5", "0:1 10:2" },
    { "... if that is a float itself", 0, 15, "sum", "", "",
      "0:1 10:2 | 20:3.5 30:3", "0:1.0 10:2.0" },
    { "a series that is over does not count", 0, 100, "sum", "", "",
      "0:1.5 10:2.5 | 0:1 10:2 20:3 30:4", "0:2.5 10:4.5 20:3 30:4" },
    { "and for none too", 0, 100, "none", "", "", "0:1 10:2.5",
      "0:1.0 10:2.5" },
    { "integer sums wrap", 0, 100, "sum", "", "", "0:9223372036854775807 | 0:1",
      "0:-9223372036854775808" },
    { "integer averages truncate", 0, 100, "avg", "", "", "0:-3 | 0:-4",
      "0:-3" },

    /* Interpolation. */
    { "lerp fills in between", 0, 100, "sum", "", "",
      "0:0 10:10 | 0:100 5:100 10:100", "0:100 5:105 10:110" },
    { "lerp of integers truncates to zero", 0, 100, "sum", "", "",
      "0:0 3:10 | 0:0 1:0 2:0 3:0", "0:0 1:3 2:6 3:10" },
    { "and below zero", 0, 100, "sum", "", "", "0:0 3:-10 | 0:0 1:0 2:0 3:0",
      "0:0 1:-3 2:-6 3:-10" },
    { "lerp of floats does not", 0, 100, "sum", "", "",
      "0:0.0 4:10.0 | 0:0 1:0 2:0 4:0", "0:0.0 1:2.5 2:5.0 4:10.0" },
    { "nothing before the first, nothing after the last", 0, 100, "sum", "", "",
      "10:1 20:1 | 0:100 10:100 20:100 30:100", "0:100 10:101 20:101 30:100" },
    { "from a point before the range", 5, 100, "sum", "", "", "0:0 10:10 | 5:0",
      "5:5 10:10" },
    { "to a point after the range", 0, 5, "sum", "", "", "0:0 10:10 | 5:0",
      "0:0 5:5" },
    { "zimsum takes 0", 0, 100, "zimsum", "", "", "0:10 10:10 | 0:1 5:1 10:1",
      "0:11 5:1 10:11" },
    { "mimmin ignores who is missing", 0, 100, "mimmin", "", "",
      "0:1 10:1 | 0:5 5:6 10:7", "0:1 5:6 10:1" },
    { "mimmax too", 0, 100, "mimmax", "", "", "0:9 10:9 | 0:5 5:6 10:7",
      "0:9 5:6 10:9" },
    { "pfsum takes the previous value", 0, 100, "pfsum", "", "",
      "0:10 10:20 | 0:1 5:1 10:1", "0:11 5:11 10:21" },
    { "count counts who is missing", 0, 100, "count", "", "",
      "0:10 10:20 | 0:1 5:1 10:1", "0:2 5:2 10:2" },
    { "first is 0 where the first series has none", 0, 100, "first", "", "",
      "0:10 10:20 | 0:1 5:1 10:1", "0:10 5:0 10:20" },
    { "last likewise", 0, 100, "last", "", "", "0:1 5:1 10:1 | 0:10 10:20",
      "0:10 5:0 10:20" },

    /* Downsampling. */
    { "a bucket's time is its start, its value a float", 0, 100, "sum",
      "30-sum", "", "0:1 10:2 29:3 30:4 95:5", "0:6.0 30:4.0 90:5.0" },
    { "buckets that began before the start are not shown", 10, 100, "sum",
      "30-sum", "", "0:1 10:2 40:3", "30:3.0" },
    { "the last one has points after the end", 0, 35, "sum", "30-sum", "",
      "0:1 40:2 59:3", "0:1.0 30:5.0" },
    { "a bucket that is half in the scanned hours is dropped", -3400, 1600,
      "sum", "5000-sum", "", "-3500:1 1600:10 | -3400:5 1600:5",
      "-3400:5.0 1600:15.0" },
    { "gaps are interpolated", 0, 100, "sum", "30-sum", "",
      "0:0 60:60 | 0:1 30:1 60:1", "0:1.0 30:31.0 60:61.0" },
    { "fill nan shows every bucket", 0, 90, "sum", "30-sum-nan", "", "0:1 60:2",
      "0:1.0 30:NaN 60:2.0 90:NaN" },
    { "fill null shows nothing", 0, 90, "sum", "30-sum-null", "", "0:1 60:2",
      "0:1.0 30:null 60:2.0 90:null" },
    { "fill zero", 0, 90, "sum", "30-sum-zero", "", "0:1 60:2",
      "0:1.0 30:0.0 60:2.0 90:0.0" },
    { "aggregators skip what was filled", 0, 60, "avg", "30-sum-nan", "",
      "0:1 60:2 | 0:3 30:5 60:4", "0:2.0 30:5.0 60:3.0" },
    { "count over NaN is 0", 0, 30, "count", "30-sum-nan", "", "0:1",
      "0:1.0 30:0.0" },
    { "fill scalar is not handled", 0, 30, "sum", "30-sum-scalar", "", "0:1",
      "unhandled fill policy" },
    { "0all is stamped with the start and has both bounds", 10, 40, "sum",
      "0-sum", "", "9:1 10:2 39:4 40:8", "10:6.0" },
    { "0all of nothing is nothing", 10, 40, "sum", "0-sum-nan", "", "50:1",
      "" },

    /* Rates. */
    { "a rate needs two points", 0, 100, "sum", "", "rate", "0:1", "" },
    { "the first is not shown", 0, 100, "sum", "", "rate",
      "0:100 10:200 20:150", "10:10.0 20:-5.0" },
    { "the point before the range gives the first", 10, 100, "sum", "", "rate",
      "0:100 10:200 20:150", "10:10.0 20:-5.0" },
    { "in a group the first stands in for all before", 0, 30, "sum", "", "rate",
      "0:10 10:20 20:30 | 15:1357 25:1367",
      "10:1.000001000001168 20:1.000001000001168 25:1.0" },
    { "rates are not interpolated, they hold", 0, 40, "sum", "", "rate",
      "0:0 10:10 40:100 | 0:0 10:0 20:20 40:40", "10:1.0 20:3.0 40:4.0" },
    { "of ms", 0, 10, "sum", "", "rate", "0:0 0.5:10", "0.5:20.0" },
    { "a counter wraps at its maximum", 0, 100, "sum", "", "255,0",
      "0:250 10:4 20:14", "10:0.9 20:1.0" },
    { "... at that of 64 bits", 0, 100, "sum", "", "9223372036854775807,0",
      "0:100 10:90", "10:9.223372036854776E17" },
    { "a reset that is too high is 0", 0, 100, "sum", "", "255,5",
      "0:100 10:4 20:104", "10:0.0 20:10.0" },
    { "a dropped reset goes on from there", 0, 100, "sum", "", "drop",
      "0:100 10:4 20:14", "20:1.0" },
    { "downsample first, then the rate", 0, 60, "sum", "30-sum", "rate",
      "0:1 10:2 30:30 60:90", "30:0.9 60:2.0" },

    { "an infinity fails", 0, 100, "sum", "", "", "0:1e308 | 0:1e308",
      "Got Infinity: Infinity" },
    { "... unless outside the range", 1, 100, "sum", "", "",
      "0:1e308 1:1.0 | 0:1e308 1:1.0", "1:2.0" },
};

START_TEST(rules)
{
    char out[2048];

    run_case(&cases[_i], out, sizeof out);
    ck_assert_msg(strcmp(out, cases[_i].want) == 0, "%s:\n  got  %s\n  want %s",
                  cases[_i].rule, out, cases[_i].want);
}
END_TEST

/* Times are seconds, as in a query; 0 as interval: none. */
static const struct {
    const char *rule;
    int64_t start_ms, end_ms, interval_ms;
    uint32_t from, to;
} ranges[] = {
    { "hours, whole", 7200000, 7201000, 0, 7200, 7200 },
    { "from the hour of the start to that of the end", 1357000000000,
      1357010000000, 0, 1356998400, 1357009200 },
    { "the end's last second is in its hour", 1356998400000, 1357001999000, 0,
      1356998400, 1357002000 },
    { "ms of the end too", 1356998400000, 1357001998999, 0, 1356998400,
      1356998400 },
    { "a bucket's start", 1357000000000, 1357000060000, 86400000, 1356998400,
      1357081200 },
    { "the bucket after the end", 1357000000000, 1357001940000, 60000,
      1356998400, 1356998400 },
    { "of a bucket longer than the range", 1357000000000, 1357000060000,
      7 * INT64_C(86400000), 1356566400, 1357167600 },
    { "nothing before 1970", 0, 1357000060000, 31536000000, 0, 1387580400 },
    { "ms of 1970 are ms", 50000, 10000000, 0, 0, 7200 },
    { "buckets of 1970", 4000000, 7200000, 60000, 3600, 7200 },
    { "nothing after 2106", 4294967290000, 4294967295000, 0, 4294965600,
      4294965600 },
};

START_TEST(scan_ranges)
{
    struct query q = { .start_ms = ranges[_i].start_ms,
                       .end_ms = ranges[_i].end_ms };
    struct sub_query sq = {
        .downsample = { .on = ranges[_i].interval_ms != 0,
                        .interval_ms = ranges[_i].interval_ms,
                        .aggregator = aggregator_find(slice_str("sum")) },
    };
    struct query_reading r;

    reading_make(&r, &q, &sq);
    ck_assert_msg(r.from_base == ranges[_i].from && r.to_base == ranges[_i].to,
                  "%s: %" PRIu32 "..%" PRIu32, ranges[_i].rule, r.from_base,
                  r.to_base);
}
END_TEST

static bool
takes_points(const struct query *q, const struct sub_query *sq,
             int64_t first_ms, int64_t last_ms)
{
    struct query_reading r;
    const struct column s = { .downsampled = true,
                              .has_points = true,
                              .first_ms = first_ms,
                              .last_ms = last_ms };

    reading_make(&r, q, sq);
    return reading_has(&r, &s);
}

/* With or without buckets: its first and last time, which are 0, do not count
 * as points of 1970. */
START_TEST(a_span_without_points_is_not_taken)
{
    const struct query q = { .start_ms = 0, .end_ms = BASE_MS };
    const struct sub_query sq = { 0 };
    struct query_reading r;

    reading_make(&r, &q, &sq);
    ck_assert(!reading_has(&r, &(struct column){ .downsampled = true }));
    ck_assert(!reading_has(&r, &(struct column){ .downsampled = false }));
    ck_assert(takes_points(&q, &sq, 0, 0));
}
END_TEST

START_TEST(spans_outside_of_the_scan_are_not_taken)
{
    struct query q = { .start_ms = BASE_MS, .end_ms = BASE_MS + 1000 };
    struct sub_query sq = { 0 };

    ck_assert(takes_points(&q, &sq, BASE_MS, BASE_MS));
    ck_assert(!takes_points(&q, &sq, BASE_MS + 7200001, POINT_MAX_TS_MS));
    ck_assert(!takes_points(&q, &sq, 1000, BASE_MS - 1));
    q.end_ms = POINT_MAX_TS_MS;
    ck_assert(takes_points(&q, &sq, BASE_MS, POINT_MAX_TS_MS));
    /* Ranges that begin in 1970 are like others. */
    q.start_ms = 2013000;
    q.end_ms = BASE_MS + 1000;
    ck_assert(takes_points(&q, &sq, BASE_MS, BASE_MS));
    ck_assert(takes_points(&q, &sq, 3000000, 3000000));
    q.start_ms = 7200000;
    ck_assert(!takes_points(&q, &sq, 1000, 7199999));
}
END_TEST

/* Calendar buckets are test_timezone's; here they are only walked. */
START_TEST(calendar_days_of_a_zone)
{
    static const int64_t ts[] = { BASE_MS, BASE_MS + 18 * 3600000,
                                  BASE_MS + 19 * 3600000 };
    static const union number v[] = { { .i = 1 }, { .i = 2 }, { .i = 4 } };
    static const uint8_t ints[] = { 0, 0, 0 };
    struct column span = { .ts_ms = ts, .v = v, .is_float = ints, .len = 3 };
    struct query q = { .start_ms = BASE_MS - 86400000,
                       .end_ms = BASE_MS + 86400000 };
    struct sub_query sq = {
        .aggregator = aggregator_find(slice_str("sum")),
        .downsample = { .on = true,
                        .calendar = true,
                        .interval_ms = 86400000,
                        .count = 1,
                        .unit = UNIT_D,
                        .aggregator = aggregator_find(slice_str("sum")) },
    };
    struct arena *a = arena_new(0);
    struct dps dps;
    char out[256];

    ck_assert_int_eq(
        timezone_find(slice_str("Asia/Kolkata"), &sq.downsample.zone, NULL),
        ST_OK);
    ck_assert_int_eq(aggregate(&q, &sq, &span, 1, &deadline, a, &dps, NULL),
                     ST_OK);
    print_dps(&dps, out, sizeof out);
    /* Midnight there is 18:30 here. */
    ck_assert_str_eq(out, "-19800:3.0 66600:4.0");
    arena_free(&a);
}
END_TEST

static bool
is_cancelled(void *ctx)
{
    (void)ctx;
    return true;
}

/* However small each group is. */
START_TEST(groups_share_a_deadline)
{
    static int64_t ts[1000];
    static union number v[1000];
    static uint8_t ints[1000];
    struct query q = { .start_ms = BASE_MS, .end_ms = BASE_MS + 3600000 };
    struct sub_query sq = { .aggregator = aggregator_find(slice_str("sum")) };
    struct deadline cancelled =
        deadline_start(0, (struct cancel){ is_cancelled, NULL });
    enum status st = ST_OK;
    struct dps dps;
    struct error e;

    for (int i = 0; i < 1000; i++)
        ts[i] = BASE_MS + i * INT64_C(1000);
    for (int i = 0; i < 100 && st == ST_OK; i++) {
        struct arena *a = arena_new(0);
        struct column span = {
            .ts_ms = ts, .v = v, .is_float = ints, .len = 1000
        };

        st = aggregate(&q, &sq, &span, 1, &cancelled, a, &dps, &e);
        arena_free(&a);
    }
    ck_assert_int_eq(st, ST_BUSY);
}
END_TEST

START_TEST(a_small_arena_is_a_limit)
{
    static const int64_t ts[] = { BASE_MS };
    static const union number v[] = { { .i = 1 } };
    static const uint8_t ints[] = { 0 };
    struct column span = { .ts_ms = ts, .v = v, .is_float = ints, .len = 1 };
    struct query q = { .start_ms = BASE_MS - 86400000,
                       .end_ms = BASE_MS + 86400000 };
    struct sub_query sq = {
        .aggregator = aggregator_find(slice_str("sum")),
        .downsample = { .on = true,
                        .interval_ms = 1,
                        .fill = FILL_NAN,
                        .aggregator = aggregator_find(slice_str("sum")) },
    };
    struct arena *a = arena_new((size_t)1 << 20);
    struct dps dps;
    struct error e;

    ck_assert_int_eq(aggregate(&q, &sq, &span, 1, &deadline, a, &dps, &e),
                     ST_LIMIT);
    ck_assert_int_eq(e.status, ST_LIMIT);
    arena_free(&a);
}
END_TEST

TEST_MAIN("numbers", LOOP(rules, cases), LOOP(scan_ranges, ranges),
          TEST(a_span_without_points_is_not_taken),
          TEST(spans_outside_of_the_scan_are_not_taken),
          TEST(calendar_days_of_a_zone), TEST(groups_share_a_deadline),
          TEST(a_small_arena_is_a_limit))
