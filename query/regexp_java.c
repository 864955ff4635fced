/* Both syntaxes agree on nearly all; what is told here is where they do not. */
#include "config.h"

#include "query/regexp_priv.h"

#include <string.h>

#include "base/digit.h"

/* How far classes may lie in each other: this bounds recursion. */
#define CLASS_DEPTH_MAX 8

struct translation {
    struct slice in;
    size_t at;
    struct buf *out;
    size_t groups; /* opened so far */
    bool in_class;
    struct error *e;
};

static enum status
refuse(const struct translation *t, const char *why)
{
    return error_set(t->e, ST_INVALID, "%s near index %zu\n%.*s", why, t->at,
                     SLICE_ARG(t->in));
}

/* The byte 'ahead' of this one, or 0. */
static uint8_t
peek(const struct translation *t, size_t ahead)
{
    return t->at + ahead < t->in.size ? t->in.data[t->at + ahead] : 0;
}

static bool
follows(const struct translation *t, const char *text)
{
    size_t size = strlen(text);

    return t->at + size <= t->in.size &&
           memcmp(t->in.data + t->at, text, size) == 0;
}

static void
copy(struct translation *t, size_t size)
{
    for (size_t end = t->at + size; t->at < end && t->at < t->in.size; t->at++)
        buf_put_u8(t->out, t->in.data[t->at]);
}

static bool
is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* -- escapes --------------------------------------------------------------- */

/* \u0061 */
static enum status
take_unicode(struct translation *t)
{
    unsigned value = 0;

    for (size_t i = 2; i < 6; i++) {
        int digit = digit_hex(peek(t, i));

        if (digit < 0)
            return refuse(t, "Illegal Unicode escape sequence");
        value = value * 16 + (unsigned)digit;
    }
    buf_printf(t->out, "\\x{%x}", value);
    t->at += 6;
    return ST_OK;
}

/* \0141: up to 0377. */
static enum status
take_octal(struct translation *t)
{
    unsigned value = 0;
    size_t digits = 0;

    t->at += 2;
    while (digits < 3 && peek(t, 0) >= '0' && peek(t, 0) <= '7' &&
           value * 8 + (unsigned)(peek(t, 0) - '0') <= 0377) {
        value = value * 8 + (unsigned)(peek(t, 0) - '0');
        t->at++;
        digits++;
    }
    if (digits == 0)
        return refuse(t, "Illegal octal escape sequence");
    buf_printf(t->out, "\\x{%x}", value);
    return ST_OK;
}

/* As many digits as there is such a group; one that is not there yet has
 * matched nothing, so that nothing is equal to it. */
static void
take_reference(struct translation *t)
{
    size_t n = (size_t)(peek(t, 1) - '0');

    t->at += 2;
    while (is_digit(peek(t, 0)) &&
           n * 10 + (size_t)(peek(t, 0) - '0') <= t->groups)
        n = n * 10 + (size_t)(t->in.data[t->at++] - '0');
    if (n > t->groups)
        buf_put_str(t->out, "(?!)");
    else
        buf_printf(t->out, "\\g{%zu}", n);
}

/* Java's names of what POSIX calls by others, and of properties. */
static const struct {
    const char *java, *posix, *property;
} properties[] = {
    { "Lower", "lower", NULL },      { "Upper", "upper", NULL },
    { "ASCII", "ascii", NULL },      { "Alpha", "alpha", NULL },
    { "Digit", "digit", NULL },      { "Alnum", "alnum", NULL },
    { "Punct", "punct", NULL },      { "Graph", "graph", NULL },
    { "Print", "print", NULL },      { "Blank", "blank", NULL },
    { "Cntrl", "cntrl", NULL },      { "XDigit", "xdigit", NULL },
    { "Space", "space", NULL },      { "javaLowerCase", NULL, "Ll" },
    { "javaUpperCase", NULL, "Lu" }, { "IsAlphabetic", NULL, "L" },
    { "IsLetter", NULL, "L" },       { "IsDigit", NULL, "Nd" },
    { "IsLowercase", NULL, "Ll" },   { "IsUppercase", NULL, "Lu" },
    { "IsPunctuation", NULL, "P" },  { "IsWhite_Space", NULL, "Xsp" },
};

static const char *const prefixes[] = { "Is",  "script=",           "sc=",
                                        "gc=", "general_category=", "" };

static void
put_property(struct translation *t, struct slice name, bool negated)
{
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        if (!slice_eq_str(name, properties[i].java))
            continue;
        if (properties[i].posix == NULL)
            buf_printf(t->out, "\\%c{%s}", negated ? 'P' : 'p',
                       properties[i].property);
        else
            buf_printf(t->out, t->in_class ? "[:%s%s:]" : "[[:%s%s:]]",
                       negated ? "^" : "", properties[i].posix);
        return;
    }
    for (size_t i = 0;; i++) {
        size_t size = strlen(prefixes[i]);

        if (!slice_starts(name, slice_of(prefixes[i], size)))
            continue;
        buf_printf(t->out, "\\%c{%.*s}", negated ? 'P' : 'p',
                   (int)(name.size - size), (const char *)name.data + size);
        return;
    }
}

/* \p{Lower}, \P{Lower} */
static enum status
take_property(struct translation *t)
{
    bool negated = peek(t, 1) == 'P';
    struct slice name = slice_of(t->in.data + t->at + 3, 0);

    if (peek(t, 2) != '{') {
        copy(t, 3);
        return ST_OK;
    }
    while (peek(t, 3 + name.size) != '}' && peek(t, 3 + name.size) != 0)
        name.size++;
    if (peek(t, 3 + name.size) == 0 || name.size == 0 || name.data[0] == '^')
        return refuse(t, "Unknown character property name");
    put_property(t, name, negated);
    t->at += 4 + name.size;
    return ST_OK;
}

/* \Q..\E; without an end, all that is left. */
static void
take_quoted(struct translation *t)
{
    copy(t, 2);
    while (t->at < t->in.size && !follows(t, "\\E"))
        copy(t, 1);
    copy(t, 2);
}

static enum status
take_escape(struct translation *t)
{
    uint8_t c = peek(t, 1);

    if (c == 'Q')
        take_quoted(t);
    else if (c == 'u')
        return take_unicode(t);
    else if (c == '0')
        return take_octal(t);
    else if (c == 'p' || c == 'P')
        return take_property(t);
    else if (c >= '1' && c <= '9' && !t->in_class)
        take_reference(t);
    else if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) &&
             strchr("AaBbcDdefGhHknRrSstVvWwxXZz", c) == NULL)
        return refuse(t, "Illegal/unsupported escape sequence");
    else
        copy(t, 2);
    return ST_OK;
}

/* -- classes, groups, repetitions ------------------------------------------ */

/* An escape in a class: behind one of many characters, '-' is no range. */
static enum status
take_member(struct translation *t)
{
    bool many = peek(t, 1) != 0 && strchr("dDwWsShHvVpP", peek(t, 1)) != NULL;
    enum status status = take_escape(t);

    if (many && peek(t, 0) == '-' && peek(t, 1) != ']')
        buf_put_u8(t->out, '\\');
    return status;
}

/* One side of an intersection: a union of characters and of classes. */
struct operand {
    struct buf plain, nested;
};

static enum status take_class(struct translation *t, unsigned depth);

/* A ']' that comes first is one of the characters. */
static enum status
take_operand(struct translation *t, struct operand *o, bool first,
             unsigned depth)
{
    enum status status = ST_OK;

    while (status == ST_OK && t->at < t->in.size && !follows(t, "&&") &&
           (first || t->in.data[t->at] != ']')) {
        t->out = t->in.data[t->at] == '[' ? &o->nested : &o->plain;
        if (t->in.data[t->at] == '[') {
            if (o->nested.size > 0)
                buf_put_u8(t->out, '|');
            status = take_class(t, depth + 1);
        } else if (t->in.data[t->at] == '\\') {
            status = take_member(t);
        } else {
            /* No negation, nor the [:name:] that Java has not. */
            if (t->in.data[t->at] != 0 &&
                strchr("^:.=", t->in.data[t->at]) != NULL)
                buf_put_u8(t->out, '\\');
            copy(t, 1);
        }
        first = false;
    }
    return status;
}

static void
put_operand(struct buf *out, struct operand *o)
{
    if (o->nested.size == 0)
        buf_printf(out, "[%s]", buf_cstr(&o->plain));
    else if (o->plain.size == 0)
        buf_printf(out, "(?:%s)", buf_cstr(&o->nested));
    else
        buf_printf(out, "(?:[%s]|%s)", buf_cstr(&o->plain),
                   buf_cstr(&o->nested));
}

/* What a character must be, as looks ahead; of a plain class its inside. An
 * intersection with nothing is none. */
static enum status
take_operands(struct translation *t, struct buf *all, bool *is_plain,
              unsigned depth)
{
    enum status status = ST_OK;
    bool more = true;

    for (bool first = true; more && status == ST_OK; first = false) {
        struct operand o = { BUF_INIT, BUF_INIT };

        status = take_operand(t, &o, first, depth);
        more = follows(t, "&&");
        t->at += more ? 2 : 0;
        *is_plain = first && !more && o.nested.size == 0;
        if (*is_plain) {
            buf_put_str(all, buf_cstr(&o.plain));
        } else if (o.plain.size > 0 || o.nested.size > 0) {
            buf_put_str(all, "(?=");
            put_operand(all, &o);
            buf_put_u8(all, ')');
        }
        buf_fini(&o.plain);
        buf_fini(&o.nested);
    }
    return status;
}

static enum status
take_class(struct translation *t, unsigned depth)
{
    struct buf *out = t->out, all = BUF_INIT;
    bool negated = peek(t, 1) == '^', is_plain = true, was_in = t->in_class;
    enum status status;

    if (depth == CLASS_DEPTH_MAX)
        return refuse(t, "Too many classes within classes");
    t->in_class = true;
    t->at += negated ? 2 : 1;
    status = take_operands(t, &all, &is_plain, depth);
    t->in_class = was_in;
    t->out = out;
    if (status == ST_OK && (peek(t, 0) != ']' || all.size == 0)) {
        t->at = t->in.size - 1;
        status = refuse(t, "Unclosed character class");
    }
    if (is_plain)
        buf_printf(out, negated ? "[^%s]" : "[%s]", buf_cstr(&all));
    else
        buf_printf(out, negated ? "(?:(?!%s)(?s:.))" : "(?:%s(?s:.))",
                   buf_cstr(&all));
    if (status == ST_OK)
        t->at++;
    buf_fini(&all);
    return status;
}

/* (?i), (?idmsux-idmsux:  Flags that PCRE2 has not: it reads UTF-8 always, and
 * ends lines at line feeds. */
static enum status
take_flags(struct translation *t)
{
    copy(t, 2);
    while (peek(t, 0) != ':' && peek(t, 0) != ')') {
        if (peek(t, 0) == 0 || strchr("idmsuxU-", peek(t, 0)) == NULL)
            return refuse(t, "Unknown inline modifier");
        if (strchr("duU", peek(t, 0)) == NULL)
            copy(t, 1);
        else
            t->at++;
    }
    copy(t, 1);
    return ST_OK;
}

static enum status
take_group(struct translation *t)
{
    if (peek(t, 1) != '?') {
        t->groups++;
        copy(t, 1);
        return peek(t, 0) == '*' ? refuse(t, "Dangling meta character '*'")
                                 : ST_OK;
    }
    switch (peek(t, 2)) {
    case '<':
        t->groups += peek(t, 3) != '=' && peek(t, 3) != '!';
        copy(t, 4);
        return ST_OK;
    case '=':
    case '!':
    case '>':
    case ':':
        copy(t, 3);
        return ST_OK;
    default:
        return take_flags(t);
    }
}

/* {n}, {n,}, {n,m}; other braces are no text, as they are in PCRE2. */
static enum status
take_brace(struct translation *t)
{
    if (!is_digit(peek(t, 1)))
        return refuse(t, "Illegal repetition");
    do
        copy(t, 1);
    while (is_digit(peek(t, 0)) || peek(t, 0) == ',');
    if (peek(t, 0) != '}')
        return refuse(t, "Unclosed counted closure");
    copy(t, 1);
    return ST_OK;
}

enum status
regexp_translate(struct slice java, struct buf *out, struct error *e)
{
    struct translation t = { .in = java, .out = out, .e = e };
    enum status status = ST_OK;

    while (t.at < java.size && status == ST_OK) {
        switch (java.data[t.at]) {
        case '\\':
            status = take_escape(&t);
            break;
        case '[':
            status = take_class(&t, 0);
            break;
        case '(':
            status = take_group(&t);
            break;
        case '{':
            status = take_brace(&t);
            break;
        default:
            copy(&t, 1);
        }
    }
    return status;
}
