/* Filters of arbitrary texts on arbitrary values; wildcards against a slow
 * matcher that tries everything.
 *
 *     <filter> <newline> <value> */
#include "query/model/filter.h"

#include "base/obj.h"
#include "query/model/casefold.h"
#include "tests/fuzz/target.h"

#define SMALL 64

/* All prefixes of the pattern against all prefixes of the value. */
static bool
glob(struct slice p, struct slice s, bool fold)
{
    bool ok[SMALL + 1][SMALL + 1] = { { false } };

    ok[0][0] = true;
    for (size_t i = 1; i <= p.size; i++)
        for (size_t k = 0; k <= s.size; k++) {
            uint8_t c = fold ? casefold_at(p, i - 1) : p.data[i - 1];

            if (c == '*')
                ok[i][k] = ok[i - 1][k] || (k > 0 && ok[i][k - 1]);
            else
                ok[i][k] = k > 0 && ok[i - 1][k - 1] &&
                           c == (fold ? casefold_at(s, k - 1) : s.data[k - 1]);
        }
    return ok[p.size][s.size];
}

FUZZ_TARGET(data, size)
{
    struct slice text = slice_of(data, size), value;
    const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);
    struct arena *a = arena_new(size % 5 == 0 ? 1 + size * 4 : 1 << 20);
    struct error e = { ST_OK, "" };
    struct filter f;
    enum status st;

    if (end != NULL)
        text.size = (size_t)(end - data);
    value = slice_of(data + text.size, size - text.size);
    st = filter_from_tag(a, slice_str("host"), text, true, &f, &e);
    if (st == ST_OK) {
        bool yes = filter_matches(&f, value, &e);

        INSIST(filter_equal(&f, &f));
        if ((f.type == FILTER_WILDCARD || f.type == FILTER_IWILDCARD) &&
            f.text.size <= SMALL && value.size <= SMALL)
            INSIST(yes == glob(f.text, value, f.ignore_case));
    } else {
        INSIST(e.status == st);
    }
    filter_fini(&f);
    arena_free(&a);
    return 0;
}
