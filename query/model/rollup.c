/* See query/model/rollup.h: the configuration, and times. */
#include "query/model/rollup.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "query/model/duration.h"

/* What a span's row could hold, and the least that makes one worth it. */
#define SLOTS_MAX   7774
#define SLOTS_MIN   12
#define CONFIG_MAX  ((size_t)1 << 20)
#define MINUTE_MS   INT64_C(60000)
#define AGG_IDS_MAX 128

/* -- one interval ---------------------------------------------------------- */

static const char *
text_of(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));

    return text == NULL ? "" : text;
}

static enum status
read_span(const char *text, struct rollup_interval *i, struct error *e)
{
    static const char letters[] = {
        [UNIT_H] = 'h', [UNIT_D] = 'd', [UNIT_N] = 'n', [UNIT_Y] = 'y'
    };
    struct duration d;
    enum status st = parse_duration(slice_str(text), &d, e);

    if (st != ST_OK)
        return error_wrap(e, st, "Invalid row span: %.60s", text);
    if (d.unit == UNIT_MS)
        return error_set(e, ST_INVALID, "Milliseconds are not supported");
    if (letters[d.unit] == '\0')
        return error_set(e, ST_INVALID,
                         "Unrecogznied span '%.60s'. A row span is 1d, 1n, 1y "
                         "or a number of hours",
                         text);
    i->span_unit = letters[d.unit];
    i->span_count = d.count;
    if (i->span_unit != 'h' && d.count > 1)
        return error_set(e, ST_INVALID,
                         "Multipliers are only usable with the 'h' unit");
    if (d.count > 1 && d.count % 2 != 0)
        return error_set(e, ST_INVALID,
                         "The multiplier must be 1 or an even value");
    return ST_OK;
}

static enum status
count_slots(struct rollup_interval *i, struct error *e)
{
    int64_t span_s = i->span_unit == 'h'   ? HOUR_S * i->span_count
                     : i->span_unit == 'd' ? DAY_S
                     : i->span_unit == 'n' ? 32 * DAY_S
                                           : 366 * DAY_S;

    if (i->seconds >= span_s)
        return error_set(e, ST_INVALID,
                         "Interval [%lld] is too large for the span [%c]",
                         (long long)i->seconds, i->span_unit);
    i->slots = span_s / i->seconds;
    if (i->slots > SLOTS_MAX)
        return error_set(e, ST_INVALID,
                         "Too many intervals [%lld] in the span. Must be "
                         "smaller than [%d] to fit in 14 bits",
                         (long long)i->slots, SLOTS_MAX);
    if (i->slots < SLOTS_MIN)
        return error_set(e, ST_INVALID,
                         "Not enough intervals [%lld] for the span. Must be at "
                         "least [%d]",
                         (long long)i->slots, SLOTS_MIN);
    i->dense = i->seconds >= 60 && DAY_S % i->seconds == 0 &&
               (i->span_unit != 'h' || span_s % i->seconds == 0);
    return ST_OK;
}

static enum status
read_delay(const char *text, struct rollup_interval *i, struct error *e)
{
    struct duration d;
    enum status st;

    if (*text == '\0')
        return ST_OK;
    st = parse_duration(slice_str(text), &d, e);
    if (st != ST_OK)
        return st;
    i->delay_s = d.ms / 1000;
    return i->delay_s > 0 ? ST_OK
                          : error_set(e, ST_INVALID,
                                      "Milliseconds are not supported as the "
                                      "maximum delay");
}

static enum status
read_interval(const json_t *o, struct rollup_interval *i, struct error *e)
{
    const char *text = text_of(o, "interval");
    struct duration d;
    enum status st = read_span(text_of(o, "rowSpan"), i, e);

    if (st != ST_OK)
        return st;
    if (*text_of(o, "table") == '\0')
        return error_set(e, ST_INVALID,
                         "The rollup table cannot be null or empty");
    if (*text_of(o, "preAggregationTable") == '\0')
        return error_set(e, ST_INVALID,
                         "The pre-aggregate rollup table cannot be null or "
                         "empty");
    st = parse_duration(slice_str(text), &d, e);
    if (st != ST_OK)
        return st;
    if (strlen(text) >= sizeof i->text || d.ms / 1000 > INT32_MAX)
        return error_set(e, ST_INVALID, "Interval is too big: %.60s", text);
    if (d.ms < 1000)
        return error_set(e, ST_INVALID, "Milliseconds are not supported");
    (void)snprintf(i->text, sizeof i->text, "%s", text);
    i->seconds = d.ms / 1000;
    i->is_default = json_is_true(json_object_get(o, "defaultInterval"));
    st = read_delay(text_of(o, "delaySla"), i, e);
    return st == ST_OK ? count_slots(i, e) : st;
}

/* -- all of them ----------------------------------------------------------- */

static enum status
read_intervals(const json_t *list, struct rollups *r, struct error *e)
{
    size_t defaults = 0;
    enum status st = ST_OK;

    if (json_array_size(list) == 0)
        return error_set(e, ST_INVALID,
                         "Rollup config given but no intervals were found.");
    if (json_array_size(list) > ROLLUP_INTERVALS_MAX)
        return error_set(e, ST_LIMIT, "There are more than %d intervals",
                         ROLLUP_INTERVALS_MAX);
    r->intervals = mem_new_array(json_array_size(list), sizeof *r->intervals);
    for (size_t i = 0; i < json_array_size(list) && st == ST_OK; i++) {
        struct rollup_interval *x = &r->intervals[r->len];

        st = read_interval(json_array_get(list, i), x, e);
        if (st == ST_OK && rollups_find(r, slice_str(x->text)) != NULL)
            st = error_set(e, ST_INVALID,
                           "Only one interval of each type can be configured: "
                           "%s",
                           x->text);
        defaults += x->is_default;
        r->len++;
    }
    if (st == ST_OK && defaults > 1)
        st = error_set(e, ST_INVALID,
                       "Multiple default intervals configured. Only one is "
                       "allowed.");
    return st;
}

static enum status
read_ids(json_t *ids, struct rollups *r, struct error *e)
{
    bool used[AGG_IDS_MAX] = { false };
    const char *name;
    json_t *value;

    if (json_object_size(ids) == 0)
        return error_set(e, ST_INVALID,
                         "Rollup config given but no aggegation ID mappings "
                         "found.");
    r->aggregators =
        mem_new_array(json_object_size(ids), sizeof(struct aggregator *));
    json_object_foreach(ids, name, value)
    {
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        char lower[32];
        const struct aggregator *a;

        (void)snprintf(lower, sizeof lower, "%s", name);
        for (char *c = lower; *c != '\0'; c++)
            *c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
        a = aggregator_find(slice_str(lower));
        if (id < 0 || id >= AGG_IDS_MAX)
            return error_set(e, ST_INVALID,
                             "ID for aggregator must be between 0 and 127: "
                             "%.60s",
                             name);
        if (used[id])
            return error_set(e, ST_INVALID,
                             "Multiple mappings for the ID '%d' are not "
                             "allowed.",
                             (int)id);
        if (a == NULL)
            return error_set(e, ST_INVALID, "No such aggregator found for %s",
                             lower);
        used[id] = true;
        r->aggregators[r->aggregators_len++] = a;
    }
    return ST_OK;
}

enum status
rollups_open(const char *config, struct rollups **out, struct error *e)
{
    struct rollups *r = mem_new(sizeof *r);
    json_error_t why;
    json_t *o = NULL;
    enum status st = ST_OK;

    *out = r;
    while (*config == ' ' || *config == '\n' || *config == '\t')
        config++;
    if (*config == '\0')
        st = error_set(e, ST_INVALID,
                       "Rollups were enabled but 'tsd.rollups.config' is null "
                       "or empty.");
    else if (*config == '{')
        o = json_loadb(config, strnlen(config, CONFIG_MAX),
                       JSON_REJECT_DUPLICATES, &why);
    else
        o = json_load_file(config, JSON_REJECT_DUPLICATES, &why);
    if (st == ST_OK && o == NULL && why.line == -1)
        st = error_set(e, ST_IO, "Failed to open conf file: %.100s: %s", config,
                       strerror(errno));
    if (st == ST_OK && !json_is_object(o))
        st = error_set(e, ST_INVALID, "no JSON: %s",
                       o == NULL ? why.text : "not an object");
    if (st == ST_OK) {
        bool has_default = false;

        st = read_intervals(json_object_get(o, "intervals"), r, e);
        if (st == ST_OK)
            st = read_ids(json_object_get(o, "aggregationIds"), r, e);
        for (size_t i = 0; i < r->len; i++)
            has_default = has_default || r->intervals[i].is_default;
        if (st == ST_OK && !has_default)
            st = error_set(e, ST_INVALID,
                           "None of the rollup intervals were marked as the "
                           "\"default\".");
    }
    json_decref(o);
    if (st != ST_OK)
        rollups_close(out);
    return st;
}

void
rollups_close(struct rollups **rp)
{
    struct rollups *r = *rp;

    *rp = NULL;
    if (r == NULL)
        return;
    free(r->intervals);
    free(r->aggregators);
    free(r);
}

const struct rollup_interval *
rollups_find(const struct rollups *r, struct slice interval)
{
    for (size_t i = 0; i < r->len; i++)
        if (slice_eq_str(interval, r->intervals[i].text))
            return &r->intervals[i];
    return NULL;
}

const struct aggregator *
rollups_aggregator(const struct rollups *r, struct slice name)
{
    for (size_t i = 0; i < r->aggregators_len; i++)
        if (slice_eq_nocase(name, slice_str(r->aggregators[i]->name)))
            return r->aggregators[i];
    return NULL;
}

const struct aggregator *
rollup_stored_aggregator(const struct aggregator *a)
{
    static const char *const plain[][2] = { { "zimsum", "sum" },
                                            { "mimmax", "max" },
                                            { "mimmin", "min" } };

    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (strcmp(a->name, plain[i][0]) == 0)
            return aggregator_find(slice_str(plain[i][1]));
    return a;
}

bool
rollups_store(const struct rollups *r, const struct aggregator *stored)
{
    for (size_t i = 0; i < r->aggregators_len; i++)
        if (rollup_stored_aggregator(r->aggregators[i]) == stored)
            return true;
    return false;
}

size_t
rollups_best(const struct rollups *r, int64_t seconds,
             const struct rollup_interval *out[ROLLUP_INTERVALS_MAX])
{
    size_t len = 0;

    for (size_t i = 0; i < r->len; i++) {
        const struct rollup_interval *x = &r->intervals[i];
        size_t at = len;

        if (seconds % x->seconds != 0)
            continue;
        for (; at > 0 && out[at - 1]->seconds < x->seconds; at--)
            out[at] = out[at - 1];
        out[at] = x;
        len++;
    }
    return len;
}

void
rollup_kind_name(const struct rollup_interval *i, const struct aggregator *a,
                 bool pre, char out[ROLLUP_NAME_MAX])
{
    if (i == NULL)
        (void)snprintf(out, ROLLUP_NAME_MAX, "points:g");
    else
        (void)snprintf(out, ROLLUP_NAME_MAX, "%lld%c-%s%s",
                       (long long)i->seconds, i->dense ? 'i' : 's', a->name,
                       pre ? ":g" : "");
}

/* -- times ----------------------------------------------------------------- */

int64_t
rollup_base_s(const struct rollup_interval *i, int64_t s)
{
    time_t t = (time_t)s;
    struct tm tm = { 0 };
    int64_t midnight = s - s % DAY_S;

    switch (i->span_unit) {
    case 'h':
        return s - s % (HOUR_S * i->span_count);
    case 'n':
        (void)gmtime_r(&t, &tm);
        return midnight - (int64_t)(tm.tm_mday - 1) * DAY_S;
    case 'y':
        (void)gmtime_r(&t, &tm);
        return midnight - (int64_t)tm.tm_yday * DAY_S;
    default:
        return midnight;
    }
}

bool
rollup_store_ms(const struct rollup_interval *i, int64_t s, int64_t *stored_ms,
                int64_t *slot)
{
    int64_t base = rollup_base_s(i, s), start;

    *slot = (s - base) / i->seconds;
    if (*slot >= i->slots)
        return false;
    start = base + *slot * i->seconds;
    *stored_ms = i->dense ? start / i->seconds * MINUTE_MS : start * 1000;
    return true;
}

int64_t
rollup_real_ms(const struct rollup_interval *i, int64_t stored_ms)
{
    return i->dense ? stored_ms / MINUTE_MS * i->seconds * 1000 : stored_ms;
}

void
rollup_stored_range(const struct rollup_interval *i, int64_t from_ms,
                    int64_t to_ms, int64_t *stored_from_ms,
                    int64_t *stored_to_ms)
{
    int64_t ms = i->seconds * 1000;

    *stored_from_ms = from_ms;
    *stored_to_ms = to_ms;
    if (!i->dense)
        return;
    *stored_from_ms = (from_ms + ms - 1) / ms * MINUTE_MS;
    *stored_to_ms = to_ms / ms * MINUTE_MS;
}
