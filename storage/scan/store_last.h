/* The newest point of a series.
 *
 * Threads: any.
 * Fails:   as a scan. */
#pragma once

#include "storage/store/store.h"

/* The newest point of a series at or before 'until_ms': ST_NOT_FOUND if none.
 */
MUST_CHECK enum status store_last(struct store *s, struct slice tsuid,
                                  int64_t until_ms, struct point *out,
                                  struct error *e);

/* The same, but never forwarded: '*found' says whether there is one.
 * ST_MOVED: the bucket is not this process's. */
MUST_CHECK enum status store_owner_last(struct store *s, struct slice tsuid,
                                        int64_t until_ms, struct point *out,
                                        bool *found, struct error *e);
