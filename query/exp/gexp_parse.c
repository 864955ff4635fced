/* The text of an expression: names, and single signs between them.
 *
 *     call   = name "(" arg { "," arg } ")"
 *     arg    = call | metric | name
 *     metric = name ":" and the rest of a parameter m=, up to the first "," or
 *              ")" outside of its brackets (query/parse/nesting.h)
 *
 * Calls that are open lie on a stack of our own.  What follows the last ")" is
 * not read, as in OpenTSDB. */
#include "query/exp/gexp_priv.h"

#include <ctype.h>

#include "query/parse/nesting.h"

/* A call whose ")" has not come yet: its arguments wait from 'first' on. */
struct frame {
    const struct gexp_function *function;
    size_t first;
};

struct parser {
    struct slice text;
    size_t at;
    struct arena *arena;
    struct gexp *g;
    struct frame frames[GEXP_DEPTH_MAX];
    size_t depth;
    struct gexp_arg *args; /* of open calls; there is room for one a byte */
    size_t args_len;
    struct error *e;
    enum status st;
};

static const struct gexp_function functions[] = {
    { "alias", gexp_alias, 0, "Missing the alias" },
    { "scale", gexp_scale, 0, "Missing scaling factor" },
    { "absolute", gexp_absolute, 0, NULL },
    { "movingAverage", gexp_moving_average, 0,
      "Missing moving average window size" },
    { "highestCurrent", gexp_highest, 0,
      "Need aggregation window for moving average" },
    { "highestMax", gexp_highest, 1,
      "Need aggregation window for moving average" },
    { "shift", gexp_shift, 0, "Need amount of timeshift to perform timeshift" },
    { "timeShift", gexp_shift, 0,
      "Need amount of timeshift to perform timeshift" },
    { "divideSeries", gexp_combine, '/', NULL },
    { "divide", gexp_combine, '/', NULL },
    { "sumSeries", gexp_combine, '+', NULL },
    { "sum", gexp_combine, '+', NULL },
    { "diffSeries", gexp_combine, '-', NULL },
    { "difference", gexp_combine, '-', NULL },
    { "multiplySeries", gexp_combine, '*', NULL },
    { "multiply", gexp_combine, '*', NULL },
};

const struct gexp_function *
gexp_find_function(struct slice name)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (slice_eq_str(name, functions[i].name))
            return &functions[i];
    return NULL;
}

static void
fail(struct parser *p)
{
    int size = (int)(p->text.size < 400 ? p->text.size : 400);

    if (p->st == ST_OK)
        p->st = error_set(p->e, ST_INVALID, "Failed to parse %.*s", size,
                          (const char *)p->text.data);
}

static void
fail_limit(struct parser *p, const char *what, int limit)
{
    if (p->st == ST_OK)
        p->st = error_set(p->e, ST_LIMIT, "An expression of more than %d %s",
                          limit, what);
}

/* What was allocated must be there. */
static bool
has(struct parser *p, const void *memory)
{
    if (memory == NULL && p->st == ST_OK)
        p->st = error_no_memory(p->e);
    return p->st == ST_OK;
}

static bool
is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_of_name(uint8_t c)
{
    return isalnum(c) || memchr("-_#/$@|.'][", c, 11) != NULL;
}

/* What is next but for blanks; 0 at the end. */
static uint8_t
peek(struct parser *p)
{
    while (p->at < p->text.size && is_blank(p->text.data[p->at]))
        p->at++;
    return p->at < p->text.size ? p->text.data[p->at] : 0;
}

/* Takes the sign if it is next. */
static bool
take(struct parser *p, uint8_t sign)
{
    bool is_next = p->st == ST_OK && peek(p) == sign;

    p->at += is_next;
    return is_next;
}

static void
expect(struct parser *p, uint8_t sign)
{
    if (!take(p, sign))
        fail(p);
}

static struct slice
take_name(struct parser *p)
{
    size_t from;

    if (!is_of_name(peek(p)) && peek(p) != '*')
        fail(p);
    from = p->at;
    if (!take(p, '*'))
        while (p->at < p->text.size && is_of_name(p->text.data[p->at]))
            p->at++;
    return slice_of(p->text.data + from, p->at - from);
}

static bool
is_between_words(uint8_t c)
{
    return memchr(":{},=", c, 5) != NULL;
}

/* Copies a metric to 'copy' without the blanks around ':', '{', '}', ',' and
 * '='.  Text in parentheses is copied as it is.  Returns the size of the copy,
 * or 0 if a name contains a blank. */
static size_t
copy_metric(struct slice text, uint8_t *copy)
{
    size_t size = 0, verbatim = 0; /* 'verbatim': where blanks count again */
    bool blank = false;

    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];

        if (i >= verbatim && is_blank(c)) {
            blank = true;
            continue;
        }
        if (blank && !is_between_words(c) && !is_between_words(copy[size - 1]))
            return 0;
        blank = false;
        if (i >= verbatim && c == '(') {
            size_t end = nesting_find(slice_of(text.data + i, text.size - i),
                                      "]:{},= \t\n\r");

            if (end == NESTING_BROKEN)
                return 0;
            verbatim = i + end;
        }
        copy[size++] = c;
    }
    return size;
}

/* Reads the rest of a metric, from the ':' after its first name on. */
static void
parse_metric(struct parser *p, struct slice first)
{
    struct slice left = slice_of(p->text.data + p->at, p->text.size - p->at);
    size_t size = nesting_find(left, ",)");
    struct gexp *g = p->g;
    struct slice text;
    uint8_t *copy;

    if (size >= left.size) { /* NESTING_BROKEN, too */
        fail(p);
        return;
    }
    p->at += size;
    text = slice_of(first.data, (size_t)(p->text.data + p->at - first.data));
    if (g->metrics_len == GEXP_NODES_MAX)
        fail_limit(p, "metrics", GEXP_NODES_MAX);
    copy = arena_alloc(p->arena, text.size);
    if (!has(p, copy))
        return;
    size = copy_metric(text, copy);
    if (size == 0)
        fail(p);
    p->args[p->args_len++] =
        (struct gexp_arg){ .kind = ARG_METRIC, .index = g->metrics_len };
    g->metrics[g->metrics_len++] = slice_of(copy, size);
}

static void
open_call(struct parser *p, struct slice name)
{
    const struct gexp_function *function = gexp_find_function(name);

    if (p->st == ST_OK && function == NULL) /* whatever follows */
        p->st = error_set(
            p->e, ST_INVALID, "Function %.*s has not been implemented",
            (int)(name.size < 400 ? name.size : 400), (const char *)name.data);
    expect(p, '(');
    if (p->depth == GEXP_DEPTH_MAX)
        fail_limit(p, "functions within one another", GEXP_DEPTH_MAX);
    if (p->st == ST_OK)
        p->frames[p->depth++] = (struct frame){ function, p->args_len };
}

/* The innermost call is complete: it is an argument of the one around it. */
static void
close_call(struct parser *p)
{
    struct gexp *g = p->g;
    struct frame f = p->frames[--p->depth];
    size_t index = g->nodes_len, len = p->args_len - f.first;
    struct gexp_arg *args = arena_array(p->arena, len, sizeof *args);

    if (index == GEXP_NODES_MAX)
        fail_limit(p, "functions", GEXP_NODES_MAX);
    if (!has(p, args))
        return;
    memcpy(args, p->args + f.first, len * sizeof *args);
    g->nodes[g->nodes_len++] = (struct gexp_node){ f.function, args, len };
    p->args_len = f.first;
    if (p->depth == 0)
        g->roots[g->roots_len++] = index;
    else
        p->args[p->args_len++] =
            (struct gexp_arg){ .kind = ARG_NODE, .index = index };
}

/* An argument, and "," or the ")"s that end calls.  What follows the last ")"
 * is not looked at. */
static void
parse_arg(struct parser *p)
{
    struct slice name = take_name(p);

    if (peek(p) == '(') {
        open_call(p, name);
        return;
    }
    if (peek(p) == ':')
        parse_metric(p, name);
    else
        p->args[p->args_len++] =
            (struct gexp_arg){ .kind = ARG_PARAM, .text = name };
    while (p->depth > 0 && take(p, ')'))
        close_call(p);
    if (p->depth > 0)
        expect(p, ',');
}

enum status
gexp_parse(struct slice text, struct arena *a, struct gexp *g, struct error *e)
{
    struct parser p = { .text = text, .arena = a, .g = g, .e = e };

    if (g->nodes == NULL) {
        g->nodes = arena_array(a, GEXP_NODES_MAX, sizeof *g->nodes);
        g->roots = arena_array(a, GEXP_NODES_MAX, sizeof *g->roots);
        g->metrics = arena_array(a, GEXP_NODES_MAX, sizeof *g->metrics);
    }
    if (text.size > GEXP_SIZE_MAX)
        fail_limit(&p, "bytes", GEXP_SIZE_MAX);
    else
        p.args = arena_array(a, text.size, sizeof *p.args);
    if (has(&p, g->nodes) && has(&p, g->roots) && has(&p, g->metrics) &&
        has(&p, p.args))
        open_call(&p, take_name(&p));
    while (p.st == ST_OK && p.depth > 0)
        parse_arg(&p);
    return p.st;
}
