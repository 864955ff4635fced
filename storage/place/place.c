#include "storage/place/place.h"

#include <string.h>

#ifdef HAVE_RADOS
#include "storage/rados/ceph.h"
#endif

#define POOL_PREFIX "rados:"

/* The one place that knows whether this program has pools. */
static enum status
check_pool(const char *at, struct error *e)
{
#ifdef HAVE_RADOS
    return ceph_check(at, e);
#else
    return error_set(e, ST_INVALID,
                     "%s%s: this program was built without librados; install "
                     "the package halite-rados, or librados-dev and build it "
                     "again",
                     POOL_PREFIX, at);
#endif
}

enum status
place_parse(const char *text, struct place *out, struct error *e)
{
    if (*text == '\0')
        return error_set(e, ST_INVALID,
                         "a store's place is DIR, memory, or "
                         "rados:POOL[/NAMESPACE][?conf=FILE&id=NAME]");
    *out = (struct place){ PLACE_FOLDER, text };
    if (strcmp(text, "memory") == 0)
        *out = (struct place){ PLACE_MEMORY, "" };
    if (strncmp(text, POOL_PREFIX, strlen(POOL_PREFIX)) != 0)
        return ST_OK;
    *out = (struct place){ PLACE_POOL, text + strlen(POOL_PREFIX) };
    return check_pool(out->at, e);
}
