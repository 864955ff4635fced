#include "web/canvas/libcairo.h"

struct libcairo libcairo;

static struct library library = {
    .purpose = "a picture as PNG",
    .package = "libcairo2",
    .file_names = { "libcairo.so.2" },
    LIBRARY_CALLS(LIBCAIRO_CALLS, libcairo),
};

enum status
libcairo_load(struct error *e)
{
    return library_load(&library, e);
}
