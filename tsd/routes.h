/* Which endpoints and which telnet commands exist, by tsd.mode, enable_api,
 * enable_ui and no_diediedie.
 *
 * Threads: owner, then frozen. */
#pragma once

#include "tsd/api/api.h"
#include "tsd/net/telnet.h"

#define ROUTES_MAX        64
#define ROUTES_TELNET_MAX 16

struct routes {
    struct http_route http[ROUTES_MAX];
    size_t http_len;
    struct telnet_route telnet[ROUTES_TELNET_MAX];
    size_t telnet_len;
    bool has_put; /* telnet's */
};

/* 'a' becomes the context and must outlive the servers. */
void routes_make(struct api *a, struct routes *out);
