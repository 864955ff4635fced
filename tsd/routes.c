#include "tsd/routes.h"

#include <unistd.h>

#include "base/process/log.h"
#include "base/address.h"
#include "base/obj.h"
#include "tsd/api/put/histogram_put.h"
#include "tsd/api/stats/stats.h"

/* Who has an endpoint: OpenTSDB's table, with our additions. */
enum {
    IN_RO = 1,
    IN_WO = 2,
    MODE_ANY = 3, /* rw has all */
    UI = 8,       /* goes with tsd.core.enable_ui */
    DIE = 16,     /* goes with tsd.no_diediedie */
    WORKER = 32,
    /* The role a request needs; all but PUBLIC need admin for DELETE. */
    PUBLIC = 64,
    FOR_READERS = 128,
    FOR_WRITERS = 256,
    FOR_READ_WRITE =
        FOR_READERS | FOR_WRITERS, /* GET reads, the others write */
    FOR_ADMINS = 512,
};

#define GET_POST (HTTP_GET | HTTP_POST)
#define CRUD     (GET_POST | HTTP_PUT | HTTP_DELETE | HTTP_OVERRIDE)
#define ANY \
    (HTTP_GET | HTTP_POST | HTTP_PUT | HTTP_DELETE | HTTP_HEAD | HTTP_OTHER)

/* HEAD is taken wherever GET is. */
static const struct entry {
    const char *path;
    http_serve *serve;
    unsigned methods, flags;
} entries[] = {
    { "/api/aggregators", api_aggregators, GET_POST, MODE_ANY | FOR_READERS },
    { "/api/backup", api_backup, HTTP_POST, MODE_ANY | WORKER | FOR_ADMINS },
    { "/api/cluster", api_cluster, HTTP_GET, MODE_ANY | WORKER | FOR_READERS },
    { "/api/config", api_config, GET_POST, MODE_ANY | FOR_READERS },
    { "/api/dropcaches", api_dropcaches, HTTP_GET | HTTP_DELETE,
      MODE_ANY | WORKER | FOR_ADMINS },
    { "/api/openapi.json", api_openapi, HTTP_GET, MODE_ANY | FOR_READERS },
    { "/api/retention", api_retention, HTTP_GET | HTTP_PUT | HTTP_DELETE,
      MODE_ANY | WORKER | FOR_READERS | FOR_ADMINS },
    { "/api/serializers", api_serializers, GET_POST, MODE_ANY | FOR_READERS },
    { "/api/stats", api_stats, GET_POST | HTTP_DELETE,
      MODE_ANY | WORKER | FOR_READERS },
    { "/api/status", api_health, GET_POST, MODE_ANY | PUBLIC },
    { "/api/tool", api_tool, HTTP_POST, MODE_ANY | WORKER | FOR_ADMINS },
    { "/api/version", api_version, GET_POST, MODE_ANY | FOR_READERS },

    { "/api/annotation", api_annotation, CRUD,
      IN_WO | WORKER | FOR_READ_WRITE },
    { "/api/annotations", api_annotation, CRUD,
      IN_WO | WORKER | FOR_READ_WRITE },
    { "/api/histogram", api_histogram, ANY, IN_WO | WORKER | FOR_WRITERS },
    { "/api/put", api_put, HTTP_POST, IN_WO | WORKER | FOR_WRITERS },
    { "/api/rollup", api_rollup, HTTP_POST, IN_WO | WORKER | FOR_WRITERS },

    { "/api/tree", api_tree, ANY | HTTP_OVERRIDE,
      IN_WO | WORKER | FOR_READ_WRITE },
    { "/api/uid", api_uid, ANY, IN_WO | WORKER | FOR_ADMINS },
    { "/api/uid/assign", api_uid, GET_POST, IN_WO | WORKER | FOR_ADMINS },
    { "/api/uid/rename", api_uid, GET_POST, IN_WO | WORKER | FOR_ADMINS },
    { "/api/uid/tsmeta", api_tsmeta, CRUD, IN_WO | WORKER | FOR_READ_WRITE },
    { "/api/uid/uidmeta", api_uidmeta, CRUD, IN_WO | WORKER | FOR_READ_WRITE },

    { "/api/cardinality", api_cardinality, HTTP_GET,
      IN_RO | WORKER | FOR_READERS },
    /* The time limit of these three is the engine's. */
    { "/api/query", api_query, CRUD | HTTP_KEEPS_TIME,
      IN_RO | WORKER | FOR_READERS },
    { "/api/query/exp", api_exp,
      GET_POST | HTTP_PUT | HTTP_DELETE | HTTP_KEEPS_TIME,
      IN_RO | WORKER | FOR_READERS },
    { "/api/query/last", api_last, GET_POST | HTTP_DELETE,
      IN_RO | WORKER | FOR_READERS },
    { "/api/search", api_search, CRUD, IN_RO | WORKER | FOR_READERS },
    { "/api/suggest", api_suggest, GET_POST, IN_RO | WORKER | FOR_READERS },

    { "/aggregators", api_aggregators, GET_POST, MODE_ANY | UI | FOR_READERS },
    { "/dropcaches", api_dropcaches, HTTP_GET | HTTP_DELETE,
      MODE_ANY | UI | WORKER | FOR_ADMINS },
    { "/logs", api_logs, ANY, MODE_ANY | UI | WORKER | FOR_ADMINS },
    { "/metrics", api_metrics, HTTP_GET, MODE_ANY | UI | WORKER | FOR_READERS },
    { "/q", api_q, ANY | HTTP_KEEPS_TIME, IN_RO | UI | WORKER | FOR_READERS },
    { "/stats", api_stats, GET_POST, MODE_ANY | UI | WORKER | FOR_READERS },
    { "/version", api_version, GET_POST, MODE_ANY | UI | FOR_READERS },
    { "/diediedie", api_diediedie, ANY, MODE_ANY | UI | DIE | FOR_ADMINS },
    { "/plugin", api_plugin, ANY, MODE_ANY | FOR_READERS },
    { "/health", api_health, HTTP_GET, MODE_ANY | PUBLIC },

    { "/", api_home, HTTP_GET, IN_RO | UI | PUBLIC },
    { "/favicon.ico", api_favicon, ANY, IN_RO | UI | PUBLIC },
    { "/s", api_static, ANY, IN_RO | UI | WORKER | FOR_READERS },
    { "/suggest", api_suggest, GET_POST, IN_RO | UI | WORKER | FOR_READERS },
    { "/ui", api_ui, HTTP_GET, IN_RO | UI | PUBLIC },
};

static bool
routes_is_wanted(const struct settings *s, unsigned flags)
{
    if ((s->mode == MODE_RO && (flags & IN_RO) == 0) ||
        (s->mode == MODE_WO && (flags & IN_WO) == 0))
        return false;
    if ((flags & UI) != 0 && !s->enable_ui)
        return false;
    return (flags & DIE) == 0 || !s->no_diediedie;
}

static void
set_required(struct http_route *r, unsigned flags)
{
    unsigned required = (flags & FOR_ADMINS) != 0    ? HTTP_ADMIN
                        : (flags & FOR_WRITERS) != 0 ? HTTP_WRITES
                        : (flags & PUBLIC) != 0      ? 0
                                                     : HTTP_READS;

    r->requires = required;
    r->get_requires = (flags & FOR_READERS) != 0 ? HTTP_READS : required;
    r->delete_requires = (flags & PUBLIC) != 0 ? 0 : HTTP_ADMIN;
}

static void
telnet_stats(void *ctx, struct telnet_call *call)
{
    stats_write_lines(ctx, call->out);
}

static void
telnet_version(void *ctx, struct telnet_call *call)
{
    buf_put_str(call->out, api_version_text);
}

static void
telnet_status(void *ctx, struct telnet_call *call)
{
    buf_printf(call->out, "%s\n", api_status_word(ctx));
}

/* May a telnet client do what others may do only if 'remote' is set? */
static bool
telnet_is_trusted(const struct api *a, const struct telnet_call *call,
                  bool remote)
{
    return remote || (address_is_loopback(call->peer) &&
                      a->settings->local != LOCAL_NONE);
}

static void
telnet_dropcaches(void *ctx, struct telnet_call *call)
{
    const struct api *a = ctx;

    if (!telnet_is_trusted(a, call, a->settings->dropcaches_remote)) {
        buf_put_str(call->out, "dropcaches: only this machine may do that\n");
        return;
    }
    api_drop_caches(a);
    buf_put_str(call->out, "Caches dropped.\n");
}

static void
telnet_diediedie(void *ctx, struct telnet_call *call)
{
    const struct api *a = ctx;
    const uint64_t one = 1;

    if (!telnet_is_trusted(a, call, a->settings->diediedie_remote)) {
        buf_put_str(call->out, "diediedie: only this machine may do that\n");
        return;
    }
    log_info("tsd", "a telnet client said diediedie");
    buf_put_str(call->out, "Cleaning up and exiting now.\n");
    call->close = true;
    if (write(a->stop_fd, &one, sizeof one) != (ssize_t)sizeof one)
        log_warn("tsd", "it is stopping already");
}

static void
add_telnet(struct routes *r, const char *name, telnet_serve *serve, void *ctx,
           unsigned required)
{
    INSIST(r->telnet_len < ROUTES_TELNET_MAX);
    r->telnet[r->telnet_len++] =
        (struct telnet_route){ name, serve, ctx, required, false };
}

void
routes_make(struct api *a, struct routes *out)
{
    *out = (struct routes){ 0 };
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        const struct entry *e = &entries[i];

        if (!routes_is_wanted(a->settings, e->flags) ||
            (strncmp(e->path, "/api/", 5) == 0 && !a->settings->enable_api))
            continue;
        INSIST(out->http_len < ROUTES_MAX);
        out->http[out->http_len] = (struct http_route){
            .path = e->path,
            .methods = e->methods |
                       ((e->methods & HTTP_GET) != 0 ? (unsigned)HTTP_HEAD : 0),
            .worker = (e->flags & WORKER) != 0,
            .serve = e->serve,
            .ctx = a,
            .quick = e->serve == api_put     ? api_put_is_quick
                     : e->serve == api_query ? api_query_is_quick
                                             : NULL,
        };
        set_required(&out->http[out->http_len++], e->flags);
    }
    out->has_put = routes_is_wanted(a->settings, IN_WO);
    /* "help" names them in this order, which is OpenTSDB's. */
    add_telnet(out, "stats", telnet_stats, a, HTTP_READS);
    add_telnet(out, "dropcaches", telnet_dropcaches, a, HTTP_ADMIN);
    add_telnet(out, "version", telnet_version, a, HTTP_READS);
    add_telnet(out, "exit", NULL, NULL, 0);
    add_telnet(out, "help", NULL, NULL, 0);
    /* Of OpenTSDB 2.5: 2.4's "help" does not name it. */
    add_telnet(out, "status", telnet_status, a, 0);
    out->telnet[out->telnet_len - 1].unlisted = true;
    if (out->has_put) {
        add_telnet(out, "put", NULL, NULL, HTTP_WRITES);
        add_telnet(out, "rollup", NULL, NULL, HTTP_WRITES);
        add_telnet(out, "histogram", telnet_histogram, a, HTTP_WRITES);
    }
    if (routes_is_wanted(a->settings, MODE_ANY | DIE))
        add_telnet(out, "diediedie", telnet_diediedie, a, HTTP_ADMIN);
    if (a->auth != NULL)
        add_telnet(out, "auth", NULL, NULL, 0);
}
