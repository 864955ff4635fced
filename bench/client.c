#include "bench/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

void
client_die(const char *what)
{
    fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

double
client_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double
client_cpu(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

void
client_open(struct client *c, unsigned port)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int one = 1;

    memset(c, 0, sizeof *c);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof a) != 0)
        client_die("connect");
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    c->cap = 1 << 16;
    c->in = mem_new(c->cap);
}

void
client_close(struct client *c)
{
    close(c->fd);
    free(c->in);
}

void
client_send(struct client *c, const void *data, size_t size)
{
    const char *p = data;

    while (size > 0) {
        ssize_t n = send(c->fd, p, size, MSG_NOSIGNAL);

        if (n < 0)
            client_die("send");
        p += n;
        size -= (size_t)n;
    }
}

static void
more(struct client *c)
{
    ssize_t n;

    if (c->used == c->cap) {
        c->cap *= 2;
        c->in = mem_resize(c->in, c->cap, 1);
    }
    n = recv(c->fd, c->in + c->used, c->cap - c->used, 0);
    if (n <= 0)
        client_die("the server hung up");
    c->used += (size_t)n;
}

static void
drop(struct client *c, size_t size)
{
    memmove(c->in, c->in + size, c->used - size);
    c->used -= size;
}

/* Drops 'size' bytes, of which some may be on their way. */
static void
skip(struct client *c, uint64_t size)
{
    while (size > c->used) {
        size -= c->used;
        c->used = 0;
        more(c);
    }
    drop(c, size);
}

/* A whole line's size, with its end. */
static size_t
line(struct client *c)
{
    const char *end;

    while ((end = memchr(c->in, '\n', c->used)) == NULL)
        more(c);
    return (size_t)(end - c->in) + 1;
}

static uint64_t
skip_chunks(struct client *c)
{
    uint64_t all = 0, size;

    do {
        size_t n = line(c);

        size = strtoull(c->in, NULL, 16);
        drop(c, n);
        skip(c, size + 2);
        all += size;
    } while (size > 0);
    return all;
}

static bool
is_header(const char *text, size_t size, const char *name, const char *value)
{
    size_t n = strlen(name);

    if (size < n || strncasecmp(text, name, n) != 0)
        return false;
    if (value == NULL)
        return true;
    while (n < size && text[n] == ' ')
        n++;
    return size - n >= strlen(value) &&
           strncasecmp(text + n, value, strlen(value)) == 0;
}

struct client_reply
client_receive(struct client *c)
{
    struct client_reply r = { 0 };
    bool chunked = false;
    size_t n = line(c);

    r.status = n > 12 ? atoi(c->in + 9) : 0;
    for (drop(c, n); (n = line(c)) > 2; drop(c, n)) {
        if (is_header(c->in, n, "content-length:", NULL))
            r.bytes = strtoull(c->in + 15, NULL, 10);
        if (is_header(c->in, n, "transfer-encoding:", "chunked"))
            chunked = true;
        if (is_header(c->in, n, "connection:", "close"))
            r.closes = true;
    }
    drop(c, n);
    if (chunked)
        r.bytes = skip_chunks(c);
    else
        skip(c, r.bytes);
    return r;
}

static int
compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

void
client_sort(float *values, size_t len)
{
    qsort(values, len, sizeof *values, compare);
}

float
client_quantile(const float *sorted, size_t len, double share)
{
    size_t at = (size_t)((double)len * share);

    return len == 0 ? 0 : sorted[at < len ? at : len - 1];
}
