/*
 * The daemon: store, ids, series, query engine, HTTP server, telnet and the
 * listener, put together from settings and taken apart again.
 *
 *     settings -> store -> ids, series -> engine -> HTTP, telnet -> listener
 *
 * Owns:    all of these.
 * Threads: start and stop: one at a time.  Its parts run threads of their own.
 * Fails:   with a sentence for the operator: a folder in use, a bad address ...
 */
#pragma once

#include "tsd/config/settings.h"

struct daemon; /* opaque */

/* 'stop_fd' gets eight bytes (an eventfd) when a client says diediedie.  The
 * settings must outlive the daemon. */
MUST_CHECK enum status daemon_start(const struct settings *c, int stop_fd,
                                    struct daemon **out, struct error *e);

/* "127.0.0.1:4242": where it listens. */
const char *daemon_address(const struct daemon *d);

/* Where it listens for TLS, or NULL. */
const char *daemon_tls_address(const struct daemon *d);

/* Reads the auth file and the certificate again.  Each is logged; one that
 * fails does not keep the other from being read, and what was read before stays
 * in use.  True: both were read. */
bool daemon_reload(struct daemon *d);

/* Accepts no more, finishes requests under way, flushes and closes the store.
 */
MUST_CHECK enum status daemon_stop(struct daemon **d, struct error *e);
