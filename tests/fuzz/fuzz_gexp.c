/* Expressions of /api/query/gexp, and their functions on a few series. */
#include "query/exp/gexp_priv.h"

#include "base/obj.h"
#include "tests/fuzz/target.h"

static void
call(const struct gexp_node *n, struct arena *a)
{
    static int64_t ts[] = { 0, 60000, 120000 };
    static union number v[] = { { .i = 5 }, { .d = -2.5 }, { .i = INT64_MIN } };
    static uint8_t kinds[] = { DP_INT, DP_DOUBLE, DP_INT };
    struct query q = { .start_ms = 0, .end_ms = 120000 };
    struct exp_series series[2] = { 0 };
    struct exp_list lists[4] = { { series, 2 }, { series + 1, 1 } };
    struct slice params[4];
    struct deadline deadline = { 0 };
    struct gexp_call c = { n->function, &q, a, &deadline, lists, 0, params, 0 };
    struct exp_list out = { 0 };
    enum status st;

    series[0].dps = (struct dps){ ts, v, kinds, 3 };
    series[1].dps = (struct dps){ ts, v, kinds, 2 };
    for (size_t i = 0; i < n->args_len; i++)
        if (n->args[i].kind != ARG_PARAM && c.lists_len < 4)
            c.lists_len++;
        else if (n->args[i].kind == ARG_PARAM && c.params_len < 4)
            params[c.params_len++] = n->args[i].text;
    if (c.lists_len == 0)
        return;
    st = gexp_call(&c, &out, NULL);
    INSIST(st == ST_OK || st == ST_INVALID || st == ST_LIMIT);
}

FUZZ_TARGET(data, size)
{
    struct arena *a = arena_new(size % 7 == 0 ? 20000 + size : 4 << 20);
    struct gexp g = { 0 };
    struct error e = { 0 };
    enum status st = gexp_parse(slice_of(data, size), a, &g, &e);

    if (st == ST_OK) {
        INSIST(g.roots_len == 1 && g.nodes_len > 0);
        for (size_t i = 0; i < g.nodes_len; i++)
            call(&g.nodes[i], a);
    } else {
        INSIST(st == e.status);
    }
    arena_free(&a);
    return 0;
}
