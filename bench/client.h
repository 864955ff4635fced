/* What the load and query programs share: a connection to this machine, whole
 * HTTP replies read from it, and sorted latencies.
 *
 * Threads: one at a time each.
 * Fails:   the program ends, with a sentence; a benchmark that went wrong has
 *          no result. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__attribute__((noreturn)) void client_die(const char *what);

double client_now(void); /* monotonic seconds */
double client_cpu(void); /* of this process: seconds */

struct client {
    int fd;
    char *in; /* what was received and not yet taken */
    size_t used, cap;
};

void client_open(struct client *c, unsigned port);
void client_close(struct client *c);
void client_send(struct client *c, const void *data, size_t size);

struct client_reply {
    int status;
    uint64_t bytes; /* of the body */
    bool closes;    /* the server ends the connection */
};

/* Reads one whole reply. */
struct client_reply client_receive(struct client *c);

/* The value at 'share' (0..1) of the ascending 'sorted'. */
float client_quantile(const float *sorted, size_t len, double share);
void client_sort(float *values, size_t len);
