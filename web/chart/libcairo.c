#include "web/chart/libcairo.h"

struct libcairo libcairo;

enum status
libcairo_load(struct error *e)
{
    static const char *const symbols[] = { LIBCAIRO_CALLS(LIBRARY_SYMBOL) };
    static struct library library = {
        .purpose = "a picture as PNG",
        .package = "libcairo2",
        .file_names = { "libcairo.so.2" },
        .symbols = symbols,
        .functions = &libcairo,
        .len = sizeof symbols / sizeof symbols[0],
    };

    return library_load(&library, e);
}
