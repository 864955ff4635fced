/* Points that are put and are older than a policy keeps them, or than the time
 * before which rows have been dropped: which of them are rejected, and which
 * are put with care (store_retention.h). Younger points cost a comparison. */
#include "storage/store/store_put_priv.h"

#include "base/process/counters.h"
#include "storage/store/store_weeks_priv.h"
#include "storage/week/week.h"

/* A point is evidence for the clock if its time is at most so long ago. */
#define NEAR_MS (INT64_C(3600) * 1000)

void
store_set_policy(struct store *s, const struct store_policy *p)
{
    OBJ_CHECK(s, STORE_MAGIC);
    s->old_points.policy = *p;
}

void
store_set_expired_ms(struct store *s, int64_t ms)
{
    OBJ_CHECK(s, STORE_MAGIC);
    atomic_store(&s->old_points.expired_ms, ms);
}

/* -- the clock ------------------------------------------------------------- */

void
store_watch_clock(struct store *s, bool on)
{
    struct old_points *o = &s->old_points;

    OBJ_CHECK(s, STORE_MAGIC);
    atomic_store(&o->near_from_us, 0);
    atomic_store(&o->near_until_us, 0);
    atomic_store(&o->watches, on);
}

int64_t
store_watched_ms(struct store *s)
{
    const struct old_points *o = &s->old_points;

    OBJ_CHECK(s, STORE_MAGIC);
    return (atomic_load(&o->near_until_us) - atomic_load(&o->near_from_us)) /
           1000;
}

/* -- which points are old -------------------------------------------------- */

int64_t
store_old_before_ms(struct store *s, const struct series_point *points,
                    size_t len)
{
    struct old_points *o = &s->old_points;
    int64_t expired_ms = atomic_load(&o->expired_ms);
    int64_t cut_ms = atomic_load(&s->cuts.youngest_ms);

    if (atomic_load(&o->watches)) {
        int64_t now_ms = clock_now_ms(s->options.clock), never = 0;
        bool is_near = false;

        for (size_t i = 0; i < len && !is_near; i++)
            is_near = points[i].point.ts_ms <= now_ms &&
                      points[i].point.ts_ms >= now_ms - NEAR_MS;
        if (is_near) {
            (void)atomic_compare_exchange_strong(&o->near_from_us, &never,
                                                 clock_monotonic_us());
            atomic_store(&o->near_until_us, clock_monotonic_us());
        }
    }
    return expired_ms > cut_ms ? expired_ms : cut_ms;
}

/* What is known of the series of an old point, and of its week. */
struct old_series {
    series_ref ref;
    bool has_name; /* or the head has forgotten the series */
    struct tsuid tsuid;
    int64_t expired_ms;
    struct cut_times cut;
    /* The week that was asked for last. */
    struct week week;
    bool week_known, week_is_final;
    enum status week_status;
};

static void
look_up_series(struct store *s, series_ref ref, bool by_policy,
               struct old_series *x)
{
    const struct store_policy *policy = &s->old_points.policy;
    uint64_t metric;

    if (x->ref == ref)
        return;
    x->ref = ref;
    x->expired_ms = 0;
    x->cut = (struct cut_times){ 0 };
    x->week_known = false;
    x->has_name = head_tsuid_of(s->head, ref, &x->tsuid) &&
                  tsuid_tags_begin_at(&s->layout, tsuid_slice(&x->tsuid), 1);
    if (!x->has_name)
        return;
    metric = tsuid_metric_id(&s->layout, tsuid_slice(&x->tsuid));
    if (by_policy && policy->expired_ms != NULL)
        x->expired_ms = policy->expired_ms(policy->ctx, metric);
    x->cut = store_cut_times(s, metric);
}

static bool
is_late(const struct old_series *x, int64_t ts_ms)
{
    return ts_ms >= 0 && ts_ms <= POINT_MAX_TS_MS &&
           cut_times_are_alone(&x->cut, hour_base(ts_ms));
}

static void
reject_point(struct put *p, struct series_point *x, enum status status,
             const char *why)
{
    x->status = status;
    if (store_put_is_first_failure(p))
        p->status = error_set(p->e, status, "%s", why);
}

/* Most puts have none, and look no further. */
bool
store_put_has_old(const struct put *p, const uint16_t *order, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (p->points[p->at + order[i]].point.ts_ms < p->old_before_ms)
            return true;
    return false;
}

size_t
store_put_split_old(struct put *p, const uint16_t *order, size_t len,
                    uint16_t *young, struct late_order *late)
{
    struct store *s = p->log.s;
    struct old_series x = { .ref = SERIES_REF_NONE };
    size_t n = 0;

    late->len = 0;
    for (size_t i = 0; i < len; i++) {
        struct series_point *point = &p->points[p->at + order[i]];
        int64_t ts_ms = point->point.ts_ms;

        if (ts_ms >= p->old_before_ms) {
            young[n++] = order[i];
            continue;
        }
        look_up_series(s, point->series, true, &x);
        /* By whole rows, as they are dropped. */
        if (ts_ms >= 0 && ts_ms < x.expired_ms &&
            hour_base(ts_ms) <
                key_span_base(&s->layout, (uint32_t)(x.expired_ms / 1000)))
            reject_point(p, point, ST_EXPIRED,
                         "the point is older than its "
                         "metric's retention policy");
        else if (is_late(&x, ts_ms))
            late->order[late->len++] = order[i];
        else
            young[n++] = order[i];
    }
    return n;
}

/* -- late points ----------------------------------------------------------- */

/* May the point, which is late, be put? */
static bool
check_late(struct put *p, struct series_point *point, struct old_series *x)
{
    struct store *s = p->log.s;
    uint32_t time_s = (uint32_t)(point->point.ts_ms / 1000);
    uint32_t base = week_base(time_s);
    struct buf value = BUF_INIT;
    uint8_t key[ROW_KEY_MAX];
    size_t size;

    /* Reads the entry of the week, and whether the rows that it was made of may
     * be gone. */
    if (!x->week_known || x->week.base != base) {
        size = key_week(&s->layout, tsuid_slice(&x->tsuid), base, key);
        x->week_known = true;
        x->week_status = kv_get(s->kv, slice_of(key, size), &value, NULL);
        x->week_is_final = x->week_status == ST_OK && value.size > 0 &&
                           week_decode(buf_slice(&value), base, HOURS_SUMS,
                                       &x->week, NULL) == ST_OK &&
                           week_is_final(&x->week);
        if (x->week_status == ST_NOT_FOUND)
            x->week_status = ST_OK;
        x->week.base = base;
        buf_fini(&value);
    }
    if (x->week_status == ST_CORRUPT)
        return true; /* a row is kept beside such an entry */
    if (x->week_status != ST_OK) {
        reject_point(p, point, ST_BUSY,
                     "the hourly values of the point's week cannot be read");
        return false;
    }
    if (!x->week_is_final ||
        x->week.count[(time_s - x->week.base) / HOUR_S] == 0)
        return true;
    reject_point(p, point, ST_CONFLICT,
                 "the raw points of the point's hour were dropped and only "
                 "their hourly values are kept; another point of that hour "
                 "cannot be added");
    return false;
}

size_t
store_put_check_late(struct put *p, uint16_t *order, size_t len)
{
    struct old_series x = { .ref = SERIES_REF_NONE };
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        struct series_point *point = &p->points[p->at + order[i]];

        look_up_series(p->log.s, point->series, false, &x);
        if (!is_late(&x, point->point.ts_ms) || check_late(p, point, &x))
            order[n++] = order[i];
    }
    return n;
}
