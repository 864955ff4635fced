#include "storage/place/place.h"

#include <string.h>

#include "storage/rados/ceph.h"

#define POOL_PREFIX "rados:"

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
    return ceph_check(out->at, e);
}
