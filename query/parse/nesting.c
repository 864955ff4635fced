#include "query/parse/nesting.h"

#include "query/model/filter.h"

static char
closer_of(char opener)
{
    return opener == '(' ? ')' : opener == '[' ? ']' : opener == '{' ? '}' : 0;
}

size_t
nesting_find(struct slice text, const char *any)
{
    char closers[NESTING_DEPTH_MAX]; /* what closes each open bracket */
    size_t len = 0;

    for (size_t i = 0; i < text.size; i++) {
        char c = (char)text.data[i], top = len == 0 ? '\0' : closers[len - 1];

        if (len == 0 && c != '\0' && strchr(any, c) != NULL)
            return i;
        if (c == '\\' && memchr(closers, ')', len) != NULL)
            i++;
        else if (len > 0 && c == top)
            len--;
        else if (top == ']' && c != '[')
            continue;
        else if (closer_of(c) != '\0' && len < NESTING_DEPTH_MAX)
            closers[len++] = closer_of(c);
        else if (closer_of(c) != '\0' || c == ')' || c == ']' || c == '}')
            return NESTING_BROKEN;
    }
    return len == 0 ? text.size : NESTING_BROKEN;
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
