/* Rollups on their way through a batch: lines "interval-aggregator metric time
 * value tagk=tagv ...", and points of /api/rollup.  They are few beside points
 * (one an interval), so they all go the slow way, which follows OpenTSDB step
 * by step.
 *
 * A rollup is a point of a series of its own kind (uid/series/series.h), at the
 * start of its interval (query/model/rollup.h). */
#include "tsd/put/put_priv.h"

#include "query/model/aggregator.h"
#include "query/model/rollup.h"

#define SECONDS_MAX INT64_C(4294967295)

#define REJECT(b, row, ...) PUT_REJECT(b, row, PUT_BAD_ARGUMENT, __VA_ARGS__)
#define REJECT_NO_INTERVAL(b, row)     \
    PUT_REJECT(b, row, PUT_FOUND_LATE, \
               "Interval cannot be null for a non-group by point")

static void
put_upper(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        buf_put_u8(out, s.data[i] >= 'a' && s.data[i] <= 'z'
                            ? (uint8_t)(s.data[i] & ~0x20)
                            : s.data[i]);
}

/* The tag that tells the aggregator over series, or that there was none.
 * Without a configuration it has no name. */
static bool
add_tag(struct put_batch *b, size_t row, struct put_parsed *x)
{
    const struct rollups *r = b->path->rollups;
    bool grouped = x->group_by.data != NULL;
    struct slice key = slice_str(r == NULL ? "null" : r->agg_tag_key);
    struct tag *old = r == NULL ? NULL : put_tags_find(&x->tags, key);

    if (old != NULL && (!grouped || !slice_eq_nocase(old->value, x->group_by)))
        return REJECT(b, row,
                      "Given tag value for %s of %.*s did not match the group "
                      "by aggregator of %.*s for %.*s %s",
                      r->agg_tag_key, SLICE_ARG(old->value),
                      SLICE_ARG(grouped ? x->group_by : slice_str("null")),
                      SLICE_ARG(x->metric), put_tags_text(b, x));
    if (!grouped && (r == NULL || !r->tag_raw))
        return true;
    buf_clear(&b->added_value);
    put_upper(&b->added_value, x->group_by);
    if (!grouped)
        buf_put_str(&b->added_value, r->raw_tag_value);
    b->added_key = key;
    put_tags_set(&x->tags, key, buf_slice(&b->added_value));
    return true;
}

/* Aggregates that others are computed from may be forbidden. */
static bool
is_blocked(const struct rollups *r, struct slice aggregator)
{
    return r != NULL && r->block_derived &&
           (slice_eq_nocase(aggregator, slice_str("avg")) ||
            slice_eq_nocase(aggregator, slice_str("dev")));
}

static bool
check_group_by(struct put_batch *b, size_t row, const struct put_parsed *x)
{
    const struct aggregator *a;

    for (size_t i = 0; (a = aggregator_at(i)) != NULL; i++)
        if (slice_eq_nocase(x->group_by, slice_str(a->name)))
            break;
    if (x->group_by.data == NULL ||
        (a != NULL && !is_blocked(b->path->rollups, x->group_by)))
        return true;
    return REJECT(b, row, "%s %.*s with metric %.*s %s",
                  a != NULL ? "Derived group by aggregations are not allowed"
                            : "Invalid group by aggregator",
                  SLICE_ARG(x->group_by), SLICE_ARG(x->metric),
                  put_tags_text(b, x));
}

static bool
check_aggregator(struct put_batch *b, size_t row, const struct put_parsed *x)
{
    if (!is_blocked(b->path->rollups, x->aggregator))
        return true;
    buf_put_str(&b->why, "Derived rollup aggregations are not allowed ");
    put_upper(&b->why, x->aggregator);
    return REJECT(b, row, " with metric %.*s %s", SLICE_ARG(x->metric),
                  put_tags_text(b, x));
}

static bool
check(struct put_batch *b, size_t row, struct put_parsed *x)
{
    struct tag_set set;
    struct error e;

    if (!put_check_finite(b, row, x))
        return false;
    if (x->interval.size > 0 && b->path->rollups == NULL)
        return REJECT(b, row, "No rollup or aggregations were configured");
    if (x->group_by.data != NULL && x->group_by.size == 0)
        return REJECT(b, row,
                      "Cannot write a group by data point without specifying "
                      "the aggregation function. Metric=%.*s tags=%s",
                      SLICE_ARG(x->metric), put_tags_text(b, x));
    if (x->time > SECONDS_MAX)
        return put_reject_time(b, row, x);
    if (!add_tag(b, row, x) || !check_group_by(b, row, x))
        return false;
    if (b->path->rollups == NULL && x->group_by.data == NULL)
        return REJECT_NO_INTERVAL(b, row);
    if (b->path->rollups == NULL) {
        b->added_key = slice_of(NULL, 0);
        return REJECT(b, row, "Invalid tag name with value [%s]: null",
                      buf_cstr(&b->added_value));
    }
    return series_check(
               b->path->uids, &b->rules,
               &(struct series_text){ 0, x->metric, x->tags.tags, x->tags.len },
               &set, &e) == ST_OK ||
           REJECT(b, row, "%s", e.text);
}

static bool
find_kind(struct put_batch *b, size_t row, const struct rollup_interval *i,
          const struct aggregator *a, struct put_parsed *x)
{
    char name[ROLLUP_NAME_MAX];
    struct error e;

    rollup_kind_name(i, a, x->group_by.data != NULL, name);
    return series_kind(b->path->directory, name, true, &x->kind, &e) == ST_OK ||
           PUT_REJECT(b, row, PUT_STORAGE, "%s", e.text);
}

static bool
place_rollup(struct put_batch *b, size_t row, struct put_parsed *x)
{
    const struct rollup_interval *i =
        rollups_find(b->path->rollups, x->interval);
    const struct aggregator *a =
        rollups_aggregator(b->path->rollups, x->aggregator);
    int64_t slot;

    if (i != NULL && i->is_default)
        return REJECT(b, row,
                      "The interval %.*s is the default interval: its values "
                      "are the points themselves, and are stored by "
                      "/api/put",
                      SLICE_ARG(x->interval));
    if (i == NULL)
        return PUT_REJECT(b, row, PUT_NO_ROLLUP,
                          "No rollups configured for the interval: %.*s",
                          SLICE_ARG(x->interval));
    if (x->aggregator.size == 0)
        return REJECT(b, row, "Aggregator cannot be null or empty.");
    if (a == NULL)
        return REJECT(b, row, "No ID found mapping to aggregator: %.*s",
                      SLICE_ARG(x->aggregator));
    if (!check_aggregator(b, row, x))
        return false;
    a = rollup_stored_aggregator(a);
    if (strcmp(a->name, "avg") == 0)
        return REJECT(b, row,
                      "Rollups of avg are not read: an average is computed "
                      "from the rollups of sum and count");
    if (!rollup_store_ms(i, x->time, &b->points[row].ts_ms, &slot))
        return REJECT(b, row,
                      "Offset of %lld was greater than the configured "
                      "intervals %lld",
                      (long long)slot, (long long)i->slots);
    return find_kind(b, row, i, a, x);
}

bool
put_rollup_check(struct put_batch *b, size_t row, struct put_parsed *x)
{
    if (!check(b, row, x))
        return false;
    if (x->interval.size > 0)
        return place_rollup(b, row, x);
    /* Points aggregated over series only: at their own times. */
    if (!check_aggregator(b, row, x))
        return false;
    if (x->group_by.data == NULL)
        return REJECT_NO_INTERVAL(b, row);
    b->points[row].ts_ms = x->time * 1000;
    return find_kind(b, row, NULL, NULL, x);
}

bool
put_rollup_split(struct slice s, struct put_parsed *x)
{
    struct slice first = slice_cut(&s, ':');
    struct slice rest = first, interval = slice_cut(&rest, '-');
    size_t colons = 0;
    bool has_second;

    /* The second part of "a:b", "a::b" may be empty, but not when nothing but
     * colons follows: Java's split() drops these. */
    while (colons < s.size && s.data[colons] == ':')
        colons++;
    has_second = colons < s.size;
    if (has_second)
        x->group_by = slice_cut(&s, ':');
    if (interval.size < first.size) {
        x->interval = interval;
        x->aggregator = rest;
    } else if (!has_second) {
        x->group_by = first;
    }
    if (x->group_by.data != NULL && x->aggregator.data == NULL)
        x->aggregator = x->group_by;
    return first.size > 0 || has_second;
}
