/* Regular expressions as Java writes them: rejected with a sentence, or
 * translated to what PCRE2 takes; and then no text is too much for them.
 *
 *     <expression> <newline> <text> */
#include "query/model/regexp.h"

#include "base/obj.h"
#include "query/model/regexp_priv.h"
#include "tests/fuzz/target.h"

static void
find_all(const struct regexp *r, struct slice text)
{
    struct slice groups[4];
    struct error e = { 0 };
    size_t len, from = 0;

    for (int i = 0; i < 8 && from <= text.size; i++) {
        enum status st = regexp_match(r, text, from, groups, 4, &len, &e);

        INSIST(st == ST_OK || st == ST_NOT_FOUND || st == ST_LIMIT);
        if (st != ST_OK)
            break;
        INSIST(len >= 1 && groups[0].data >= text.data);
        INSIST(groups[0].data + groups[0].size <= text.data + text.size);
        from = (size_t)(groups[0].data - text.data) + groups[0].size + 1;
    }
}

FUZZ_TARGET(data, size)
{
    struct slice pattern = slice_of(data, size), text;
    const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);
    struct buf translated = BUF_INIT;
    struct error e = { 0 };
    struct regexp *r;
    enum status st;

    if (end != NULL)
        pattern.size = (size_t)(end - data);
    text = slice_of(data + pattern.size, size - pattern.size);
    st = regexp_translate(pattern, &translated, &e);
    INSIST(st == ST_OK || (st == ST_INVALID && e.text[0] != '\0'));
    buf_fini(&translated);
    st = regexp_new(pattern, &r, &e);
    INSIST((st == ST_OK) == (r != NULL));
    if (st == ST_OK) {
        st = regexp_find(r, text, &e);
        INSIST(st == ST_OK || st == ST_NOT_FOUND || st == ST_LIMIT);
        if (text.data != NULL)
            find_all(r, text);
    } else {
        INSIST(st == ST_INVALID || st == ST_LIMIT);
    }
    regexp_free(&r);
    return 0;
}
