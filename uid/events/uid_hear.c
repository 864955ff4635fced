#include "uid/events/uid_hear.h"

enum status
uid_events_hear(const struct uid_listener *l, unsigned kind,
                struct slice payload, struct error *e)
{
    switch (kind) {
    case UID_EVENT_NAMES:
        return uid_hear_names(l->uids, payload, e);
    case UID_EVENT_SERIES:
        return series_hear(l->series, payload, e);
    case UID_EVENT_ANNOTATED:
        records_hear_annotated(l->records);
        return ST_OK;
    default:
        return error_set(e, ST_CORRUPT, "an event of kind %u is not known",
                         kind);
    }
}

void
uid_events_missed(const struct uid_listener *l)
{
    uid_drop_caches(l->uids);
    series_missed(l->series);
    records_hear_annotated(l->records);
}
