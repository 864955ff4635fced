#include "tsd/database.h"

#include <netdb.h>
#include <unistd.h>

#include "base/process/log.h"
#include "base/time/timezone.h"
#include "query/engine/engine.h"
#include "query/model/rollup.h"
#include "storage/place/datadir.h"
#include "storage/place/place.h"
#include "tsd/config/limits.h"
#include "tsd/config/uid_filter.h"
#include "tsd/put/put.h"
#include "tsd/stats/point_range.h"
#include "tsd/stats/queries.h"

/* Who we are, for statistics: the name as it is set, and as DNS knows it. */
static void
find_host(struct api *a)
{
    struct addrinfo hints = { .ai_flags = AI_CANONNAME }, *found = NULL;

    if (gethostname(a->host, sizeof a->host - 1) != 0)
        (void)snprintf(a->host, sizeof a->host, "localhost");
    (void)snprintf(a->canonical, sizeof a->canonical, "%s", a->host);
    if (!a->settings->stats_canonical ||
        getaddrinfo(a->host, NULL, &hints, &found) != 0)
        return;
    if (found->ai_canonname != NULL)
        (void)snprintf(a->canonical, sizeof a->canonical, "%s",
                       found->ai_canonname);
    freeaddrinfo(found);
}

static enum status
fill_api(struct database *d, struct error *e)
{
    const struct settings *s = d->api.settings;
    struct api *a = &d->api;
    const char *specials;
    enum status st;

    a->clock = &clock_system;
    a->queries = queries_new(!s->query_allow_simultaneous_duplicates);
    a->point_range = point_range_new();
    a->backup_busy = &d->backup_busy;
    a->zone = timezone_utc();
    specials = s->tag_allow_specialchars;
    a->colons_in_names = specials != NULL && strchr(specials, ':') != NULL;
    a->parens_in_names = specials != NULL && strchr(specials, '(') != NULL;
    a->skip_unresolved_tagvs = s->query_skip_unresolved_tagvs;
    a->answer_bytes = s->query_answer_bytes;
    a->allow_delete = s->http_query_allow_delete && s->mode != MODE_RO;
    a->started_ms = clock_now_ms(a->clock);
    find_host(a);
    st = limits_open(s, a->clock, &a->limits, e);
    if (st != ST_OK)
        return st;
    st = histogram_codecs_read(s->histograms_config, &a->histograms, e);
    if (st != ST_OK)
        return error_wrap(e, st, "tsd.core.histograms.config");
    st = uid_filter_open(s, &d->uid_filter, e);
    if (st != ST_OK)
        return st;
    if (s->timezone == NULL)
        return ST_OK;
    return timezone_find(slice_str(s->timezone), &a->zone, e);
}

static struct key_layout
layout_of(const struct settings *s)
{
    struct key_layout layout = {
        .salt_width = (uint8_t)s->storage_salt_width,
        .salt_buckets = (uint16_t)s->storage_salt_buckets,
        .metric_width = (uint8_t)s->storage_uid_width_metric,
        .row_hours = (uint8_t)s->store_row_hours,
        .tagk_width = (uint8_t)s->storage_uid_width_tagk,
        .tagv_width = (uint8_t)s->storage_uid_width_tagv,
    };

    if (layout.salt_width == 0)
        layout.salt_buckets = 1;
    return layout;
}

void
database_warn_of_layout(const struct database *d)
{
    const struct settings *s = d->api.settings;
    const struct key_layout *has = store_layout(d->api.store);
    bool in_pool = d->pool.cluster != NULL;
    struct key_layout wanted = layout_of(s);
    const struct {
        const char *name;
        unsigned wanted, has;
    } all[] = {
        { "tsd.storage.uid.width.metric", wanted.metric_width,
          has->metric_width },
        { "tsd.storage.uid.width.tagk", wanted.tagk_width, has->tagk_width },
        { "tsd.storage.uid.width.tagv", wanted.tagv_width, has->tagv_width },
        { "halite.store.row_hours", wanted.row_hours, has->row_hours },
        { "tsd.storage.salt.width", wanted.salt_width,
          in_pool ? wanted.salt_width : has->salt_width },
        { "tsd.storage.salt.buckets", wanted.salt_buckets,
          in_pool || wanted.salt_width != has->salt_width ? wanted.salt_buckets
                                                          : has->salt_buckets },
        { "halite.pool.buckets", s->pool_buckets,
          in_pool ? has->salt_buckets : s->pool_buckets },
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].wanted != all[i].has && settings_is_given(s, all[i].name))
            log_warn("store",
                     "%s = %u counts for a new store alone: this one has %u",
                     all[i].name, all[i].wanted, all[i].has);
}

static enum status
open_names(struct database *d, struct error *e)
{
    const struct settings *s = d->api.settings;
    const struct uid_options o = {
        .cache_entries = s->uid_cache_entries,
        .allow_specialchars = s->tag_allow_specialchars,
        .random_metrics = s->uid_random_metrics,
        .allow = d->uid_filter == NULL ? NULL : uid_filter_allows,
        .allow_ctx = d->uid_filter,
    };
    struct api *a = &d->api;
    enum status st = uid_open(a->store, &o, &a->uids, e);

    if (st == ST_OK)
        st = series_open(a->store, a->uids, &a->series, e);
    if (st == ST_OK)
        series_limit(a->series, (struct series_limits){
                                    s->series_limit,
                                    s->series_limit_per_metric,
                                });
    if (st == ST_OK)
        st = records_open(a->store, a->uids, a->series, &a->records, e);
    return st;
}

/* A store that nothing can be written to: it is opened beside, with its WAL,
 * and rejects writes. */
static enum status
open_read_only(struct database *d, const char *dir, struct store_options *o,
               struct error *e)
{
    bool serves = d->pool.address != NULL;
    enum status st;

    if (serves && d->api.settings->mode != MODE_RO)
        return error_set(e, ST_IO,
                         "%s is on a file system that is read-only: a server "
                         "of it needs tsd.mode=ro",
                         dir);
    st = format_lock(dir, &d->held, e);
    if (st == ST_OK)
        st = folder_shadow(dir, &d->shadow, e);
    if (st != ST_OK)
        return st;
    log_info("store", "%s is on a file system that is read-only: opened in %s",
             dir, d->shadow);
    o->dir = d->shadow;
    o->read_only = o->no_summaries = true;
    o->sync = WAL_SYNC_OFF;
    return store_open(o, &d->api.store, e);
}

static enum status
open_store(struct database *d, struct error *e)
{
    const struct settings *s = d->api.settings;
    struct store_options o = {
        .layout = layout_of(s),
        .sync = (enum wal_sync)s->sync,
        .sync_interval_ms = s->sync_interval_ms,
        .head_bytes = s->store_head_bytes,
        .wal_bytes = s->store_journal_bytes,
        .wal_segment_bytes = s->store_journal_segment_bytes,
        .head_series = s->series_cache_entries,
        .series_idle_ms = s->series_idle_ms,
        .flush_delay_ms = s->store_flush_delay_ms,
        .summary_delay_ms = s->store_summary_delay_ms,
        .encode_delay_ms = s->store_encode_delay_ms,
        .min_free_bytes = s->store_min_free_bytes,
        .engine_write_buffer_bytes = s->store_write_buffer_bytes,
        .engine_cache_bytes = s->store_cache_bytes,
    };
    struct place place;
    enum status st = place_parse(s->store, &place, e);

    if (st != ST_OK)
        return st;
    if (place.kind == PLACE_POOL)
        return pool_open(&d->pool, &d->api, place.at, &o, e);
    o.dir = place.kind == PLACE_FOLDER ? place.at : NULL;
    if (o.dir != NULL && folder_is_read_only(o.dir))
        return open_read_only(d, o.dir, &o, e);
    return store_open(&o, &d->api.store, e);
}

/* A thread that reads a pool waits for its OSDs most of the time: eight a
 * processor read 4,000 rows in 0.54 of the time that one a processor takes. */
#define POOL_THREADS_A_CPU 8

static size_t
query_threads(const struct database *d)
{
    size_t wanted = d->api.settings->query_threads;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    size_t cpus = online > 0 ? (size_t)online : 1;

    if (wanted > 0)
        return wanted;
    return d->pool.cluster != NULL ? POOL_THREADS_A_CPU * cpus : cpus;
}

static enum status
open_rollups(struct database *d, struct error *e)
{
    const struct settings *s = d->api.settings;
    const char *config = s->rollups_config;
    enum status st;

    if (!s->rollups_enable)
        return ST_OK;
    st = rollups_open(config == NULL ? "" : config, &d->rollups, e);
    if (st != ST_OK)
        return error_wrap(e, ST_INVALID, "tsd.rollups.config");
    d->rollups->agg_tag_key = s->rollups_agg_tag_key;
    d->rollups->raw_tag_value = s->rollups_raw_agg_tag_value;
    d->rollups->tag_raw = s->rollups_tag_raw;
    d->rollups->block_derived = s->rollups_block_derived;
    d->rollups->split = s->rollups_split_query_enable;
    return ST_OK;
}

static enum status
open_engine(struct database *d, struct error *e)
{
    const struct settings *s = d->api.settings;
    struct api *a = &d->api;
    const struct engine_options o = {
        .threads = query_threads(d),
        .query_bytes = s->query_bytes,
        .all_bytes = s->queries_bytes,
        .expansion_limit = s->query_filter_expansion_limit,
        .skip_unresolved_tagvs = a->skip_unresolved_tagvs,
        .limits = limits_find,
        .limits_ctx = a->limits,
        .timeout_ms = s->query_timeout,
        .force_path = (int)s->query_scan,
        .rollups = d->rollups,
        .histogram_codec = a->histograms.simple + 1,
        .records = a->records,
    };
    const struct put_options put = {
        .rules = {
            .create_metrics = s->auto_create_metrics,
            .create_tagks = s->auto_create_tagks,
            .create_tagvs = s->auto_create_tagvs,
            .max_tags = s->storage_max_tags,
        },
        .cache_entries = s->put_cache_entries,
        .cache_bytes = s->put_cache_bytes,
        .header_tag = s->http_header_tag,
        .rollups = d->rollups,
    };

    (void)e;
    a->put = put_path_new(a->store, a->series, a->uids, &put);
    a->engine = engine_new(a->store, a->uids, a->series, &o);
    return ST_OK;
}

enum status
database_open(struct database *d, const struct settings *s, struct error *e)
{
    static enum status (*const parts[])(struct database * d,
                                        struct error * e) = {
        fill_api, open_rollups, open_store, open_names, open_engine,
    };
    enum status st = ST_OK;

    d->api.settings = s;
    d->held = (struct format_lock)FORMAT_NOT_LOCKED;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && st == ST_OK; i++)
        st = parts[i](d, e);
    return st == ST_OK ? pool_serve(&d->pool, e) : st;
}

enum status
database_close(struct database *d, struct error *e)
{
    struct api *a = &d->api;
    enum status st;

    pool_stop(&d->pool);
    engine_free(&a->engine);
    put_path_free(&a->put);
    records_close(&a->records);
    series_close(&a->series);
    uid_close(&a->uids);
    uid_filter_free(&d->uid_filter);
    st = a->cluster != NULL ? pool_close(&d->pool, e)
                            : store_close(&a->store, e);
    if (d->shadow != NULL)
        format_unlock(&d->held);
    folder_shadow_delete(&d->shadow);
    queries_free(&a->queries);
    point_range_free(&a->point_range);
    rollups_close(&d->rollups);
    limits_free(&a->limits);
    return st;
}
