/* 'halite demo': this machine's load, memory, disks and network, every second,
 * so that a new server has something to show.
 *
 *     every interval: read -> waiting points -> POST /api/put -> forgotten
 *                                 ^ kept while no server answers
 *
 * A signal ends it as any process: nothing is to be put in order. */
#include "tsd/commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/log.h"
#include "base/text/number.h"
#include "tsd/client/client.h"
#include "tsd/commands/demo_machine.h"

#define WAITING_MAX  ((size_t)4 << 20) /* bytes; the older half goes first */
#define STALL_S      5
#define INTERVAL_MAX 86400

struct demo {
    struct client_options options;
    struct client *server;
    const char *proc;
    char host[256];
    unsigned interval_s;
    bool once;
    bool stats;         /* the server's own statistics, too */
    struct buf waiting; /* points, each ending in ",\n" */
    struct buf body, answer;
    size_t points;  /* of the last reading */
    char said[600]; /* the last trouble that was told; "": all is well */
    bool greeted;
};

static const struct tool_option demo_options[] = {
    { "--server", "ADDRESS",
      "The server, HOST:PORT or https://.. (HALITE_SERVER, else "
      "127.0.0.1:4242)." },
    { "--token", "FILE",
      "Its first line is a token, or NAME:PASSWORD, that may write; or "
      "HALITE_TOKEN in the environment." },
    { "--cacert", "FILE", "Certificates (PEM) that the server may have." },
    { "--interval", "N", "Seconds between points (1)." },
    { "--host", "NAME", "Value of the tag host (this machine's name)." },
    { "--stats", NULL, "The server's own statistics (tsd.*), too." },
    { "--once", NULL, "One reading, then end." },
    { "--proc", "DIR", "Read this folder instead of /proc." },
    { 0 },
};

static const struct command_help demo_help = {
    .usage =
        "demo [FLAG]...\n\n"
        "Feeds a server with this machine's load, memory, disks, network,\n"
        "CPUs and number of processes, every second until stopped:\n"
        "something to look at. Names are tcollector's (proc.loadavg.1m,\n"
        "proc.meminfo.memfree, proc.stat.cpu.percpu, proc.net.bytes,\n"
        "df.bytes.used, ..), with the tag host.  While no server answers,\n"
        "the points of some minutes are kept.\n",
    .options = demo_options,
    .end = "\nExit status: 0 done; 1 no token in FILE, or with --once: the\n"
           "server did not take the points; 2 asked wrongly.\n",
};

/* Returns -1 to go on, or the exit status. */
static int
demo_read(const struct tool_args *a, struct demo *d)
{
    const char *server = tool_args_get(a, "--server");
    const char *interval = tool_args_get(a, "--interval");
    const char *host = tool_args_get(a, "--host");
    const char *proc = tool_args_get(a, "--proc");
    char name[256] = "localhost";
    uint64_t n = 1;

    if (server == NULL)
        server = getenv("HALITE_SERVER");
    d->options = (struct client_options){
        .address =
            server != NULL && *server != '\0' ? server : "127.0.0.1:4242",
        .token_file = tool_args_get(a, "--token"),
        .cacert = tool_args_get(a, "--cacert"),
        .stall_s = STALL_S,
    };
    if (interval != NULL && (!number_parse_u64(slice_str(interval), &n) ||
                             n < 1 || n > INTERVAL_MAX)) {
        (void)fprintf(stderr,
                      "halite demo: --interval '%s' is none of 1 to %d\n",
                      interval, INTERVAL_MAX);
        return 2;
    }
    d->interval_s = (unsigned)n;
    d->stats = tool_args_get(a, "--stats") != NULL;
    d->once = tool_args_get(a, "--once") != NULL;
    d->proc = proc != NULL ? proc : "/proc";
    if (host == NULL && gethostname(name, sizeof name - 1) != 0)
        (void)snprintf(name, sizeof name, "localhost");
    demo_tag_value(slice_str(host != NULL ? host : name), d->host,
                   sizeof d->host);
    return -1;
}

/* Once for each trouble, until another one or none comes. */
static void
complain(struct demo *d, const char *what)
{
    if (strcmp(d->said, what) == 0)
        return;
    (void)snprintf(d->said, sizeof d->said, "%s", what);
    log_warn("demo", "%s", what);
}

static void
greet(struct demo *d)
{
    if (d->said[0] != '\0')
        log_info("demo", "%s takes points again", client_base(d->server));
    d->said[0] = '\0';
    if (d->greeted || d->once)
        return;
    d->greeted = true;
    log_info("demo",
             "sending %zu points every %u s; see %s/"
             "#start=3m-ago&autoreload=5&m=avg:proc.loadavg.1m%%7Bhost=%s%%7D",
             d->points, d->interval_s, client_base(d->server), d->host);
}

/* Points that no server took for long make room. */
static void
forget_oldest(struct demo *d)
{
    struct buf *w = &d->waiting;
    const uint8_t *cut;

    if (w->size <= WAITING_MAX)
        return;
    cut = memchr(w->data + w->size / 2, '\n', w->size - w->size / 2);
    w->size -= (size_t)(cut + 1 - w->data);
    memmove(w->data, cut + 1, w->size);
    log_warn("demo", "points of the past were dropped: no server took them");
}

/* Its answer is an array of points, as /api/put takes them. */
static void
add_statistics(struct demo *d)
{
    if (client_get(d->server, "/api/stats", &d->answer, NULL) != ST_OK ||
        d->answer.size < 4 || d->answer.data[0] != '[' ||
        d->answer.data[d->answer.size - 1] != ']')
        return; /* what follows will tell why */
    buf_put(&d->waiting, d->answer.data + 1, d->answer.size - 2);
    buf_put_str(&d->waiting, ",\n");
}

static bool
feed(struct demo *d)
{
    struct demo_sample s = { .out = &d->waiting,
                             .now_s = clock_now_ms(&clock_system) / 1000,
                             .host = d->host };
    char what[600];
    struct error e;
    enum status st;

    demo_read_machine(d->proc, &s);
    d->points = s.points;
    if (d->stats)
        add_statistics(d);
    if (d->waiting.failed) {
        d->waiting.failed = false;
        buf_clear(&d->waiting);
    }
    if (d->waiting.size == 0) {
        complain(d, "there is nothing to read in /proc");
        return false;
    }
    forget_oldest(d);
    buf_clear(&d->body);
    buf_put_u8(&d->body, '[');
    buf_put(&d->body, d->waiting.data, d->waiting.size - 2);
    buf_put_u8(&d->body, ']');
    st = client_post(d->server, "/api/put", "application/json",
                     buf_slice(&d->body), &d->answer, &e);
    if (st == ST_IO || st == ST_BUSY) {
        (void)snprintf(what, sizeof what, "%s: trying again", e.text);
        complain(d, what);
        return false;
    }
    /* What the server rejects now it will reject for ever. */
    buf_clear(&d->waiting);
    if (st != ST_OK) {
        (void)snprintf(what, sizeof what, "rejected: %s", e.text);
        complain(d, what);
        return false;
    }
    greet(d);
    return true;
}

int
cmd_demo(int argc, char **argv, bool as_tsdb)
{
    struct demo d = { 0 };
    struct tool_args a;
    struct error e;
    int rc = command_read(&demo_help, argc, argv, &a);
    bool done = true;

    if (rc >= 0)
        return rc;
    rc = demo_read(&a, &d);
    if (rc < 0 && client_open(&d.options, &d.server, &e) != ST_OK)
        rc = command_fail("demo", e.text);
    while (rc < 0) {
        done = feed(&d);
        if (d.once) {
            rc = done ? 0 : 1;
        } else {
            /* Until the next whole multiple of the interval, so that each has
             * one point. */
            int64_t interval_ms = (int64_t)d.interval_s * 1000;
            int64_t left =
                interval_ms - clock_now_ms(&clock_system) % interval_ms;
            struct timespec ts = { .tv_sec = left / 1000,
                                   .tv_nsec = left % 1000 * 1000000 };

            while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
                ;
        }
    }
    client_close(&d.server);
    buf_fini(&d.waiting);
    buf_fini(&d.body);
    buf_fini(&d.answer);
    tool_args_fini(&a);
    return rc;
}
