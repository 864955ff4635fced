/* What a daemon does with the events of the others over its engine
 * (uid/names/uid_events.h): all that it has in memory of names, series and
 * annotations hears of them here.
 *
 * Threads: any.  Nothing here waits for the engine, nor for a lock that is held
 *          across one of its calls. */
#pragma once

#include "uid/meta/record.h"
#include "uid/names/uid_events.h"

struct uid_memory {
    struct uid_table *uids;
    struct series_directory *series;
    struct records *records;
};

/* Writes what the sender asks for to 'answer'; only UID_EVENT_PURGE does.
 * ST_CORRUPT for a payload that no daemon sends: then uid_events_missed() is
 * due, as for an event that is not known. */
MUST_CHECK enum status uid_events_hear(const struct uid_memory *m,
                                       unsigned kind, struct slice payload,
                                       struct buf *answer, struct error *e);

/* Events may have been missed: memory is dropped, and read anew from the engine
 * when it is asked for. */
void uid_events_missed(const struct uid_memory *m);
