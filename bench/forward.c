/* What a forwarded point costs: CPU of both daemons together, beside that of a
 * point that is put where it belongs; lines of text in, the WAL's file behind.
 *
 *     forward [HOSTS [STEPS [LINES [BUCKETS]]]]
 *
 * HOSTS x 10 series, STEPS points of each; a batch has LINES and is committed
 * before the next one.  Two stores are in this process, and frames go over a
 * socket of loopback between them; so the CPU of both is the process's. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process/clock.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "bench/client.h"
#include "bench/workload.h"
#include "cluster/owner.h"
#include "cluster/remote.h"
#include "storage/kv/kv.h"
#include "storage/wal/wal_files.h"
#include "tsd/put/put.h"

static const uint8_t secret[FRAME_SECRET_SIZE];

/* A daemon from its lines to its WAL. */
struct node {
    char dir[64];
    struct store *store;
    struct uid_table *uids;
    struct series_directory *series;
    struct put_path *path;
    struct put_batch *batch;
};

static void
must(enum status st, const struct error *e)
{
    if (st != ST_OK)
        client_die(e->text);
}

static void
forward_rejected(void *ctx, size_t id, enum put_fault fault, struct slice why)
{
    client_die("a point was rejected");
}

static void
node_open(struct node *n, const struct key_layout *layout,
          const struct store_remote *remote)
{
    struct store_options o = { .layout = *layout,
                               .remote = remote,
                               .sync = WAL_SYNC_OFF,
                               .head_bytes = (size_t)1 << 30,
                               .wal_bytes = (size_t)4 << 30 };
    const struct uid_options uo = { 0 };
    const struct put_options po = { .rules = { true, true, true, 8, false } };
    struct error e;

    (void)snprintf(n->dir, sizeof n->dir, "%s/forward-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(n->dir) == NULL)
        client_die("no folder for a WAL");
    must(kv_open(&(struct kv_options){ .place = KV_MEMORY }, &o.kv, &e), &e);
    o.wal = wal_files_new(n->dir);
    must(store_open(&o, &n->store, &e), &e);
    must(uid_open(n->store, &uo, &n->uids, &e), &e);
    must(series_open(n->store, n->uids, &n->series, &e), &e);
    n->path = put_path_new(n->store, n->series, n->uids, &po);
    n->batch = put_batch_new(n->path, forward_rejected, NULL);
}

static void
node_close(struct node *n)
{
    char command[128];
    struct error e;

    put_batch_free(&n->batch);
    put_path_free(&n->path);
    series_close(&n->series);
    uid_close(&n->uids);
    must(store_close(&n->store, &e), &e);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", n->dir);
    if (system(command) != 0)
        client_die("a folder stays behind");
}

static void
node_flush(struct node *n)
{
    struct error e;

    while (put_batch_flush(n->batch, NULL) != ST_OK)
        (void)usleep(1000);
    must(put_batch_commit(n->batch, false, &e), &e);
}

/* Microseconds of CPU a line, the process's. */
static double
node_put(struct node *n, struct slice text, size_t batch, size_t *lines)
{
    struct rusage a, b;
    size_t waiting = 0;

    *lines = 0;
    (void)getrusage(RUSAGE_SELF, &a);
    while (text.size > 0) {
        struct slice line = slice_cut(&text, '\n');

        put_batch_line(n->batch, slice_of(line.data + 4, line.size - 4), *lines,
                       false);
        ++*lines;
        if (++waiting == batch || put_batch_is_full(n->batch)) {
            node_flush(n);
            waiting = 0;
        }
    }
    node_flush(n);
    (void)getrusage(RUSAGE_SELF, &b);
    return ((double)(b.ru_utime.tv_sec - a.ru_utime.tv_sec + b.ru_stime.tv_sec -
                     a.ru_stime.tv_sec) *
                1e6 +
            (double)(b.ru_utime.tv_usec - a.ru_utime.tv_usec +
                     b.ru_stime.tv_usec - a.ru_stime.tv_usec)) /
           (double)*lines;
}

static bool
forward_keep(void *ctx, const void *data, size_t size)
{
    buf_put(ctx, data, size);
    return true;
}

/* The first step makes series and names; the rest is measured. */
static double
measure(struct node *n, struct slice text, size_t first, size_t batch)
{
    size_t lines;

    (void)node_put(n, slice_of(text.data, first), batch, &lines);
    return node_put(n, slice_of(text.data + first, text.size - first), batch,
                    &lines);
}

static enum status
forward_owns(void *ctx, struct error *e)
{
    return ST_OK;
}

/* -- two daemons ----------------------------------------------------------- */

static int
forward_listen(char *address, size_t size)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t a_size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        listen(fd, 1) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &a_size) != 0)
        client_die("no port");
    (void)snprintf(address, size, "127.0.0.1:%u", (unsigned)ntohs(a.sin_port));
    return fd;
}

struct forward_port {
    struct peer_server *server;
    int fd;
    pthread_t thread;
};

/* Until the socket is shut down. */
static void *
forward_accept(void *arg)
{
    struct forward_port *p = arg;
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    struct error e;
    int fd;

    while ((fd = accept4(p->fd, (struct sockaddr *)&peer, &size,
                         SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        must(peer_server_adopt(p->server, fd, (struct sockaddr *)&peer, &e),
             &e);
    return NULL;
}

static double
measure_forwarded(const struct key_layout *layout, struct slice text,
                  size_t first, size_t batch)
{
    struct remote_options co = { .secret = secret,
                                 .layout = *layout,
                                 .wait_ms = 10000,
                                 .owns = forward_owns };
    struct remote *r = remote_new(&co), *none = remote_new(&co);
    struct node owner, sender;
    struct peer_server_options so = { .secret = secret };
    struct forward_port port;
    char address[32];
    struct error e;
    double us;

    node_open(&owner, layout, remote_hooks(none));
    node_open(&sender, layout, remote_hooks(r));
    so.handlers = owner_handlers(owner.store);
    port.server = peer_server_open(&so);
    port.fd = forward_listen(address, sizeof address);
    if (pthread_create(&port.thread, NULL, forward_accept, &port) != 0)
        client_die("no thread");
    for (unsigned b = 0; b < layout->salt_buckets; b++) {
        struct bucket_claim claim = { b, 0, 1 };

        must(store_buckets_take(owner.store, &claim, 1, NULL, &e), &e);
        store_bucket_serve(owner.store, b);
        remote_route(r, b, "owner", address);
    }
    us = measure(&sender, text, first, batch);
    if (store_counts(sender.store).head_points != 0)
        client_die("a point was not forwarded");
    (void)fprintf(stderr, "%llu PUTs, %llu commits\n",
                  (unsigned long long)peer_server_counts(port.server).puts,
                  (unsigned long long)peer_server_counts(port.server).commits);
    (void)shutdown(port.fd, SHUT_RDWR);
    (void)pthread_join(port.thread, NULL);
    peer_server_close(&port.server);
    node_close(&sender);
    node_close(&owner);
    remote_free(&r);
    remote_free(&none);
    (void)close(port.fd);
    return us;
}

static long
argument(int argc, char **argv, int i, long fallback)
{
    long v = i < argc ? strtol(argv[i], NULL, 10) : fallback;

    if (v <= 0)
        client_die("forward [HOSTS [STEPS [LINES [BUCKETS]]]]");
    return v;
}

int
main(int argc, char **argv)
{
    struct workload w = workload_default;
    struct workload_totals t;
    struct key_layout layout = KEY_LAYOUT_DEFAULT;
    struct buf text = BUF_INIT;
    size_t batch = (size_t)argument(argc, argv, 3, 1000), first;
    double best[2] = { 0, 0 };
    struct node local;

    log_set_level(LOG_ERROR);
    w.hosts = (uint32_t)argument(argc, argv, 1, 1000);
    layout.salt_buckets = (uint16_t)argument(argc, argv, 4, 64);
    w.end = w.start + w.step;
    if (!workload_run(&w, forward_keep, &text, &t))
        client_die("no memory");
    first = text.size;
    w.start = w.end;
    w.end += argument(argc, argv, 2, 50) * w.step;
    if (!workload_run(&w, forward_keep, &text, &t) || text.failed)
        client_die("no memory");
    for (int round = 0; round < 3; round++) {
        double us;

        node_open(&local, &layout, NULL);
        us = measure(&local, buf_slice(&text), first, batch);
        best[0] = round == 0 || us < best[0] ? us : best[0];
        node_close(&local);
        us = measure_forwarded(&layout, buf_slice(&text), first, batch);
        best[1] = round == 0 || us < best[1] ? us : best[1];
    }
    (void)printf("{\"points\": %llu, \"batch\": %zu, \"buckets\": %u, "
                 "\"local_us\": %.3f, \"forwarded_us\": %.3f, "
                 "\"ratio\": %.2f}\n",
                 (unsigned long long)t.points, batch,
                 (unsigned)layout.salt_buckets, best[0], best[1],
                 best[1] / best[0]);
    buf_fini(&text);
    return 0;
}
