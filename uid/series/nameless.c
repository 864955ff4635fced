#include "uid/series/nameless.h"

enum status
nameless_find(struct uid_table *uids, const struct key_layout *layout,
              struct arena *a, struct nameless *out, struct error *e)
{
    enum status st = ST_OK;

    *out = (struct nameless){ .any = uid_has_deleted(uids), .layout = layout };
    for (int kind = 0; kind < UID_KINDS && out->any && st == ST_OK; kind++)
        st = uid_deleted_ids(uids, (enum uid_kind)kind, a, &out->ids[kind], e);
    return st;
}

bool
nameless_has(const struct nameless *n, struct slice tsuid)
{
    const struct key_layout *w = n->layout;

    if (!n->any)
        return false;
    if (uid_deleted_has(&n->ids[UID_METRIC], tsuid_metric_id(w, tsuid)))
        return true;
    for (size_t k = 0; k < tsuid_tags(w, tsuid); k++)
        if (uid_deleted_has(&n->ids[UID_TAGK], tsuid_tagk_id(w, tsuid, k)) ||
            uid_deleted_has(&n->ids[UID_TAGV], tsuid_tagv_id(w, tsuid, k)))
            return true;
    return false;
}
