/* What differs between the versions of libmicrohttpd, 0.9.75 and 1.0.1 being
 * those that are tested.
 *
 *                              0.9.75                       1.0.1
 *     folded lines, bare LF    taken                        rejected, level 1
 *     names: empty, spaced     left out, kept               rejected, level 1
 *     Content-Length: 0, 0     rejected, its head sent       rejected
 *                              twice
 *     HTTP/1.1 without Host    taken                        rejected
 *     chunk extensions         skipped                      rejected
 *     bare LF between chunks   taken                        rejected
 *
 * The version is looked up when the program runs: both have the same soname. */
#include "config.h"

#include "web/mhd/http_priv.h"

#include <stdlib.h>

bool
http_mhd_is_strict(void)
{
    return atoi(MHD_get_version()) >= 1;
}

/* libmicrohttpd would note each parameter in the memory that is meant for the
 * head, and where a few hundred do not fit, it answers nothing for as long as
 * it may.  We read them ourselves, so it gets to see none: it looks from the
 * query mark to the next NUL, in bytes which are its own. */
void
http_mhd_hide_params(const char *uri)
{
    union {
        const char *from;
        char *to;
    } at = { .from = uri + strcspn(uri, "?") };

    if (at.to[0] == '?' && at.to[1] != '\0')
        at.to[1] = '\0';
}
