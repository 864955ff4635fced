/* libcurl, loaded with the first client: it needs the libraries of LDAP,
 * Kerberos and SSH (base/process/library.h). */
#pragma once

#include <curl/curl.h>

#include "base/process/library.h"

/* Each call of libcurl that this room makes. */
#define LIBCURL_CALLS(CALL)    \
    CALL(curl, easy_cleanup)   \
    CALL(curl, easy_duphandle) \
    CALL(curl, easy_getinfo)   \
    CALL(curl, easy_init)      \
    CALL(curl, easy_perform)   \
    CALL(curl, easy_setopt)    \
    CALL(curl, easy_strerror)  \
    CALL(curl, slist_append)   \
    CALL(curl, slist_free_all)

struct libcurl {
    LIBCURL_CALLS(LIBRARY_MEMBER)
};

/* What libcurl_load() found; all NULL before. */
extern struct libcurl libcurl;

/* ST_IO: see library_load(). */
MUST_CHECK enum status libcurl_load(struct error *e);
