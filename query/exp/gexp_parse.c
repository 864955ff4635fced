/* The text of an expression: names, and single signs between them.
 *
 *     call   = name "(" arg { "," arg } ")"
 *     arg    = call | metric | name
 *     metric = name ":" [ name ":" ] [ name ":" ] name [ tags ]
 *     tags   = "{" name "=" name { "," name "=" name } "}"
 *
 * Calls that are open lie on a stack of our own.  What follows the last ")" is
 * not read, as in OpenTSDB. */
#include "config.h"

#include "base/buf.h"
#include "query/exp/gexp_priv.h"

struct token {
    uint8_t sign; /* 'n': a name; 0: the end; '?': none of ours */
    struct slice text;
};

/* A call whose ")" has not come yet. */
struct frame {
    struct gexp_node node;
    size_t room;
};

struct parser {
    struct slice text;
    size_t at;
    struct token now, next;
    struct arena *arena;
    struct gexp *g;
    struct frame frames[GEXP_DEPTH_MAX];
    size_t depth;
    struct error *e;
    enum status st;
};

static const struct gexp_named functions[] = {
    { "alias", gexp_alias, 0 },
    { "scale", gexp_scale, 0 },
    { "absolute", gexp_absolute, 0 },
    { "movingAverage", gexp_moving_average, 0 },
    { "highestCurrent", gexp_highest, 0 },
    { "highestMax", gexp_highest, 1 },
    { "shift", gexp_shift, 0 },
    { "timeShift", gexp_shift, 0 },
    { "divideSeries", gexp_combine, '/' },
    { "divide", gexp_combine, '/' },
    { "sumSeries", gexp_combine, '+' },
    { "sum", gexp_combine, '+' },
    { "diffSeries", gexp_combine, '-' },
    { "difference", gexp_combine, '-' },
    { "multiplySeries", gexp_combine, '*' },
    { "multiply", gexp_combine, '*' },
};

const struct gexp_named *
gexp_find_function(struct slice name)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (slice_eq_str(name, functions[i].name))
            return &functions[i];
    return NULL;
}

/* -- tokens ---------------------------------------------------------------- */

static bool
is_of_name(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') ||
           (c != 0 && strchr("-_#/$@|.'][", c) != NULL);
}

static struct token
read_token(struct parser *p)
{
    struct token t = { 0, { NULL, 0 } };
    size_t from;

    while (p->at < p->text.size &&
           (p->text.data[p->at] == ' ' || p->text.data[p->at] == '\t' ||
            p->text.data[p->at] == '\n' || p->text.data[p->at] == '\r'))
        p->at++;
    from = p->at;
    if (from == p->text.size)
        return t;
    t.sign = p->text.data[p->at];
    if (t.sign == '*' || is_of_name(t.sign)) {
        p->at++;
        while (t.sign != '*' && p->at < p->text.size &&
               is_of_name(p->text.data[p->at]))
            p->at++;
        t.sign = 'n';
    } else {
        if (strchr("(),:{}=", t.sign) == NULL)
            t.sign = '?';
        p->at++;
    }
    t.text = slice_of(p->text.data + from, p->at - from);
    return t;
}

static void
advance(struct parser *p)
{
    p->now = p->next;
    p->next = read_token(p);
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

static void
fail_memory(struct parser *p)
{
    if (p->st == ST_OK)
        p->st = gexp_no_memory(p->e);
}

static void
expect(struct parser *p, uint8_t sign)
{
    if (p->now.sign == sign)
        advance(p);
    else
        fail(p);
}

/* -- metrics --------------------------------------------------------------- */

static void
copy_name(struct parser *p, struct buf *out)
{
    if (p->now.sign == 'n')
        buf_put_slice(out, p->now.text);
    expect(p, 'n');
}

static void
copy_tags(struct parser *p, struct buf *out)
{
    buf_put_u8(out, '{');
    do {
        bool first = p->now.sign == '{';

        advance(p);
        buf_put_str(out, first ? "" : ",");
        copy_name(p, out);
        buf_put_u8(out, '=');
        expect(p, '=');
        copy_name(p, out);
    } while (p->now.sign == ',' && p->st == ST_OK);
    expect(p, '}');
    buf_put_u8(out, '}');
}

/* Without its blanks it is a parameter m=. */
static void
copy_metric(struct parser *p, struct buf *out)
{
    for (int i = 0; i < 3 && p->next.sign == ':' && p->st == ST_OK; i++) {
        copy_name(p, out);
        advance(p);
        buf_put_u8(out, ':');
    }
    copy_name(p, out);
    if (p->now.sign == '{' && p->st == ST_OK)
        copy_tags(p, out);
}

static void
add_arg(struct parser *p, struct gexp_arg arg)
{
    struct frame *f = &p->frames[p->depth - 1];

    if (f->node.args_len == f->room) {
        size_t room = f->room == 0 ? 4 : f->room * 2;
        struct gexp_arg *args = arena_array(p->arena, room, sizeof *args);

        if (args == NULL) {
            fail_memory(p);
            return;
        }
        if (f->room > 0)
            memcpy(args, f->node.args, f->room * sizeof *args);
        f->node.args = args;
        f->room = room;
    }
    f->node.args[f->node.args_len++] = arg;
}

static void
parse_metric(struct parser *p)
{
    struct buf text = BUF_INIT;
    char *copy = NULL;

    copy_metric(p, &text);
    if (p->g->metrics_len == GEXP_NODES_MAX)
        fail_limit(p, "metrics", GEXP_NODES_MAX);
    if (p->st == ST_OK && !text.failed)
        copy = arena_strdup(p->arena, buf_slice(&text));
    if (copy == NULL)
        fail_memory(p);
    if (p->st == ST_OK) {
        add_arg(p, (struct gexp_arg){ .kind = ARG_METRIC,
                                      .index = p->g->metrics_len });
        p->g->metrics[p->g->metrics_len++] = slice_of(copy, text.size);
    }
    buf_fini(&text);
}

/* -- calls ----------------------------------------------------------------- */

static void
open_call(struct parser *p)
{
    const struct gexp_named *function = gexp_find_function(p->now.text);

    if (p->now.sign != 'n') {
        fail(p);
        return;
    }
    if (function == NULL) { /* said before what follows is looked at */
        p->st = error_set(
            p->e, ST_INVALID, "Function %.*s has not been implemented",
            (int)(p->now.text.size < 400 ? p->now.text.size : 400),
            (const char *)p->now.text.data);
        return;
    }
    if (p->next.sign != '(') {
        fail(p);
        return;
    }
    if (p->depth == GEXP_DEPTH_MAX) {
        fail_limit(p, "functions within one another", GEXP_DEPTH_MAX);
        return;
    }
    p->frames[p->depth++] = (struct frame){ .node.function = function };
    advance(p);
    advance(p);
}

/* The innermost call is complete: it is an argument of the one around it. */
static void
close_call(struct parser *p)
{
    struct gexp *g = p->g;
    size_t index = g->nodes_len;

    if (index == GEXP_NODES_MAX) {
        fail_limit(p, "functions", GEXP_NODES_MAX);
        return;
    }
    g->nodes[g->nodes_len++] = p->frames[--p->depth].node;
    if (p->depth == 0)
        g->roots[g->roots_len++] = index;
    else
        add_arg(p, (struct gexp_arg){ .kind = ARG_NODE, .index = index });
}

/* Takes "," or the ")"s that end calls. */
static void
after_arg(struct parser *p)
{
    while (p->st == ST_OK && p->depth > 0 && p->now.sign == ')') {
        close_call(p);
        if (p->depth > 0)
            advance(p);
    }
    if (p->st == ST_OK && p->depth > 0)
        expect(p, ',');
}

static void
parse_arg(struct parser *p)
{
    if (p->now.sign != 'n') {
        fail(p);
        return;
    }
    if (p->next.sign == '(') {
        open_call(p);
        return;
    }
    if (p->next.sign == ':') {
        parse_metric(p);
    } else {
        char *copy = arena_strdup(p->arena, p->now.text);

        if (copy == NULL)
            fail_memory(p);
        else
            add_arg(p, (struct gexp_arg){
                           .kind = ARG_PARAM,
                           .text = slice_of(copy, p->now.text.size) });
        advance(p);
    }
    if (p->st == ST_OK)
        after_arg(p);
}

static bool
make_room(struct gexp *g, struct arena *a)
{
    if (g->nodes == NULL) {
        g->nodes = arena_array(a, GEXP_NODES_MAX, sizeof *g->nodes);
        g->roots = arena_array(a, GEXP_NODES_MAX, sizeof *g->roots);
        g->metrics = arena_array(a, GEXP_NODES_MAX, sizeof *g->metrics);
    }
    return g->nodes != NULL && g->roots != NULL && g->metrics != NULL;
}

enum status
gexp_parse(struct slice text, struct arena *a, struct gexp *g, struct error *e)
{
    struct parser p = { .text = text, .arena = a, .g = g, .e = e };

    if (!make_room(g, a))
        return gexp_no_memory(e);
    if (text.size > GEXP_SIZE_MAX)
        fail_limit(&p, "bytes", GEXP_SIZE_MAX);
    advance(&p);
    advance(&p);
    if (p.st == ST_OK)
        open_call(&p);
    while (p.st == ST_OK && p.depth > 0)
        parse_arg(&p);
    return p.st;
}
