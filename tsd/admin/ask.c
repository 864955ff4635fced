#include "tsd/admin/ask.h"

#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define ANSWER_MAX ((size_t)1 << 20) /* bytes */

/* "[::1]:4242" to "::1" and "4242". */
static bool
split(const char *address, char host[256], char port[16])
{
    const char *colon = strrchr(address, ':');
    size_t size = colon == NULL ? 0 : (size_t)(colon - address);

    if (colon == NULL || size >= 256 || strlen(colon + 1) >= 16)
        return false;
    if (size >= 2 && address[0] == '[' && address[size - 1] == ']') {
        address++;
        size -= 2;
    }
    (void)snprintf(host, 256, "%.*s", (int)size, address);
    (void)snprintf(port, 16, "%s", colon + 1);
    if (strcmp(host, "0.0.0.0") == 0)
        (void)snprintf(host, 256, "127.0.0.1");
    if (strcmp(host, "::") == 0)
        (void)snprintf(host, 256, "::1");
    return true;
}

/* The time limit of sending is connect()'s, too. */
static int
dial(const struct addrinfo *all, unsigned timeout_ms)
{
    const struct timeval limit = { .tv_sec = timeout_ms / 1000,
                                   .tv_usec = timeout_ms % 1000 * 1000 };

    for (const struct addrinfo *a = all; a != NULL; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);

        if (fd >= 0) {
            (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
            (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        }
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0)
            return fd;
        if (fd >= 0)
            (void)close(fd);
    }
    return -1;
}

static enum status
open_socket(const char *address, unsigned timeout_ms, int *fd, struct error *e)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *all = NULL;
    char host[256], port[16];

    if (!split(address, host, port))
        return error_set(e, ST_INVALID, "'%s' is not like 127.0.0.1:4242",
                         address);
    if (getaddrinfo(host, port, &hints, &all) != 0)
        return error_set(e, ST_IO, "%s is no address", address);
    *fd = dial(all, timeout_ms);
    freeaddrinfo(all);
    return *fd >= 0 ? ST_OK
                    : error_set(e, ST_IO, "cannot connect to %s", address);
}

static enum status
take_answer(struct buf *all, unsigned *status, struct buf *body,
            struct error *e)
{
    const char *text = buf_cstr(all), *end = strstr(text, "\r\n\r\n");

    if (sscanf(text, "HTTP/1.%*d %u", status) != 1 || end == NULL)
        return error_set(e, ST_IO, "the answer is none of HTTP");
    buf_put_str(body, end + 4);
    return ST_OK;
}

enum status
ask_post(const struct ask *a, unsigned *status, struct buf *body,
         struct error *e)
{
    const char *address = a->address;
    struct buf request = BUF_INIT, all = BUF_INIT;
    int fd = -1;
    enum status st = open_socket(address, a->timeout_ms, &fd, e);

    (void)signal(SIGPIPE, SIG_IGN);
    buf_printf(&request, "POST %s HTTP/1.1\r\nHost: %s\r\n", a->path, address);
    if (a->token != NULL)
        buf_printf(&request, "Authorization: Bearer %s\r\n", a->token);
    if (a->body.size > 0)
        buf_put_str(&request, "Content-Type: application/json\r\n");
    buf_printf(&request, "Content-Length: %zu\r\nConnection: close\r\n\r\n",
               a->body.size);
    buf_put_slice(&request, a->body);
    if (st == ST_OK &&
        (request.failed ||
         file_write_fd(fd, address, buf_slice(&request), NULL) != ST_OK ||
         file_read_fd(fd, address, ANSWER_MAX, &all, NULL) != ST_OK))
        st = error_set(e, ST_IO, "no answer from %s: %m", address);
    if (st == ST_OK)
        st = take_answer(&all, status, body, e);
    if (fd >= 0)
        (void)close(fd);
    buf_fini(&request);
    buf_fini(&all);
    return st;
}

void
ask_message(struct buf *body, char out[ASK_MESSAGE_SIZE])
{
    const char *text = buf_cstr(body);
    const char *from = strstr(text, "\"message\":\"");

    from = from == NULL ? text : from + sizeof "\"message\":\"" - 1;
    (void)snprintf(out, ASK_MESSAGE_SIZE, "%.*s", (int)strcspn(from, "\""),
                   from);
}

char *
ask_token(const char *file)
{
    const char *value = getenv("HALITE_TOKEN");
    char line[1024];
    FILE *f;

    if (file == NULL)
        return value == NULL ? NULL : mem_strdup(value);
    f = fopen(file, "re");
    if (f == NULL || fgets(line, sizeof line, f) == NULL)
        line[0] = '\0';
    if (f != NULL)
        (void)fclose(f);
    line[strcspn(line, "\r\n")] = '\0';
    return mem_strdup(line);
}
