/* talk HALITE FILE.tst...: plays conversations with a daemon, which it starts
 * on a free port in a folder of its own.  What the lines of a file mean is told
 * in tests/README.md.  The first surprise ends a file, and the next one is
 * played, with a message like
 *
 *     put.tst:12: expected 'x', got 'y' */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"

#define DEADLINE_MS 10000
#define UNTIL_MS    50
#define CONNS       10
#define ARGS        32

struct talk {
    const char *halite, *path;
    int line;
    char folder[64];
    char *args[ARGS]; /* of the daemon */
    size_t args_len;
    bool on_disk;
    pid_t pid;
    int log; /* the daemon's stderr */
    struct buf log_text;
    int port;
    int conns[CONNS];
    struct buf in[CONNS]; /* received, not yet expected */
    size_t conn;
    struct buf headers; /* for the next request */
    unsigned status;    /* of the last answer; 0: none */
    struct buf body;
    size_t body_at; /* lines of it that were looked at */
};

/* -- failing --------------------------------------------------------------- */

static void
stop_daemon(struct talk *t, int signal)
{
    int status;

    if (t->pid <= 0)
        return;
    (void)kill(t->pid, signal);
    (void)waitpid(t->pid, &status, 0);
    t->pid = 0;
    (void)close(t->log);
}

static void
clean_up(struct talk *t)
{
    char command[128];

    stop_daemon(t, SIGKILL);
    if (t->folder[0] == '\0')
        return;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", t->folder);
    if (system(command) != 0)
        (void)fprintf(stderr, "cannot remove %s\n", t->folder);
}

static _Noreturn void fail(struct talk *t, const char *fmt, ...)
    PRINTF_LIKE(2, 3);

static _Noreturn void
fail(struct talk *t, const char *fmt, ...)
{
    va_list ap;

    (void)fprintf(stderr, "%s:%d: ", t->path, t->line);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fprintf(stderr, "\n%s", buf_cstr(&t->log_text));
    clean_up(t);
    exit(EXIT_FAILURE);
}

/* Appends what there is to read; false at the end. */
static bool
read_some(struct talk *t, int fd, struct buf *out)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    uint8_t *to = buf_reserve(out, 65536);
    ssize_t n;

    if (to == NULL || poll(&p, 1, DEADLINE_MS) != 1)
        fail(t, "nothing comes");
    n = read(fd, to, 65536);
    if (n > 0)
        out->size += (size_t)n;
    return n > 0;
}

/* -- the daemon ------------------------------------------------------------ */

static void
run_daemon(const struct talk *t, int err)
{
    char data[128];
    char *argv[ARGS + 8] = { (char *)(uintptr_t)t->halite };
    size_t n = 1;

    (void)snprintf(data, sizeof data, "--data=%s/data", t->folder);
    argv[n++] = (char[]){ "tsd" };
    argv[n++] = (char[]){ "--port=0" };
    argv[n++] = (char[]){ "--bind=127.0.0.1" };
    argv[n++] = t->on_disk ? data : (char[]){ "--memory" };
    for (size_t i = 0; i < t->args_len; i++)
        argv[n++] = t->args[i];
    (void)dup2(err, STDERR_FILENO);
    (void)execv(t->halite, argv);
    _exit(127);
}

static void
start_daemon(struct talk *t)
{
    static const char says[] = "listening on 127.0.0.1:";
    const char *at;
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        fail(t, "pipe: %s", strerror(errno));
    t->pid = fork();
    if (t->pid == 0)
        run_daemon(t, fds[1]);
    (void)close(fds[1]);
    t->log = fds[0];
    buf_clear(&t->log_text);
    while ((at = strstr(buf_cstr(&t->log_text), says)) == NULL ||
           strchr(at, '\n') == NULL)
        if (!read_some(t, t->log, &t->log_text))
            fail(t, "the daemon does not start");
    t->port = atoi(at + sizeof says - 1);
}

/* So that it never waits for us to read its log. */
static void
drain_log(struct talk *t)
{
    struct pollfd p = { .fd = t->log, .events = POLLIN };

    while (poll(&p, 1, 0) == 1 && read_some(t, t->log, &t->log_text))
        ;
}

static int
dial(struct talk *t)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    int fd;

    if (t->pid == 0)
        start_daemon(t);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    a.sin_port = htons((uint16_t)t->port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
        fail(t, "cannot connect: %s", strerror(errno));
    return fd;
}

static void
send_all(struct talk *t, int fd, const struct buf *b)
{
    size_t at = 0;

    while (at < b->size) {
        ssize_t n = send(fd, b->data + at, b->size - at, MSG_NOSIGNAL);

        if (n <= 0)
            fail(t, "cannot send: %s", strerror(errno));
        at += (size_t)n;
    }
}

/* -- telnet ---------------------------------------------------------------- */

static void
close_conns(struct talk *t)
{
    for (size_t i = 0; i < CONNS; i++) {
        if (t->conns[i] >= 0)
            (void)close(t->conns[i]);
        t->conns[i] = -1;
        buf_clear(&t->in[i]);
    }
}

static int
conn(struct talk *t)
{
    if (t->conns[t->conn] < 0)
        t->conns[t->conn] = dial(t);
    return t->conns[t->conn];
}

/* \n \r \t \\ \xNN */
static void
unescape(const char *s, struct buf *out)
{
    static const char from[] = "nrt\\", to[] = "\n\r\t\\";

    for (; *s != '\0'; s++) {
        const char *c;
        char hex[3] = "";

        if (*s != '\\' || s[1] == '\0') {
            buf_put_u8(out, (uint8_t)*s);
        } else if ((c = strchr(from, s[1])) != NULL) {
            buf_put_u8(out, (uint8_t)to[c - from]);
            s++;
        } else if (s[1] == 'x' && isxdigit((unsigned char)s[2]) &&
                   isxdigit((unsigned char)s[3])) {
            memcpy(hex, s + 2, 2);
            buf_put_u8(out, (uint8_t)strtoul(hex, NULL, 16));
            s += 3;
        } else {
            buf_put_u8(out, (uint8_t)*s);
        }
    }
}

static void
say(struct talk *t, const char *text, const char *end)
{
    struct buf b = BUF_INIT;

    unescape(text, &b);
    buf_put_str(&b, end);
    send_all(t, conn(t), &b);
    buf_fini(&b);
}

/* A run of '#' becomes the count, with as many digits. */
static void
put_counted(struct buf *out, const char *s, unsigned count)
{
    while (*s != '\0') {
        size_t n = strcspn(s, "#"), digits = strspn(s + n, "#");

        buf_put(out, s, n);
        if (digits > 0)
            buf_printf(out, "%0*u", (int)digits, count);
        s += n + digits;
    }
}

/* "N text": says the text N times, in one go, for counts from 0. */
static void
repeat(struct talk *t, const char *rest)
{
    char *text;
    unsigned long n = strtoul(rest, &text, 10);
    struct buf all = BUF_INIT, b = BUF_INIT;

    for (unsigned i = 0; i < n; i++) {
        put_counted(&all, text + (*text == ' '), i);
        buf_put_str(&all, "\\n");
    }
    unescape(buf_cstr(&all), &b);
    send_all(t, conn(t), &b);
    buf_fini(&all);
    buf_fini(&b);
}

static bool
is_heard(struct slice got, struct slice wanted, bool part)
{
    if (!part)
        return slice_eq(got, wanted);
    return wanted.size == 0 ||
           memmem(got.data, got.size, wanted.data, wanted.size) != NULL;
}

/* The next line; 'part': it is enough that it holds the text. */
static void
hear(struct talk *t, const char *text, bool part)
{
    struct buf wanted = BUF_INIT, *in = &t->in[t->conn];
    uint8_t *end;
    size_t size;

    unescape(text, &wanted);
    while (in->size == 0 || (end = memchr(in->data, '\n', in->size)) == NULL)
        if (!read_some(t, conn(t), in))
            fail(t, "expected '%s', but the connection ended", text);
    size = (size_t)(end - in->data);
    if (!is_heard(slice_of(in->data, size), buf_slice(&wanted), part))
        fail(t, "expected '%s', got '%.*s'", text, (int)size,
             (const char *)in->data);
    memmove(in->data, end + 1, in->size - size - 1);
    in->size -= size + 1;
    buf_fini(&wanted);
}

/* Until it is closed nothing more may come, unless 'deaf'; 'bye': we say so
 * first. */
static void
end_conn(struct talk *t, bool bye, bool deaf)
{
    struct buf *in = &t->in[t->conn];
    int fd = conn(t);

    if (bye)
        (void)shutdown(fd, SHUT_WR);
    while (read_some(t, fd, in))
        ;
    if (in->size > 0 && !deaf)
        fail(t, "unexpected: '%s'", buf_cstr(in));
    buf_clear(in);
    (void)close(fd);
    t->conns[t->conn] = -1;
}

/* -- HTTP ------------------------------------------------------------------ */

/* "a\r\nb" chunks, put together. */
static void
unchunk(struct buf *b, size_t at)
{
    struct buf out = BUF_INIT;

    for (;;) {
        char *end;
        unsigned long n;

        (void)buf_cstr(b);
        n = strtoul((const char *)b->data + at, &end, 16);
        at = (size_t)((uint8_t *)end - b->data) + 2;
        if (n == 0 || at + n > b->size)
            break;
        buf_put(&out, b->data + at, n);
        at += n + 2;
    }
    buf_fini(b);
    *b = out;
}

static void
ask(struct talk *t, const char *method, char *rest)
{
    char *body = strchr(rest, ' ');
    struct buf all = BUF_INIT, text = BUF_INIT;
    const char *head, *end;
    int fd = dial(t);

    if (body != NULL)
        *body++ = '\0';
    unescape(body == NULL ? "" : body, &text);
    buf_printf(&all, "%s %s HTTP/1.1\r\nConnection: close\r\n", method, rest);
    if (strstr(buf_cstr(&t->headers), "Host: ") == NULL)
        buf_put_str(&all, "Host: localhost\r\n");
    buf_put_slice(&all, buf_slice(&t->headers));
    if (body != NULL)
        buf_printf(&all, "Content-Length: %zu\r\n", text.size);
    buf_put_str(&all, "\r\n");
    buf_put_slice(&all, buf_slice(&text));
    send_all(t, fd, &all);
    buf_clear(&all);
    while (read_some(t, fd, &all))
        ;
    (void)close(fd);
    head = buf_cstr(&all);
    end = strstr(head, "\r\n\r\n");
    if (end == NULL || sscanf(head, "HTTP/%*s %u", &t->status) != 1)
        fail(t, "that is no HTTP: '%s'", head);
    buf_clear(&t->body);
    if (memmem(head, (size_t)(end - head), "chunked", 7) != NULL)
        unchunk(&all, (size_t)(end + 4 - head));
    else
        memmove(all.data, end + 4, all.size -= (size_t)(end + 4 - head));
    buf_put_slice(&t->body, buf_slice(&all));
    t->body_at = 0;
    buf_clear(&t->headers);
    buf_fini(&all);
    buf_fini(&text);
}

static void
expect_status(struct talk *t, const char *text)
{
    if (t->status != strtoul(text, NULL, 10))
        fail(t, "expected status %s, got %u: %s", text, t->status,
             buf_cstr(&t->body));
}

static void
expect_line(struct talk *t, const char *text)
{
    struct slice rest, wanted;
    struct buf b = BUF_INIT;
    const uint8_t *end;

    unescape(text, &b);
    wanted = buf_slice(&b);
    rest = slice_of(buf_cstr(&t->body) + t->body_at, t->body.size - t->body_at);
    end = memchr(rest.data, '\n', rest.size);
    if (end != NULL)
        rest.size = (size_t)(end - rest.data);
    if (!slice_eq(rest, wanted))
        fail(t, "expected '%s', got '%.*s'", text, SLICE_ARG(rest));
    t->body_at += rest.size + (end != NULL);
    buf_fini(&b);
}

static void
expect_part(struct talk *t, const char *text, bool there)
{
    struct buf b = BUF_INIT;

    unescape(text, &b);
    if ((strstr(buf_cstr(&t->body), buf_cstr(&b)) != NULL) != there)
        fail(t, "expected %s'%s' in '%s'", there ? "" : "no ", text,
             buf_cstr(&t->body));
    buf_fini(&b);
}

/* -- files ----------------------------------------------------------------- */

/* "name text": a line more in that file of the folder. */
static void
add_file(struct talk *t, char *rest)
{
    char path[128];
    char *text = rest + strcspn(rest, " ");
    FILE *f;

    if (*text != '\0')
        *text++ = '\0';
    (void)snprintf(path, sizeof path, "%s/%.40s", t->folder, rest);
    f = fopen(path, "ae");
    (void)chmod(path, 0600);
    if (f == NULL || fprintf(f, "%s\n", text) < 0 || fclose(f) != 0)
        fail(t, "%s: %s", path, strerror(errno));
}

/* "key=@/name" is of the folder. */
static char *
arg_of(const struct talk *t, const char *word)
{
    const char *at = strstr(word, "=@/");
    struct buf b = BUF_INIT;

    if (at == NULL)
        return strdup(word);
    buf_put(&b, word, (size_t)(at + 1 - word));
    buf_printf(&b, "%s%s", t->folder, at + 2);
    (void)buf_cstr(&b);
    return (char *)b.data;
}

static void
add_args(struct talk *t, char *rest)
{
    if (t->pid != 0)
        fail(t, "the daemon runs already");
    for (char *word = strtok(rest, " "); word != NULL;
         word = strtok(NULL, " ")) {
        if (strcmp(word, "disk") == 0)
            t->on_disk = true;
        else if (t->args_len == ARGS)
            fail(t, "too many settings");
        else
            t->args[t->args_len++] = arg_of(t, word);
    }
}

static bool
takes_method(struct talk *t, const char *word, char *rest)
{
    static const char *const methods[] = { "GET",  "POST",    "PUT",   "DELETE",
                                           "HEAD", "OPTIONS", "PATCH", NULL };

    for (size_t i = 0; methods[i] != NULL; i++) {
        if (strcmp(word, methods[i]) == 0) {
            ask(t, word, rest);
            return true;
        }
    }
    return false;
}

/* "/path text": asks until the body holds the text. */
static void
ask_until(struct talk *t, char *rest)
{
    char *text = strchr(rest, ' ');
    struct buf b = BUF_INIT;

    if (text == NULL)
        fail(t, "until what?");
    *text++ = '\0';
    unescape(text, &b);
    for (int ms = 0; ms < DEADLINE_MS; ms += UNTIL_MS) {
        const struct timespec pause = { .tv_nsec = UNTIL_MS * 1000000L };

        ask(t, "GET", rest);
        if (strstr(buf_cstr(&t->body), buf_cstr(&b)) != NULL)
            break;
        (void)nanosleep(&pause, NULL);
    }
    buf_fini(&b);
    expect_part(t, text, true);
}

static void
run_word(struct talk *t, const char *word, char *rest)
{
    if (strcmp(word, "conn") == 0)
        t->conn = strtoul(rest, NULL, 10) % CONNS;
    else if (strcmp(word, "with") == 0)
        buf_printf(&t->headers, "%s\r\n", rest);
    else if (strcmp(word, "file") == 0)
        add_file(t, rest);
    else if (strcmp(word, "repeat") == 0)
        repeat(t, rest);
    else if (strcmp(word, "until") == 0)
        ask_until(t, rest);
    else if (strcmp(word, "fin") == 0)
        end_conn(t, true, false);
    else if (strcmp(word, "leave") == 0)
        end_conn(t, true, true);
    else if (strcmp(word, "ended") == 0)
        end_conn(t, false, false);
    else if (strcmp(word, "restart") == 0 || strcmp(word, "kill") == 0) {
        close_conns(t);
        stop_daemon(t, *word == 'k' ? SIGKILL : SIGTERM);
        start_daemon(t);
    } else if (!takes_method(t, word, rest))
        fail(t, "what is '%s'?", word);
}

static void
run_line(struct talk *t, char *line)
{
    char *rest = line + strcspn(line, " ");
    static char nothing[1];

    if (*rest != '\0')
        *rest++ = '\0';
    else
        rest = nothing;
    if (strcmp(line, "!") == 0)
        add_args(t, rest);
    else if (strcmp(line, ">") == 0)
        say(t, rest, "\n");
    else if (strcmp(line, ">>") == 0)
        say(t, rest, "");
    else if (strcmp(line, "<") == 0)
        hear(t, rest, false);
    else if (strcmp(line, "<~") == 0)
        hear(t, rest, true);
    else if (strcmp(line, "=") == 0)
        expect_status(t, rest);
    else if (strcmp(line, "|") == 0)
        expect_line(t, rest);
    else if (strcmp(line, "~") == 0)
        expect_part(t, rest, true);
    else if (strcmp(line, "!~") == 0)
        expect_part(t, rest, false);
    else
        run_word(t, line, rest);
}

static void
play(const char *halite, const char *path)
{
    struct talk t = { .halite = halite, .path = path };
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    for (size_t i = 0; i < CONNS; i++)
        t.conns[i] = -1;
    if (f == NULL)
        fail(&t, "%s", strerror(errno));
    (void)strcpy(t.folder, "/tmp/halite-talk-XXXXXX");
    if (mkdtemp(t.folder) == NULL)
        fail(&t, "mkdtemp: %s", strerror(errno));
    while ((n = getline(&line, &cap, f)) >= 0) {
        t.line++;
        if (n > 0 && line[n - 1] == '\n')
            line[n - 1] = '\0';
        if (*line != '#' && *line != '\0')
            run_line(&t, line);
        if (t.pid > 0)
            drain_log(&t);
    }
    (void)fclose(f);
    free(line);
    close_conns(&t);
    stop_daemon(&t, SIGTERM);
    clean_up(&t);
    for (size_t i = 0; i < CONNS; i++)
        buf_fini(&t.in[i]);
    for (size_t i = 0; i < t.args_len; i++)
        free(t.args[i]);
    buf_fini(&t.log_text);
    buf_fini(&t.headers);
    buf_fini(&t.body);
}

/* In a process of its own, which a surprise ends. */
static bool
play_alone(const char *halite, const char *path)
{
    int how = 0;
    pid_t pid = fork();

    if (pid == 0) {
        play(halite, path);
        exit(EXIT_SUCCESS);
    }
    if (pid < 0 || waitpid(pid, &how, 0) != pid) {
        perror(path);
        return false;
    }
    if (WIFSIGNALED(how))
        (void)fprintf(stderr, "%s: ended by signal %d\n", path, WTERMSIG(how));
    return how == 0;
}

int
main(int argc, char **argv)
{
    bool failed = false;

    if (argc < 3) {
        (void)fprintf(stderr, "usage: talk HALITE FILE.tst...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        failed |= !play_alone(argv[1], argv[i]);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
