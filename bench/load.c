/* Sends files of a workload to a server as fast as it takes them, one
 * connection a file, and says how long that took, as JSON.
 *
 *     load PORT telnet FILE...         "-" is stdin
 *     load PORT http FILE...           POST /api/put, 500 points each
 *
 * A telnet connection is done when the server, having seen its end, closes it;
 * an HTTP connection, when its last batch was answered. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "bench/client.h"

#define BATCH       500
#define CHUNK       ((size_t)1 << 18)
#define LATENCY_MAX ((size_t)1 << 20)

struct connection {
    unsigned port;
    bool http;
    const char *path;
    pthread_barrier_t *start;
    double done_at;
    uint64_t bytes, requests, rejected;
    float *latencies;
};

/* Telnet answers only what it rejects: counts the lines. */
static bool
drain(struct connection *k, struct client *c, int flags)
{
    ssize_t n;

    while ((n = recv(c->fd, c->in, c->cap, flags)) > 0)
        for (ssize_t i = 0; i < n; i++)
            k->rejected += c->in[i] == '\n';
    return n < 0;
}

static void
send_draining(struct connection *k, struct client *c, const char *p,
              size_t size)
{
    while (size > 0) {
        struct pollfd f = { c->fd, POLLIN | POLLOUT, 0 };
        ssize_t n = 0;

        if (poll(&f, 1, -1) < 0)
            client_die("poll");
        if ((f.revents & POLLIN) != 0 && !drain(k, c, MSG_DONTWAIT))
            client_die("the server closed early");
        if ((f.revents & POLLOUT) != 0)
            n = send(c->fd, p, size < CHUNK ? size : CHUNK,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) {
            p += n;
            size -= (size_t)n;
        }
    }
}

static void
run_telnet(struct connection *k, struct client *c, int fd, const char *data,
           size_t size)
{
    char *chunk = data == NULL ? mem_new(CHUNK) : NULL;
    ssize_t n = 0;

    if (data != NULL) {
        send_draining(k, c, data, size);
        k->bytes = size;
    }
    while (chunk != NULL && (n = read(fd, chunk, CHUNK)) > 0) {
        send_draining(k, c, chunk, (size_t)n);
        k->bytes += (size_t)n;
    }
    free(chunk);
    (void)shutdown(c->fd, SHUT_WR);
    (void)drain(k, c, 0);
}

/* The next lines as one body, in 'out'; how much of the data it took. */
static size_t
next_batch(const char *data, size_t size, char *out, size_t *out_size)
{
    size_t at = 0, lines = 0;

    out[0] = '[';
    while (at < size && lines < BATCH) {
        const char *end = memchr(data + at, '\n', size - at);

        if (end == NULL)
            client_die("a file that ends within a line");
        at = (size_t)(end - data) + 1;
        lines++;
    }
    memcpy(out + 1, data, at);
    for (size_t i = 1; i < at; i++)
        if (out[i] == '\n')
            out[i] = ',';
    out[at] = ']';
    *out_size = at + 1;
    return at;
}

static void
run_http(struct connection *k, struct client *c, const char *data, size_t size)
{
    char *body = mem_new(BATCH * 1024), head[200];

    while (size > 0) {
        size_t body_size, n = next_batch(data, size, body, &body_size);
        double from = client_now();
        struct client_reply r;

        client_send(c, head,
                    (size_t)snprintf(head, sizeof head,
                                     "POST /api/put HTTP/1.1\r\n"
                                     "Host: localhost\r\n"
                                     "Content-Type: application/json\r\n"
                                     "Content-Length: %zu\r\n\r\n",
                                     body_size));
        client_send(c, body, body_size);
        r = client_receive(c);
        k->rejected += r.status / 100 != 2;
        if (k->requests < LATENCY_MAX)
            k->latencies[k->requests] = (float)((client_now() - from) * 1e3);
        k->requests++;
        if (r.closes) {
            client_close(c);
            client_open(c, k->port);
        }
        data += n;
        size -= n;
        k->bytes += body_size;
    }
    free(body);
}

static void *
run(void *arg)
{
    struct connection *k = arg;
    bool from_pipe = strcmp(k->path, "-") == 0;
    int fd = from_pipe ? STDIN_FILENO : open(k->path, O_RDONLY | O_CLOEXEC);
    char *data = NULL;
    struct client c;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        client_die(k->path);
    if (!from_pipe && st.st_size > 0) {
        data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            client_die("mmap");
    }
    client_open(&c, k->port);
    (void)pthread_barrier_wait(k->start);
    if (k->http)
        run_http(k, &c, data, data == NULL ? 0 : (size_t)st.st_size);
    else
        run_telnet(k, &c, fd, data, (size_t)st.st_size);
    k->done_at = client_now();
    client_close(&c);
    return NULL;
}

static void
report(const struct connection *all, size_t len, double from)
{
    float *latencies = mem_new_array(LATENCY_MAX * len, sizeof *latencies);
    uint64_t bytes = 0, requests = 0, rejected = 0;
    size_t n = 0;
    double end = from;

    for (size_t i = 0; i < len; i++) {
        const struct connection *k = &all[i];

        bytes += k->bytes;
        requests += k->requests;
        rejected += k->rejected;
        end = k->done_at > end ? k->done_at : end;
        for (size_t j = 0; j < k->requests && j < LATENCY_MAX; j++)
            latencies[n++] = k->latencies[j];
    }
    client_sort(latencies, n);
    printf("{\"seconds\":%.6f,\"bytes\":%llu,\"requests\":%llu,"
           "\"rejected\":%llu,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
           "\"client_cpu\":%.3f}\n",
           end - from, (unsigned long long)bytes, (unsigned long long)requests,
           (unsigned long long)rejected,
           (double)client_quantile(latencies, n, 0.5),
           (double)client_quantile(latencies, n, 0.99), client_cpu());
    free(latencies);
}

int
main(int argc, char **argv)
{
    size_t len = argc > 3 ? (size_t)argc - 3 : 0;
    pthread_t threads[64];
    struct connection all[64] = { 0 };
    pthread_barrier_t start;
    double from;

    if (len == 0 || len > 64) {
        fprintf(stderr, "usage: load PORT telnet|http FILE...\n");
        return 2;
    }
    pthread_barrier_init(&start, NULL, (unsigned)len + 1);
    for (size_t i = 0; i < len; i++) {
        all[i].port = (unsigned)atoi(argv[1]);
        all[i].http = strcmp(argv[2], "http") == 0;
        all[i].path = argv[3 + i];
        all[i].start = &start;
        all[i].latencies = mem_new_array(LATENCY_MAX, sizeof(float));
        if (pthread_create(&threads[i], NULL, run, &all[i]) != 0)
            client_die("a thread");
    }
    (void)pthread_barrier_wait(&start);
    from = client_now();
    for (size_t i = 0; i < len; i++)
        (void)pthread_join(threads[i], NULL);
    report(all, len, from);
    for (size_t i = 0; i < len; i++)
        free(all[i].latencies);
    return 0;
}
