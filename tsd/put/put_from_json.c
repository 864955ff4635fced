/* Points of JSON bodies on their way through a batch: see tsd/put/put.h. */
#include "tsd/put/put_priv.h"

#include "tsd/put/put_json.h"
#include "tsd/put/put_value.h"

void
put_batch_json(struct put_batch *b, const struct put_json_point *x, size_t id,
               bool rollup)
{
    size_t row = put_add_row(b, id, x, rollup);
    struct point *p = &b->points[row];

    /* With a tag of the header's, the bytes of the body say too little; so do
     * those of a value with an escape in it. */
    b->ready[row] =
        !rollup && b->extra_key.data == NULL && !x->absent &&
        x->metric.size > 0 && x->tags.size > 2 && x->value.size > 0 &&
        x->time > 0 && x->metric.size <= UINT32_MAX &&
        x->tags.size <= UINT32_MAX && put_time_to_ms(x->time, &p->ts_ms) &&
        memchr(x->value.data, '\\', x->value.size) == NULL &&
        put_parse_value(x->value, p, NULL) && put_value_is_finite(p);
    if (b->ready[row])
        b->keys[row] = (struct put_key){
            .metric = x->metric.data,
            .metric_size = (uint32_t)x->metric.size,
            .tags = x->tags.data,
            .tags_size = (uint32_t)x->tags.size,
            .kind = PUT_JSON,
        };
}

bool
put_json_parse(struct put_batch *b, size_t row, struct put_parsed *x)
{
    const struct put_json_point *p = b->json[row];
    const char *missing = p->absent
                              ? "Unexpected null datapoint encountered in set."
                          : p->metric.size == 0 ? "Metric name was empty"
                          : p->time <= 0        ? "Invalid timestamp"
                          : p->value.size == 0  ? "Empty value"
                                                : NULL;
    struct slice value;

    if (missing != NULL)
        return PUT_REJECT(b, row, PUT_BAD_ARGUMENT, "%s", missing);
    /* All at once, so that what the slices refer to never moves. */
    buf_clear(&b->text);
    if (buf_reserve(&b->text, 3 * (p->metric.size + p->value.size +
                                   p->tags.size + p->interval.size +
                                   p->aggregator.size + p->group_by.size)) ==
        NULL)
        return PUT_REJECT(b, row, PUT_STORAGE, "out of memory");
    x->time = p->time;
    x->metric = put_json_text(p->metric, &b->text);
    value = put_json_text(p->value, &b->text);
    put_json_tags(p->tags, &x->tags, &b->text);
    if (b->extra_key.data != NULL)
        put_tags_set(&x->tags, b->extra_key, b->extra_value);
    x->interval = put_json_text(p->interval, &b->text);
    x->aggregator = put_json_text(p->aggregator, &b->text);
    x->group_by = put_json_text(p->group_by, &b->text);
    missing = x->tags.len == 0                          ? "Missing tags"
              : !b->rollup[row] || x->group_by.size > 0 ? NULL
              : x->interval.size == 0                   ? "Missing interval"
              : x->aggregator.size == 0                 ? "Missing aggregator"
                                                        : NULL;
    if (missing != NULL)
        return PUT_REJECT(b, row, PUT_BAD_ARGUMENT, "%s", missing);
    return put_parse_value(value, &b->points[row], NULL) ||
           PUT_REJECT(b, row, PUT_BAD_VALUE,
                      "Unable to parse value to a number");
}
