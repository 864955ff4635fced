/*
 * Rollups on their way through a batch: lines "interval-aggregator metric time
 * value tagk=tagv ...", and points of /api/rollup.  They are few beside points
 * (one an interval), so they all go the slow way, which follows OpenTSDB step
 * by step.
 *
 * A rollup is a point of a series of its own kind (uid/series/series.h), at the
 * start of its interval (query/model/rollup.h).
 */
#include "config.h"

#include "tsd/put/put_priv.h"

#include "base/obj.h"
#include "query/model/aggregator.h"
#include "query/model/rollup.h"
#include "tsd/put/put_json.h"
#include "tsd/put/put_value.h"

#define SECONDS_MAX INT64_C(4294967295)

/* What a rollup says beside what a point says; data NULL: absent. */
struct rollup {
    struct slice interval, aggregator, group_by;
    int64_t time;
    bool narrow; /* see put_value_print() */
};

static bool
reject(struct put_batch *b, size_t row, const char *why)
{
    return put_reject_text(b, row, PUT_BAD_ARGUMENT, why);
}

/* -- checks, in OpenTSDB's order ------------------------------------------- */

static void
print_names(struct put_batch *b, const struct put_names *names)
{
    buf_put_slice(&b->why, names->metric);
    buf_put_str(&b->why, " ");
    put_tags_print(&names->tags, &b->why);
}

static void
put_upper(struct buf *out, struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        buf_put_u8(out, s.data[i] >= 'a' && s.data[i] <= 'z'
                            ? (uint8_t)(s.data[i] & ~0x20)
                            : s.data[i]);
}

static bool
equals_ignoring_case(struct slice a, struct slice b)
{
    for (size_t i = 0; i < a.size && i < b.size; i++) {
        uint8_t x = a.data[i], y = b.data[i];

        x = x >= 'A' && x <= 'Z' ? x | 0x20 : x;
        y = y >= 'A' && y <= 'Z' ? y | 0x20 : y;
        if (x != y)
            return false;
    }
    return a.size == b.size;
}

static bool
reject_other_tag(struct put_batch *b, size_t row, const struct put_names *names,
                 const struct rollup *x, struct slice value)
{
    buf_printf(&b->why, "Given tag value for %s of ",
               b->path->rollups->agg_tag_key);
    buf_put_slice(&b->why, value);
    buf_put_str(&b->why, " did not match the group by aggregator of ");
    if (x->group_by.data == NULL)
        buf_put_str(&b->why, "null");
    buf_put_slice(&b->why, x->group_by);
    buf_put_str(&b->why, " for ");
    print_names(b, names);
    return reject(b, row, "");
}

/* The tag that tells the aggregator over series, or that there was none. */
static bool
add_tag(struct put_batch *b, size_t row, struct put_names *names,
        const struct rollup *x)
{
    const struct rollups *r = b->path->rollups;
    struct slice key = slice_str(r == NULL ? "null" : r->agg_tag_key);
    struct put_tag *old = r == NULL ? NULL : put_tags_find(&names->tags, key);

    if (old != NULL && (x->group_by.data == NULL ||
                        !equals_ignoring_case(old->value, x->group_by)))
        return reject_other_tag(b, row, names, x, old->value);
    if (x->group_by.data == NULL && (r == NULL || !r->tag_raw))
        return true;
    buf_clear(&b->added_value);
    if (x->group_by.data == NULL)
        buf_put_str(&b->added_value, r->raw_tag_value);
    else
        put_upper(&b->added_value, x->group_by);
    b->added_key = key;
    if (old != NULL)
        old->value = buf_slice(&b->added_value);
    else
        put_tags_add(&names->tags, key, buf_slice(&b->added_value), false);
    return true;
}

static bool
is_derived(struct slice aggregator)
{
    return equals_ignoring_case(aggregator, slice_str("avg")) ||
           equals_ignoring_case(aggregator, slice_str("dev"));
}

static bool
check_group_by(struct put_batch *b, size_t row, const struct put_names *names,
               const struct rollup *x)
{
    const struct rollups *r = b->path->rollups;
    struct buf lower = BUF_INIT;
    bool known;

    if (x->group_by.data == NULL)
        return true;
    for (size_t i = 0; i < x->group_by.size; i++) {
        uint8_t c = x->group_by.data[i];

        buf_put_u8(&lower, c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    known = aggregator_find(buf_slice(&lower)) != NULL;
    buf_fini(&lower);
    if (known && (r == NULL || !r->block_derived || !is_derived(x->group_by)))
        return true;
    buf_put_str(&b->why, known
                             ? "Derived group by aggregations are not allowed "
                             : "Invalid group by aggregator ");
    buf_put_slice(&b->why, x->group_by);
    buf_put_str(&b->why, " with metric ");
    print_names(b, names);
    return reject(b, row, "");
}

static bool
check_aggregator(struct put_batch *b, size_t row, const struct put_names *names,
                 const struct rollup *x)
{
    if (!b->path->rollups->block_derived || !is_derived(x->aggregator))
        return true;
    buf_put_str(&b->why, "Derived rollup aggregations are not allowed ");
    put_upper(&b->why, x->aggregator);
    buf_put_str(&b->why, " with metric ");
    print_names(b, names);
    return reject(b, row, "");
}

/* Without a configuration the tag of aggregates has no name. */
static bool
reject_nameless(struct put_batch *b, size_t row)
{
    buf_put_str(&b->why, "Invalid tag name with value [");
    buf_put_slice(&b->why, buf_slice(&b->added_value));
    b->added_key = (struct slice){ NULL, 0 };
    return reject(b, row, "]: null");
}

static bool
check(struct put_batch *b, size_t row, struct put_names *names,
      const struct rollup *x)
{
    const struct rollups *r = b->path->rollups;

    if (!put_check_finite(b, row, names, x->time))
        return false;
    if (x->interval.size > 0 && r == NULL)
        return reject(b, row, "No rollup or aggregations were configured");
    if (x->group_by.data != NULL && x->group_by.size == 0) {
        buf_put_str(&b->why, "Cannot write a group by data point without "
                             "specifying the aggregation function. Metric=");
        buf_put_slice(&b->why, names->metric);
        buf_put_str(&b->why, " tags=");
        put_tags_print(&names->tags, &b->why);
        return reject(b, row, "");
    }
    if (x->time > SECONDS_MAX)
        return put_reject_time(b, row, names, x->time, x->narrow);
    if (!add_tag(b, row, names, x) || !check_group_by(b, row, names, x) ||
        !put_check_count(b, row, names))
        return false;
    if (r == NULL)
        return x->group_by.data != NULL
                   ? reject_nameless(b, row)
                   : reject(b, row,
                            "Interval cannot be null for a non-group by point");
    return put_check_names(b, row, names);
}

/* -- where it goes --------------------------------------------------------- */

static bool
find_kind(struct put_batch *b, size_t row, const struct rollup_interval *i,
          const struct aggregator *a, const struct rollup *x,
          struct put_names *names)
{
    char name[ROLLUP_NAME_MAX];
    struct error e;

    rollup_kind_name(i, a, x->group_by.data != NULL, name);
    if (series_kind(b->path->directory, name, true, &names->kind, &e) == ST_OK)
        return true;
    return put_reject_text(b, row, PUT_STORAGE, e.text);
}

/* Points aggregated over series only: at their own times. */
static bool
place_points(struct put_batch *b, size_t row, const struct rollup *x,
             struct put_names *names)
{
    if (x->group_by.data == NULL)
        return reject(b, row,
                      "Interval cannot be null for a non-group by point");
    b->points[row].ts_ms = x->time * 1000;
    return check_aggregator(b, row, names, x) &&
           find_kind(b, row, NULL, NULL, x, names);
}

static bool
place_rollup(struct put_batch *b, size_t row, const struct rollup *x,
             struct put_names *names)
{
    const struct rollup_interval *i =
        rollups_find(b->path->rollups, x->interval);
    const struct aggregator *a =
        rollups_aggregator(b->path->rollups, x->aggregator);
    int64_t slot;

    if (i == NULL) {
        buf_put_str(&b->why, "No rollups configured for the interval: ");
        buf_put_slice(&b->why, x->interval);
        return put_reject_text(b, row, PUT_NO_ROLLUP, "");
    }
    if (x->aggregator.size == 0)
        return reject(b, row, "Aggregator cannot be null or empty.");
    if (a == NULL) {
        buf_put_str(&b->why, "No ID found mapping to aggregator: ");
        buf_put_slice(&b->why, x->aggregator);
        return reject(b, row, "");
    }
    if (!check_aggregator(b, row, names, x))
        return false;
    if (!rollup_store_ms(i, x->time, &b->points[row].ts_ms, &slot)) {
        buf_printf(&b->why,
                   "Offset of %lld was greater than the configured intervals "
                   "%lld",
                   (long long)slot, (long long)i->slots);
        return reject(b, row, "");
    }
    return find_kind(b, row, i, a, x, names);
}

static bool
place(struct put_batch *b, size_t row, const struct rollup *x,
      struct put_names *names)
{
    return check(b, row, names, x) &&
           (x->interval.size == 0 ? place_points(b, row, x, names)
                                  : place_rollup(b, row, x, names));
}

/* -- lines ----------------------------------------------------------------- */

static size_t
find(struct slice s, char c)
{
    const uint8_t *at = memchr(s.data, c, s.size);

    return at == NULL ? s.size : (size_t)(at - s.data);
}

/* "1h-sum", "1h-sum:max", "max". */
static bool
split_kind(struct slice s, struct rollup *x)
{
    size_t colon = find(s, ':');
    struct slice first = slice_of(s.data, colon), second = { NULL, 0 };
    size_t dash = find(first, '-');

    if (colon < s.size) {
        second = slice_of(s.data + colon + 1, s.size - colon - 1);
        second.size = find(second, ':');
    }
    if (dash < first.size) {
        x->interval = slice_of(first.data, dash);
        x->aggregator = slice_of(first.data + dash + 1, first.size - dash - 1);
    } else if (second.size == 0) {
        x->group_by = first;
    }
    if (second.size > 0)
        x->group_by = second;
    if (x->group_by.data != NULL && x->aggregator.data == NULL)
        x->aggregator = x->group_by;
    return x->interval.size + x->group_by.size > 0;
}

static bool
read_tags(struct put_batch *b, size_t row, struct slice left,
          struct put_names *names)
{
    while (left.size > 0) {
        struct slice word = put_line_word(&left);

        if (word.size > 0 && !put_tags_parse(&names->tags, word, &b->why))
            return reject(b, row, "");
    }
    return true;
}

static bool
parse_line(struct put_batch *b, size_t row, struct put_names *names)
{
    bool bare = b->keys[row].metric == NULL;
    struct slice left = put_line_text(b, row), kind, value;
    struct rollup x = { .narrow = true };
    size_t words = bare ? 0 : 1;

    for (size_t i = 0; i < left.size; i++)
        words += left.data[i] == ' ';
    if (words < 5) {
        buf_printf(&b->why, "not enough arguments (need least 7, got %zu)",
                   words);
        return reject(b, row, "");
    }
    kind = put_line_word(&left);
    if (kind.size == 0 || !split_kind(kind, &x))
        return reject(b, row, "Missing interval or aggregator");
    names->metric = put_line_word(&left);
    if (names->metric.size == 0)
        return reject(b, row, "empty metric name");
    if (!put_parse_time(put_line_word(&left), &x.time, &b->why))
        return put_reject_text(b, row, PUT_BAD_VALUE, "");
    if (x.time <= 0) {
        buf_printf(&b->why, "invalid timestamp: %lld", (long long)x.time);
        return reject(b, row, "");
    }
    value = put_line_word(&left);
    if (value.size == 0)
        return reject(b, row, "empty value");
    if (!read_tags(b, row, left, names))
        return false;
    if (!put_parse_value(value, &b->points[row], &b->why))
        return put_reject_text(b, row, PUT_BAD_VALUE, "");
    return place(b, row, &x, names);
}

/* -- JSON ------------------------------------------------------------------ */

static struct slice
text_of(struct put_batch *b, struct slice raw)
{
    size_t from = b->text.size;

    if (raw.data == NULL)
        return raw;
    put_json_unescape(raw, &b->text);
    return slice_of(b->text.data + from, b->text.size - from);
}

static bool
parse_json(struct put_batch *b, size_t row, struct put_names *names)
{
    const struct put_json_point *p = b->json[row];
    struct rollup x = { .time = p->time };
    size_t more =
        3 * (p->interval.size + p->aggregator.size + p->group_by.size);
    struct slice value;

    if (!put_json_names(b, row, names, &value, more))
        return false;
    x.interval = text_of(b, p->interval);
    x.aggregator = text_of(b, p->aggregator);
    x.group_by = text_of(b, p->group_by);
    if (x.interval.size == 0 && x.group_by.size == 0)
        return reject(b, row, "Missing interval");
    if (x.aggregator.size == 0 && x.group_by.size == 0)
        return reject(b, row, "Missing aggregator");
    if (!put_parse_value(value, &b->points[row], NULL))
        return put_reject_text(b, row, PUT_BAD_VALUE,
                               "Unable to parse value to a number");
    return place(b, row, &x, names);
}

/* -- into the batch -------------------------------------------------------- */

bool
put_rollup_parse(struct put_batch *b, size_t row, struct put_names *names)
{
    b->added_key = (struct slice){ NULL, 0 };
    names->tags.len = 0;
    names->tags.more = 0;
    names->kind = 0;
    return b->json[row] == NULL ? parse_line(b, row, names)
                                : parse_json(b, row, names);
}

static size_t
add_row(struct put_batch *b, size_t id)
{
    size_t row = b->len++;

    INSIST(row < PUT_BATCH_MAX && !b->looked_up);
    b->ids[row] = id;
    b->json[row] = NULL;
    b->ready[row] = false;
    b->rollup[row] = true;
    b->keys[row] = (struct put_key){ 0 };
    return row;
}

void
put_batch_rollup_line(struct put_batch *b, struct slice line, size_t id)
{
    size_t row = add_row(b, id);

    b->keys[row].metric = line.data;
    b->keys[row].metric_size = (uint32_t)line.size;
}

void
put_batch_rollup_json(struct put_batch *b, const struct put_json_point *x,
                      size_t id)
{
    b->json[add_row(b, id)] = x;
}
