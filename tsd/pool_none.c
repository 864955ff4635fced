/* tsd/pool.h in a program without librados, whose settings name no pool
 * (place_parse() rejects them). */
#include "base/obj.h"
#include "tsd/pool.h"

enum status
pool_find_server(const char *at, char address[POOL_ADDRESS_MAX],
                 struct error *e)
{
    address[0] = '\0';
    return error_set(e, ST_INVALID, "rados:%s: built without librados", at);
}

enum status
pool_open(struct pool *p, struct api *a, const char *at,
          const struct store_options *store, struct error *e)
{
    (void)p;
    (void)a;
    (void)store;
    return error_set(e, ST_INVALID, "rados:%s: built without librados", at);
}

enum status
pool_serve(struct pool *p, struct error *e)
{
    (void)p;
    (void)e;
    return ST_OK;
}

struct peer_server *
pool_peers(struct pool *p, void (*closed)(void *ctx), void *ctx)
{
    (void)p;
    (void)closed;
    (void)ctx;
    return NULL;
}

enum status
pool_leave(struct pool *p, struct error *e)
{
    (void)p;
    (void)e;
    return ST_OK;
}

void
pool_stop(struct pool *p)
{
    (void)p;
}

enum status
pool_close(struct pool *p, struct error *e)
{
    (void)e;
    INSIST(p->cluster == NULL);
    return ST_OK;
}
