#include "query/parse/nesting.h"

#include "query/model/filter.h"

/* The brackets that are open: what closes each. */
struct stack {
    char closers[NESTING_DEPTH_MAX];
    size_t len;
};

static char
closer_of(char opener)
{
    return opener == '(' ? ')' : opener == '[' ? ']' : opener == '{' ? '}' : 0;
}

/* Steps over a character that is not looked for.  False if it is a bracket that
 * does not match. */
static bool
step(struct stack *s, char c)
{
    char top = s->len == 0 ? '\0' : s->closers[s->len - 1];

    if (c == top && s->len > 0) {
        s->len--;
        return true;
    }
    if (top == ']' && c != '[')
        return true;
    if (closer_of(c) == '\0')
        return c != ')' && c != ']' && c != '}';
    if (s->len == NESTING_DEPTH_MAX)
        return false;
    s->closers[s->len++] = closer_of(c);
    return true;
}

size_t
nesting_find(struct slice text, const char *any)
{
    struct stack s = { .len = 0 };

    for (size_t i = 0; i < text.size; i++) {
        char c = (char)text.data[i];

        if (s.len == 0 && c != '\0' && strchr(any, c) != NULL)
            return i;
        if (c == '\\' && (memchr(s.closers, ')', s.len) != NULL))
            i++;
        else if (!step(&s, c))
            return NESTING_BROKEN;
    }
    return s.len == 0 ? text.size : NESTING_BROKEN;
}

enum status
nesting_split(struct slice text, char separator, struct arena *a,
              struct slice **parts, size_t *len, struct error *e)
{
    const char any[] = { separator, '\0' };
    enum status st = text_split(text, separator, a, parts, len, e);

    if (st != ST_OK || *len == 1 || nesting_find(text, "") == NESTING_BROKEN)
        return st;
    /* There are no more parts than that, so they are found anew in place. */
    *len = 0;
    for (;;) {
        size_t at = nesting_find(text, any);

        (*parts)[(*len)++] = slice_of(text.data, at);
        if (at == text.size)
            return ST_OK;
        text = slice_of(text.data + at + 1, text.size - at - 1);
    }
}
