/* Both syntaxes agree on nearly all; written here is where they do not. */
#include "query/model/regexp_priv.h"

#include <string.h>

#include "base/text/digit.h"

/* How far classes may lie in each other: this bounds recursion. */
#define CLASS_DEPTH_MAX 8
#define GROUP_DEPTH_MAX 250 /* as in PCRE2 */

/* Flags that PCRE2 lacks or means otherwise: Java's (?i) folds only ASCII
 * without (?u), and (?U), which implies it, makes \w and its like Unicode's. */
enum { FLAG_I = 1, FLAG_U = 2, FLAG_UNICODE = 4 };

struct translation {
    struct slice in;
    size_t at;
    struct buf *out;
    size_t groups; /* opened so far */
    bool in_class;
    bool quantified; /* what comes next follows a quantifier */
    unsigned flags;
    uint8_t outer[GROUP_DEPTH_MAX]; /* the flags around each open group */
    size_t depth;
    struct error *e;
};

static bool
folds_ascii(const struct translation *t)
{
    return (t->flags & (FLAG_I | FLAG_U | FLAG_UNICODE)) == FLAG_I;
}

static bool
folds_unicode(const struct translation *t)
{
    return (t->flags & FLAG_I) != 0 && !folds_ascii(t);
}

static enum status
reject(const struct translation *t, const char *why)
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

static bool
is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* What Java, but not PCRE2, takes for one letter in all cases. */
static bool
is_an_i(const struct translation *t)
{
    return peek(t, 0) == 'i' || peek(t, 0) == 'I' || follows(t, "ı") ||
           follows(t, "İ");
}

/* A letter, in both cases. */
static void
put_cases(struct translation *t, uint8_t letter)
{
    buf_printf(t->out, t->in_class ? "%c%c" : "[%c%c]", letter, letter ^ 0x20);
}

/* A character that means itself. */
static void
copy_literal(struct translation *t)
{
    uint8_t c = peek(t, 0);

    if (folds_ascii(t) && is_letter(c)) {
        put_cases(t, c);
        t->at++;
    } else if (folds_unicode(t) && is_an_i(t)) {
        buf_put_str(t->out, t->in_class ? "iIıİ" : "[iIıİ]");
        t->at += c < 0x80 ? 1 : 2;
    } else {
        copy(t, 1);
    }
}

/* -- escapes --------------------------------------------------------------- */

static void
put_code(struct translation *t, unsigned value)
{
    if (folds_ascii(t) && value < 0x80 && is_letter((uint8_t)value))
        put_cases(t, (uint8_t)value);
    else
        buf_printf(t->out, "\\x{%x}", value);
}

/* \0141: up to 0377. */
static enum status
translate_octal(struct translation *t)
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
        return reject(t, "Illegal octal escape sequence");
    put_code(t, value);
    return ST_OK;
}

/* As many digits as there is such a group; one that is not there yet has
 * matched nothing, so that nothing is equal to it. */
static void
translate_reference(struct translation *t)
{
    size_t n = (size_t)(peek(t, 1) - '0');

    t->at += 2;
    while (is_digit(peek(t, 0)) &&
           n * 10 + (size_t)(peek(t, 0) - '0') <= t->groups)
        n = n * 10 + (size_t)(t->in.data[t->at++] - '0');
    if (n > t->groups)
        buf_put_str(t->out, "(?!)");
    else
        buf_printf(t->out, folds_ascii(t) ? "(?i:\\g{%zu})" : "\\g{%zu}", n);
}

/* How a name of a set stands here. */
static unsigned
how_set(const struct translation *t, bool negated)
{
    return (t->in_class ? REGEXP_IN_CLASS : 0u) |
           (negated ? REGEXP_NEGATED : 0u) |
           ((t->flags & FLAG_UNICODE) != 0 ? REGEXP_UNICODE : 0u) |
           (folds_ascii(t) ? REGEXP_BOTH_CASES : 0u);
}

/* \b and \B of (?U). */
static void
put_boundary(struct translation *t, bool negated)
{
    static const char word[] = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}]";
    const char *then = negated ? "=" : "!", *other = negated ? "!" : "=";

    buf_printf(t->out, "(?:(?<=%s)(?%s%s)|(?<!%s)(?%s%s))", word, then, word,
               word, other, word);
}

/* \p{Lower}, \P{Lower} */
static enum status
translate_property(struct translation *t)
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
        return reject(t, "Unknown character property name");
    regexp_put_property(t->out, name, how_set(t, negated));
    t->at += 4 + name.size;
    return ST_OK;
}

/* \Q..\E; without an end, all that is left. */
static void
translate_quoted(struct translation *t)
{
    bool folds = (t->flags & FLAG_I) != 0;

    t->at += folds ? 2 : 0;
    if (!folds)
        copy(t, 2);
    while (t->at < t->in.size && !follows(t, "\\E")) {
        if (folds && !is_letter(peek(t, 0)) && peek(t, 0) < 0x80)
            buf_put_u8(t->out, '\\');
        if (folds && !is_digit(peek(t, 0)))
            copy_literal(t);
        else
            copy(t, 1);
    }
    if (!folds)
        copy(t, 2);
    else
        t->at += follows(t, "\\E") ? 2 : 0;
}

static enum status
translate_escape(struct translation *t)
{
    uint8_t c = peek(t, 1);

    if (c == 'Q')
        translate_quoted(t);
    else if (c == 'u') {
        unsigned value = 0;

        /* \u0061 */
        for (size_t i = 2; i < 6; i++) {
            int digit = digit_hex(peek(t, i));

            if (digit < 0)
                return reject(t, "Illegal Unicode escape sequence");
            value = value * 16 + (unsigned)digit;
        }
        put_code(t, value);
        t->at += 6;
        return ST_OK;
    } else if (c == 'x' && digit_hex(peek(t, 2)) >= 0 &&
               digit_hex(peek(t, 3)) >= 0) {
        put_code(
            t, (unsigned)(digit_hex(peek(t, 2)) * 16 + digit_hex(peek(t, 3))));
        t->at += 4;
    } else if (c == '0')
        return translate_octal(t);
    else if (c == 'p' || c == 'P')
        return translate_property(t);
    else if (c >= '1' && c <= '9' && !t->in_class)
        translate_reference(t);
    else if (c != 0 && strchr("dswDSW", c) != NULL &&
             regexp_put_unicode(t->out, slice_of(&(uint8_t){ c | 0x20 }, 1),
                                how_set(t, c < 'a')))
        t->at += 2;
    else if ((c == 'b' || c == 'B') && !t->in_class &&
             (t->flags & FLAG_UNICODE) != 0) {
        put_boundary(t, c == 'B');
        t->at += 2;
    } else if (is_letter(c) && strchr("AaBbcDdefGhHknRrSstVvWwxXZz", c) == NULL)
        return reject(t, "Illegal/unsupported escape sequence");
    else
        copy(t, 2);
    return ST_OK;
}

/* -- classes, groups, repetitions ------------------------------------------ */

/* The next byte is of a class, not a negation or the [:name:] that Java has
 * not. */
static void
escape_in_class(struct translation *t)
{
    if (peek(t, 0) != 0 && strchr("^:.=", peek(t, 0)) != NULL)
        buf_put_u8(t->out, '\\');
}

/* A character of a class, or a range of them. */
static void
translate_range(struct translation *t)
{
    uint8_t c = peek(t, 0), to = peek(t, 2);
    int from_cases[2] = { 'a', 'A' };

    if (peek(t, 1) != '-' || to == ']' || to == '[' || to == '\\' || to == 0 ||
        !folds_ascii(t)) {
        escape_in_class(t);
        if (peek(t, 1) == '-' || c == '-')
            copy(t, 1);
        else
            copy_literal(t);
        return;
    }
    /* The letters within the range, in their other case. */
    for (int i = 0; i < 2; i++) {
        int lo = from_cases[i], hi = lo + 25;

        lo = c > lo ? c : lo;
        hi = to < hi ? to : hi;
        if (lo <= hi)
            buf_printf(t->out, "%c-%c", lo ^ 0x20, hi ^ 0x20);
    }
    escape_in_class(t);
    copy(t, 2);
    escape_in_class(t);
    copy(t, 1);
}

/* One side of an intersection: a union of characters and of classes. */
struct operand {
    struct buf plain, nested;
};

static enum status translate_class(struct translation *t, unsigned depth);

/* A ']' that comes first is one of the characters. */
static enum status
translate_operand(struct translation *t, struct operand *o, bool first,
                  unsigned depth)
{
    enum status status = ST_OK;

    while (status == ST_OK && t->at < t->in.size &&
           (!follows(t, "&&") || follows(t, "&&&")) &&
           (first || t->in.data[t->at] != ']')) {
        /* Java intersects with nothing here, and goes on. */
        if (follows(t, "&&&"))
            t->at += 2;
        t->out = t->in.data[t->at] == '[' ? &o->nested : &o->plain;
        if (t->in.data[t->at] == '[') {
            if (o->nested.size > 0)
                buf_put_u8(t->out, '|');
            status = translate_class(t, depth + 1);
        } else if (t->in.data[t->at] == '\\') {
            bool many =
                peek(t, 1) != 0 && strchr("dDwWsShHvVpP", peek(t, 1)) != NULL;

            /* An escape in a class: behind one of many characters, '-' is no
             * range. */
            status = translate_escape(t);
            if (many && peek(t, 0) == '-' && peek(t, 1) != ']')
                buf_put_u8(t->out, '\\');
        } else {
            translate_range(t);
        }
        first = false;
    }
    return status;
}

/* What a character must be, as looks ahead; of a plain class its inside. An
 * intersection with nothing is none. */
static enum status
translate_operands(struct translation *t, struct buf *all, bool *is_plain,
                   unsigned depth)
{
    enum status status = ST_OK;
    bool more = true;

    for (bool first = true; more && status == ST_OK; first = false) {
        struct operand o = { BUF_INIT, BUF_INIT };

        status = translate_operand(t, &o, first, depth);
        more = follows(t, "&&");
        t->at += more ? 2 : 0;
        *is_plain = first && !more && o.nested.size == 0;
        if (*is_plain) {
            buf_put_str(all, buf_cstr(&o.plain));
        } else if (o.plain.size > 0 || o.nested.size > 0) {
            buf_put_str(all, "(?=");
            if (o.nested.size == 0)
                buf_printf(all, "[%s]", buf_cstr(&o.plain));
            else if (o.plain.size == 0)
                buf_printf(all, "(?:%s)", buf_cstr(&o.nested));
            else
                buf_printf(all, "(?:[%s]|%s)", buf_cstr(&o.plain),
                           buf_cstr(&o.nested));
            buf_put_u8(all, ')');
        }
        buf_fini(&o.plain);
        buf_fini(&o.nested);
    }
    return status;
}

static enum status
translate_class(struct translation *t, unsigned depth)
{
    struct buf *out = t->out, all = BUF_INIT;
    bool negated = peek(t, 1) == '^', is_plain = true, was_in = t->in_class;
    enum status status;

    if (depth == CLASS_DEPTH_MAX)
        return reject(t, "Too many classes within classes");
    t->in_class = true;
    t->at += negated ? 2 : 1;
    status = translate_operands(t, &all, &is_plain, depth);
    t->in_class = was_in;
    t->out = out;
    if (status == ST_OK && (peek(t, 0) != ']' || all.size == 0)) {
        t->at = t->in.size - 1;
        status = reject(t, "Unclosed character class");
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

static unsigned
flag_of(uint8_t c)
{
    return c == 'i' ? FLAG_I : c == 'u' ? FLAG_U : c == 'U' ? FLAG_UNICODE : 0;
}

static enum status
open_group(struct translation *t)
{
    if (t->depth == GROUP_DEPTH_MAX)
        return reject(t, "Too many groups within groups");
    t->outer[t->depth++] = (uint8_t)t->flags;
    return ST_OK;
}

/* (?i), (?idmsux-idmsux:  PCRE2 ends lines at line feeds always. */
static enum status
translate_flags(struct translation *t)
{
    unsigned flags = t->flags;
    bool off = false;

    copy(t, 2);
    for (; peek(t, 0) != ':' && peek(t, 0) != ')';) {
        uint8_t c = peek(t, 0);

        if (c == 0 || strchr("idmsuxU-", c) == NULL)
            return reject(t, "Unknown inline modifier");
        flags = off ? flags & ~flag_of(c) : flags | flag_of(c);
        off |= c == '-';
        if (strchr("diuU", c) == NULL)
            copy(t, 1);
        else
            t->at++;
    }
    if (peek(t, 0) == ':' && open_group(t) != ST_OK)
        return ST_INVALID;
    t->flags = flags;
    if (peek(t, 0) == ')') {
        buf_put_str(t->out, folds_unicode(t) ? ")(?i" : ")(?-i");
        copy(t, 1);
    } else {
        copy(t, 1);
        buf_put_str(t->out, folds_unicode(t) ? "(?i)" : "(?-i)");
    }
    return ST_OK;
}

static enum status
translate_group(struct translation *t)
{
    if (peek(t, 1) != '?') {
        t->groups++;
        copy(t, 1);
        if (open_group(t) != ST_OK)
            return ST_INVALID;
        return peek(t, 0) == '*' ? reject(t, "Dangling meta character '*'")
                                 : ST_OK;
    }
    switch (peek(t, 2)) {
    case '<':
        t->groups += peek(t, 3) != '=' && peek(t, 3) != '!';
        copy(t, 4);
        return open_group(t);
    case '=':
    case '!':
    case '>':
    case ':':
        copy(t, 3);
        return open_group(t);
    default:
        return translate_flags(t);
    }
}

/* {n}, {n,}, {n,m}; other braces are no text, as they are in PCRE2.  Behind a
 * quantifier Java repeats nothing. */
static enum status
translate_brace(struct translation *t)
{
    size_t size = t->out->size;

    if (!is_digit(peek(t, 1)))
        return reject(t, "Illegal repetition");
    do
        copy(t, 1);
    while (is_digit(peek(t, 0)) || peek(t, 0) == ',');
    if (peek(t, 0) != '}')
        return reject(t, "Unclosed counted closure");
    copy(t, 1);
    if (peek(t, 0) == '?' || peek(t, 0) == '+')
        copy(t, 1);
    if (t->quantified)
        t->out->size = size;
    return ST_OK;
}

enum status
regexp_translate(struct slice java, struct buf *out, struct error *e)
{
    struct translation t = { .in = java, .out = out, .e = e };
    enum status status = ST_OK;

    while (t.at < java.size && status == ST_OK) {
        uint8_t c = java.data[t.at];

        switch (c) {
        case '\\':
            status = translate_escape(&t);
            break;
        case '[':
            status = translate_class(&t, 0);
            break;
        case '(':
            status = translate_group(&t);
            break;
        case '{':
            status = translate_brace(&t);
            break;
        case ')':
            if (t.depth > 0)
                t.flags = t.outer[--t.depth];
            copy(&t, 1);
            break;
        default:
            copy_literal(&t);
        }
        t.quantified = c == '{';
    }
    return status;
}
