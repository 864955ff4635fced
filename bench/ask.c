/* Asks a server the requests of a file and says how long each took.
 *
 *     ask PORT WORKERS FILE
 *
 * A line of the file: method, path, content type and body, with a tab between
 * them (the last two may be empty).  Workers take the lines in turn, each over
 * one connection.  Output, a line each: milliseconds, status, bytes of the
 * body; at last "wall" and the seconds of all. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench/client.h"

struct request {
    char *text; /* the whole request as it is sent */
    size_t size;
    double ms;
    struct client_reply reply;
};

struct work {
    unsigned port;
    struct request *requests;
    size_t len;
    _Atomic size_t next;
    pthread_barrier_t start;
};

static char *
word(char **line)
{
    char *w = *line, *end = w + strcspn(w, "\t\n");

    *line = *end == '\t' ? end + 1 : end;
    *end = '\0';
    return w;
}

static void
add(struct work *w, char *line)
{
    char *method = word(&line), *path = word(&line), *type = word(&line);
    char *body = word(&line), *text;
    size_t room = strlen(method) + strlen(path) + strlen(type) + strlen(body);
    struct request *r;
    int n;

    w->requests = mem_resize(w->requests, w->len + 1, sizeof *w->requests);
    r = &w->requests[w->len++];
    memset(r, 0, sizeof *r);
    text = mem_new(room += 200);
    n = *body == '\0'
            ? snprintf(text, room, "%s %s HTTP/1.1\r\nHost: localhost\r\n\r\n",
                       method, path)
            : snprintf(text, room,
                       "%s %s HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Type: %s\r\n"
                       "Content-Length: %zu\r\n\r\n%s",
                       method, path, type, strlen(body), body);
    r->text = text;
    r->size = (size_t)n;
}

static void
read_file(struct work *w, const char *path)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0;

    if (f == NULL)
        client_die(path);
    while (getline(&line, &cap, f) > 0)
        add(w, line);
    free(line);
    (void)fclose(f);
}

static void *
run(void *arg)
{
    struct work *w = arg;
    struct client c;
    size_t i;

    client_open(&c, w->port);
    (void)pthread_barrier_wait(&w->start);
    while ((i = atomic_fetch_add(&w->next, 1)) < w->len) {
        struct request *r = &w->requests[i];
        double from = client_now();

        client_send(&c, r->text, r->size);
        r->reply = client_receive(&c);
        r->ms = (client_now() - from) * 1e3;
        if (r->reply.closes) {
            client_close(&c);
            client_open(&c, w->port);
        }
    }
    client_close(&c);
    return NULL;
}

int
main(int argc, char **argv)
{
    size_t workers = argc == 4 ? (size_t)atoi(argv[2]) : 0;
    struct work w = { 0 };
    pthread_t threads[64];
    double from;

    if (workers < 1 || workers > 64) {
        fprintf(stderr, "usage: ask PORT WORKERS FILE\n");
        return 2;
    }
    w.port = (unsigned)atoi(argv[1]);
    read_file(&w, argv[3]);
    pthread_barrier_init(&w.start, NULL, (unsigned)workers + 1);
    for (size_t i = 0; i < workers; i++)
        if (pthread_create(&threads[i], NULL, run, &w) != 0)
            client_die("a thread");
    (void)pthread_barrier_wait(&w.start);
    from = client_now();
    for (size_t i = 0; i < workers; i++)
        (void)pthread_join(threads[i], NULL);
    from = client_now() - from;
    for (size_t i = 0; i < w.len; i++) {
        printf("%.4f %d %llu\n", w.requests[i].ms, w.requests[i].reply.status,
               (unsigned long long)w.requests[i].reply.bytes);
        free(w.requests[i].text);
    }
    printf("wall %.6f\n", from);
    free(w.requests);
    return 0;
}
