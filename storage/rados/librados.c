#include "storage/rados/librados.h"

struct librados librados;

static struct library library = {
    .purpose = "a store in a pool of Ceph",
    .package = "librados2",
    .file_names = { "librados.so.2" },
    LIBRARY_CALLS(LIBRADOS_CALLS, librados),
};

enum status
librados_load(struct error *e)
{
    return library_load(&library, e);
}
