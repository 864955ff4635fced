/* The part of retention that puts take part in: they reject points that are too
 * old, and they note that points with times near the clock arrive, which is
 * evidence that the clock is right.
 *
 * Threads: any, but for store_set_policy(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct store;

/* Who knows the policies.  'expired_ms' is called for points of a metric that
 * are older than store_set_expired_ms() says: what is older than its result
 * will be dropped, and is rejected at once (ST_EXPIRED); 0: nothing is.  Any
 * thread; it may read the engine. */
struct store_policy {
    void *ctx;
    int64_t (*expired_ms)(void *ctx, uint64_t metric);
};
/* Before points come. */
void store_set_policy(struct store *s, const struct store_policy *p);
/* No policy drops what is younger; 0: there is none. */
void store_set_expired_ms(struct store *s, int64_t ms);

/* Notes from now on when points come whose times are near the clock and not
 * ahead of it; or ends that. */
void store_watch_clock(struct store *s, bool on);
/* For how long they have been coming, from the first to the last one. */
int64_t store_watched_ms(struct store *s);
