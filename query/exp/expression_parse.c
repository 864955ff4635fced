/* From text to steps, by Dijkstra's shunting yard: operators wait on a stack of
 * our own until what binds tighter is done, so that no text, however nested,
 * makes us recurse. */
#include "query/exp/expression.h"
#include "query/exp/expression_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "query/parse/parse.h"

/* Waiting operators; a value holds at most a few at a time. */
#define WAITING_MAX ((size_t)4 * EXPRESSION_DEPTH_MAX)

struct parser {
    struct slice text;
    size_t at;
    struct expression *x;
    enum expression_op *waiting;
    size_t waiting_len;
    size_t depth; /* values on the stack when the steps so far have run */
    bool want_value;
    struct error *e;
    enum status st;
};

static const struct trait {
    int level;
    size_t operands;
    const char *sign, *word;
} traits[] = {
#define OPERATOR(name, level, operands, sign, word) \
    [OP_##name] = { level, operands, sign, word },
    OPERATORS(OPERATOR)
#undef OPERATOR
};
#define TRAITS (sizeof traits / sizeof traits[0])

/* Words of JEXL that are no names, and have no meaning here. */
static const char *const reserved[] = { "if",    "else",  "for", "foreach",
                                        "while", "new",   "var", "empty",
                                        "size",  "return" };

static void
fail(struct parser *p, const char *what)
{
    if (p->st == ST_OK)
        p->st = error_set(p->e, ST_INVALID,
                          "Cannot parse the expression \"%.*s\": %s at "
                          "character %zu",
                          (int)(p->text.size < 200 ? p->text.size : 200),
                          (const char *)p->text.data, what, p->at + 1);
}

static void
fail_deep(struct parser *p)
{
    if (p->st == ST_OK)
        p->st = error_set(p->e, ST_LIMIT, "An expression nested deeper than %d",
                          EXPRESSION_DEPTH_MAX);
}

/* -- steps ----------------------------------------------------------------- */

static void
emit(struct parser *p, struct expression_step step)
{
    p->depth = p->depth + 1 - traits[step.op].operands;
    if (p->depth > EXPRESSION_DEPTH_MAX)
        fail_deep(p);
    if (p->st == ST_OK)
        p->x->steps[p->x->steps_len++] = step;
}

static void
push(struct parser *p, enum expression_op op)
{
    if (p->waiting_len == WAITING_MAX)
        fail_deep(p);
    else
        p->waiting[p->waiting_len++] = op;
}

static enum expression_op
top(const struct parser *p)
{
    return p->waiting_len == 0 ? OP_NONE : p->waiting[p->waiting_len - 1];
}

static int
level_of(enum expression_op op)
{
    return traits[op].level;
}

/* Does what waits and binds tighter than 'level'. */
static void
reduce_to_level(struct parser *p, int level)
{
    while (p->st == ST_OK && level_of(top(p)) > level) {
        enum expression_op op = p->waiting[--p->waiting_len];

        if (op == OP_QUERY)
            fail(p, "a '?' without ':'");
        else
            emit(p, (struct expression_step){ .op = op });
    }
}

/* ":" ends the middle of the nearest "?": all that waits since is done. */
static void
parse_colon(struct parser *p)
{
    reduce_to_level(p, LEVEL_CHOICE);
    while (p->st == ST_OK && (top(p) == OP_CHOOSE || top(p) == OP_ELVIS))
        emit(p, (struct expression_step){ .op = p->waiting[--p->waiting_len] });
    if (top(p) != OP_QUERY) {
        fail(p, "a ':' without '?'");
        return;
    }
    p->waiting[p->waiting_len - 1] = OP_CHOOSE;
    p->want_value = true;
}

static void
parse_close(struct parser *p)
{
    reduce_to_level(p, LEVEL_OPEN);
    if (p->st != ST_OK)
        return;
    if (top(p) != OP_OPEN)
        fail(p, "a ')' without '('");
    else
        p->waiting_len--;
}

/* -- tokens ---------------------------------------------------------------- */

static uint8_t
peek(const struct parser *p, size_t ahead)
{
    return p->at + ahead < p->text.size ? p->text.data[p->at + ahead] : 0;
}

static int
is_of_word(int c)
{
    return isalnum(c) || memchr("_$@", c, 3) != NULL;
}

static void
skip_blanks(struct parser *p)
{
    while (isspace(peek(p, 0)))
        p->at++;
}

static struct slice
take_word(struct parser *p)
{
    size_t from = p->at;

    while (is_of_word(peek(p, 0)))
        p->at++;
    return slice_of(p->text.data + from, p->at - from);
}

/* Takes the suffix, of either case, if it is next. */
static bool
take_suffix(struct parser *p, char suffix)
{
    bool is_next = (peek(p, 0) | 0x20) == suffix;

    p->at += is_next;
    return is_next;
}

/* Integers have 64 bits; a longer one is the double next to it. */
static struct value
parse_integer(struct parser *p)
{
    const char *text = (const char *)p->text.data + p->at;
    bool hex = text[0] == '0' && (text[1] | 0x20) == 'x' && isxdigit(text[2]);
    int base = text[0] != '0' ? 10 : hex ? 16 : 8;
    struct value v = { .kind = VALUE_INTEGER };
    char *end;

    errno = 0;
    v.i = strtoll(text, &end, base);
    if (errno == ERANGE) {
        v = (struct value){ .kind = VALUE_FLOAT, .d = 0 };
        for (const char *c = text; base == 8 && c < end; c++)
            v.d = v.d * 8 + (*c - '0');
        v.d = base == 8 ? v.d : strtod(text, NULL);
    }
    p->at += (size_t)(end - text);
    if (base == 10 || end - text == 1)
        (void)take_suffix(p, 'l');
    return v;
}

/* "1.5e3", "1.5f", "1.5d": without a letter it is a float, not a double. */
static struct value
parse_real(struct parser *p)
{
    const char *text = (const char *)p->text.data + p->at;
    struct value v = { .kind = VALUE_DOUBLE };
    char *end;

    v.d = strtod(text, &end);
    p->at += (size_t)(end - text);
    if (take_suffix(p, 'd'))
        return v;
    (void)take_suffix(p, 'f');
    v.kind = VALUE_FLOAT;
    if (!parse_float(slice_of(text, (size_t)(end - text)), &v.d))
        fail(p, "a number that is none");
    return v;
}

static void
parse_constant(struct parser *p, struct value v)
{
    emit(p, (struct expression_step){ .op = OP_CONSTANT, .value = v });
    p->want_value = false;
}

static void
parse_name(struct parser *p, struct slice name)
{
    struct expression *x = p->x;
    size_t i = 0;

    skip_blanks(p);
    if (peek(p, 0) == '(' || peek(p, 0) == '[' || peek(p, 0) == '.') {
        fail(p, "functions, lists and members are not available");
        return;
    }
    while (i < x->names_len && !slice_eq(x->names[i], name))
        i++;
    if (i == EXPRESSION_NAMES_MAX && p->st == ST_OK)
        p->st = error_set(p->e, ST_LIMIT, "An expression of more than %d names",
                          EXPRESSION_NAMES_MAX);
    if (i == x->names_len && p->st == ST_OK)
        x->names[x->names_len++] = name;
    emit(p, (struct expression_step){ .op = OP_NAME, .name = i });
    p->want_value = false;
}

/* OP_NONE when there is none of that word. */
static enum expression_op
find_word(struct slice word)
{
    for (size_t op = 0; op < TRAITS; op++)
        if (traits[op].word != NULL && slice_eq_str(word, traits[op].word))
            return (enum expression_op)op;
    return OP_NONE;
}

static void
parse_word_value(struct parser *p, struct slice word)
{
    if (slice_eq_str(word, "not")) {
        push(p, OP_NOT);
        return;
    }
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (slice_eq_str(word, reserved[i]))
            fail(p, "a word that is reserved");
    if (find_word(word) != OP_NONE)
        fail(p, "an operator without its first value");
    if (slice_eq_str(word, "true") || slice_eq_str(word, "false"))
        parse_constant(
            p, (struct value){ .kind = VALUE_TRUTH, .i = word.data[0] == 't' });
    else if (slice_eq_str(word, "null"))
        parse_constant(p, (struct value){ .kind = VALUE_NULL, .i = 0 });
    else
        parse_name(p, word);
}

/* The longest sign, or the word, that is next. */
static enum expression_op
parse_sign(struct parser *p)
{
    struct slice rest = slice_of(p->text.data + p->at, p->text.size - p->at);
    enum expression_op found = OP_NONE;
    size_t size = 0;

    if (is_of_word(peek(p, 0)))
        return find_word(take_word(p));
    for (size_t op = 0; op < TRAITS; op++)
        if (traits[op].sign != NULL && strlen(traits[op].sign) > size &&
            slice_starts(rest, slice_str(traits[op].sign))) {
            found = (enum expression_op)op;
            size = strlen(traits[op].sign);
        }
    p->at += size;
    return found;
}

static void
parse_operator(struct parser *p)
{
    size_t from = p->at;
    uint8_t c = peek(p, 0);
    enum expression_op op;

    if (c == ')' || c == ':') {
        if (c == ')')
            parse_close(p);
        else
            parse_colon(p);
        p->at++;
        return;
    }
    op = parse_sign(p);
    if (op != OP_NONE) {
        int level = level_of(op);

        reduce_to_level(p, level);
        if (level_of(top(p)) == level &&
            (level == LEVEL_EQUALITY || level == LEVEL_ORDER))
            fail(p, "comparisons do not chain; use parentheses");
        if (level !=
            LEVEL_CHOICE) /* to the right: what waits may go on waiting */
            reduce_to_level(p, level - 1);
        push(p, op);
        p->want_value = true;
        return;
    }
    p->at = from;
    fail(p, "an operator is missing");
}

static void
parse(struct parser *p)
{
    size_t end = p->text.size;

    while (end > 0 &&
           (p->text.data[end - 1] <= ' ' || p->text.data[end - 1] == ';'))
        end--;
    p->text.size = end;
    for (skip_blanks(p); p->at < end && p->st == ST_OK; skip_blanks(p))
        if (p->want_value) {
            static const char signs[] = "(-!~";
            static const enum expression_op ops[] = { OP_OPEN, OP_NEGATE,
                                                      OP_NOT, OP_BIT_NOT };
            uint8_t c = peek(p, 0);
            const char *sign = memchr(signs, c, sizeof ops / sizeof ops[0]);

            if (isdigit(c)) {
                size_t n = 1;

                while (isdigit(peek(p, n)))
                    n++;
                parse_constant(p, peek(p, n) == '.' && isdigit(peek(p, n + 1))
                                      ? parse_real(p)
                                      : parse_integer(p));
                if (is_of_word(peek(p, 0)))
                    fail(p, isdigit(peek(p, 0))
                                ? "a digit that is not octal"
                                : "a number with a letter behind");
            } else if (is_of_word(c)) {
                parse_word_value(p, take_word(p));
            } else if (sign != NULL) {
                push(p, ops[sign - signs]);
                p->at++;
            } else {
                fail(p, c == '\'' || c == '"' ? "texts are not available"
                                              : "a value is missing");
            }
        } else
            parse_operator(p);
    if (p->st == ST_OK && p->want_value)
        fail(p, "a value is missing");
    reduce_to_level(p, LEVEL_OPEN);
    if (p->st == ST_OK && p->waiting_len > 0)
        fail(p, "a '(' without ')'");
}

enum status
expression_parse(struct slice text, struct arena *a, struct expression **out,
                 struct error *e)
{
    struct parser p = { .text = text, .want_value = true, .e = e };
    size_t steps_max = text.size + 1; /* no token is shorter than a byte */
    char *copy;

    *out = NULL;
    if (text.size > EXPRESSION_SIZE_MAX)
        return error_set(e, ST_LIMIT, "An expression of more than %d bytes",
                         EXPRESSION_SIZE_MAX);
    p.x = arena_array(a, 1, sizeof *p.x);
    copy = arena_strdup(a, text);
    p.waiting = arena_array(a, WAITING_MAX, sizeof *p.waiting);
    if (p.x == NULL || copy == NULL || p.waiting == NULL)
        return error_no_memory(e);
    p.text = slice_of(copy, text.size);
    p.x->text = p.text;
    p.x->steps = arena_array(a, steps_max, sizeof *p.x->steps);
    p.x->names = arena_array(a, steps_max, sizeof *p.x->names);
    if (p.x->steps == NULL || p.x->names == NULL)
        return error_no_memory(e);
    parse(&p);
    if (p.st == ST_OK)
        *out = p.x;
    return p.st;
}

const struct slice *
expression_names(const struct expression *x, size_t *len)
{
    *len = x->names_len;
    return x->names;
}
