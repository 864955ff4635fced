/* The part of retention that puts take part in: they reject points that are too
 * old, and they note that points with times near the clock arrive, which is
 * evidence that the clock is right.
 *
 * Threads: any, but for store_set_policy(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct store;

/* The hook by which the owner of the policies decides. 'expired_ms' is called
 * for a metric with points that are older than store_set_expired_ms(). It
 * returns the time (ms) before which points of the metric will be dropped, or 0
 * if none will. Older points are rejected at once (ST_EXPIRED). It may be
 * called by any thread, and may read the engine. */
struct store_policy {
    void *ctx;
    int64_t (*expired_ms)(void *ctx, uint64_t metric);
};
/* To be called before the first put. */
void store_set_policy(struct store *s, const struct store_policy *p);
/* Sets the time (ms) from which on no policy drops any points; 0: there is no
 * policy. */
void store_set_expired_ms(struct store *s, int64_t ms);

/* Starts or stops to note when points arrive whose times are near the clock and
 * not ahead of it. */
void store_watch_clock(struct store *s, bool on);
/* Returns the time (ms) between the first and the last of these points. */
int64_t store_watched_ms(struct store *s);
