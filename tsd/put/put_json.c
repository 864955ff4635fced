/* See tsd/put/put_json.h. */
#include "tsd/put/put_json.h"

#include "base/text/digit.h"
#include "base/text/java.h"
#include "base/text/number.h"
#include "base/utf8.h"
#include "tsd/put/put_value.h"

/* All of the tags, each a text or something that has a text. */
static bool
take_tags(struct put_json *r, struct slice *out)
{
    struct json_cursor *c = &r->in;
    const uint8_t *from;
    bool more;

    if (json_take_null(c, out))
        return true;
    /* Text that was well-formed once, is so again, and ends where it ended. */
    if (r->last_tags.size > 0 &&
        (size_t)(c->end - c->at) >= r->last_tags.size &&
        memcmp(c->at, r->last_tags.data, r->last_tags.size) == 0) {
        *out = slice_of(c->at, r->last_tags.size);
        c->at += r->last_tags.size;
        return true;
    }
    from = c->at;
    if (!json_open_object(c, &more))
        return false;
    while (more) {
        struct slice raw;
        enum json_token token;

        if (!json_take_name(c, &raw) || !json_take_scalar(c, &token, &raw) ||
            !json_next_member(c, &more))
            return false;
    }
    *out = r->last_tags = slice_of(from, (size_t)(c->at - from));
    return true;
}

/* A string as a count: digits with a sign, blanks around; empty is 0. */
static bool
whole_of_string(struct slice raw, int64_t *out)
{
    raw = java_trim(raw);
    *out = 0;
    return raw.size == 0 || slice_eq_str(raw, "null") ||
           number_parse_i64(raw, out);
}

/* A number as a count: its fraction is cut off.  OpenTSDB's JSON takes the
 * largest long for one that is too large. */
static bool
whole_of_number(struct slice raw, int64_t *out)
{
    double d;

    if (number_parse_i64(raw, out))
        return *out != INT64_MAX;
    *out = 0;
    if (slice_eq_str(raw, "NaN"))
        return true;
    if (!number_parse_double(raw, &d) || !(d > -9.2e18 && d < 9.2e18))
        return false;
    *out = (int64_t)d;
    return true;
}

/* Digits and no more, as nearly all are. */
static bool
take_plain_whole(struct json_cursor *c, int64_t *out)
{
    const uint8_t *p = c->at;
    int64_t v = 0;

    if (p == c->end || *p < '1' || *p > '9')
        return false;
    for (; p < c->end && *p >= '0' && *p <= '9' && p - c->at < 18; p++)
        v = v * 10 + (*p - '0');
    if (p == c->end || (*p != ',' && *p != '}'))
        return false;
    c->at = p;
    *out = v;
    return true;
}

/* Seconds with a fraction.  Clients that print a double send more than three
 * decimals: what is smaller than a millisecond is cut off. */
static bool
time_of_fraction(struct slice raw, int64_t *out)
{
    struct slice left = raw, seconds = slice_cut(&left, '.');

    if (seconds.size == 0 || seconds.size > 10 || left.size == 0)
        return false;
    for (size_t i = 0; i < left.size; i++)
        if (left.data[i] < '0' || left.data[i] > '9')
            return false;
    if (left.size > 3)
        raw.size = seconds.size + 4;
    return put_parse_time(raw, out, NULL);
}

/* Seconds with a fraction and an exponent, "1.5187995165E9", which is how Java
 * writes a double from 10^7 on. */
static bool
time_of_exponent(struct slice raw, int64_t *out)
{
    struct slice exponent = raw, decimals = slice_cut(&exponent, 'E');
    struct slice whole;
    uint8_t text[32];
    size_t size = 0;
    int64_t point;

    if (decimals.size == raw.size) {
        exponent = raw;
        decimals = slice_cut(&exponent, 'e');
    }
    whole = slice_cut(&decimals, '.');
    if (whole.size + decimals.size >= sizeof text ||
        !number_parse_i64(exponent, &point) || point < -30 || point > 10)
        return false;
    /* Only digits and the new place of the point are left. */
    point += (int64_t)whole.size;
    for (size_t i = 0; i < whole.size + decimals.size; i++) {
        if ((int64_t)i == point)
            text[size++] = '.';
        text[size++] =
            i < whole.size ? whole.data[i] : decimals.data[i - whole.size];
    }
    return time_of_fraction(slice_of(text, size), out);
}

/* Reads a whole number; if 'is_time', also seconds with a fraction. Both may be
 * texts, and null is 0. */
static bool
take_number(struct json_cursor *c, bool is_time, int64_t *out)
{
    enum json_token token;
    struct slice raw;
    bool ok = true;

    if (take_plain_whole(c, out))
        return true;
    if (!json_take_scalar(c, &token, &raw))
        return false;
    *out = 0;
    if (token == JSON_TOKEN_STRING)
        ok = whole_of_string(raw, out) ||
             (is_time && time_of_fraction(java_trim(raw), out));
    else if (token == JSON_TOKEN_NUMBER)
        ok = (is_time &&
              (time_of_fraction(raw, out) || time_of_exponent(raw, out))) ||
             whole_of_number(raw, out);
    else if (token == JSON_TOKEN_BOOL)
        ok = false;
    return ok || json_fail(c, is_time ? "a time is neither a whole number nor "
                                        "seconds with a fraction"
                                      : "a count is not a whole number");
}

static bool
take_buckets(struct json_cursor *c, struct slice *out)
{
    const uint8_t *from;
    struct slice raw;
    int64_t count;
    bool more;

    if (json_take_null(c, out))
        return true;
    from = c->at;
    if (!json_open_object(c, &more))
        return false;
    while (more)
        if (!json_take_name(c, &raw) || !take_number(c, false, &count) ||
            !json_next_member(c, &more))
            return false;
    *out = slice_of(from, (size_t)(c->at - from));
    return true;
}

/* An array of scalars. */
static bool
take_items(struct json_cursor *c, struct slice *out)
{
    enum json_token token;
    struct slice raw;
    const uint8_t *from;

    if (json_take_null(c, out))
        return true;
    from = c->at;
    if (!json_take(c, '[', "an array is expected"))
        return false;
    while (json_peek(c) != ']')
        if (!json_take_scalar(c, &token, &raw) ||
            (json_peek(c) != ']' &&
             !json_take(c, ',', "a comma or ] is expected")))
            return false;
    c->at++;
    *out = slice_of(from, (size_t)(c->at - from));
    return true;
}

enum member {
    MEMBER_METRIC,
    MEMBER_TIME,
    MEMBER_VALUE,
    MEMBER_TAGS,
    MEMBER_INTERVAL,
    MEMBER_AGGREGATOR,
    MEMBER_GROUP_BY,
    MEMBER_BUCKETS,
    MEMBER_ID,
    MEMBER_UNDERFLOW,
    MEMBER_OVERFLOW,
    MEMBER_KIND,
    MEMBER_TIMES,
    MEMBER_VALUES,
    MEMBER_NO
};

static enum member
member_of(struct slice name, enum put_json_kind kind)
{
    static const struct {
        const char *name;
        enum put_json_kind kind;
    } members[] = {
        [MEMBER_METRIC] = { "metric", PUT_JSON_POINTS },
        [MEMBER_TIME] = { "timestamp", PUT_JSON_POINTS },
        [MEMBER_VALUE] = { "value", PUT_JSON_POINTS },
        [MEMBER_TAGS] = { "tags", PUT_JSON_POINTS },
        [MEMBER_INTERVAL] = { "interval", PUT_JSON_ROLLUPS },
        [MEMBER_AGGREGATOR] = { "aggregator", PUT_JSON_ROLLUPS },
        [MEMBER_GROUP_BY] = { "groupByAggregator", PUT_JSON_ROLLUPS },
        [MEMBER_BUCKETS] = { "buckets", PUT_JSON_HISTOGRAMS },
        [MEMBER_ID] = { "id", PUT_JSON_HISTOGRAMS },
        [MEMBER_UNDERFLOW] = { "underflow", PUT_JSON_HISTOGRAMS },
        [MEMBER_OVERFLOW] = { "overflow", PUT_JSON_HISTOGRAMS },
        [MEMBER_KIND] = { "kind", PUT_JSON_SERIES },
        [MEMBER_TIMES] = { "times", PUT_JSON_SERIES },
        [MEMBER_VALUES] = { "values", PUT_JSON_SERIES },
    };
    uint8_t space[64];
    struct buf text = { .data = space,
                        .cap = sizeof space,
                        .max = sizeof space };

    if (memchr(name.data, '\\', name.size) != NULL) {
        put_json_unescape(name, &text);
        if (text.failed)
            return MEMBER_NO;
        name = buf_slice(&text);
    }
    for (int i = 0; i < MEMBER_NO; i++)
        if ((members[i].kind == PUT_JSON_POINTS || members[i].kind == kind) &&
            slice_eq_str(name, members[i].name))
            return (enum member)i;
    return MEMBER_NO;
}

/* The four names as most write them, without blanks. */
static enum member
take_plain_member(struct json_cursor *c)
{
    return json_take_word(c, "\"tags\":")        ? MEMBER_TAGS
           : json_take_word(c, "\"metric\":")    ? MEMBER_METRIC
           : json_take_word(c, "\"timestamp\":") ? MEMBER_TIME
           : json_take_word(c, "\"value\":")     ? MEMBER_VALUE
                                                 : MEMBER_NO;
}

static bool
take_member(struct put_json *r, enum member m, struct put_json_point *out)
{
    struct json_cursor *c = &r->in;
    enum json_token token;

    switch (m) {
    case MEMBER_METRIC:
        return json_take_scalar(c, &token, &out->metric);
    case MEMBER_TIME:
        return take_number(c, true, &out->time);
    case MEMBER_VALUE:
        return json_take_scalar(c, &token, &out->value);
    case MEMBER_TAGS:
        return take_tags(r, &out->tags);
    case MEMBER_INTERVAL:
        return json_take_scalar(c, &token, &out->interval);
    case MEMBER_AGGREGATOR:
        return json_take_scalar(c, &token, &out->aggregator);
    case MEMBER_GROUP_BY:
        return json_take_scalar(c, &token, &out->group_by);
    case MEMBER_BUCKETS:
        return take_buckets(c, &out->buckets);
    case MEMBER_ID:
        return take_number(c, false, &out->id);
    case MEMBER_UNDERFLOW:
        return take_number(c, false, &out->underflow);
    case MEMBER_OVERFLOW:
        return take_number(c, false, &out->overflow);
    case MEMBER_KIND:
        return json_take_scalar(c, &token, &out->kind);
    case MEMBER_TIMES:
        return take_items(c, &out->times);
    case MEMBER_VALUES:
        return take_items(c, &out->values);
    case MEMBER_NO:
        break;
    }
    return json_skip_value(c);
}

/* A point up to its tags, if it is written as by most: metric, time, value and
 * tags in this order, without blanks.  False leaves 'r' and 'out' anywhere. */
static bool
take_usual_head(struct json_cursor *c, struct put_json_point *out)
{
    const uint8_t *from;

    if (!json_take_word(c, "{\"metric\":\""))
        return false;
    from = c->at;
    c->at = json_skip_plain(from, c->end);
    out->metric = slice_of(from, (size_t)(c->at - from));
    if (!json_take_word(c, "\",\"timestamp\":") ||
        !take_plain_whole(c, &out->time) || !json_take_word(c, ",\"value\":"))
        return false;
    from = c->at;
    if (c->at == c->end || *c->at == '"' || !json_take_number(c))
        return false;
    out->value = slice_of(from, (size_t)(c->at - from));
    out->absent = false;
    out->tags = out->interval = out->aggregator = out->group_by =
        slice_of(NULL, 0);
    return json_take_word(c, ",");
}

static bool
take_point(struct put_json *r, struct put_json_point *out)
{
    struct json_cursor *c = &r->in;
    const uint8_t *from;
    bool more = true;

    if (json_peek(c) == 'n' && r->state != PUT_JSON_AT_OBJECT &&
        json_take_word(c, "null")) {
        *out = (struct put_json_point){ .absent = true };
        return true;
    }
    from = c->at;
    if (!take_usual_head(c, out)) {
        c->at = from;
        c->fault = NULL;
        *out = (struct put_json_point){ 0 };
        if (!json_open_object(c, &more))
            return false;
    }
    while (more) {
        enum member m = take_plain_member(c);
        struct slice name;

        if (m == MEMBER_NO) {
            if (!json_take_name(c, &name))
                return false;
            m = member_of(name, r->kind);
        }
        if (!take_member(r, m, out) || !json_next_member(c, &more))
            return false;
    }
    return true;
}

/* Skips all control characters, not only JSON's blanks: the record separators
 * of RFC 7464 and the NUL of a C string are sent between documents, too. */
static void
skip_blanks(struct json_cursor *c)
{
    while (c->at < c->end && *c->at <= ' ')
        c->at++;
}

/* Enters the document at the cursor.  False if none begins here. */
static bool
enter_document(struct put_json *r)
{
    struct json_cursor *c = &r->in;

    if (c->at == c->end || (*c->at != '{' && *c->at != '['))
        return false;
    r->state = *c->at == '[' ? PUT_JSON_AT_ARRAY : PUT_JSON_AT_OBJECT;
    c->at += *c->at == '[';
    return true;
}

/* Enters the document after the one that ended.  False at the end of the body.
 * Text that cannot contain a point is ignored there, as OpenTSDB does; all
 * other text is a fault, because points in it would be lost. */
static bool
next_document(struct put_json *r)
{
    struct json_cursor *c = &r->in;
    size_t left;

    skip_blanks(c);
    if (c->at < c->end && *c->at == ',') {
        c->at++;
        skip_blanks(c);
    }
    if (enter_document(r))
        return true;
    left = (size_t)(c->end - c->at);
    return left > 0 &&
           (memchr(c->at, '{', left) != NULL ||
            memchr(c->at, '[', left) != NULL) &&
           json_fail(c, "an object or array is expected after the first");
}

bool
put_json_open(struct put_json *r, struct slice body)
{
    *r = (struct put_json){ .in = json_cursor_of(body) };
    skip_blanks(&r->in);
    return enter_document(r);
}

bool
put_json_next(struct put_json *r, struct put_json_point *out)
{
    struct json_cursor *c = &r->in;

    if (c->fault != NULL)
        return false;
    while (r->state == PUT_JSON_AFTER_DOCUMENT ||
           (r->state == PUT_JSON_AT_ARRAY && json_peek(c) == ']')) {
        if (r->state == PUT_JSON_AT_ARRAY)
            c->at++;
        r->state = PUT_JSON_AFTER_DOCUMENT;
        if (!next_document(r))
            return false;
    }
    if (!take_point(r, out))
        return false;
    if (r->state == PUT_JSON_AT_OBJECT) {
        r->state = PUT_JSON_AFTER_DOCUMENT;
        return true;
    }
    /* A point counts only if what follows it is well-formed. */
    r->state =
        json_peek(c) == ']' ? PUT_JSON_AFTER_DOCUMENT : PUT_JSON_IN_ARRAY;
    return json_take(c, r->state == PUT_JSON_IN_ARRAY ? ',' : ']',
                     c->at == c->end ? "the text ends too early"
                                     : "a comma or ] is expected");
}

enum status
put_json_status(const struct put_json *r, struct error *e)
{
    if (r->in.fault == NULL)
        return ST_OK;
    return error_set(e, ST_INVALID, "%s, at byte %zu", r->in.fault,
                     (size_t)(r->in.at - r->in.begin));
}

/* -- texts ----------------------------------------------------------------- */

static uint32_t
hex4(const uint8_t *p)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++)
        v = v << 4 | (uint32_t)digit_hex(p[i]);
    return v;
}

/* "\uXXXX", perhaps a pair of them, which 's' loses. */
static void
put_unicode(struct slice *s, struct buf *out)
{
    uint32_t c = hex4(s->data + 2), low = 0;
    bool pair;

    if (s->size >= 12 && s->data[6] == '\\' && s->data[7] == 'u')
        low = hex4(s->data + 8);
    pair = c >= 0xd800 && c < 0xdc00 && low >= 0xdc00 && low < 0xe000;
    if (pair)
        c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
    utf8_put(out, c >= 0xd800 && c < 0xe000 ? UTF8_BAD : c);
    *s = slice_of(s->data + (pair ? 12 : 6), s->size - (pair ? 12 : 6));
}

void
put_json_unescape(struct slice raw, struct buf *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

    while (raw.size > 0) {
        if (raw.data[0] != '\\') {
            utf8_put(out, utf8_take(&raw));
        } else if (raw.data[1] == 'u') {
            put_unicode(&raw, out);
        } else {
            const char *c = strchr(from, raw.data[1]);

            buf_put_u8(out, (uint8_t)to[c - from]);
            raw = slice_of(raw.data + 2, raw.size - 2);
        }
    }
}

struct slice
put_json_text(struct slice raw, struct buf *text)
{
    size_t from = text->size;

    if (raw.data == NULL)
        return raw;
    put_json_unescape(raw, text);
    if (text->failed)
        return slice_str("");
    return slice_of(text->data + from, text->size - from);
}

void
put_json_tags(struct slice raw, struct put_tags *tags, struct buf *text)
{
    struct json_cursor c;
    bool more;

    tags->len = 0;
    if (raw.data == NULL)
        return;
    c = json_cursor_of(raw);
    /* All at once, so that what the tags refer to never moves. */
    if (buf_reserve(text, 3 * raw.size) == NULL || !json_open_object(&c, &more))
        return;
    while (more) {
        enum json_token token;
        struct slice name, value;

        if (!json_take_name(&c, &name) ||
            !json_take_scalar(&c, &token, &value) ||
            !json_next_member(&c, &more))
            return;
        name = put_json_text(name, text);
        put_tags_set(tags, name, put_json_text(value, text));
    }
}

bool
put_json_bucket(struct slice *left, struct buf *bounds, int64_t *count)
{
    struct json_cursor c;
    struct slice name;

    if (left->size == 0)
        return false;
    c = json_cursor_of(*left);
    c.at++; /* the bracket, or the comma */
    if (!json_take_name(&c, &name) || !take_number(&c, false, count))
        return false;
    (void)json_peek(&c);
    *left = slice_of(c.at, (size_t)(c.end - c.at));
    buf_clear(bounds);
    put_json_unescape(name, bounds);
    return true;
}

bool
put_json_item(struct slice *left, struct slice *raw)
{
    struct json_cursor c;
    enum json_token token;

    if (left->size == 0)
        return false;
    c = json_cursor_of(*left);
    c.at++; /* the bracket, or the comma */
    if (json_peek(&c) == ']' || !json_take_scalar(&c, &token, raw))
        return false;
    (void)json_peek(&c);
    *left = slice_of(c.at, (size_t)(c.end - c.at));
    return true;
}
