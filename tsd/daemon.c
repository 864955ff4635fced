#include "tsd/daemon.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/process/log.h"
#include "base/process/memory.h"
#include "base/mem.h"
#include "base/obj.h"
#include "tsd/api/put/put_failures.h"
#include "tsd/auth/authorize.h"
#include "query/engine/engine.h"
#include "tsd/config/memory_settings.h"
#include "tsd/database.h"
#include "tsd/forget.h"
#include "tsd/net/listener.h"
#include "tsd/routes.h"
#include "tsd/net/tls.h"
#include "tsd/retention/retention.h"
#include "tsd/tool/run/tool_runs.h"

/* At stop, for what TLS clients have not taken yet. */
#define LAST_WORDS_MS 2000

#define DAEMON_MAGIC FOURCC('D', 'A', 'E', 'M')

struct daemon {
    uint32_t magic;
    const struct settings *settings;
    struct database db;
    struct routes routes;
    struct listener *listener;
    struct peer_server *peers; /* NULL: the store lies in no pool */
    char *address;   /* where other daemons of a pool reach this one */
    struct tls *tls; /* NULL: there is no such port */
    struct http_server *http;
    struct put_failures put_failures;
    struct telnet *telnet;
    struct forgetting *forgetting;
    unsigned drain_ms;
};

/* Whoever asks for authentication must not get a daemon without. */
static enum status
open_auth(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;

    if (s->auth_file != NULL)
        return auth_open(s->auth_file, &d->db.api.auth, e) == ST_OK
                   ? ST_OK
                   : error_wrap(e, ST_INVALID, "halite.auth.file");
    if (s->authentication_enable)
        return error_set(e, ST_INVALID,
                         "tsd.core.authentication.enable needs "
                         "halite.auth.file (docs/SECURITY.md)");
    return ST_OK;
}

static enum status
open_tls(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;
    struct tls_options o = {
        .cert = s->tls_cert,
        .key = s->tls_key,
        .priority = s->tls_priority,
        .threads = s->tls_threads,
        .handshake_ms = s->tls_handshake_ms,
        .stall_ms = s->http_body_ms,
    };

    if ((s->tls_cert != NULL) != (s->tls_key != NULL))
        return error_set(e, ST_INVALID,
                         "halite.tls.cert and halite.tls.key go together");
    return s->tls_cert != NULL ? tls_start(&o, &d->tls, e) : ST_OK;
}

static bool
report_reload(const char *what, enum status st, const struct error *e)
{
    if (st == ST_OK)
        log_info("tsd", "%s read again", what);
    else
        log_error("tsd", "%s not read again, the old ones stay in use: %s",
                  what, e->text);
    return st == ST_OK;
}

bool
daemon_reload(struct daemon *d)
{
    struct error e;
    bool all = true;

    OBJ_CHECK(d, DAEMON_MAGIC);
    if (d->db.api.auth != NULL)
        all &= report_reload("users and tokens",
                             auth_reload(d->db.api.auth, &e), &e);
    if (d->tls != NULL)
        all &= report_reload("certificate and key", tls_reload(d->tls, &e), &e);
    return all;
}

/* LevelDB, the WAL and the log need files too. */
static size_t
max_connections(const struct settings *s)
{
    size_t wanted = s->connections_limit;
    size_t reserve = s->connections_reserve;
    struct rlimit limit;
    size_t files, most;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return wanted;
    files = limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : limit.rlim_cur;
    if (files <= reserve * 2)
        log_warn("tsd",
                 "%zu files may be open (ulimit -n): half of them are kept "
                 "for the store, less than halite.connections.reserve=%zu",
                 files, reserve);
    files = files > reserve * 2 ? files - reserve : files / 2;
    if (s->tls_cert != NULL)
        files /= 3; /* TLS takes a pair of sockets more */
    most = memory_settings_connections(memory_limit());
    files = most < files ? most : files;
    return wanted == 0 || wanted > files ? files : wanted;
}

/* tsd.core.socket.timeout is in seconds and, when set, holds for all. */
static unsigned
idle_ms(const struct settings *s, unsigned fallback)
{
    return s->socket_timeout > 0 ? s->socket_timeout * 1000 : fallback;
}

static enum status
open_listener(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;
    const struct listener_options o = {
        .bind = s->network_bind,
        .port = (uint16_t)s->network_port,
        .backlog = (int)s->network_backlog,
        .max_connections = max_connections(s),
        .idle_ms = idle_ms(s, 0),
        .tls = d->tls,
        .tls_bind = s->tls_bind != NULL ? s->tls_bind : s->network_bind,
        .tls_port = (uint16_t)s->tls_port,
    };
    enum status st = listener_open(&o, &d->listener, e);
    const char *colon;

    if (st != ST_OK)
        return st;
    d->db.api.connections = listener_counts;
    d->db.api.connections_ctx = d->listener;
    colon = strrchr(listener_address(d->listener), ':');
    d->db.api.port = colon == NULL ? 0 : (unsigned)strtoul(colon + 1, NULL, 10);
    return ST_OK;
}

/* Where others reach this process. */
static enum status
find_address(struct daemon *d, struct error *e)
{
    bool tls = d->settings->cluster_tls != TLS_OFF &&
               listener_tls_address(d->listener) != NULL;
    const char *address =
        tls ? listener_tls_address(d->listener) : listener_address(d->listener);
    const char *port = strrchr(address, ':');
    char host[256] = "";

    if (d->settings->cluster_address != NULL) {
        address = d->settings->cluster_address;
    } else if (strncmp(address, "0.0.0.0:", 8) == 0 ||
               strncmp(address, "[::]:", 5) == 0) {
        if (gethostname(host, sizeof host - 1) != 0)
            return error_set(e, ST_IO, "the name of this machine: %m");
        INSIST(asprintf(&d->address, "%s%s", host, port) > 0);
    }
    if (d->address == NULL)
        d->address = mem_strdup(address);
    d->db.pool.address = d->address;
    return ST_OK;
}

/* What is wrong in the settings is found before the store's folder is made. */
static enum status
check_http(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;

    return http_cors_check(s->http_request_cors_domains,
                           s->http_request_cors_headers, e);
}

static enum status
open_database(struct daemon *d, struct error *e)
{
    enum status st = find_address(d, e);

    if (st == ST_OK)
        st = database_open(&d->db, d->settings, e);

    d->db.api.tools = tool_runs_new();
    if (st == ST_OK)
        database_warn_of_layout(&d->db);
    if (st == ST_OK)
        st = retention_open(d->settings, d->db.api.store, d->db.api.uids,
                            d->db.api.clock, &d->db.api.retention, e);
    if (st == ST_OK)
        routes_make(&d->db.api, &d->routes);
    return st;
}

/* In a pool most of them wait for the cluster, or for another daemon that is
 * being replaced; those of other buckets go on meanwhile. */
#define POOL_THREADS 8

static unsigned
threads_of(const struct daemon *d, unsigned threads)
{
    return threads * (d->db.pool.cluster != NULL ? POOL_THREADS : 1);
}

static enum status
start_http(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;
    const struct http_options o = {
        .routes = d->routes.http,
        .routes_len = d->routes.http_len,
        .threads = s->http_threads,
        .workers = threads_of(d, s->http_workers),
        .workers_queue = s->http_workers_queue,
        .body_bytes = s->http_body_bytes,
        .bodies_bytes = s->http_bodies_bytes,
        .answers_bytes = s->answers_bytes,
        .reply_bytes = d->db.api.answer_bytes,
        .arenas = engine_budget(d->db.api.engine),
        .arena_bytes = s->query_bytes,
        .head_bytes = s->http_head_bytes,
        .head_ms = s->http_head_ms,
        .body_ms = s->http_body_ms,
        .idle_ms = idle_ms(s, s->http_idle_ms),
        .read_ms = s->query_timeout,
        .chunked = s->http_request_enable_chunked,
        .cors_domains = s->http_request_cors_domains,
        .cors_headers = s->http_request_cors_headers,
        /* Empty, it names none; unset, all. */
        .hosts = settings_text(s, "halite.http.hosts"),
        .no_jsonp = s->http_jsonp == JSONP_AUTO ? d->db.api.auth != NULL
                                                : s->http_jsonp == JSONP_FALSE,
        .no_local = s->local == LOCAL_NONE,
        .allow_cross_site_writes = s->http_foreign_changes,
        .show_stack_trace = s->http_show_stack_trace,
        .allow = d->db.api.auth == NULL ? NULL : authorize_http,
        .later = auth_later,
        .allow_ctx = d->db.api.auth,
        .failed = put_failures_report,
        .failed_ctx = &d->put_failures,
        .closed = listener_http_closed,
        .closed_ctx = d->listener,
    };
    enum status st = http_server_start(&o, &d->http, e);

    d->db.api.http = d->http; /* no socket was given to it yet */
    return st;
}

static enum status
start_telnet(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;
    const struct telnet_options o = {
        .routes = d->routes.telnet,
        .routes_len = d->routes.telnet_len,
        .put = d->routes.has_put ? d->db.api.put : NULL,
        .threads = threads_of(d, s->telnet_threads),
        .line_bytes = s->telnet_line_bytes,
        .output_bytes = s->telnet_output_bytes,
        .total_bytes = s->telnet_total_bytes,
        .idle_ms = idle_ms(s, 0),
        .silent = !s->rpc_telnet_return_errors,
        .login = d->db.api.auth == NULL ? NULL : authorize_telnet,
        .renew = d->db.api.auth == NULL ? NULL : authorize_renew,
        .later = auth_later,
        .login_ctx = d->db.api.auth,
        .closed = listener_telnet_closed,
        .closed_ctx = d->listener,
    };

    return telnet_start(&o, &d->telnet, e);
}

static enum status
start_listener(struct daemon *d, struct error *e)
{
    enum status st;

    d->peers = pool_peers(&d->db.pool, listener_peer_closed, d->listener);
    if (d->peers != NULL)
        listener_serve_peers(d->listener, d->peers);
    st = listener_start(d->listener, d->http, d->telnet, e);
    if (st == ST_OK && d->settings->mode != MODE_RO)
        st = retention_start(d->db.api.retention, e);
    if (st == ST_OK)
        st = forgetting_start(&d->db.api, &d->forgetting, e);
    if (st == ST_OK)
        store_announce(d->db.api.store, listener_address(d->listener));
    return st;
}

/* -- start and stop -------------------------------------------------------- */

enum status
daemon_start(const struct settings *s, int stop_fd, struct daemon **out,
             struct error *e)
{
    static enum status (*const parts[])(struct daemon * d, struct error * e) = {
        open_auth,     open_tls,   open_listener, check_http,
        open_database, start_http, start_telnet,  start_listener,
    };
    struct daemon *d = mem_new(sizeof *d);
    enum status st = ST_OK;

    d->magic = DAEMON_MAGIC;
    d->settings = s;
    d->drain_ms = s->drain_ms;
    d->db.api.stop_fd = stop_fd;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && st == ST_OK; i++)
        st = parts[i](d, e);
    *out = d;
    if (st != ST_OK && daemon_stop(out, NULL) != ST_OK)
        log_warn("tsd", "closed badly after a failed start");
    return st;
}

const char *
daemon_address(const struct daemon *d)
{
    OBJ_CHECK(d, DAEMON_MAGIC);
    return listener_address(d->listener);
}

const char *
daemon_tls_address(const struct daemon *d)
{
    OBJ_CHECK(d, DAEMON_MAGIC);
    return listener_tls_address(d->listener);
}

enum status
daemon_stop(struct daemon **dp, struct error *e)
{
    struct daemon *d = OBJ_TAKE(dp, DAEMON_MAGIC);
    struct auth *auth;
    struct error left;
    enum status st;

    if (d == NULL)
        return ST_OK;
    auth = d->db.api.auth;
    if (pool_leave(&d->db.pool, &left) != ST_OK)
        log_warn("tsd", "%s", left.text);
    if (d->listener != NULL)
        listener_stop(d->listener);
    telnet_stop(&d->telnet, d->drain_ms);
    http_server_stop(&d->http, d->drain_ms);
    tls_stop(&d->tls, LAST_WORDS_MS);
    peer_server_close(&d->peers);
    listener_close(&d->listener);
    tool_runs_close(&d->db.api.tools);
    auth_close(&auth);
    forgetting_stop(&d->forgetting);
    retention_close(&d->db.api.retention);
    st = database_close(&d->db, e);
    free(d->address);
    OBJ_FREE(d);
    return st;
}
