/* Retention: which policies are in force, and the thread that applies them.
 *
 * The list that was set by retention_set() counts, from any daemon of the
 * store; it is kept there.  Without one the settings' (halite.retention)
 * counts.  Each halite.retention.interval_ms a pass finds of each metric what
 * expired, writes down from when on its raw points are kept, and drops the rows
 * (storage/store/store_retention.h).
 *
 *     retention_open --> retention_start --> retention_close
 *
 * Owns:    some 40 bytes a metric, during a pass.
 * Threads: any, but for open, start and close. */
#pragma once

#include "base/process/clock.h"
#include "tsd/config/retention_policies.h"
#include "tsd/config/settings.h"
#include "storage/store/store_retention.h"
#include "uid/names/uid.h"

struct retention; /* opaque */

/* All of these must outlive it.  Reads what the store has. */
MUST_CHECK enum status retention_open(const struct settings *settings,
                                      struct store *s, struct uid_table *u,
                                      const struct clock *clock,
                                      struct retention **out, struct error *e);
/* From here on points that are expired are rejected when they are put. Before
 * points come; for a command that stores points and has no passes. */
void retention_check_puts(struct retention *r);
/* Does the same, and starts the thread; its first pass is an interval away. */
MUST_CHECK enum status retention_start(struct retention *r, struct error *e);
void retention_close(struct retention **r);

/* Sets the list; NULL: that of the settings counts again.  ST_INVALID: it stays
 * as it was.  The next pass applies it.  Who sets a list confirms the clock. */
MUST_CHECK enum status retention_set(struct retention *r,
                                     const struct slice *text, struct error *e);

/* An operator says that the clock is right (retention_clock.h). */
MUST_CHECK enum status retention_confirm(struct retention *r, struct error *e);

/* Of one policy. */
struct retention_freed {
    uint64_t metrics;             /* that it counts for, at the last pass */
    struct store_dropped dropped; /* since it was set, or the start */
};

/* What a reader is shown: copies. */
struct retention_view {
    struct retention_policies policies;
    struct retention_freed *freed; /* one for each policy */
    bool is_set;                   /* by retention_set() */
    int64_t passed_ms;             /* when the last pass ended; 0: none did */
    struct error failure;          /* of the last pass */
    int64_t doubted_since_ms; /* the clock is doubted; the clock of the last
                               * pass that believed it; 0: it is believed */
};
void retention_view(struct retention *r, struct retention_view *out);
void retention_view_fini(struct retention_view *v);

/* The dry run: what a pass of these policies would drop now; NULL: of those in
 * force.  It reads all rows that would go. */
MUST_CHECK enum status retention_dry_run(struct retention *r,
                                         const struct slice *text,
                                         struct cancel cancel,
                                         struct retention_view *out,
                                         struct error *e);
