/* The endpoints, one file each in the rooms here, and what they are given.
 *
 * Owns:    nothing; the daemon owns what it lends.
 * Threads: any: endpoints run side by side and change nothing here. */
#pragma once

#include <stdatomic.h>

#include "base/cancel.h"
#include "base/process/clock.h"
#include "cluster/counts.h"
#include "tsd/put/histogram_text.h"
#include "tsd/config/settings.h"
#include "uid/meta/meta.h"
#include "uid/series/series.h"
#include "web/http.h"

struct api {
    const struct settings *settings;
    const struct clock *clock;
    struct store *store;
    struct cluster *cluster; /* NULL: the store lies in no pool */
    struct uid_table *uids;
    struct series_directory *series;
    struct engine *engine;
    struct records *records; /* annotations, metadata, trees */
    struct put_path *put;
    struct limits *limits;   /* what queries may read: tsd/config/limits.h */
    struct queries *queries; /* those under way: tsd/stats/queries.h */
    struct point_range *point_range; /* tsd/stats/point_range.h */
    atomic_bool *backup_busy;        /* one at a time */
    const struct timezone *zone;     /* tsd.core.timezone */
    /* tsd.core.tag.allow_specialchars contains ':' and '('. */
    bool colons_in_names, parens_in_names;
    size_t answer_bytes;        /* halite.query.answer_bytes */
    bool skip_unresolved_tagvs; /* tsd.query.skip_unresolved_tagvs */
    bool allow_delete;          /* tsd.http.query.allow_delete */
    struct histogram_codecs histograms;
    int64_t started_ms;
    int stop_fd; /* an eventfd: written to stop the daemon */
    unsigned port;
    char host[256]; /* ours, for statistics */
    char canonical[256];
    /* Counts of what this struct does not know: the sockets. */
    struct listener_counts (*connections)(void *ctx);
    void *connections_ctx;
    struct http_server *http;    /* for its latencies */
    struct auth *auth;           /* NULL: everybody may do all */
    struct tool_runs *tools;     /* tsd/tool/run/tool_runs.h */
    struct retention *retention; /* tsd/retention/retention.h */
};

/* A request being served. */
struct api_call {
    const struct api *a;
    const struct http_request *r;
    struct http_reply *out;
    struct arena *arena; /* the request's */
};

/* Each serves the paths that tsd/routes.c gives it; ctx is the struct api. */
http_serve api_aggregators;
http_serve api_annotation;
http_serve api_backup;
http_serve api_cardinality;
http_serve api_cluster;
http_serve api_config;
http_serve api_diediedie;
http_serve api_dropcaches;
http_serve api_exp;
http_serve api_favicon;
http_serve api_health;
http_serve api_histogram;
http_serve api_home;
http_serve api_last;
http_serve api_logs;
http_serve api_metrics;
http_serve api_openapi;
http_serve api_plugin;
http_serve api_put;
http_is_quick api_put_is_quick; /* of api_put */
http_serve api_q;
http_serve api_query;
http_is_quick api_query_is_quick; /* of api_query */
http_serve api_retention;
http_serve api_rollup;
http_serve api_search;
http_serve api_serializers;
http_serve api_static;
http_serve api_stats;
http_serve api_suggest;
http_serve api_tool;
http_serve api_tree;
http_serve api_tsmeta;
http_serve api_ui;
http_serve api_uid;
http_serve api_uidmeta;
http_serve api_version;

/* /api/search/lookup. */
void api_lookup(const struct api *a, const struct http_request *r,
                struct http_reply *out);

/* -- what several of them do ----------------------------------------------- */

struct json_t;

/* The body as JSON, to json_decref(); on failure the reply is made and NULL
 * returned. */
struct json_t *api_parse_body(const struct http_request *r,
                              struct http_reply *out);
/* A body's text; what no parser takes is replaced by U+FFFD.  The memory of the
 * tree is charged to the budget of bodies; ST_BUSY when that is exhausted. */
MUST_CHECK enum status api_parse_json(const struct http_request *r,
                                      struct slice body, struct json_t **out,
                                      struct error *e);
/* ST_INVALID as 400 whose message and details are the same, as OpenTSDB does
 * where it wraps an exception; else http_reply_failure(). */
void api_reject(struct http_reply *out, const struct error *e);
/* ST_INVALID as "Unable to parse the given JSON". */
void api_reject_json(struct http_reply *out, const struct error *e);
/* A value's text: of a string itself, of a number or a boolean as written in
 * JSON (Jackson turns them into strings); false when absent, null, or nested.
 * The text is lent by the JSON or lies in 'number' (NUMBER_TEXT_MAX bytes). */
bool api_json_value_text(const struct json_t *v, char *number,
                         struct slice *out);
/* The reply to telnet's "version". */
extern const char api_version_text[];
/* For what runs long: has the client hung up? */
struct cancel api_cancel(const struct http_request *r);
/* For loops over what the client or the store can make large: ST_OK, or why it
 * is of no use to go on: the client left, its time is over, or the answer so
 * far does not fit. */
MUST_CHECK enum status api_go_on(const struct http_request *r,
                                 struct http_reply *out, struct error *e);
/* False, and the reply is made, while this server does not hear what others of
 * its pool change: names and series that it has in memory may be old.  Waits
 * for some seconds.  For what is not asked of the owners of rows. */
bool api_is_current(const struct api *a, struct http_reply *out);
/* What an endpoint chooses by: "rule" of "/api/tree/rule/x", nothing of
 * "/api/tree". */
struct slice api_sub_path(const struct http_request *r);
/* False when it wants to delete and that is not allowed, to anybody or to this
 * client: the reply is made. */
bool api_may_delete(const struct api *a, const struct http_request *r,
                    bool wants, struct http_reply *out);
/* A parameter that must be there and not be empty; else the reply is made. */
bool api_need_param(const struct http_request *r, const char *name,
                    struct slice *out, struct http_reply *reply);
/* Java's Integer.parseInt. */
bool api_parse_int(struct slice s, int64_t *out);
/* "000001": upper-case hexadecimal. */
void api_put_hex(struct buf *b, struct slice bytes);
/* A member of JSON with that text. */
void api_put_id(struct buf *b, const char *name, struct slice bytes);
/* "ok"; "partial" while the disk lets us read only: OpenTSDB 2.5's words. */
const char *api_status_word(const struct api *a);
/* Forgets what can be read again: the caches of names and of put lines. */
void api_drop_caches(const struct api *a);
/* Enters a query, JSON, among those under way; NULL: it may not run now, and
 * '*e' says why. */
struct query_entry *api_begin_query(const struct api *a,
                                    const struct http_request *r,
                                    struct slice query, struct error *e);
/* JSON outside of /api comes without a charset. */
void api_json_type(const struct http_request *r, struct http_reply *out);
