/* Expressions of /api/query/exp, and requests with them.
 *
 *     <kind> <text>      'j': a whole request, else an expression */
#include "query/exp/exp.h"

#include "base/cursor.h"
#include "base/obj.h"
#include "tests/fuzz/target.h"

static void
run_expression(struct slice text, struct arena *a)
{
    static const double samples[] = { 0, -1.5, 1e300, -0.0, 7 };
    struct expression *x;
    struct error e = { 0 };
    const struct slice *names;
    double *values, result;
    size_t len;
    enum status st = expression_parse(text, a, &x, &e);

    if (st != ST_OK) {
        INSIST(st == e.status);
        return;
    }
    names = expression_names(x, &len);
    values = arena_array(a, len, sizeof *values);
    if (values == NULL)
        return;
    for (size_t i = 0; i < len; i++) {
        INSIST(names[i].size > 0);
        values[i] = samples[i % 5];
    }
    st = expression_run(x, values, &result, &e);
    INSIST(st == ST_OK || st == ST_INVALID);
}

static void
parse_request(struct slice text, struct arena *a)
{
    struct parse_options o = { .now_ms = 1795298406358 };
    struct parse_error e = { 0 };
    struct exp_query q;
    enum status st = exp_parse(text, &o, a, &q, &e);

    if (st == ST_OK)
        for (size_t i = 0; i < q.metrics_len; i++)
            INSIST(q.metrics[i].sub != NULL && q.metrics[i].id.size > 0);
    else
        INSIST(st == e.message.status);
    query_fini(&q.q);
}

FUZZ_TARGET(data, size)
{
    struct cursor c = cursor_of(slice_of(data, size));
    uint8_t kind = cursor_u8(&c);
    struct slice text = cursor_bytes(&c, cursor_left(&c));
    struct arena *a = arena_new(size % 5 == 0 ? 1 + size * 64 : 4 << 20);

    if (kind == 'j')
        parse_request(text, a);
    else
        run_expression(text, a);
    arena_free(&a);
    return 0;
}
