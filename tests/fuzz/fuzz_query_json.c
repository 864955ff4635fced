/* Bodies of POST /api/query: what is taken keeps its promises. */
#include "query/parse/parse.h"

#include "base/obj.h"
#include "tests/fuzz/target.h"

static void
check(const struct query *q)
{
    INSIST(q->subs_len > 0 && q->zone != NULL);
    INSIST(q->start_ms >= 0 && q->start_ms < q->end_ms);
    for (size_t i = 0; i < q->subs_len; i++) {
        const struct sub_query *s = &q->subs[i];

        INSIST(s->index == i && s->aggregator != NULL);
        INSIST(s->metric.size > 0 || s->tsuids_len > 0);
        INSIST(!s->downsample.on || s->downsample.aggregator != NULL);
        for (size_t k = 0; k < s->filters_len; k++)
            (void)filter_matches(&s->filters[k], slice_str("Web01.é"), NULL);
    }
}

FUZZ_TARGET(data, size)
{
    struct parse_options o = { .now_ms = 1795298406358 };
    /* The size decides whether the arena gets short. */
    struct arena *a = arena_new(size % 5 == 0 ? 1 + size * 4 : 1 << 22);
    struct parse_error e = { 0 };
    struct query q;
    enum status st = query_parse_json(slice_of(data, size), &o, a, &q, &e);

    if (st == ST_OK)
        check(&q);
    else
        INSIST(st == e.message.status && e.message.text[0] != '\0');
    query_fini(&q);
    arena_free(&a);
    return 0;
}
