#include "storage/rados/librados.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define FILE_NAME "librados.so.2"

struct librados librados;

static enum status
not_found(struct error *e)
{
    return error_set(e, ST_IO,
                     "a store in a pool of Ceph needs librados (Debian's "
                     "package librados2): %s",
                     dlerror());
}

/* C knows no cast of an object's address to a function's. */
static bool
find(void *library, const char *name, void *out)
{
    void *address = dlsym(library, name);

    memcpy(out, &address, sizeof address);
    return address != NULL;
}

enum status
librados_load(struct error *e)
{
    void *library = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return not_found(e);
#define LIBRADOS_FIND(name)                             \
    if (!find(library, "rados_" #name, &librados.name)) \
        return not_found(e);
    LIBRADOS_CALLS(LIBRADOS_FIND)
#undef LIBRADOS_FIND
    return ST_OK;
}
