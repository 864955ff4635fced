#include "tsd/api/graph/graph_params.h"

#include "tests/harness.h"

#define MOST 8

static struct arena *arena;
static struct graph_params parsed;
static struct error error;

/* "name=value&name=value", as it is. */
static enum status
parse(const char *query)
{
    static struct http_param params[MOST];
    struct slice rest = slice_str(query);
    size_t len = 0;

    arena_free(&arena);
    arena = arena_new(1 << 16);
    error = (struct error){ 0 };
    while (rest.size > 0) {
        struct slice value = slice_cut(&rest, '&');
        struct slice name = slice_cut(&value, '=');

        ck_assert_uint_lt(len, MOST);
        params[len++] = (struct http_param){ name, value };
    }
    return graph_params_parse(params, len, arena, &parsed, &error);
}

static const struct {
    const char *query, *text; /* NULL: taken */
} cases[] = {
    { "", NULL },
    { "wxh=100x100", NULL },
    { "wxh= 4096x4096 ", NULL },
    { "wxh=", NULL },
    { "wxh=99x100", "'wxh' was invalid: \"99x100\". It must be WIDTHxHEIGHT" },
    { "wxh=100x99", "'wxh'" },
    { "wxh=4097x100", "'wxh'" },
    { "wxh=200", "'wxh'" },
    { "wxh=200x", "'wxh'" },
    { "wxh=x200", "'wxh'" },
    { "wxh=200x200x", "'wxh'" },
    { "wxh=-200x200", "'wxh'" },
    { "wxh=99999999999999999999x200", "'wxh'" },
    { "scale=2", NULL },
    { "scale=1.5", NULL },
    { "scale=0.5", "'scale' was invalid" },
    { "scale=3", "1 to 2" },
    { "scale=nan", "'scale'" },
    { "wxh=4096x4096&scale=2",
      "67108864 pixels. They must be at most 16777216" },
    { "wxh=2048x2048&scale=2", NULL },
    { "yrange=[0:]", NULL },
    { "yrange=[:10]", NULL },
    { "yrange=[*:5]", NULL },
    { "yrange=[-1e3:1e3]", NULL },
    { "yrange=[:]", NULL },
    { "y2range=[0:5]", NULL },
    { "yrange=0:5", "'yrange' was invalid: \"0:5\". It must be [min:max]" },
    { "yrange=[5]", "'yrange'" },
    { "yrange=[a:5]", "'yrange'" },
    { "yrange=[5:5]", "min < max" },
    { "y2range=[5:1]", "'y2range'" },
    { "yrange=[0:1e999]", "'yrange'" },
    { "yrange=[0:1:2]", "'yrange'" },
    { "ylabel=\u00e9&y2label=&title=`ls` $(x)", NULL },
    { "title=\xff", "'title' was invalid: \"\\xff\". It must be UTF-8" },
    { "yformat=%.2f", NULL },
    { "yformat=%25.2f%2520s", "'yformat'" },
    { "yformat=%25.1s%25cB", NULL },
    { "y2format=%n",
      "'y2format' was invalid: \"%n\". It must be text with one" },
    { "xformat=%H:%M", NULL },
    { "xformat=%25H", NULL },
    { "xformat=%Q", "'xformat' was invalid: \"%Q\". It must be text with at" },
    { "key=out right top horiz box", NULL },
    { "key=bottom center", NULL },
    { "key=under", "It must be words of 'out', 'left'" },
    { "bgcolor=x15181d&fgcolor=xFFFFFF", NULL },
    { "bgcolor=transparent", NULL },
    { "bgcolor=#ffffff",
      "'bgcolor' was invalid: \"#ffffff\". It must be a hex" },
    { "bgcolor=xfffff", "'bgcolor'" },
    { "fgcolor=transparent", "'fgcolor'" },
    { "fgcolor=xgggggg", "e.g. 'x000000'" },
    { "smooth=csplines", NULL },
    { "smooth=unique", NULL },
    { "smooth=unwrap",
      "one of 'csplines', 'acsplines', 'mcsplines', 'bezier'" },
    { "style=linespoint", NULL },
    { "style=stack", NULL },
    { "style=lines", "one of 'linespoint', 'points'" },
    { "m=a&m=b&o=&o=axis x1y2", NULL },
    { "m=a&o=&o=", "2 `o' parameters, but 1 `m' parameters." },
    { "m=a&o=with lines", "It must be one of '', 'axis x1y1', 'axis x1y2'" },
    { "nonsense=1&nocache", NULL },
};

START_TEST(takes_and_rejects)
{
    enum status st = parse(cases[_i].query);

    ck_assert_msg((st == ST_OK) == (cases[_i].text == NULL), "%s: %s",
                  cases[_i].query, error.text);
    ck_assert(st == ST_OK || st == ST_INVALID);
    if (st != ST_OK)
        ck_assert_msg(strstr(error.text, cases[_i].text) != NULL, "%s",
                      error.text);
}
END_TEST

START_TEST(has_defaults)
{
    const struct chart *c = &parsed.chart;

    ck_assert_int_eq(parse(""), ST_OK);
    ck_assert(c->width == 1024 && c->height == 768 && c->scale == 1);
    ck_assert(c->ground == 0xffffff && !c->is_transparent);
    ck_assert(c->style == CHART_LINESPOINT && !c->is_smooth);
    ck_assert(!c->key.off && !c->key.is_inside && c->title == NULL);
    ck_assert(!c->y.range.log && !c->y.range.has_min && !c->y.range.has_max);
    ck_assert(c->y.format == NULL && c->time_format == NULL);
    ck_assert_int_eq(parse("bgcolor=x000000"), ST_OK);
    ck_assert_uint_gt(c->ink, 0x808080);
}
END_TEST

START_TEST(reads_values)
{
    const struct chart *c = &parsed.chart;

    ck_assert_int_eq(parse("yrange=[-1:2.5]&y2range=[*:9]&ylog&y2log&nokey&"
                           "wxh=300x200&wxh=400x300&scale=1.5"),
                     ST_OK);
    ck_assert(c->y.range.min == -1 && c->y.range.max == 2.5 && c->y.range.log);
    ck_assert(!c->y2.range.has_min && c->y2.range.max == 9);
    ck_assert(c->y2.range.log && c->key.off);
    ck_assert(c->width == 400 && c->height == 300 && c->scale == 1.5);
    ck_assert_int_eq(parse("key=left bottom box&smooth=cumulative&style=area"),
                     ST_OK);
    ck_assert(c->key.is_inside && c->key.left == 0 && c->key.top == 1);
    ck_assert(c->key.has_frame && !c->key.is_horizontal);
    ck_assert(parsed.smooth == SMOOTH_CUMULATIVE && c->style == CHART_AREA);
    ck_assert_int_eq(parse("key=bottom horiz&yformat=%2525.1f"), ST_INVALID);
    ck_assert_int_eq(parse("key=bottom horiz&yformat=%25.1f&smooth=bezier"),
                     ST_OK);
    ck_assert(!c->key.is_inside && c->key.is_horizontal && c->is_smooth);
    ck_assert(c->y.format->digits == 1);
}
END_TEST

/* Sub-queries of tsuid come first, wherever they stand. */
START_TEST(gives_axes_to_sub_queries)
{
    ck_assert_int_eq(parse("m=a&o=axis x1y2&tsuid=b&o=&o=axis x1y2&m=c"),
                     ST_OK);
    ck_assert_uint_eq(parsed.is_right_len, 3);
    ck_assert(!parsed.is_right[0] && parsed.is_right[1] && parsed.is_right[2]);
}
END_TEST

static const struct {
    const char *names;
    enum graph_form form;
} forms[] = {
    { "", GRAPH_NONE },        { "png", GRAPH_PNG },
    { "png svg", GRAPH_SVG },  { "svg json", GRAPH_JSON },
    { "json csv", GRAPH_CSV }, { "json ascii csv png", GRAPH_ASCII },
};

START_TEST(chooses_a_form)
{
    struct http_param params[MOST];
    struct slice rest = slice_str(forms[_i].names);
    size_t len = 0;

    while (rest.size > 0)
        params[len++] =
            (struct http_param){ slice_cut(&rest, ' '), slice_str("") };
    ck_assert_int_eq(graph_form_of(params, len), forms[_i].form);
}
END_TEST

START_TEST(runs_out_of_memory)
{
    struct http_param param = { slice_str("title"), slice_str("text") };
    struct arena *small = arena_new(1);

    ck_assert_int_eq(graph_params_parse(&param, 1, small, &parsed, &error),
                     ST_LIMIT);
    arena_free(&small);
}
END_TEST

TEST_MAIN("graph_params", LOOP(takes_and_rejects, cases), TEST(has_defaults),
          TEST(reads_values), TEST(gives_axes_to_sub_queries),
          LOOP(chooses_a_form, forms), TEST(runs_out_of_memory))
