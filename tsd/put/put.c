/* See tsd/put/put.h.  The order of things in a flush is the order of arrival:
 * new series, failures and points alike. */
#include "tsd/put/put_priv.h"

#include <math.h>
#include <stdlib.h>

#include "base/process/clock.h"
#include "base/process/counters.h"
#include "base/process/log.h"
#include "base/address.h"
#include "base/mem.h"
#include "base/obj.h"
#include "tsd/put/put_value.h"
#include "uid/series/series_names.h"

#define PATH_MAGIC   FOURCC('P', 'U', 'T', 'P')
#define NOT_QUICK_US 1000000
#define FUTURE_MS    60000 /* a clock that is wrong by more is counted */

struct put_path *
put_path_new(struct store *s, struct series_directory *d, struct uid_table *u,
             const struct put_options *o)
{
    struct put_path *p = mem_new(sizeof *p);

    p->magic = PATH_MAGIC;
    p->store = s;
    p->directory = d;
    p->uids = u;
    p->rules = o->rules;
    p->rollups = o->rollups;
    if (p->rules.max_tags == 0)
        p->rules.max_tags = 8;
    if (p->rules.max_tags > KEY_MAX_TAGS)
        p->rules.max_tags = KEY_MAX_TAGS;
    if (o->header_tag != NULL && *o->header_tag != '\0')
        p->header_tag = mem_strdup(o->header_tag);
    p->cache = put_cache_new(o->cache_entries, o->cache_bytes);
    p->names_epoch = uid_epoch(u);
    return p;
}

void
put_path_free(struct put_path **ref)
{
    struct put_path *p = OBJ_TAKE(ref, PATH_MAGIC);

    if (p == NULL)
        return;
    put_cache_free(&p->cache);
    free(p->header_tag);
    OBJ_FREE(p);
}

void
put_path_drop_cache(struct put_path *p)
{
    OBJ_CHECK(p, PATH_MAGIC);
    put_cache_clear(p->cache);
}

const struct latency *
put_path_latency(const struct put_path *p)
{
    OBJ_CHECK(p, PATH_MAGIC);
    return &p->latency;
}

struct series_rules
put_path_rules(const struct put_path *p)
{
    OBJ_CHECK(p, PATH_MAGIC);
    return p->rules;
}

void
put_path_was_slow(struct put_path *p)
{
    OBJ_CHECK(p, PATH_MAGIC);
    atomic_store(&p->quick_again_us, clock_monotonic_us() + NOT_QUICK_US);
}

bool
put_path_is_quick(const struct put_path *p)
{
    OBJ_CHECK(p, PATH_MAGIC);
    return clock_monotonic_us() >= atomic_load(&p->quick_again_us) &&
           store_is_quick(p->store);
}

const char *
put_path_header_tag(const struct put_path *p)
{
    OBJ_CHECK(p, PATH_MAGIC);
    return p->header_tag;
}

/* -- batches --------------------------------------------------------------- */

/* Batches are large, and every request needs one: their columns are not
 * cleared. */
struct put_batch *
put_batch_new(struct put_path *p, put_failed *failed, void *ctx)
{
    struct put_batch *b = mem_resize(NULL, 1, sizeof *b);

    OBJ_CHECK(p, PATH_MAGIC);
    memset(b, 0, offsetof(struct put_batch, keys));
    b->magic = PUT_BATCH_MAGIC;
    b->path = p;
    b->rules = p->rules;
    b->failed = failed;
    b->ctx = ctx;
    return b;
}

void
put_batch_free(struct put_batch **bp)
{
    struct put_batch *b = OBJ_TAKE(bp, PUT_BATCH_MAGIC);

    if (b == NULL)
        return;
    buf_fini(&b->text);
    buf_fini(&b->why);
    buf_fini(&b->tags);
    buf_fini(&b->added_value);
    buf_fini(&b->tsuids);
    store_window_free(&b->window);
    OBJ_FREE(b);
}

void
put_batch_set_peer(struct put_batch *b, const char *text,
                   const struct sockaddr *address)
{
    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    b->peer_text = text;
    b->peer = address;
}

void
put_batch_create_metrics(struct put_batch *b, bool create)
{
    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    b->rules.create_metrics = create;
}

bool
put_batch_is_full(const struct put_batch *b)
{
    return b->len == PUT_BATCH_MAX;
}

size_t
put_add_row(struct put_batch *b, size_t id, const struct put_json_point *json,
            bool rollup)
{
    size_t row = b->len++;

    INSIST(row < PUT_BATCH_MAX && !b->looked_up);
    b->ids[row] = id;
    b->json[row] = json;
    b->rollup[row] = rollup;
    b->ready[row] = false;
    b->keys[row] = (struct put_key){ 0 };
    return row;
}

bool
put_batch_added_tag(const struct put_batch *b, struct slice *key,
                    struct slice *value)
{
    *key = b->added_key;
    *value = buf_slice(&b->added_value);
    return b->added_key.data != NULL;
}

void
put_batch_set_extra(struct put_batch *b, struct slice key, struct slice value)
{
    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    b->extra_key = key;
    b->extra_value = value;
}

static const enum counter fault_counters[] = {
    [PUT_BAD_VALUE] = CNT_ERR_VALUES,
    [PUT_BAD_ARGUMENT] = CNT_ERR_ARGUMENTS,
    [PUT_UNKNOWN_NAME] = CNT_ERR_METRICS,
    [PUT_STORAGE] = CNT_ERR_STORAGE,
    [PUT_NO_ROLLUP] = CNT_ERR_ARGUMENTS,
    [PUT_EXPIRED] = CNT_ERR_EXPIRED,
    [PUT_COUNTED] = CNT_ERR_COUNTED,
    [PUT_FOUND_LATE] = CNT_ERR_ARGUMENTS,
};

static void
log_rejection(const char *peer, struct slice metric, struct slice why,
              const char *more)
{
    log_warn("put", "rejected a point of metric %s from %s: %s%s",
             log_quote(metric), peer, log_quote(why), more);
}

void
put_path_rejected(struct put_path *p, enum put_fault fault, const char *peer,
                  struct slice metric, struct slice why)
{
    char more[LOG_MORE_SIZE];

    OBJ_CHECK(p, PATH_MAGIC);
    counter_add(fault_counters[fault], 1);
    if (log_throttle_pass(&p->rejected[fault], more))
        log_rejection(peer, metric, why, more);
}

bool
put_reject(struct put_batch *b, size_t row, enum put_fault fault)
{
    const struct put_json_point *json = b->json[row];
    struct slice metric = { b->keys[row].metric, b->keys[row].metric_size };
    char peer[ADDRESS_NAME_SIZE] = "", more[LOG_MORE_SIZE];

    if (b->quiet) {
        buf_clear(&b->why);
        return false;
    }
    counter_add(fault_counters[fault], 1);
    if ((b->peer != NULL || b->peer_text != NULL) &&
        log_throttle_pass(&b->path->rejected[fault], more)) {
        if (json != NULL)
            metric = json->metric.data != NULL ? json->metric : slice_str("");
        else if (!b->ready[row])
            metric = slice_cut(&metric, ' ');
        if (b->peer != NULL)
            address_name(b->peer, peer, sizeof peer);
        log_rejection(b->peer_text != NULL ? b->peer_text : peer, metric,
                      buf_slice(&b->why), more);
    }
    b->failed(b->ctx, b->ids[row], fault, buf_slice(&b->why));
    buf_clear(&b->why);
    return false;
}

/* -- checks ---------------------------------------------------------------- */

const char *
put_tags_text(struct put_batch *b, const struct put_parsed *x)
{
    buf_clear(&b->tags);
    put_tags_print(&x->tags, &b->tags);
    return buf_cstr(&b->tags);
}

bool
put_check_finite(struct put_batch *b, size_t row, const struct put_parsed *x)
{
    const struct point *p = &b->points[row];

    return put_value_is_finite(p) ||
           PUT_REJECT(b, row, PUT_BAD_ARGUMENT,
                      "value is NaN or Infinite: %sInfinity for metric=%.*s "
                      "timestamp=%lld",
                      signbit(p->v.d) ? "-" : "", SLICE_ARG(x->metric),
                      (long long)x->time);
}

bool
put_reject_time(struct put_batch *b, size_t row, const struct put_parsed *x)
{
    buf_printf(&b->why, "bad timestamp=%lld when trying to add value=",
               (long long)x->time);
    put_value_print(&b->why, &b->points[row], b->json[row] == NULL);
    return PUT_REJECT(b, row, PUT_BAD_ARGUMENT, " to metric=%.*s, tags=%s",
                      SLICE_ARG(x->metric), put_tags_text(b, x));
}

/* What OpenTSDB checks of a point before its names: a finite value, a time in
 * range.  Sets the point's time. */
static bool
put_check(struct put_batch *b, size_t row, struct put_parsed *x)
{
    return put_check_finite(b, row, x) &&
           (put_time_to_ms(x->time, &b->points[row].ts_ms) ||
            put_reject_time(b, row, x));
}

/* -- series ---------------------------------------------------------------- */

enum put_fault
put_fault_of(enum status status)
{
    if (status == ST_NOT_FOUND)
        return PUT_UNKNOWN_NAME;
    return status == ST_INVALID || status == ST_LIMIT ? PUT_BAD_ARGUMENT
                                                      : PUT_STORAGE;
}

static bool
is_ascii(struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] >= 0x80 || s.data[i] == '\\')
            return false;
    return true;
}

static void
add_entry(struct put_batch *b, size_t row, const uint8_t *tsuid, size_t size)
{
    buf_put(&b->tsuids, tsuid, size);
    b->entry_rows[b->entries_len] = (uint16_t)row;
    b->tsuid_ends[b->entries_len++] = b->tsuids.size;
}

/* A host's metrics come one after the other, with the same tags to the byte:
 * what these are is known from the row before.  Metrics in ASCII are the names
 * that they look like, whichever way they were sent. */
static bool
identify_like_last(struct put_batch *b, size_t row)
{
    const struct put_key *key = &b->keys[row], *last;
    size_t at = b->entries_len - 1, from;
    struct slice metric = { key->metric, key->metric_size };
    uint8_t tsuid[TSUID_MAX];

    if (b->entries_len == 0 || b->tsuids.failed || !b->ready[row] ||
        b->rollup[row] || !b->ready[b->entry_rows[at]] ||
        b->rollup[b->entry_rows[at]])
        return false;
    last = &b->keys[b->entry_rows[at]];
    if (key->kind != last->kind || key->tags_size != last->tags_size ||
        memcmp(key->tags, last->tags, key->tags_size) != 0 || !is_ascii(metric))
        return false;
    from = at == 0 ? 0 : b->tsuid_ends[at - 1];
    if (!series_of_metric(
            b->path->directory, metric,
            slice_of(b->tsuids.data + from, b->tsuid_ends[at] - from), tsuid))
        return false;
    add_entry(b, row, tsuid, b->tsuid_ends[at] - from);
    return true;
}

static bool
parse(struct put_batch *b, size_t row, struct put_parsed *x)
{
    *x = (struct put_parsed){ .kind = 0 };
    b->added_key = slice_of(NULL, 0);
    return (b->json[row] == NULL ? put_line_parse : put_json_parse)(b, row,
                                                                    x) &&
           (b->rollup[row] ? put_rollup_check : put_check)(b, row, x);
}

static void
add_names(struct put_batch *b, size_t row)
{
    struct put_parsed x;

    if (parse(b, row, &x))
        series_names_add(b->names, &(struct series_text){
                                       0, x.metric, x.tags.tags, x.tags.len });
}

void
put_batch_set_ahead(struct put_batch *b, put_ahead_fn *f, void *ctx)
{
    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    b->ahead = kv_traits(store_kv(b->path->store))->shared ? f : NULL;
    b->ahead_ctx = ctx;
}

void
put_batch_json_ahead(struct put_batch *b, const struct put_json_point *x,
                     bool rollup)
{
    OBJ_CHECK(b, PUT_BATCH_MAGIC);
    b->json[PUT_AHEAD_ROW] = x;
    b->rollup[PUT_AHEAD_ROW] = rollup;
    add_names(b, PUT_AHEAD_ROW);
}

/* Looks up the names of this row and of those that follow, and creates the new
 * ones, all together: one by one each costs the engine's answer, or a record of
 * the WAL. */
static void
look_names_up(struct put_batch *b, size_t from)
{
    b->names = series_names_new(b->path->directory, &b->rules);
    b->quiet = true;
    for (size_t row = from; row < b->len; row++)
        if (!b->ready[row] || b->refs[row] == SERIES_REF_NONE)
            add_names(b, row);
    if (b->ahead != NULL)
        b->ahead(b->ahead_ctx, b);
    b->quiet = false;
    b->names_ahead = true;
    series_names_resolve(&b->names);
}

/* Names to a TSUID, which then waits to be entered with others. */
static bool
identify(struct put_batch *b, size_t row)
{
    struct put_path *p = b->path;
    struct series_rules rules = b->rules;
    struct put_parsed x;
    struct tsuid tsuid;
    struct error e;
    enum status status;

    if (identify_like_last(b, row))
        return true;
    if (!parse(b, row, &x))
        return false;
    rules.cached = !b->names_ahead && row + 1 < b->len;
    status = series_identify(
        p->directory, &rules,
        &(struct series_text){ x.kind, x.metric, x.tags.tags, x.tags.len },
        &tsuid, &e);
    if (status == ST_CONFLICT && rules.cached) {
        look_names_up(b, row);
        return identify(b, row);
    }
    if (status != ST_OK)
        return PUT_REJECT(b, row, put_fault_of(status), "%s", e.text);
    add_entry(b, row, tsuid.bytes, tsuid.size);
    return true;
}

/* Asks the directory for all that wait, and enters its answers into the cache.
 * Rows that get no series are rejected.  Those of which a name was purged
 * meanwhile are identified again, so that the name gets another id, and wait
 * when this returns; if it is the last attempt, they are rejected. */
static void
enter_once(struct put_batch *b, bool is_last)
{
    struct error e;
    enum status status = error_set(&e, ST_BUSY, "no memory for new series");
    uint16_t again[PUT_BATCH_MAX];
    size_t at = 0, again_len = 0;

    for (size_t i = 0; i < b->entries_len; at = b->tsuid_ends[i++])
        b->entries[i].tsuid =
            slice_of(b->tsuids.data + at, b->tsuid_ends[i] - at);
    if (!b->tsuids.failed)
        status =
            series_enter(b->path->directory, b->entries, b->entries_len, &e);
    for (size_t i = 0; i < b->entries_len; i++) {
        size_t row = b->entry_rows[i];
        enum status rejected = status;

        if (status == ST_OK && b->entries[i].rejected == ST_CONFLICT) {
            if (!is_last) {
                again[again_len++] = (uint16_t)row;
                continue;
            }
            rejected = series_is_being_purged(&e);
        } else if (status == ST_OK && b->entries[i].rejected != ST_OK) {
            rejected = series_reject(b->path->directory, &e);
        }
        if (rejected != ST_OK) {
            (void)PUT_REJECT(b, row, put_fault_of(rejected), "%s", e.text);
            continue;
        }
        b->refs[row] = b->entries[i].ref;
        if (b->ready[row])
            put_cache_add(b->path->cache, &b->keys[row], b->refs[row],
                          b->epoch);
    }
    b->entries_len = 0;
    buf_clear(&b->tsuids);
    for (size_t i = 0; i < again_len; i++)
        (void)identify(b, again[i]);
}

static void
enter(struct put_batch *b)
{
    for (unsigned i = 1; b->entries_len > 0; i++)
        enter_once(b, i == SERIES_ATTEMPTS);
}

void
put_look_up(struct put_batch *b)
{
    struct put_path *p = b->path;
    int64_t soon_ms = clock_now_ms(&clock_system) + FUTURE_MS;
    uint64_t future = 0, epoch = uid_epoch(p->uids);

    /* A name that was renamed or deleted leads elsewhere now: what was looked
     * up before is forgotten, here and wherever the change was made. */
    if (atomic_load(&p->names_epoch) != epoch) {
        put_cache_clear(p->cache);
        atomic_store(&p->names_epoch, epoch);
    }
    b->epoch = put_cache_epoch(p->cache);
    put_cache_find(p->cache, b->keys, b->len, b->refs, &b->guess);
    b->names_ahead = false;
    for (size_t row = 0; row < b->len; row++) {
        if (b->ready[row] && b->refs[row] != SERIES_REF_NONE)
            continue;
        b->refs[row] = SERIES_REF_NONE;
        (void)identify(b, row);
    }
    if (b->entries_len > 0)
        enter(b);
    for (size_t row = 0; row < b->len; row++) {
        if (b->refs[row] == SERIES_REF_NONE)
            continue;
        future += !b->rollup[row] && b->points[row].ts_ms > soon_ms;
        b->out[b->out_len] =
            (struct series_point){ b->refs[row], b->points[row], ST_OK };
        b->again[b->out_len] = false;
        b->rows[b->out_len++] = (uint16_t)row;
    }
    if (future > 0)
        counter_add(CNT_POINTS_FUTURE, future);
    b->looked_up = true;
}

bool
put_look_up_again(struct put_batch *b, size_t row)
{
    b->refs[row] = SERIES_REF_NONE;
    b->epoch = put_cache_epoch(b->path->cache);
    if (identify(b, row))
        enter(b);
    return b->refs[row] != SERIES_REF_NONE;
}
