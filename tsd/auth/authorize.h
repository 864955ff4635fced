/* Authentication and rights of HTTP requests and telnet lines; the context of
 * all is a struct auth.
 *
 * Threads: any. */
#pragma once

#include <sys/socket.h>

#include "tsd/auth/auth.h"
#include "web/http.h"

/* Each request shows its credentials; nothing is remembered of a connection,
 * since a proxy may lead several clients through one. */
http_allow authorize_http;
/* Telnet's "auth": without a name 'secret' is a token; without a secret, '*who'
 * is an anonymous client and the verdict does not count. */
enum auth_verdict authorize_telnet(void *auth, const struct sockaddr *peer,
                                   struct slice name, struct slice secret,
                                   bool may_block, struct auth_identity *who);
/* Sets '*who' to what the client may do since the file was read again. */
void authorize_renew(void *auth, struct auth_identity *who);
