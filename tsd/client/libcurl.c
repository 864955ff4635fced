#include "tsd/client/libcurl.h"

struct libcurl libcurl;

enum status
libcurl_load(struct error *e)
{
    static const char *const symbols[] = { LIBCURL_CALLS(LIBRARY_SYMBOL) };
    static struct library library = {
        .purpose = "a command that asks a server",
        .package = "libcurl3-gnutls",
        .file_names = { "libcurl-gnutls.so.4", "libcurl.so.4" },
        .symbols = symbols,
        .functions = &libcurl,
        .len = sizeof symbols / sizeof symbols[0],
    };

    return library_load(&library, e);
}
