#include "tsd/api/graph/graph_params.h"

#include <math.h>
#include <stdio.h>

#include "base/process/log.h"
#include "base/text/number.h"
#include "base/utf8.h"
#include "web/chart/colour.h"
#include "web/axis/time_format.h"

#define LABEL_BYTES    256
#define DEFAULT_WIDTH  1024
#define DEFAULT_HEIGHT 768
#define LIGHT_GROUND   0xffffff
#define LIGHT_INK      0x222222
#define DARK_INK       0xd7dae0

struct reader {
    const struct http_param *params;
    size_t len;
    struct arena *arena;
    struct graph_params *out;
    struct error *e;
};

/* The last one of that name. */
static bool
find(const struct http_param *params, size_t len, const char *name,
     struct slice *value)
{
    for (size_t i = len; i-- > 0;)
        if (slice_eq_str(params[i].name, name)) {
            *value = params[i].value;
            return true;
        }
    return false;
}

static bool
has(const struct reader *r, const char *name)
{
    struct slice value;

    return find(r->params, r->len, name, &value);
}

/* Is it there, and not empty? */
static bool
given(const struct reader *r, const char *name, struct slice *value)
{
    return find(r->params, r->len, name, value) && value->size > 0;
}

static enum status
invalid(const struct reader *r, const char *name, struct slice value,
        const char *good)
{
    return error_set(r->e, ST_INVALID, "'%s' was invalid: %s. It must be %s.",
                     name, log_quote(value), good);
}

enum graph_form
graph_form_of(const struct http_param *params, size_t len)
{
    static const char *const names[] = {
        [GRAPH_ASCII] = "ascii", [GRAPH_CSV] = "csv", [GRAPH_JSON] = "json",
        [GRAPH_SVG] = "svg",     [GRAPH_PNG] = "png",
    };
    struct slice value;
    enum graph_form form = GRAPH_ASCII;

    while (form < GRAPH_NONE && !find(params, len, names[form], &value))
        form++;
    return form;
}

/* -- words ----------------------------------------------------------------- */

struct word {
    const char *name;
    int value;
};

static const struct word styles[] = {
#define X(value, name) { name, value },
    CHART_STYLE_LIST(X)
#undef X
        { "linespoints", CHART_LINESPOINT }, /* gnuplot's own word */
};

static const struct word smooths[] = {
    { "csplines", SMOOTH_CURVE },        { "acsplines", SMOOTH_CURVE },
    { "mcsplines", SMOOTH_CURVE },       { "bezier", SMOOTH_CURVE },
    { "sbezier", SMOOTH_CURVE },         { "unique", SMOOTH_UNIQUE },
    { "cumulative", SMOOTH_CUMULATIVE },
};

static const struct word axes[] = {
    { "", false },
    { "axis x1y1", false },
    { "axis x1y2", true },
};

#define WORDS(list) (list), sizeof(list) / sizeof((list)[0])

static enum status
read_word(const struct reader *r, const char *name, struct slice value,
          const struct word *words, size_t len, int *out)
{
    char good[256] = "one of ";
    size_t size;

    for (size_t i = 0; i < len; i++)
        if (slice_eq_str(value, words[i].name)) {
            *out = words[i].value;
            return ST_OK;
        }
    /* "one of a, b, c" */
    size = strlen(good);
    for (size_t i = 0; i < len && size < sizeof good; i++)
        size += (size_t)snprintf(good + size, sizeof good - size, "%s'%s'",
                                 i == 0 ? "" : ", ", words[i].name);
    return invalid(r, name, value, good);
}

static enum status
read_words(const struct reader *r)
{
    struct slice value;
    int word;
    enum status st = ST_OK;

    if (given(r, "style", &value)) {
        st = read_word(r, "style", value, WORDS(styles), &word);
        if (st == ST_OK)
            r->out->chart.style = (enum chart_style)word;
    }
    if (st == ST_OK && given(r, "smooth", &value)) {
        st = read_word(r, "smooth", value, WORDS(smooths), &word);
        if (st == ST_OK)
            r->out->smooth = (enum graph_smooth)word;
        r->out->chart.is_smooth = r->out->smooth == SMOOTH_CURVE;
    }
    return st;
}

/* -- axes of the sub-queries ----------------------------------------------- */

static bool
is_query(const struct http_param *p)
{
    return slice_eq_str(p->name, "m") || slice_eq_str(p->name, "tsuid");
}

static enum status
read_axes(const struct reader *r)
{
    size_t options = 0, queries = 0, tsuids = 0;
    size_t next[2] = { 0, 0 }, o = 0;

    for (size_t i = 0; i < r->len; i++) {
        options += slice_eq_str(r->params[i].name, "o");
        queries += is_query(&r->params[i]);
        tsuids += slice_eq_str(r->params[i].name, "tsuid");
    }
    if (options == 0)
        return ST_OK;
    if (options != queries)
        return error_set(r->e, ST_INVALID,
                         "%zu `o' parameters, but %zu `m' parameters.", options,
                         queries);
    r->out->is_right =
        arena_array(r->arena, options, sizeof r->out->is_right[0]);
    if (r->out->is_right == NULL)
        return error_no_memory(r->e);
    r->out->is_right_len = options;
    /* The k-th o is of the k-th m or tsuid as they stand there; sub-queries are
     * numbered otherwise: all of tsuid first. */
    next[0] = tsuids;
    for (size_t i = 0; i < r->len; i++) {
        bool by_tsuid = slice_eq_str(r->params[i].name, "tsuid");
        enum status st;
        int word;

        if (!is_query(&r->params[i]))
            continue;
        while (!slice_eq_str(r->params[o].name, "o"))
            o++;
        st = read_word(r, "o", slice_trim(r->params[o].value), WORDS(axes),
                       &word);
        if (st != ST_OK)
            return st;
        r->out->is_right[next[by_tsuid]++] = word != 0;
        o++;
    }
    return ST_OK;
}

/* -- size ------------------------------------------------------------------ */

#define SIZE_HELP "WIDTHxHEIGHT, each 100 to 4096"

static bool
read_side(struct slice text, unsigned *out)
{
    uint64_t v;

    if (!number_parse_u64(text, &v) || v < CHART_SIDE_MIN || v > CHART_SIDE_MAX)
        return false;
    *out = (unsigned)v;
    return true;
}

static enum status
read_size(const struct reader *r)
{
    struct chart *c = &r->out->chart;
    struct slice text, height, width;
    double pixels;

    c->width = DEFAULT_WIDTH;
    c->height = DEFAULT_HEIGHT;
    c->scale = 1;
    if (given(r, "wxh", &text) && slice_trim(text).size > 0) {
        height = slice_trim(text);
        width = slice_cut(&height, 'x');
        if (!read_side(width, &c->width) || !read_side(height, &c->height))
            return invalid(r, "wxh", text, SIZE_HELP);
    }
    if (given(r, "scale", &text) &&
        (!number_parse_double(text, &c->scale) ||
         !(c->scale >= 1 && c->scale <= CHART_SCALE_MAX)))
        return invalid(r, "scale", text, "1 to 2");
    pixels = c->width * c->scale * c->height * c->scale;
    if (pixels > (double)CHART_PIXELS_MAX)
        return error_set(r->e, ST_INVALID,
                         "'wxh' and 'scale' make %.0f pixels. They must be at "
                         "most %zu.",
                         pixels, CHART_PIXELS_MAX);
    return ST_OK;
}

/* -- value axes ------------------------------------------------------------ */

#define RANGE_HELP "[min:max], of which both may be left out or '*', min < max"

static bool
read_end(struct slice text, bool *has, double *out)
{
    text = slice_trim(text);
    *has = text.size > 0 && !slice_eq_str(text, "*");
    return !*has || (number_parse_double(text, out) && isfinite(*out));
}

static enum status
read_range(const struct reader *r, const char *name, struct scale_range *out)
{
    struct slice text, max, min;

    if (!given(r, name, &text))
        return ST_OK;
    max = slice_trim(text);
    if (max.size < 3 || max.data[0] != '[' || max.data[max.size - 1] != ']' ||
        memchr(max.data, ':', max.size) == NULL)
        return invalid(r, name, text, RANGE_HELP);
    max = slice_of(max.data + 1, max.size - 2);
    min = slice_cut(&max, ':');
    if (!read_end(min, &out->has_min, &out->min) ||
        !read_end(max, &out->has_max, &out->max) ||
        (out->has_min && out->has_max && !(out->min < out->max)))
        return invalid(r, name, text, RANGE_HELP);
    return ST_OK;
}

static int
hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* OpenTSDB decodes formats twice, so its page encodes them twice: "%25.2f". */
static enum status
decode_again(const struct reader *r, struct slice *text)
{
    static const uint8_t encoded[] = { '%', '2', '5' };
    uint8_t *to;
    size_t size = 0;

    if (memmem(text->data, text->size, encoded, sizeof encoded) == NULL)
        return ST_OK;
    to = arena_alloc(r->arena, text->size);
    if (to == NULL)
        return error_no_memory(r->e);
    for (size_t i = 0; i < text->size; i++) {
        int high = i + 2 < text->size ? hex_digit(text->data[i + 1]) : -1;
        int low = i + 2 < text->size ? hex_digit(text->data[i + 2]) : -1;

        to[size] = text->data[i];
        if (to[size] == '%' && high >= 0 && low >= 0) {
            to[size] = (uint8_t)(16 * high + low);
            i += 2;
        }
        size++;
    }
    *text = slice_of(to, size);
    return ST_OK;
}

/* "" where there is none; an error where it is not UTF-8. */
static enum status
read_text(const struct reader *r, const char *name, const char **out)
{
    struct slice text;

    *out = NULL;
    if (!given(r, name, &text))
        return ST_OK;
    if (text.size > LABEL_BYTES || !utf8_is_valid(text))
        return invalid(r, name, text, "UTF-8 of at most 256 bytes");
    *out = arena_strdup(r->arena, text);
    return *out == NULL ? error_no_memory(r->e) : ST_OK;
}

struct axis_names {
    const char *range, *log, *label, *format;
};

static enum status
read_axis(const struct reader *r, const struct axis_names *names,
          struct chart_axis *axis, struct number_format *format)
{
    struct slice text;
    enum status st = read_range(r, names->range, &axis->range);

    axis->range.log = has(r, names->log);
    if (st == ST_OK)
        st = read_text(r, names->label, &axis->label);
    if (st != ST_OK || !given(r, names->format, &text))
        return st;
    st = decode_again(r, &text);
    if (st != ST_OK)
        return st;
    if (!utf8_is_valid(text) || number_format_parse(text, format) != ST_OK)
        return invalid(r, names->format, text, NUMBER_FORMAT_HELP);
    axis->format = format;
    return ST_OK;
}

static enum status
read_value_axes(const struct reader *r)
{
    static const struct axis_names left = { "yrange", "ylog", "ylabel",
                                            "yformat" };
    static const struct axis_names right = { "y2range", "y2log", "y2label",
                                             "y2format" };
    enum status st = read_axis(r, &left, &r->out->chart.y, &r->out->y_format);

    return st == ST_OK
               ? read_axis(r, &right, &r->out->chart.y2, &r->out->y2_format)
               : st;
}

static enum status
read_time_format(const struct reader *r)
{
    struct slice text;
    enum status st;

    if (!given(r, "xformat", &text))
        return ST_OK;
    st = decode_again(r, &text);
    if (st != ST_OK)
        return st;
    if (!time_format_is_good(text) || !utf8_is_valid(text))
        return invalid(r, "xformat", text, TIME_FORMAT_HELP);
    r->out->chart.time_format = arena_strdup(r->arena, text);
    return r->out->chart.time_format == NULL ? error_no_memory(r->e) : ST_OK;
}

/* -- key ------------------------------------------------------------------- */

#define KEY_HELP                                                            \
    "words of 'out', 'left', 'right', 'top', 'bottom', 'center', 'horiz', " \
    "'box'"

/* "out" and "bottom" are below the plot, where it is without a word. */
static enum status
read_key(const struct reader *r)
{
    struct chart_key *key = &r->out->chart.key;
    bool out = false, left = false, right = false, top = false, bottom = false,
         center = false;
    const struct {
        const char *name;
        bool *seen;
    } words[] = {
        { "out", &out },
        { "left", &left },
        { "right", &right },
        { "top", &top },
        { "bottom", &bottom },
        { "center", &center },
        { "horiz", &key->is_horizontal },
        { "horizontal", &key->is_horizontal },
        { "box", &key->has_frame },
    };
    struct slice text, rest;

    key->off = has(r, "nokey");
    if (!given(r, "key", &text))
        return ST_OK;
    rest = text;
    while (rest.size > 0) {
        struct slice word = slice_cut(&rest, ' ');
        bool known = word.size == 0;

        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (slice_eq_str(word, words[i].name))
                *words[i].seen = known = true;
        if (!known)
            return invalid(r, "key", text, KEY_HELP);
    }
    key->is_inside = !out && (left || right || top || (center && !bottom));
    key->left = left ? 0 : right || !center ? 1 : 0.5;
    key->top = top ? 0 : bottom ? 1 : center ? 0.5 : 0;
    return ST_OK;
}

/* -- colours --------------------------------------------------------------- */

static enum status
read_colour(const struct reader *r, const char *name, const char *good,
            bool *has_colour, uint32_t *out)
{
    struct slice text;
    uint32_t rgb = 0;

    *has_colour = given(r, name, &text);
    if (!*has_colour)
        return ST_OK;
    if (text.size != 7 || text.data[0] != 'x')
        return invalid(r, name, text, good);
    for (size_t i = 1; i < 7; i++) {
        int digit = hex_digit(text.data[i]);

        if (digit < 0)
            return invalid(r, name, text, good);
        rgb = rgb << 4 | (uint32_t)digit;
    }
    *out = rgb;
    return ST_OK;
}

static enum status
read_colours(const struct reader *r)
{
    struct chart *c = &r->out->chart;
    bool has_ground = false, has_ink;
    struct slice text;
    enum status st = ST_OK;

    c->ground = LIGHT_GROUND;
    c->is_transparent =
        given(r, "bgcolor", &text) && slice_eq_str(text, "transparent");
    if (!c->is_transparent)
        st = read_colour(r, "bgcolor",
                         "a hex value, e.g. 'xFFFFFF', or 'transparent'",
                         &has_ground, &c->ground);
    if (st == ST_OK)
        st = read_colour(r, "fgcolor", "a hex value, e.g. 'x000000'", &has_ink,
                         &c->ink);
    if (st == ST_OK && !has_ink)
        c->ink = colour_is_dark(c->ground) ? DARK_INK : LIGHT_INK;
    return st;
}

/* -- all ------------------------------------------------------------------- */

enum status
graph_params_parse(const struct http_param *params, size_t len, struct arena *a,
                   struct graph_params *out, struct error *e)
{
    static enum status (*const reads[])(const struct reader *r) = {
        read_axes, read_size,    read_value_axes, read_time_format,
        read_key,  read_colours, read_words,
    };
    struct reader r = { params, len, a, out, e };
    enum status st;

    *out = (struct graph_params){ 0 };
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        st = reads[i](&r);
        if (st != ST_OK)
            return st;
    }
    return read_text(&r, "title", &out->chart.title);
}
