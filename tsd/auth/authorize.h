/*
 * The gate: what HTTP and telnet ask of struct auth, which is their context.
 *
 * Threads: any.
 */
#ifndef TSD_AUTH_AUTHORIZE_H
#define TSD_AUTH_AUTHORIZE_H

#include "tsd/auth/auth.h"
#include "tsd/net/telnet.h"
#include "web/http.h"

/* Each request shows its credentials; nothing is remembered of a connection,
 * since a proxy may lead several clients through one. */
http_allow gate_http;
/* No name: a token. */
telnet_login gate_telnet;
telnet_renew gate_renew;

#endif
