/* Takes series and names of which nothing is left out of the directory and the
 * table of names, while others put points.
 *
 *     series_purge_begin()   from now on it is noted what is put and entered
 *        (the caller reads which series have something)
 *     series_purge_series()  takes series out that nothing was noted of
 *     series_purge_name()    takes a name away that no series has
 *     series_purge_end()
 *
 * A put that comes at the same moment finds one of these:
 *
 * - its handle is not valid any more: it looks the series up again, which
 * enters it again;
 * - the directory named the series before it went: series_enter() asks again
 * when something was purged since it asked;
 * - an id that it found for a name has lost that name: series_enter() rejects
 * the series with ST_CONFLICT, and who has its names looks them up again, which
 *   gives the name another id.
 *
 * Threads: one purge at a time, beside any others.
 * Fails:   in a store that several processes share: ST_INVALID. */
#pragma once

#include "uid/series/series.h"

/* Calls f for the ids of clients' names in the TSUID, until it returns false;
 * returns whether it did not. */
bool series_each_id(const struct key_layout *w, struct slice tsuid,
                    bool (*f)(void *ctx, enum uid_kind kind, uint64_t id),
                    void *ctx);

/* ST_BUSY: another purge works. */
MUST_CHECK enum status series_purge_begin(struct series_directory *d,
                                          struct error *e);
void series_purge_end(struct series_directory *d);

/* Takes 'len' series out of the directory, with their metadata and their
 * counts. kept[i]: not this one, it is in use. */
MUST_CHECK enum status series_purge_series(struct series_directory *d,
                                           const struct slice *tsuids,
                                           size_t len, bool *kept,
                                           struct error *e);

/* Takes the name of an id away, which stays used.  '*kept': a series with the
 * id was entered since the purge began. */
MUST_CHECK enum status series_purge_name(struct series_directory *d,
                                         enum uid_kind kind, struct slice name,
                                         uint64_t id, bool *kept,
                                         struct error *e);
