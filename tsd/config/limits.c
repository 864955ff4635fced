#include "tsd/config/limits.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/file/file.h"
#include "base/process/lock.h"
#include "base/process/log.h"
#include "base/mem.h"
#include "base/obj.h"
#include "query/model/regexp.h"
#include "web/json/json.h"

#define LIMITS_MAGIC FOURCC('L', 'M', 'T', 'S')
#define FILE_SETTING "tsd.query.limits.overrides.config"

struct override {
    struct regexp *regexp;
    struct engine_limits limits;
};

/* What the file said. */
struct list {
    struct override *overrides;
    size_t len;
};

struct limits {
    uint32_t magic;
    const struct clock *clock;
    struct engine_limits defaults;
    bool may_lift_bytes, may_lift_points; /* .._allow_override */
    const char *path;                     /* NULL: no file */
    int64_t interval_ms;
    _Atomic int64_t next_look_ms; /* INT64_MAX: the file is being read */
    struct lock lock;
    struct list list GUARDED_BY(lock);
};

static void
list_fini(struct list *list)
{
    for (size_t i = 0; i < list->len; i++)
        regexp_free(&list->overrides[i].regexp);
    free(list->overrides);
}

static enum status
read_limit(const json_t *item, const char *name, uint64_t *out, struct error *e)
{
    const json_t *v = json_object_get(item, name);

    if (v != NULL && (!json_is_integer(v) || json_integer_value(v) < 0))
        return error_set(e, ST_INVALID, "%s must be 0 or more", name);
    *out = v == NULL ? 0 : (uint64_t)json_integer_value(v);
    return ST_OK;
}

static enum status
read_override(const json_t *item, struct override *out, struct error *e)
{
    const json_t *regex = json_object_get(item, "regex");
    enum status st;

    if (!json_is_string(regex) || json_string_length(regex) == 0)
        return error_set(e, ST_INVALID, "an override without its regex");
    st = read_limit(item, "byteLimit", &out->limits.bytes, e);
    if (st == ST_OK)
        st = read_limit(item, "dataPointsLimit", &out->limits.points, e);
    return st == ST_OK ? regexp_new(slice_of(json_string_value(regex),
                                             json_string_length(regex)),
                                    &out->regexp, e)
                       : st;
}

static enum status
parse_file(const char *path, struct list *list, struct error *e)
{
    struct buf text = BUF_INIT;
    json_t *json = NULL;
    enum status st = file_read(path, LIMITS_FILE_BYTES, &text, e);

    if (st == ST_OK)
        st = json_parse(buf_slice(&text), SIZE_MAX, &json, e);
    if (st == ST_OK && !json_is_array(json))
        st = error_set(e, ST_INVALID, "not an array of overrides");
    list->overrides =
        mem_new_array(json_array_size(json), sizeof *list->overrides);
    for (size_t i = 0; i < json_array_size(json) && st == ST_OK; i++) {
        st = read_override(json_array_get(json, i), &list->overrides[i], e);
        if (st == ST_OK)
            list->len++;
    }
    json_decref(json);
    buf_fini(&text);
    return st;
}

/* The limits stay as they are unless all of it is fine. */
static enum status
read_file(struct limits *l, struct error *e)
{
    struct list list = { 0 }, old;
    enum status st = parse_file(l->path, &list, e);

    if (st == ST_OK) {
        lock_take(&l->lock);
        old = l->list;
        l->list = list;
        lock_drop(&l->lock);
        list = old;
    }
    list_fini(&list);
    atomic_store(&l->next_look_ms, clock_now_ms(l->clock) + l->interval_ms);
    return st == ST_OK ? ST_OK : error_wrap(e, ST_INVALID, FILE_SETTING);
}

enum status
limits_open(const struct settings *s, const struct clock *c,
            struct limits **out, struct error *e)
{
    struct limits *l = mem_new(sizeof *l);

    l->magic = LIMITS_MAGIC;
    l->clock = c;
    l->defaults = (struct engine_limits){
        .points = s->query_limits_data_points_default,
        .bytes = s->query_limits_bytes_default,
    };
    l->may_lift_bytes = s->query_limits_bytes_allow_override;
    l->may_lift_points = s->query_limits_data_points_allow_override;
    l->path = s->query_limits_overrides_config;
    l->interval_ms = s->query_limits_overrides_interval;
    lock_init(&l->lock);
    *out = l;
    return l->path == NULL ? ST_OK : read_file(l, e);
}

void
limits_free(struct limits **lp) NO_TS_CHECK
{
    struct limits *l = OBJ_TAKE(lp, LIMITS_MAGIC);

    if (l == NULL)
        return;
    list_fini(&l->list);
    lock_fini(&l->lock);
    OBJ_FREE(l);
}

/* One of those who come when the interval has passed reads; the others go on
 * with what is there. */
static void
look_again(struct limits *l)
{
    int64_t next_ms = atomic_load(&l->next_look_ms);
    int64_t now_ms;
    struct error e;

    if (l->path == NULL || l->interval_ms <= 0 || next_ms == INT64_MAX)
        return;
    now_ms = clock_now_ms(l->clock);
    /* Also when the clock was put back. */
    if ((now_ms >= next_ms || now_ms < next_ms - l->interval_ms) &&
        atomic_compare_exchange_strong(&l->next_look_ms, &next_ms, INT64_MAX) &&
        read_file(l, &e) != ST_OK)
        log_warn("query", "the limits stay as they were: %s", e.text);
}

void
limits_find(void *ctx, const struct query *q, const struct sub_query *sq,
            struct engine_limits *out)
{
    struct limits *l = ctx;

    OBJ_CHECK(l, LIMITS_MAGIC);
    look_again(l);
    *out = l->defaults;
    lock_take(&l->lock);
    for (size_t i = 0; i < l->list.len; i++)
        if (regexp_find(l->list.overrides[i].regexp, sq->metric, NULL) ==
            ST_OK) {
            *out = l->list.overrides[i].limits;
            break;
        }
    lock_drop(&l->lock);
    if (q->override_bytes && l->may_lift_bytes)
        out->bytes = 0;
    if (q->override_points && l->may_lift_points)
        out->points = 0;
}
