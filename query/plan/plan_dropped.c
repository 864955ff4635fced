/* Points that an answer lacks because retention dropped them look like points
 * that never existed.  Therefore the answer and the dry run name them. */
#include "query/plan/plan.h"
#include "storage/store/store_retention.h"

struct dropped
plan_find_dropped(const struct plan_context *c, uint64_t metric,
                  int64_t from_ms, bool needs_rows)
{
    const struct dropped nothing = { 0, NULL };
    int64_t raw_ms = store_cut_ms(c->store, metric);
    int64_t hourly_ms = store_hourly_cut_ms(c->store, metric);
    int64_t cut_ms = needs_rows ? raw_ms : hourly_ms;

    if (cut_ms == 0 || from_ms >= cut_ms)
        return nothing;
    return (struct dropped){ cut_ms,
                             cut_ms < raw_ms ? "hourly values" : "raw points" };
}
