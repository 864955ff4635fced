/* tsd/admin/pool_store.h in a program without librados; place_parse() rejects
 * pools before anything of this is called. */
#include "base/obj.h"
#include "tsd/admin/pool_store.h"

enum status
pool_store_open(const char *at, const char *ca, struct pool_store **out,
                struct error *e)
{
    *out = NULL;
    return error_set(e, ST_INVALID, "rados:%s: built without librados", at);
}

struct store *
pool_store_of(struct pool_store *p)
{
    INSIST(p == NULL);
    return NULL;
}

enum status
pool_store_check_alone(struct pool_store *p, struct error *e)
{
    INSIST(p == NULL);
    return error_set(e, ST_INVALID, "built without librados");
}

enum status
pool_store_flush(struct pool_store *p, struct error *e)
{
    return pool_store_check_alone(p, e);
}

enum status
pool_store_close(struct pool_store **p, struct error *e)
{
    (void)e;
    INSIST(*p == NULL);
    return ST_OK;
}

enum status
pool_store_fill(struct store *s, const struct pool_filling *f, struct error *e)
{
    (void)s;
    return error_set(e, ST_INVALID, "rados:%s: built without librados", f->at);
}
