/* TSUIDs in hexadecimal: what is taken is of one metric, ascending, each once,
 * and of whole pairs.
 *
 *     { <tsuid> <newline> }...     odd sizes: of another tag-key set */
#include "query/plan/plan.h"

#include "base/obj.h"
#include "tests/fuzz/target.h"

#define MOST 64

static size_t
split(struct slice text, struct slice out[MOST])
{
    size_t n = 0;

    while (n < MOST) {
        const uint8_t *end =
            text.size == 0 ? NULL : memchr(text.data, '\n', text.size);

        out[n] = text;
        if (end != NULL)
            out[n].size = (size_t)(end - text.data);
        n++;
        if (end == NULL)
            break;
        text = slice_of(end + 1, (size_t)(text.data + text.size - end) - 1);
    }
    return n;
}

FUZZ_TARGET(data, size)
{
    static const struct key_layout tagk_sets[] = { KEY_LAYOUT_DEFAULT,
                                                   { 0, 1, 1, 2, 8, 6 } };
    const struct key_layout *layout = &tagk_sets[size % 2];
    struct arena *a = arena_new(size % 5 == 0 ? 1 + size * 8 : 1 << 20);
    struct slice texts[MOST], *out = NULL;
    struct sub_query sq = { .tsuids = texts };
    struct error e = { 0 };
    enum status st;
    size_t len = 0;

    sq.tsuids_len = split(slice_of(data, size), texts);
    st = parse_tsuids(&sq, layout, a, &out, &len, &e);
    if (st == ST_OK) {
        for (size_t i = 0; i < len; i++) {
            INSIST(tsuid_is_valid(layout, out[i]));
            INSIST(i == 0 || slice_cmp(out[i - 1], out[i]) < 0);
            INSIST(slice_eq(tsuid_metric(layout, out[0]),
                            tsuid_metric(layout, out[i])));
        }
    } else {
        INSIST(st == e.status && e.text[0] != '\0');
    }
    arena_free(&a);
    return 0;
}
