#include "query/model/query.h"

enum status
query_no_memory(struct error *e)
{
    return error_set(e, ST_LIMIT, "the query needs more memory than it may");
}

void
query_fini(struct query *q)
{
    for (size_t i = 0; i < q->subs_len; i++)
        for (size_t k = 0; k < q->subs[i].filters_len; k++)
            filter_fini(&q->subs[i].filters[k]);
    q->subs_len = 0;
}
