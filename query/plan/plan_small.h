/* Which queries are small by their plan.
 *
 * Threads: any. */
#pragma once

#include "query/plan/plan.h"

/* Do the plans of all sub-queries read so little, of an engine of this process
 * alone, that a thread which has others to serve may run the query?  False,
 * too, where the plan itself would take long.  'a' is for the plans. */
bool plan_is_small(const struct plan_context *c, const struct query *q,
                   struct arena *a);
