/* The service manager that started the process, if one did: what systemd is
 * told through $NOTIFY_SOCKET (sd_notify(3)), and the probe behind its
 * watchdog, which asks our own port for /health.
 *
 *     service_open -> service_ready -> service_watch, at each wakeup
 *         -> service_stopping -> service_close
 *
 * Without a service manager every call does nothing.
 *
 * Owns:    two sockets.
 * Threads: one at a time. */
#pragma once

#include <stdint.h>

struct service {
    int notify_fd;       /* -1: there is no service manager */
    int probe_fd;        /* -1: no probe is under way; to be polled for input */
    unsigned beat_ms;    /* between probes; 0: there is no watchdog */
    int64_t next_us;     /* when the next one is due */
    const char *address; /* what is probed; lent by service_ready()'s caller */
};

/* Reads the environment. */
void service_open(struct service *s);
void service_close(struct service *s);

/* The store is replayed and 'address' ("127.0.0.1:4242") is served. */
void service_ready(struct service *s, const char *address);
void service_reloading(struct service *s);
void service_stopping(struct service *s);

/* Until service_watch() wants to be called again; -1: never. */
int service_wait_ms(const struct service *s);

/* Starts a probe when one is due.  An answer (any: who is full, too, is alive)
 * tells the watchdog; a server that gives none for WatchdogSec is restarted. */
void service_watch(struct service *s);
