#include "tsd/daemon.h"

#include <netdb.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/obj.h"
#include "query/engine/engine.h"
#include "query/model/rollup.h"
#include "base/time/timezone.h"
#include "tsd/auth/authorize.h"
#include "tsd/config/limits.h"
#include "tsd/net/listener.h"
#include "tsd/stats/queries.h"
#include "tsd/routes.h"
#include "tsd/net/tls.h"

/* At stop, for what TLS clients have not taken yet. */
#define LAST_WORDS_MS 2000

#define DAEMON_MAGIC FOURCC('D', 'A', 'E', 'M')

struct daemon {
    uint32_t magic;
    const struct settings *settings;
    struct api api; /* holds the layers below */
    struct routes routes;
    struct rollups *rollups; /* NULL: none are configured */
    struct listener *listener;
    struct tls *tls; /* NULL: there is no such port */
    struct http_server *http;
    struct telnet *telnet;
    unsigned drain_ms;
    atomic_bool backup_busy;
};

static unsigned
unsigned_setting(const struct settings *s, const char *name)
{
    return (unsigned)settings_int(s, name);
}

/* Who we are, for statistics: the name as it is set, and as DNS knows it. */
static void
find_host(struct api *a)
{
    struct addrinfo hints = { .ai_flags = AI_CANONNAME }, *found = NULL;

    if (gethostname(a->host, sizeof a->host - 1) != 0)
        (void)snprintf(a->host, sizeof a->host, "localhost");
    (void)snprintf(a->canonical, sizeof a->canonical, "%s", a->host);
    if (!settings_bool(a->settings, "tsd.stats.canonical") ||
        getaddrinfo(a->host, NULL, &hints, &found) != 0)
        return;
    if (found->ai_canonname != NULL)
        (void)snprintf(a->canonical, sizeof a->canonical, "%s",
                       found->ai_canonname);
    freeaddrinfo(found);
}

static enum status
fill_api(struct daemon *d, int stop_fd, struct error *e)
{
    const struct settings *s = d->settings;
    struct api *a = &d->api;
    enum status st;

    a->settings = s;
    a->clock = &clock_system;
    a->queries = queries_new(
        !settings_bool(s, "tsd.query.allow_simultaneous_duplicates"));
    a->backup_busy = &d->backup_busy;
    a->limits = limits_new(s, a->clock);
    a->zone = timezone_utc();
    a->answer_bytes = settings_size(s, "halite.query.answer_bytes");
    a->allow_delete = settings_bool(s, "tsd.http.query.allow_delete") &&
                      strcmp(settings_text(s, "tsd.mode"), "ro") != 0;
    a->started_ms = clock_now_ms(a->clock);
    a->stop_fd = stop_fd;
    a->connections = listener_counts;
    find_host(a);
    st = histogram_codecs_read(settings_text(s, "tsd.core.histograms.config"),
                               &a->histograms, e);
    if (st != ST_OK)
        return error_wrap(e, st, "tsd.core.histograms.config");
    if (!settings_has(s, "tsd.core.timezone"))
        return ST_OK;
    return timezone_find(slice_str(settings_text(s, "tsd.core.timezone")),
                         &a->zone, e);
}

/* Whoever asks for authentication must not get a daemon without. */
static enum status
open_auth(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;

    if (settings_has(s, "halite.auth.file"))
        return auth_open(settings_text(s, "halite.auth.file"), &d->api.auth, e);
    if (settings_bool(s, "tsd.core.authentication.enable"))
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
        .cert = settings_text(s, "halite.tls.cert"),
        .key = settings_text(s, "halite.tls.key"),
        .priority = settings_text(s, "halite.tls.priority"),
        .threads = unsigned_setting(s, "halite.tls.threads"),
        .handshake_ms = unsigned_setting(s, "halite.tls.handshake_ms"),
        .stall_ms = unsigned_setting(s, "halite.http.body_ms"),
    };

    if (settings_has(s, "halite.tls.cert") != settings_has(s, "halite.tls.key"))
        return error_set(e, ST_INVALID,
                         "halite.tls.cert and halite.tls.key go together");
    return settings_has(s, "halite.tls.cert") ? tls_start(&o, &d->tls, e)
                                              : ST_OK;
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
    if (d->api.auth != NULL)
        all &=
            report_reload("users and tokens", auth_reload(d->api.auth, &e), &e);
    if (d->tls != NULL)
        all &= report_reload("certificate and key", tls_reload(d->tls, &e), &e);
    return all;
}

/* LevelDB, the WAL and the log need files too. */
static size_t
max_connections(const struct settings *s)
{
    size_t wanted = settings_size(s, "tsd.core.connections.limit");
    size_t reserve = settings_size(s, "halite.connections.reserve");
    struct rlimit limit;
    size_t files;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return wanted;
    files = limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : limit.rlim_cur;
    files = files > reserve * 2 ? files - reserve : files / 2;
    if (settings_has(s, "halite.tls.cert"))
        files /= 3; /* TLS takes a pair of sockets more */
    return wanted == 0 || wanted > files ? files : wanted;
}

/* tsd.core.socket.timeout is in seconds and, when set, holds for all. */
static unsigned
idle_ms(const struct settings *s, unsigned fallback)
{
    int64_t seconds = settings_int(s, "tsd.core.socket.timeout");

    return seconds > 0 ? (unsigned)seconds * 1000 : fallback;
}

static enum status
open_listener(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;
    const struct listener_options o = {
        .bind = settings_text(s, "tsd.network.bind"),
        .port = (uint16_t)settings_int(s, "tsd.network.port"),
        .backlog = (int)settings_int(s, "tsd.network.backlog"),
        .max_connections = max_connections(s),
        .idle_ms = idle_ms(s, 0),
        .tls = d->tls,
        .tls_bind = settings_text(s, settings_has(s, "halite.tls.bind")
                                         ? "halite.tls.bind"
                                         : "tsd.network.bind"),
        .tls_port = (uint16_t)settings_int(s, "halite.tls.port"),
    };
    enum status st = listener_open(&o, &d->listener, e);
    const char *colon;

    if (st != ST_OK)
        return st;
    d->api.connections_ctx = d->listener;
    colon = strrchr(listener_address(d->listener), ':');
    d->api.port = colon == NULL ? 0 : (unsigned)strtoul(colon + 1, NULL, 10);
    return ST_OK;
}

static struct key_layout
layout_of(const struct settings *s)
{
    struct key_layout layout = {
        .salt_width = (uint8_t)settings_int(s, "tsd.storage.salt.width"),
        .salt_buckets = (uint16_t)settings_int(s, "tsd.storage.salt.buckets"),
        .metric_width =
            (uint8_t)settings_int(s, "tsd.storage.uid.width.metric"),
        .row_hours = (uint8_t)settings_int(s, "halite.store.row_hours"),
        .tagk_width = (uint8_t)settings_int(s, "tsd.storage.uid.width.tagk"),
        .tagv_width = (uint8_t)settings_int(s, "tsd.storage.uid.width.tagv"),
    };

    if (layout.salt_width == 0)
        layout.salt_buckets = 1;
    return layout;
}

static enum status
open_names(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;
    const struct uid_options o = {
        .cache_entries = settings_size(s, "halite.uid.cache_entries"),
        .allow_specialchars =
            settings_text(s, "tsd.core.tag.allow_specialchars"),
        .random_metrics = settings_bool(s, "tsd.core.uid.random_metrics"),
    };
    struct api *a = &d->api;
    enum status st = uid_open(a->store, &o, &a->uids, e);

    if (st == ST_OK)
        st = series_open(a->store, a->uids, &a->series, e);
    if (st == ST_OK)
        series_limit(a->series,
                     (struct series_limits){
                         settings_size(s, "halite.series.limit"),
                         settings_size(s, "halite.series.limit_per_metric"),
                     });
    if (st == ST_OK)
        st = records_open(a->store, a->uids, a->series, &a->records, e);
    return st;
}

static enum status
daemon_open_store(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;
    const struct store_options o = {
        .dir = settings_bool(s, "halite.memory")
                   ? NULL
                   : settings_text(s, "halite.data"),
        .layout = layout_of(s),
        .sync = (enum wal_sync)settings_choice(s, "halite.sync"),
        .sync_interval_ms = unsigned_setting(s, "halite.sync.interval_ms"),
        .head_bytes = settings_size(s, "halite.store.head_bytes"),
        .wal_bytes = settings_size(s, "halite.store.journal_bytes"),
        .wal_segment_bytes =
            settings_size(s, "halite.store.journal_segment_bytes"),
        .flush_delay_ms = unsigned_setting(s, "halite.store.seal_delay_ms"),
        .min_free_bytes = settings_size(s, "halite.store.min_free_bytes"),
        .engine_write_buffer_bytes =
            settings_size(s, "halite.store.write_buffer_bytes"),
        .engine_cache_bytes = settings_size(s, "halite.store.cache_bytes"),
    };
    return store_open(&o, &d->api.store, e);
}

static size_t
query_threads(const struct settings *s)
{
    size_t wanted = settings_size(s, "halite.query.threads");
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    return wanted > 0 ? wanted : cpus > 0 ? (size_t)cpus : 1;
}

static enum status
open_rollups(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;
    const char *config = settings_text(s, "tsd.rollups.config");
    enum status st;

    if (!settings_bool(s, "tsd.rollups.enable"))
        return ST_OK;
    st = rollups_open(config == NULL ? "" : config, &d->rollups, e);
    if (st != ST_OK)
        return error_wrap(e, st, "tsd.rollups.config");
    d->rollups->agg_tag_key = settings_text(s, "tsd.rollups.agg_tag_key");
    d->rollups->raw_tag_value =
        settings_text(s, "tsd.rollups.raw_agg_tag_value");
    d->rollups->tag_raw = settings_bool(s, "tsd.rollups.tag_raw");
    d->rollups->block_derived = settings_bool(s, "tsd.rollups.block_derived");
    d->rollups->split = settings_bool(s, "tsd.rollups.split_query.enable");
    return ST_OK;
}

static enum status
daemon_open_engine(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;
    struct api *a = &d->api;
    const struct engine_options o = {
        .threads = query_threads(s),
        .query_bytes = settings_size(s, "halite.query.bytes"),
        .all_bytes = settings_size(s, "halite.queries.bytes"),
        .expansion_limit = settings_size(s, "tsd.query.filter.expansion_limit"),
        .skip_unresolved_tagvs =
            settings_bool(s, "tsd.query.skip_unresolved_tagvs"),
        .limits = limits_find,
        .limits_ctx = a->limits,
        .timeout_ms = unsigned_setting(s, "tsd.query.timeout"),
        .force_way = settings_choice(s, "halite.query.scan"),
        .rollups = d->rollups,
        .histogram_codec = a->histograms.simple + 1,
        .records = a->records,
    };
    const struct put_options put = {
        .rules = {
            .create_metrics = settings_bool(s, "tsd.core.auto_create_metrics"),
            .create_tagks = settings_bool(s, "tsd.core.auto_create_tagks"),
            .create_tagvs = settings_bool(s, "tsd.core.auto_create_tagvs"),
            .max_tags = settings_size(s, "tsd.storage.max_tags"),
        },
        .cache_entries = settings_size(s, "halite.put.cache_entries"),
        .cache_bytes = settings_size(s, "halite.put.cache_bytes"),
        .header_tag = settings_text(s, "tsd.http.header_tag"),
        .rollups = d->rollups,
    };

    a->put = put_path_new(a->store, a->series, a->uids, &put);
    routes_make(a, a->put, &d->routes);
    return engine_open(a->store, a->uids, a->series, &o, &a->engine, e);
}

static enum status
start_http(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;
    const char *jsonp = settings_text(s, "halite.http.jsonp");
    const struct http_options o = {
        .routes = d->routes.http,
        .routes_len = d->routes.http_len,
        .threads = unsigned_setting(s, "halite.http.threads"),
        .workers = unsigned_setting(s, "halite.http.workers"),
        .workers_queue = settings_size(s, "halite.http.workers_queue"),
        .body_bytes = settings_size(s, "halite.http.body_bytes"),
        .bodies_bytes = settings_size(s, "halite.http.bodies_bytes"),
        .answers_bytes = settings_size(s, "halite.answers.bytes"),
        .arena_bytes = settings_size(s, "halite.query.bytes"),
        .head_bytes = settings_size(s, "halite.http.head_bytes"),
        .head_ms = unsigned_setting(s, "halite.http.head_ms"),
        .body_ms = unsigned_setting(s, "halite.http.body_ms"),
        .idle_ms = idle_ms(s, unsigned_setting(s, "halite.http.idle_ms")),
        .chunked = settings_bool(s, "tsd.http.request.enable_chunked"),
        .cors_domains = settings_text(s, "tsd.http.request.cors_domains"),
        .cors_headers = settings_text(s, "tsd.http.request.cors_headers"),
        .hosts = settings_text(s, "halite.http.hosts"),
        .no_jsonp = strcmp(jsonp, "auto") == 0 ? d->api.auth != NULL
                                               : strcmp(jsonp, "false") == 0,
        .allow_cross_site_writes =
            settings_bool(s, "halite.http.foreign_changes"),
        .show_stack_trace = settings_bool(s, "tsd.http.show_stack_trace"),
        .allow = d->api.auth == NULL ? NULL : authorize_http,
        .later = auth_later,
        .allow_ctx = d->api.auth,
        .closed = listener_http_closed,
        .closed_ctx = d->listener,
    };
    enum status st = http_server_start(&o, &d->http, e);

    d->api.http = d->http; /* no socket was given to it yet */
    return st;
}

static enum status
start_telnet(struct daemon *d, struct error *e)
{
    const struct settings *s = d->settings;
    const struct telnet_options o = {
        .routes = d->routes.telnet,
        .routes_len = d->routes.telnet_len,
        .put = d->routes.has_put ? d->api.put : NULL,
        .threads = unsigned_setting(s, "halite.telnet.threads"),
        .line_bytes = settings_size(s, "halite.telnet.line_bytes"),
        .output_bytes = settings_size(s, "halite.telnet.output_bytes"),
        .idle_ms = idle_ms(s, 0),
        .silent = !settings_bool(s, "tsd.rpc.telnet.return_errors"),
        .login = d->api.auth == NULL ? NULL : authorize_telnet,
        .renew = d->api.auth == NULL ? NULL : authorize_renew,
        .later = auth_later,
        .login_ctx = d->api.auth,
        .closed = listener_telnet_closed,
        .closed_ctx = d->listener,
    };

    return telnet_start(&o, &d->telnet, e);
}

static enum status
start_listener(struct daemon *d, struct error *e)
{
    enum status st = listener_start(d->listener, d->http, d->telnet, e);

    if (st == ST_OK)
        store_announce(d->api.store, listener_address(d->listener));
    return st;
}

/* -- start and stop -------------------------------------------------------- */

enum status
daemon_start(const struct settings *s, int stop_fd, struct daemon **out,
             struct error *e)
{
    static enum status (*const parts[])(struct daemon * d, struct error * e) = {
        open_auth,    open_tls,       open_listener,      daemon_open_store,
        open_names,   open_rollups,   daemon_open_engine, start_http,
        start_telnet, start_listener,
    };
    struct daemon *d = mem_new(sizeof *d);
    enum status st;

    d->magic = DAEMON_MAGIC;
    d->settings = s;
    d->drain_ms = unsigned_setting(s, "halite.drain_ms");
    st = fill_api(d, stop_fd, e);
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
    struct api *a;
    enum status st;

    if (d == NULL)
        return ST_OK;
    a = &d->api;
    if (d->listener != NULL)
        listener_stop(d->listener);
    telnet_stop(&d->telnet, d->drain_ms);
    http_server_stop(&d->http, d->drain_ms);
    tls_stop(&d->tls, LAST_WORDS_MS);
    listener_close(&d->listener);
    engine_close(&a->engine);
    put_path_free(&a->put);
    records_close(&a->records);
    series_close(&a->series);
    uid_close(&a->uids);
    st = store_close(&a->store, e);
    queries_free(&a->queries);
    auth_close(&a->auth);
    rollups_close(&d->rollups);
    limits_free(&a->limits);
    OBJ_FREE(d);
    return st;
}
