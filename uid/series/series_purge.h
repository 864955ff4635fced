/* Removes series that have nothing left, and names that no series has, from the
 * directory and the UID table while other threads put points.
 *
 *     series_purge_begin()   from now on the store notes which series get
 *                            points or are entered
 *        (the caller finds out which series have something)
 *     series_purge_series()  removes series that were not noted
 *     series_purge_name()    removes a name that no series has
 *     series_purge_end()
 *
 * A put that comes at the same moment meets one of three cases:
 *
 * - Its handle is no longer valid.  It looks the series up again, which enters
 *   the series again.
 * - It found the series in the directory before the series was removed.
 *   series_enter() sees that a purge removed something since then, and looks
 *   again.
 * - It found an id for a name, and the name was removed since then.
 *   series_enter() rejects the series with ST_CONFLICT.  The caller looks the
 *   names up again, which gives the name a new id.
 *
 * Where several processes share the engine, series_purge_series.c also marks
 * the entries and asks all processes; names are marked and removed by
 * uid/names/uid_marks.h instead of series_purge_name().
 *
 * Threads: one purge at a time; beside any other calls.
 * Fails:   ST_BUSY on a shared engine: another process did not answer, joined
 * or left, or began a purge.  What was marked stays. */
#pragma once

#include "base/buf.h"
#include "uid/series/series.h"

/* Calls 'f' for each id in the TSUID that belongs to a name of a client, until
 * 'f' returns false.  Returns whether all calls returned true. */
bool series_each_id(const struct key_layout *w, struct slice tsuid,
                    bool (*f)(void *ctx, enum uid_kind kind, uint64_t id),
                    void *ctx);

/* ST_BUSY: another purge is running. */
MUST_CHECK enum status series_purge_begin(struct series_directory *d,
                                          struct error *e);
void series_purge_end(struct series_directory *d);

/* Removes 'len' series from the directory, together with their metadata and
 * their counts.  Sets kept[i] if series i is in use and stays. */
MUST_CHECK enum status series_purge_series(struct series_directory *d,
                                           const struct slice *tsuids,
                                           size_t len, bool *kept,
                                           struct error *e);

/* On a shared engine: the mark of this purge. */
uint32_t series_purge_mark(const struct series_directory *d);
/* On a shared engine, after names were marked: do all processes still take
 * part?
 */
MUST_CHECK enum status series_purge_check(struct series_directory *d,
                                          struct error *e);
/* Takes a payload of UID_EVENT_PURGE and writes the answer.  Does not wait for
 * the engine. */
MUST_CHECK enum status series_hear_purge(struct series_directory *d,
                                         struct slice payload,
                                         struct buf *answer, struct error *e);

/* Removes the name of an id; the id is not used again.  Sets '*kept' if the
 * name stays because a series with this id was entered since the purge began.
 */
MUST_CHECK enum status series_purge_name(struct series_directory *d,
                                         enum uid_kind kind, struct slice name,
                                         uint64_t id, bool *kept,
                                         struct error *e);
