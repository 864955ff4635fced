#include "storage/rados/librados.h"

struct librados librados;

enum status
librados_load(struct error *e)
{
    static const char *const symbols[] = { LIBRADOS_CALLS(LIBRARY_SYMBOL) };
    static struct library library = {
        .purpose = "a store in a pool of Ceph",
        .package = "librados2",
        .file_names = { "librados.so.2" },
        .symbols = symbols,
        .functions = &librados,
        .len = sizeof symbols / sizeof symbols[0],
    };

    return library_load(&library, e);
}
