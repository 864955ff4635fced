/* What masks cannot say: filters that ask each series by its names. */
#include "config.h"

#include "query/plan.h"

enum status
plan_takes(const struct plan_context *c, const struct plan *p,
           struct slice tsuid, bool *out, struct error *e)
{
    const struct key_shape *shape = store_shape(c->store);
    struct buf name = BUF_INIT;
    enum status status = ST_OK;

    *out = true;
    for (size_t i = 0; i < p->filters_len && *out && status == ST_OK; i++) {
        const struct plan_filter *f = &p->filters[i];
        struct error failed = { .status = ST_OK };
        bool found = false;

        if (f->filter->matches_all || f->by_ids)
            continue;
        for (size_t k = 0; k < tsuid_tags(shape, tsuid) && !found; k++) {
            if (key_get_uint(tsuid_tagk(shape, tsuid, k).data,
                             shape->tagk_width) != f->tagk)
                continue;
            found = true;
            buf_clear(&name);
            status = uid_name(c->uids, UID_TAGV,
                              key_get_uint(tsuid_tagv(shape, tsuid, k).data,
                                           shape->tagv_width),
                              &name, e);
            if (status == ST_OK)
                *out = filter_matches(f->filter, buf_slice(&name), &failed);
        }
        if (!found)
            *out = f->filter->type == FILTER_NOT_KEY;
        if (failed.status != ST_OK) {
            *e = failed;
            status = failed.status;
        }
    }
    buf_fini(&name);
    return status;
}
