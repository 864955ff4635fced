/* Sums up a week of several series from their rows in the engine: what the
 * summariser writes and what fsck compares with what was written.
 *
 * The rows of a week are a run of ascending TSUIDs for each of its spans.  So
 * they are read span by span with one iterator that moves forward, and not
 * with a look-up for each row.
 *
 * Threads: any; a function of its arguments. */
#pragma once

#include "base/error.h"
#include "base/slice.h"
#include "storage/kv/kv.h"
#include "storage/week/week.h"

struct week_rows {
    struct kv *kv;
    const struct key_layout *layout;
    const struct slice *tsuids; /* ascending, of one salt bucket */
    size_t len;
};

/* Sets weeks[i] to the week at 'base' of the series tsuids[i].  'scratch' is
 * used to unpack points.  Memory: the weeks, and one block of the engine. */
MUST_CHECK enum status week_rows_sum(const struct week_rows *r, uint32_t base,
                                     struct week *weeks, struct points *scratch,
                                     struct error *e);

/* Sums the same weeks up, but reads row by row. If the engine cannot read a
 * row, the week of its series becomes unfit, so that its rows stay and readers
 * see the damage. */
MUST_CHECK enum status week_rows_sum_each(const struct week_rows *r,
                                          uint32_t base, struct week *weeks,
                                          struct points *scratch,
                                          struct error *e);

/* Moves an iterator forward to the first key at or after 'key', by a few steps
 * if that is near, and returns whether 'key' is there.  The keys of
 * successive calls ascend.  '*on_key': is the iterator on a key, before and
 * after the call? */
bool week_rows_find(struct kv_iter *it, bool *on_key, struct slice key);
