#include "uid/events/uid_hear.h"

#include "uid/series/series_purge.h"

enum status
uid_events_hear(const struct uid_memory *m, unsigned kind, struct slice payload,
                struct buf *answer, struct error *e)
{
    switch (kind) {
    case UID_EVENT_NAMES:
        return uid_hear_names(m->uids, payload, e);
    case UID_EVENT_SERIES:
        return series_hear(m->series, payload, e);
    case UID_EVENT_ANNOTATED:
        records_hear_annotated(m->records);
        return ST_OK;
    case UID_EVENT_PURGE:
        return series_hear_purge(m->series, payload, answer, e);
    default:
        return error_set(e, ST_CORRUPT, "an event of kind %u is not known",
                         kind);
    }
}

void
uid_events_missed(const struct uid_memory *m)
{
    uid_drop_caches(m->uids);
    series_missed(m->series);
    records_hear_annotated(m->records);
}
