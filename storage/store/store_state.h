/* What rooms that read a store need of it beside its engine: who has a bucket,
 * its head, what retention dropped, and where weeks end.  For storage/ alone.
 *
 * Threads: any. */
#pragma once

#include "storage/head/head.h"
#include "storage/store/cuts.h"
#include "storage/week/week.h"

struct store;
struct store_remote;

struct head *store_head(struct store *s);
const struct clock *store_clock(const struct store *s);

/* -- owners ---------------------------------------------------------------- */

/* NULL: all buckets are local. */
const struct store_remote *store_remote(const struct store *s);

/* Who has a bucket's rows.  Points and deletions are taken only where it is
 * BUCKET_LOCAL. */
enum bucket_state {
    BUCKET_REMOTE,
    BUCKET_LEAVING, /* read here, but written nowhere */
    BUCKET_LOCAL,
};
enum bucket_state store_bucket_state(const struct store *s, unsigned bucket);

/* Asks 'remote' whether this process is (still) the owner. */
MUST_CHECK enum status store_owns(const struct store *s, struct error *e);

/* Returns ST_MOVED, with a sentence, for what others forward. */
MUST_CHECK enum status store_not_owner(unsigned bucket, struct error *e);

/* Until when something is forwarded again and again; each time it waits a
 * little longer.  False: it is over, with ST_BUSY. */
struct store_retry {
    int64_t end_us; /* 0: not begun */
    unsigned wait_ms;
};
int64_t store_retry_end(const struct store *s, struct store_retry *r);
bool store_retry(const struct store *s, struct store_retry *r);
MUST_CHECK enum status store_no_owner(unsigned bucket, struct error *e);

/* -- what was dropped, and what is summed up ------------------------------- */

/* Of a metric; where other processes raise them, not older than half a minute.
 */
struct cut_times store_cut_times(struct store *s, uint64_t metric);

/* The same of a TSUID, or of a metric's bytes. */
struct cut_times store_cut_times_of(struct store *s, struct slice tsuid);

/* Where the entries of these buckets in the table of weeks end, of any owner:
 * all before 'done[i]' may be read. */
MUST_CHECK enum status store_weeks_done(struct store *s,
                                        const unsigned *buckets, size_t len,
                                        uint32_t *done, struct error *e);
