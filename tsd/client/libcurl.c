#include "tsd/client/libcurl.h"

struct libcurl libcurl;

static struct library library = {
    .purpose = "a command that asks a server",
    .package = "libcurl3-gnutls",
    .file_names = { "libcurl-gnutls.so.4", "libcurl.so.4" },
    LIBRARY_CALLS(LIBCURL_CALLS, libcurl),
};

enum status
libcurl_load(struct error *e)
{
    return library_load(&library, e);
}
