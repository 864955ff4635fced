#include "query/exp/gexp.h"

#include <math.h>

#include "query/exp/gexp_priv.h"
#include "tests/harness.h"

/* -- parsing --------------------------------------------------------------- */

static const struct {
    const char *text;
    size_t nodes;
    const char *metrics[4];
} parsed[] = {
    { "scale(sum:a,2)", 1, { "sum:a" } },
    { " scale ( sum : a , 2 ) ", 1, { "sum:a" } },
    { "scale(sum:1m-avg:rate:a.b/c{k=*, l = x|y},-1.5)",
      1,
      { "sum:1m-avg:rate:a.b/c{k=*,l=x|y}" } },
    { "sum(scale(sum:a,2),absolute(sum:b))", 3, { "sum:a", "sum:b" } },
    { "sum(sum:a,sum:b,sum:c)", 1, { "sum:a", "sum:b", "sum:c" } },
    { "alias(sum:a,name_@host,x)", 1, { "sum:a" } },
    { "movingAverage(sum:a,'5min')", 1, { "sum:a" } },
    { "scale(2)", 1, { NULL } },
    { "scale(sum:a{h=b:8082},2)", 1, { "sum:a{h=b:8082}" } },
    { "scale(sum:a{ h = *web* }{},2)", 1, { "sum:a{h=*web*}{}" } },
    { "sum(sum:rate{counter,9}:a,sum:b{h=(x,y)})",
      1,
      { "sum:rate{counter,9}:a", "sum:b{h=(x,y)}" } },
    { "scale(sum:a{}{h=regexp((?:a|b) [,)}]x{2,3}\\))},2)",
      1,
      { "sum:a{}{h=regexp((?:a|b) [,)}]x{2,3}\\))}" } },
    { "scale(sum:a { h = regexp(a\\) b[)] c) } ,2)",
      1,
      { "sum:a{h=regexp(a\\) b[)] c)}" } },
    { "scale(sum:a{h=[(x y)] },2)", 1, { "sum:a{h=[(x y)]}" } },
    { "scale(sum:a,2) and what follows (", 1, { "sum:a" } },
};

START_TEST(parses)
{
    struct arena *a = arena_new(0);
    struct gexp g = { 0 };
    struct error e = { 0 };
    enum status st = gexp_parse(slice_str(parsed[_i].text), a, &g, &e);

    ck_assert_msg(st == ST_OK, "%s: %s", parsed[_i].text, e.text);
    ck_assert_uint_eq(g.roots_len, 1);
    ck_assert_uint_eq(g.nodes_len, parsed[_i].nodes);
    ck_assert_uint_eq(g.roots[0], g.nodes_len - 1);
    for (size_t i = 0; i < g.metrics_len; i++)
        ck_assert_msg(slice_eq_str(g.metrics[i], parsed[_i].metrics[i]), "%.*s",
                      SLICE_ARG(g.metrics[i]));
    ck_assert(g.metrics_len == 4 || parsed[_i].metrics[g.metrics_len] == NULL);
    arena_free(&a);
}
END_TEST

static const struct {
    const char *text, *why;
} rejected[] = {
    { "", "Failed to parse " },
    { "scale", "Failed to parse scale" },
    { "scale(", "Failed to parse scale(" },
    { "scale()", "Failed to parse scale()" },
    { "scale(sum:a,2", "Failed to parse scale(sum:a,2" },
    { "scale(sum:a 2)", "Failed to parse scale(sum:a 2)" },
    { "scale(sum:a,,2)", "Failed to parse scale(sum:a,,2)" },
    { "scale(sum:a,)", "Failed to parse scale(sum:a,)" },
    { "sum:a", "Failed to parse sum:a" },
    { "bogus", "Function bogus has not been implemented" },
    { "bogus:a", "Function bogus has not been implemented" },
    { "scale(sum:a{k=v)", "Failed to parse scale(sum:a{k=v)" },
    { "scale(sum:a{k=(v})", "Failed to parse scale(sum:a{k=(v})" },
    { "scale(sum:a{k=v}},2)", "Failed to parse scale(sum:a{k=v}},2)" },
    { "scale(sum:a{k=v w},2)", "Failed to parse scale(sum:a{k=v w},2)" },
    { "bogus(sum:a)", "Function bogus has not been implemented" },
    { "SCALE(sum:a,2)", "Function SCALE has not been implemented" },
    { "scale(bogus(sum:a),2)", "Function bogus has not been implemented" },
};

START_TEST(rejects)
{
    struct arena *a = arena_new(0);
    struct gexp g = { 0 };
    struct error e = { 0 };

    ck_assert_int_eq(gexp_parse(slice_str(rejected[_i].text), a, &g, &e),
                     ST_INVALID);
    ck_assert_str_eq(e.text, rejected[_i].why);
    arena_free(&a);
}
END_TEST

START_TEST(depth_has_a_limit)
{
    for (int n = GEXP_DEPTH_MAX; n <= GEXP_DEPTH_MAX + 1; n++) {
        struct arena *a = arena_new(0);
        struct gexp g = { 0 };
        char text[2048] = "";

        for (int i = 0; i < n; i++)
            strcat(text, "absolute(");
        strcat(text, "sum:a");
        for (int i = 0; i < n; i++)
            strcat(text, ")");
        ck_assert_int_eq(gexp_parse(slice_str(text), a, &g, NULL),
                         n > GEXP_DEPTH_MAX ? ST_LIMIT : ST_OK);
        arena_free(&a);
    }
}
END_TEST

/* -- functions ------------------------------------------------------------- */

/* Series as texts: "0:1 60:2.5 120:nan", seconds and values; what has a point
 * or a letter is a double. */
static struct dps
read_points(struct arena *a, const char *text)
{
    struct dps d = { 0 };
    char value[32];
    long ts;
    int n;

    ck_assert(dps_alloc(a, 32, &d));
    d.len = 0;
    for (; sscanf(text, " %ld:%31s%n", &ts, value, &n) == 2; text += n) {
        if (strpbrk(value, ".naief") == NULL) {
            d.ts_ms[d.len] = ts * 1000;
            d.v[d.len].i = strtoll(value, NULL, 10);
        } else
            gexp_put_double(&d, d.len, ts * 1000, strtod(value, NULL));
        d.len++;
    }
    return d;
}

static void
write_points(const struct dps *d, char *out)
{
    *out = '\0';
    for (size_t i = 0; i < d->len; i++) {
        out += sprintf(out, "%s%lld:", i > 0 ? " " : "",
                       (long long)d->ts_ms[i] / 1000);
        if (d->kind[i] == DP_INT)
            out += sprintf(out, "%lld", (long long)d->v[i].i);
        else
            out += sprintf(out, "%.6gf", d->v[i].d);
    }
}

/* Each list of a call is one series, all with the same tags, but where 'apart'
 * says otherwise; the range is 0 to 300 s. */
static const struct {
    const char *function;
    const char *series[4];
    const char *params[3];
    const char *results[4]; /* or an error, after "!" */
} calls[] = {
    { "absolute", { "0:-1 60:2 120:-2.5" }, { 0 }, { "0:1 60:2 120:2.5f" } },
    { "scale", { "0:-1 60:2.5" }, { "2" }, { "0:-2 60:5f" } },
    { "scale", { "0:3 60:2" }, { "0.5" }, { "0:1.5f 60:1f" } },
    { "scale", { "0:3 60:2.5" }, { "0" }, { "0:0 60:0f" } },
    { "scale", { "0:3" }, { 0 }, { "!Missing scaling factor" } },
    { "scale", { "0:3" }, { "x" }, { "!Unparseable scale factor value: 0.0" } },
    { "scale", { "0:3" }, { "1-" }, { "!Invalid parameter, must be" } },
    { "alias", { "0:-3" }, { "x" }, { "0:-3" } },
    { "alias", { "0:-3" }, { 0 }, { "!Missing the alias" } },
    { "shift", { "0:1 60:2.5" }, { "'1min'" }, { "60:1 120:2.5f" } },
    { "timeShift", { "0:1" }, { "'2h'" }, { "7200:1" } },
    { "timeShift", { "0:1" }, { "'1week'" }, { "604800:1" } },
    { "shift", { "0:1" }, { "'0s'" }, { "!timeshift <= 0" } },
    { "shift", { "0:1" }, { "'1x'" }, { "!unknown time unit=x'" } },
    { "shift",
      { "0:1" },
      { "'9999999999s'" },
      { "!For input string: \"9999999999\"" } },
    { "shift",
      { "0:1" },
      { "'2147483647years'" },
      { "!The shift is longer than 4294967296 seconds" } },
    { "shift", { "0:1" }, { "'" }, { "!Invalid Parameter: '" } },
    { "shift", { "0:1" }, { "'1sec'" }, { "1:1" } },
    { "movingAverage",
      { "0:1" },
      { "'9999999999s'" },
      { "!Unable to parse moving window parameter: '9999999999s'" } },
    { "shift", { "0:1" }, { "'s'" }, { "!Invalid Parameter: 's'" } },
    { "shift", { "0:1" }, { "5" }, { "!Invalid timeshift parameter" } },
    { "movingAverage",
      { "0:2 60:4 120:6 180:8" },
      { "2" },
      { "0:0f 60:3f 120:5f 180:7f" } },
    { "movingAverage", { "0:2 60:4" }, { "3" }, { "0:0f 60:0f" } },
    { "movingAverage",
      { "0:2 60:nan 120:6 180:8" },
      { "2" },
      { "0:0f 60:0f 120:4f 180:7f" } },
    { "movingAverage",
      { "0:2 60:4 120:6 180:8" },
      { "'2min'" },
      { "0:0f 60:0f 120:5f 180:7f" } },
    { "movingAverage",
      { "-60:9 0:2 60:4 360:7" },
      { "2" },
      { "0:0f 60:3f" } }, /* the range alone */
    { "movingAverage", { "0:1" }, { "0" }, { "!Moving average window must" } },
    { "movingAverage", { "0:1" }, { "x" }, { "!Unparseable window size: x" } },
    { "movingAverage", { "0:1" }, { "2.5" }, { "!Unparseable window size" } },
    { "movingAverage",
      { "0:1" },
      { "99999999999999999999" },
      { "!Invalid parameter, must be an integer" } },
    { "movingAverage", { "0:1" }, { 0 }, { "!Missing moving average window" } },
    { "movingAverage", { "0:1 60:3" }, { "002" }, { "0:0f 60:2f" } },
    { "movingAverage", { "0:1 60:3" }, { "'1hr'" }, { "0:0f 60:0f" } },
    { "movingAverage", { "0:1 60:3" }, { "'1days'" }, { "0:0f 60:0f" } },
    { "movingAverage",
      { "0:1" },
      { "'1h30m'" },
      { "!Unknown time unit=h30m in window='1h30m'. The units are ms, s," } },
    { "movingAverage",
      { "0:1" },
      { "'2147483647y'" },
      { "!The window is longer than 4294967296 seconds: '2147483647y'" } },
    { "shift", { "0:1" }, { "'1.5h'" }, { "!unknown time unit=.5h'. The " } },
    { "shift", { "0:1" }, { "'5'" }, { "!unknown time unit='. The units" } },
    { "movingAverage", { "0:1" }, { "'1x'" }, { "!Unknown time unit=x in" } },
    { "sum", { "0:1 60:2", "0:10 60:0.5" }, { 0 }, { "0:11f 60:2.5f" } },
    { "difference", { "0:1", "0:10", "0:1" }, { 0 }, { "0:-10f" } },
    { "multiply", { "0:3", "0:10" }, { 0 }, { "0:30f" } },
    { "divide", { "0:3 60:1", "0:2 60:0" }, { 0 }, { "0:1.5f 60:0f" } },
    { "sum", { "0:1 60:nan", "0:1 60:2" }, { 0 }, { "0:2f 60:2f" } },
    /* Equally many are taken in pairs, whatever their times are. */
    { "sum", { "0:1 60:2", "15:10 75:20" }, { 0 }, { "0:11f 60:22f" } },
    /* Others by their times. */
    { "sum", { "0:1 60:2 120:3", "60:10" }, { 0 }, { "0:1f 60:12f 120:3f" } },
    { "sum", { "0:1", "" }, { 0 }, { "0:1f" } },
    { "sum", { "0:1" }, { 0 }, { "!Must have 2 to 26 series, got 1" } },
    { "highestMax", { "0:1 60:9", "0:5 60:6" }, { "1" }, { "0:1 60:9" } },
    { "highestCurrent", { "0:9 60:1", "0:5 60:6" }, { "1" }, { "0:5 60:6" } },
    { "highestCurrent",
      { "90:-5", "30:0.0", "30:-0.0" },
      { "2" },
      { "90:-5", "30:0f" } },
    { "highestMax",
      { "60:1", "60:5", "60:3" },
      { "9" },
      { "60:5", "60:3", "60:1" } },
    { "highestMax", { "0:1 60:2.5", "0:2" }, { "1" }, { "0:1 60:2.5f" } },
    { "highestMax", { "0:1" }, { "0" }, { "!Top n value must be greater" } },
    { "highestMax", { "0:1" }, { "-1" }, { "!Unparseable top n value: -1" } },
    { "highestMax",
      { "0:1" },
      { "3000000000" },
      { "!Invalid parameter, must be an integer" } },
    { "highestMax", { "0:1" }, { 0 }, { "!Need aggregation window" } },
    { "highestCurrent", { "", "" }, { "1" }, { NULL } },
    { "highestMax", { "600:1" }, { "1" }, { "!No series has a point" } },
};

static struct gexp_call
make_call(struct arena *a, struct query *q, struct deadline *deadline, int i)
{
    struct exp_list *lists = arena_array(a, 4, sizeof *lists);
    struct slice *params = arena_array(a, 4, sizeof *params);
    struct gexp_call c = {
        gexp_find_function(slice_str(calls[i].function)),
        q,
        a,
        deadline,
        lists,
        0,
        params,
        0,
    };

    *q = (struct query){ .start_ms = 0, .end_ms = 300000 };
    for (; c.lists_len < 4 && calls[i].series[c.lists_len] != NULL;
         c.lists_len++) {
        struct exp_series *s = arena_array(a, 1, sizeof *s);

        s->dps = read_points(a, calls[i].series[c.lists_len]);
        lists[c.lists_len] = (struct exp_list){ s, 1 };
    }
    for (; c.params_len < 3 && calls[i].params[c.params_len] != NULL;
         c.params_len++)
        params[c.params_len] = slice_str(calls[i].params[c.params_len]);
    return c;
}

START_TEST(calls_functions)
{
    struct arena *a = arena_new(0);
    struct query q;
    struct deadline deadline = { 0 };
    struct gexp_call c = make_call(a, &q, &deadline, _i);
    struct exp_list out = { 0 };
    struct error e = { 0 };
    const char *const *want = calls[_i].results;
    enum status st = gexp_call(&c, &out, &e);

    if (want[0] != NULL && want[0][0] == '!') {
        ck_assert_int_eq(st, ST_INVALID);
        ck_assert_msg(strstr(e.text, want[0] + 1) == e.text, "%s", e.text);
        arena_free(&a);
        return;
    }
    ck_assert_msg(st == ST_OK, "%s", e.text);
    for (size_t i = 0; i < out.len; i++) {
        char text[1024];

        ck_assert_ptr_nonnull(want[i]);
        write_points(&out.series[i].dps, text);
        ck_assert_str_eq(text, want[i]);
    }
    ck_assert(out.len == 4 || want[out.len] == NULL);
    arena_free(&a);
}
END_TEST

START_TEST(small_arenas_are_a_limit)
{
    for (size_t cap = 1000; cap < 40000; cap += 1999) {
        struct arena *a = arena_new(cap);
        struct gexp g = { 0 };
        enum status st = gexp_parse(slice_str("scale(sum:a,2)"), a, &g, NULL);

        ck_assert(st == ST_OK || st == ST_LIMIT);
        arena_free(&a);
    }
}
END_TEST

TEST_MAIN("gexp", LOOP(parses, parsed), LOOP(rejects, rejected),
          TEST(depth_has_a_limit), LOOP(calls_functions, calls),
          TEST(small_arenas_are_a_limit))
