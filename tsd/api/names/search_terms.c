#include "tsd/api/names/search_terms.h"

#include "base/text/glob.h"

struct parser {
    struct slice left;
    struct search_terms *out;
    bool negated; /* a NOT came before */
};

static bool
is_blank(uint8_t c)
{
    return c <= ' ';
}

static void
skip(struct parser *p, size_t n)
{
    p->left = slice_of(p->left.data + n, p->left.size - n);
}

/* Up to the next blank, or 'stop' (0: none). */
static struct slice
take_word(struct parser *p, uint8_t stop)
{
    struct slice word = { p->left.data, 0 };

    while (word.size < p->left.size && !is_blank(word.data[word.size]) &&
           (stop == 0 || word.data[word.size] != stop))
        word.size++;
    skip(p, word.size);
    return word;
}

/* A quoted text or a word. */
static enum status
take_pattern(struct parser *p, struct slice *out, struct error *e)
{
    const uint8_t *end;

    if (p->left.size == 0 || p->left.data[0] != '"') {
        *out = take_word(p, 0);
        if (out->size > 0 && memchr("([{", out->data[0], 3) != NULL)
            return error_set(e, ST_INVALID,
                             "brackets are not understood in a search");
        return ST_OK;
    }
    skip(p, 1);
    end = p->left.size == 0 ? NULL : memchr(p->left.data, '"', p->left.size);
    if (end == NULL)
        return error_set(e, ST_INVALID, "a quote in the search has no end");
    *out = slice_of(p->left.data, (size_t)(end - p->left.data));
    skip(p, out->size + 1);
    return ST_OK;
}

static enum status
take_term(struct parser *p, struct error *e)
{
    struct search_term t = { .negated = p->negated, .field = { NULL, 0 } };
    struct parser before;
    struct slice field;
    enum status st;

    if (p->left.data[0] == '-' || p->left.data[0] == '!')
        t.negated = !t.negated;
    if (memchr("-!+", p->left.data[0], 3) != NULL)
        skip(p, 1);
    before = *p;
    field = p->left.size > 0 && p->left.data[0] == '"' ? slice_str("")
                                                       : take_word(p, ':');
    if (field.size > 0 && p->left.size > 0 && p->left.data[0] == ':') {
        skip(p, 1);
        if (!slice_eq_str(field, "*"))
            t.field = field;
    } else {
        *p = before;
    }
    st = take_pattern(p, &t.pattern, e);
    if (st != ST_OK)
        return st;
    if (t.pattern.size == 0)
        return error_set(e, ST_INVALID, "a term of the search has no value");
    if (t.pattern.size > SEARCH_PATTERN_MAX)
        return error_set(e, ST_INVALID, "a term of more than %d bytes",
                         SEARCH_PATTERN_MAX);
    if (p->out->len == SEARCH_TERMS_MAX)
        return error_set(e, ST_INVALID, "more than %d terms in a search",
                         SEARCH_TERMS_MAX);
    p->out->terms[p->out->len++] = t;
    return ST_OK;
}

enum status
search_parse(struct slice text, struct search_terms *out, struct error *e)
{
    struct parser p = { .left = text, .out = out };
    enum status st = ST_OK;

    out->len = 0;
    while (st == ST_OK) {
        struct parser before;
        struct slice word;

        while (p.left.size > 0 && is_blank(p.left.data[0]))
            skip(&p, 1);
        if (p.left.size == 0)
            break;
        before = p;
        word = take_word(&p, 0);
        if (slice_eq_str(word, "AND") || slice_eq_str(word, "&&"))
            continue;
        if (slice_eq_str(word, "NOT")) {
            p.negated = !p.negated;
            continue;
        }
        if (slice_eq_str(word, "OR") || slice_eq_str(word, "||"))
            return error_set(e, ST_INVALID,
                             "OR is not understood in a search: all terms must "
                             "hold");
        p = before;
        st = take_term(&p, e);
        p.negated = false;
    }
    if (st == ST_OK && out->len == 0)
        st = error_set(e, ST_INVALID, "there is nothing to search for");
    return st;
}

static bool
is_of_word(uint8_t c)
{
    c = glob_lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c >= 0x80;
}

static bool
fits_a_word(struct slice pattern, struct slice text)
{
    for (size_t at = 0; at < text.size;) {
        size_t end = at;

        while (end < text.size && is_of_word(text.data[end]))
            end++;
        if (end > at &&
            glob_fits(pattern, slice_of(text.data + at, end - at), true))
            return true;
        at = end + 1;
    }
    return false;
}

static bool
means_field(struct slice asked, struct slice name)
{
    const uint8_t *dot;
    size_t at;

    if (asked.size == 0 || slice_eq_nocase(asked, name))
        return true;
    dot = name.size == 0 ? NULL : memchr(name.data, '.', name.size);
    if (dot == NULL)
        return false;
    at = (size_t)(dot - name.data);
    return slice_eq_nocase(asked, slice_of(name.data, at)) ||
           slice_eq_nocase(asked, slice_of(dot + 1, name.size - at - 1));
}

void
search_begin(struct search_terms *s)
{
    for (size_t i = 0; i < s->len; i++)
        s->terms[i].found = false;
}

void
search_field(struct search_terms *s, struct slice name, struct slice value)
{
    for (size_t i = 0; i < s->len && value.size > 0; i++) {
        struct search_term *t = &s->terms[i];

        if (!t->found && means_field(t->field, name))
            t->found = glob_fits(t->pattern, value, true) ||
                       fits_a_word(t->pattern, value);
    }
}

bool
search_is_hit(const struct search_terms *s)
{
    for (size_t i = 0; i < s->len; i++)
        if (s->terms[i].found == s->terms[i].negated)
            return false;
    return true;
}
