/* Points of JSON bodies on their way through a batch: see tsd/put/put.h. */
#include "config.h"

#include "tsd/put/put_priv.h"

#include "base/obj.h"
#include "tsd/put/put_json.h"
#include "tsd/put/put_value.h"

/* Is it safe to take the bytes between the quotes as the text? */
static bool
is_plain(struct slice raw)
{
    return memchr(raw.data, '\\', raw.size) == NULL;
}

static bool
scan(const struct put_json_point *x, struct put_key *key, struct point *p)
{
    if (x->absent || x->metric.size == 0 || x->tags.size <= 2 ||
        x->value.size == 0 || x->time <= 0 || x->metric.size > UINT32_MAX ||
        x->tags.size > UINT32_MAX || !put_time_to_ms(x->time, &p->ts_ms) ||
        !is_plain(x->value) || !put_parse_value(x->value, p, NULL) ||
        !put_value_is_finite(p))
        return false;
    *key = (struct put_key){ .metric = x->metric.data,
                             .metric_size = (uint32_t)x->metric.size,
                             .tags = x->tags.data,
                             .tags_size = (uint32_t)x->tags.size,
                             .kind = PUT_JSON };
    return true;
}

void
put_batch_json(struct put_batch *b, const struct put_json_point *x, size_t id)
{
    size_t row = b->len++;

    INSIST(row < PUT_BATCH_MAX && !b->looked_up);
    b->ids[row] = id;
    b->json[row] = x;
    b->rollup[row] = false;
    /* With a tag of the header's, the bytes of the body say too little. */
    b->ready[row] =
        b->extra_key.data == NULL && scan(x, &b->keys[row], &b->points[row]);
    if (!b->ready[row])
        b->keys[row] = (struct put_key){ 0 };
}

static void
add_extra(const struct put_batch *b, struct put_tags *tags)
{
    struct put_tag *old = put_tags_find(tags, b->extra_key);

    if (old == NULL) {
        put_tags_add(tags, b->extra_key, b->extra_value, false);
    } else {
        old->value = b->extra_value;
        old->null = false;
    }
}

bool
put_json_names(struct put_batch *b, size_t row, struct put_names *names,
               struct slice *value, size_t more)
{
    const struct put_json_point *x = b->json[row];
    size_t from;

    if (x->absent)
        return put_reject_text(b, row, PUT_BAD_ARGUMENT,
                               "Unexpected null datapoint encountered in set.");
    if (x->metric.size == 0)
        return put_reject_text(b, row, PUT_BAD_ARGUMENT,
                               "Metric name was empty");
    if (x->time <= 0)
        return put_reject_text(b, row, PUT_BAD_ARGUMENT, "Invalid timestamp");
    if (x->value.size == 0)
        return put_reject_text(b, row, PUT_BAD_ARGUMENT, "Empty value");
    buf_clear(&b->text);
    if (buf_reserve(&b->text,
                    3 * (x->metric.size + x->value.size + x->tags.size) +
                        more) == NULL)
        return put_reject_text(b, row, PUT_STORAGE, "out of memory");
    put_json_unescape(x->metric, &b->text);
    names->metric = buf_slice(&b->text);
    from = b->text.size;
    put_json_unescape(x->value, &b->text);
    *value = slice_of(b->text.data + from, b->text.size - from);
    put_json_tags(x->tags, &names->tags, &b->text);
    if (b->extra_key.data != NULL)
        add_extra(b, &names->tags);
    return names->tags.len > 0 ||
           put_reject_text(b, row, PUT_BAD_ARGUMENT, "Missing tags");
}

bool
put_json_parse(struct put_batch *b, size_t row, struct put_names *names)
{
    struct slice value = { NULL, 0 };

    if (!put_json_names(b, row, names, &value, 0))
        return false;
    if (!put_parse_value(value, &b->points[row], NULL))
        return put_reject_text(b, row, PUT_BAD_VALUE,
                               "Unable to parse value to a number");
    return put_check(b, row, names, b->json[row]->time, false);
}
