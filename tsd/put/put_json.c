/* See tsd/put/put_json.h.  The bulk of a body is strings, so the scan over them
 * takes sixteen bytes a step where the CPU can.
 *
 * Not Jansson: it rejects a whole body for one NaN, 1e400 or lone surrogate,
 * which here spoil their point alone, and it would build a tree of what is the
 * hot path of a put over HTTP. */
#include "tsd/put/put_json.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/text/digit.h"
#include "base/text/java.h"
#include "base/text/number.h"
#include "base/utf8.h"

#define MAX_DEPTH 64

/* Skips what needs no thought inside a string: no quote, backslash, control. */
static const uint8_t *
skip_plain(const uint8_t *p, const uint8_t *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i last_control = _mm_set1_epi8(0x1f);

    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i stop = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)),
            _mm_cmpeq_epi8(_mm_min_epu8(v, last_control), v));
        int mask = _mm_movemask_epi8(stop);

        if (mask != 0)
            return p + __builtin_ctz((unsigned)mask);
        p += 16;
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && *p > 0x1f)
        p++;
    return p;
}

static bool
fail(struct put_json *r, const char *fault)
{
    if (r->fault == NULL)
        r->fault = fault;
    r->done = true;
    return false;
}

static inline void
skip_blanks(struct put_json *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' ||
                              *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

/* The next byte that is no blank, not taken; 0 at the end. */
static inline uint8_t
peek(struct put_json *r)
{
    skip_blanks(r);
    return r->at < r->end ? *r->at : 0;
}

static inline bool
take(struct put_json *r, uint8_t c, const char *fault)
{
    if (peek(r) != c)
        return fail(r, fault);
    r->at++;
    return true;
}

static bool
skip_escape(struct put_json *r)
{
    uint8_t c;

    if (r->end - r->at < 2)
        return fail(r, "a string does not end");
    c = r->at[1];
    r->at += 2;
    if (c == 'u') {
        if (r->end - r->at < 4)
            return fail(r, "a string does not end");
        for (int i = 0; i < 4; i++)
            if (digit_hex(*r->at++) < 0)
                return fail(r, "\\u needs four hexadecimal digits");
        return true;
    }
    return (c != 0 && strchr("\"\\/bfnrt", c) != NULL) ||
           fail(r, "an unknown escape in a string");
}

/* At the opening quote; 'raw' is what stands inside. */
static bool
take_string(struct put_json *r, struct slice *raw)
{
    const uint8_t *from = ++r->at;

    for (;;) {
        r->at = skip_plain(r->at, r->end);
        if (r->at == r->end)
            return fail(r, "a string does not end");
        if (*r->at == '"')
            break;
        if (*r->at != '\\')
            return fail(r, "a control character in a string");
        if (!skip_escape(r))
            return false;
    }
    *raw = slice_of(from, (size_t)(r->at - from));
    r->at++;
    return true;
}

static bool
take_digits(struct put_json *r)
{
    const uint8_t *from = r->at;

    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    return r->at > from;
}

static inline bool
take_word(struct put_json *r, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0)
        return false;
    r->at += size;
    return true;
}

/* Names that stand for numbers, which JSON proper has not. */
static bool
take_infinity(struct put_json *r)
{
    return take_word(r, "Infinity") || take_word(r, "INF");
}

static bool
take_number(struct put_json *r)
{
    if (*r->at == '+') {
        r->at++;
        return take_infinity(r) || fail(r, "a number starts with +");
    }
    if (*r->at == '-')
        r->at++;
    if (r->at < r->end && *r->at == 'I')
        return take_infinity(r) || fail(r, "a value is expected");
    if (r->at < r->end && *r->at == '0') {
        r->at++;
        if (r->at < r->end && *r->at >= '0' && *r->at <= '9')
            return fail(r, "a number starts with 0");
    } else if (!take_digits(r)) {
        return fail(r, "a value is expected");
    }
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        if (!take_digits(r))
            return fail(r, "digits are expected behind the point");
    }
    if (r->at < r->end && (*r->at | 0x20) == 'e') {
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-'))
            r->at++;
        if (!take_digits(r))
            return fail(r, "digits are expected in the exponent");
    }
    return true;
}

enum token { TOKEN_NULL, TOKEN_STRING, TOKEN_NUMBER, TOKEN_BOOL };

/* A value that is neither object nor array; 'raw' is its text. */
static bool
take_scalar(struct put_json *r, enum token *token, struct slice *raw)
{
    const uint8_t *from;

    switch (peek(r)) {
    case '"':
        *token = TOKEN_STRING;
        return take_string(r, raw);
    case '{':
    case '[':
        return fail(r, "an object or array stands where a text or number "
                       "is expected");
    default:
        break;
    }
    from = r->at;
    if (r->at == r->end)
        return fail(r, "the text ends too early");
    *token = TOKEN_NUMBER;
    if (take_word(r, "null"))
        *token = TOKEN_NULL;
    else if (take_word(r, "true") || take_word(r, "false"))
        *token = TOKEN_BOOL;
    else if (!take_word(r, "NaN") && !take_number(r))
        return false;
    *raw = *token == TOKEN_NULL ? slice_of(NULL, 0)
                                : slice_of(from, (size_t)(r->at - from));
    return true;
}

/* "name": of the next member. */
static bool
take_name(struct put_json *r, struct slice *name)
{
    if (peek(r) != '"')
        return fail(r, "a name in quotes is expected");
    return take_string(r, name) && take(r, ':', "a colon is expected");
}

/* -- members that are skipped --------------------------------------------- */

/* Any value.  The stack is of brackets, as deep as we allow. */
static bool
skip_value(struct put_json *r)
{
    uint8_t stack[MAX_DEPTH];
    size_t depth = 0;
    enum token token;
    struct slice raw;

    for (;;) {
        uint8_t c = peek(r);

        if (c == '{' || c == '[') {
            if (depth == MAX_DEPTH)
                return fail(r, "values are nested too deep");
            stack[depth++] = c + 2; /* its closing twin */
            r->at++;
            if (peek(r) != c + 2) {
                if (c == '{' && !take_name(r, &raw))
                    return false;
                continue;
            }
        } else if (!take_scalar(r, &token, &raw)) {
            return false;
        }
        /* Behind a value, or before the end of an empty one. */
        while (depth > 0 && peek(r) == stack[depth - 1]) {
            r->at++;
            depth--;
        }
        if (depth == 0)
            return true;
        if (!take(r, ',', "a comma or a closing bracket is expected"))
            return false;
        if (stack[depth - 1] == '}' && !take_name(r, &raw))
            return false;
    }
}

/* -- points ---------------------------------------------------------------- */

/* Opens an object: false with '*more' unset when it is empty or no object. */
static bool
open_object(struct put_json *r, bool *more)
{
    *more = false;
    if (!take(r, '{', "an object is expected"))
        return false;
    if (peek(r) == '}') {
        r->at++;
        return true;
    }
    *more = true;
    return true;
}

/* Behind a member: a comma says that another follows. */
static bool
next_member(struct put_json *r, bool *more)
{
    *more = peek(r) == ',';
    if (!*more && r->at < r->end && *r->at != '}')
        return fail(r, "a comma or } is expected");
    if (r->at == r->end)
        return fail(r, "the text ends too early");
    r->at++;
    return true;
}

static bool
take_null(struct put_json *r, struct slice *out)
{
    *out = slice_of(NULL, 0);
    return peek(r) == 'n' && take_word(r, "null");
}

/* All of the tags, each a text or something that has a text. */
static bool
take_tags(struct put_json *r, struct slice *out)
{
    const uint8_t *from;
    bool more;

    if (take_null(r, out))
        return true;
    /* Text that was well-formed once, is so again, and ends where it ended. */
    if (r->last_tags.size > 0 &&
        (size_t)(r->end - r->at) >= r->last_tags.size &&
        memcmp(r->at, r->last_tags.data, r->last_tags.size) == 0) {
        *out = slice_of(r->at, r->last_tags.size);
        r->at += r->last_tags.size;
        return true;
    }
    from = r->at;
    if (!open_object(r, &more))
        return false;
    while (more) {
        struct slice raw;
        enum token token;

        if (!take_name(r, &raw) || !take_scalar(r, &token, &raw) ||
            !next_member(r, &more))
            return false;
    }
    *out = r->last_tags = slice_of(from, (size_t)(r->at - from));
    return true;
}

/* A string as a time: digits with a sign, blanks around; empty is 0. */
static bool
time_of_string(struct slice raw, int64_t *out)
{
    raw = java_trim(raw);
    *out = 0;
    return raw.size == 0 || slice_eq_str(raw, "null") ||
           number_parse_i64(raw, out);
}

/* A number as a time: its fraction is cut off. */
static bool
time_of_number(struct slice raw, int64_t *out)
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
take_plain_whole(struct put_json *r, int64_t *out)
{
    const uint8_t *p = r->at;
    int64_t v = 0;

    if (p == r->end || *p < '1' || *p > '9')
        return false;
    for (; p < r->end && *p >= '0' && *p <= '9' && p - r->at < 18; p++)
        v = v * 10 + (*p - '0');
    if (p == r->end || (*p != ',' && *p != '}'))
        return false;
    r->at = p;
    *out = v;
    return true;
}

static bool
take_whole(struct put_json *r, int64_t *out)
{
    enum token token;
    struct slice raw;
    bool ok = true;

    if (take_plain_whole(r, out))
        return true;
    if (!take_scalar(r, &token, &raw))
        return false;
    *out = 0;
    if (token == TOKEN_STRING)
        ok = time_of_string(raw, out);
    else if (token == TOKEN_NUMBER)
        ok = time_of_number(raw, out);
    else if (token == TOKEN_BOOL)
        ok = false;
    return ok || fail(r, "a time or a count is not a whole number");
}

static bool
take_buckets(struct put_json *r, struct slice *out)
{
    const uint8_t *from;
    struct slice raw;
    int64_t count;
    bool more;

    if (take_null(r, out))
        return true;
    from = r->at;
    if (!open_object(r, &more))
        return false;
    while (more)
        if (!take_name(r, &raw) || !take_whole(r, &count) ||
            !next_member(r, &more))
            return false;
    *out = slice_of(from, (size_t)(r->at - from));
    return true;
}

/* An array of scalars. */
static bool
take_items(struct put_json *r, struct slice *out)
{
    enum token token;
    struct slice raw;
    const uint8_t *from;

    if (take_null(r, out))
        return true;
    from = r->at;
    if (!take(r, '[', "an array is expected"))
        return false;
    while (peek(r) != ']')
        if (!take_scalar(r, &token, &raw) ||
            (peek(r) != ']' && !take(r, ',', "a comma or ] is expected")))
            return false;
    r->at++;
    *out = slice_of(from, (size_t)(r->at - from));
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
take_plain_member(struct put_json *r)
{
    return take_word(r, "\"tags\":")        ? MEMBER_TAGS
           : take_word(r, "\"metric\":")    ? MEMBER_METRIC
           : take_word(r, "\"timestamp\":") ? MEMBER_TIME
           : take_word(r, "\"value\":")     ? MEMBER_VALUE
                                            : MEMBER_NO;
}

static bool
take_member(struct put_json *r, enum member m, struct put_json_point *out)
{
    enum token token;

    switch (m) {
    case MEMBER_METRIC:
        return take_scalar(r, &token, &out->metric);
    case MEMBER_TIME:
        return take_whole(r, &out->time);
    case MEMBER_VALUE:
        return take_scalar(r, &token, &out->value);
    case MEMBER_TAGS:
        return take_tags(r, &out->tags);
    case MEMBER_INTERVAL:
        return take_scalar(r, &token, &out->interval);
    case MEMBER_AGGREGATOR:
        return take_scalar(r, &token, &out->aggregator);
    case MEMBER_GROUP_BY:
        return take_scalar(r, &token, &out->group_by);
    case MEMBER_BUCKETS:
        return take_buckets(r, &out->buckets);
    case MEMBER_ID:
        return take_whole(r, &out->id);
    case MEMBER_UNDERFLOW:
        return take_whole(r, &out->underflow);
    case MEMBER_OVERFLOW:
        return take_whole(r, &out->overflow);
    case MEMBER_KIND:
        return take_scalar(r, &token, &out->kind);
    case MEMBER_TIMES:
        return take_items(r, &out->times);
    case MEMBER_VALUES:
        return take_items(r, &out->values);
    case MEMBER_NO:
        break;
    }
    return skip_value(r);
}

/* A point up to its tags, if it is written as by most: metric, time, value and
 * tags in this order, without blanks.  False leaves 'r' and 'out' anywhere. */
static bool
take_usual_head(struct put_json *r, struct put_json_point *out)
{
    const uint8_t *from;

    if (!take_word(r, "{\"metric\":\""))
        return false;
    from = r->at;
    r->at = skip_plain(from, r->end);
    out->metric = slice_of(from, (size_t)(r->at - from));
    if (!take_word(r, "\",\"timestamp\":") ||
        !take_plain_whole(r, &out->time) || !take_word(r, ",\"value\":"))
        return false;
    from = r->at;
    if (r->at == r->end || *r->at == '"' || !take_number(r))
        return false;
    out->value = slice_of(from, (size_t)(r->at - from));
    out->absent = false;
    out->tags = out->interval = out->aggregator = out->group_by =
        slice_of(NULL, 0);
    return take_word(r, ",");
}

static bool
take_point(struct put_json *r, struct put_json_point *out)
{
    const uint8_t *from;
    bool more = true, done = r->done;

    if (peek(r) == 'n' && r->array && take_word(r, "null")) {
        *out = (struct put_json_point){ .absent = true };
        return true;
    }
    from = r->at;
    if (!take_usual_head(r, out)) {
        r->at = from;
        r->done = done;
        r->fault = NULL;
        *out = (struct put_json_point){ 0 };
        if (!open_object(r, &more))
            return false;
    }
    while (more) {
        enum member m = take_plain_member(r);
        struct slice name;

        if (m == MEMBER_NO) {
            if (!take_name(r, &name))
                return false;
            m = member_of(name, r->kind);
        }
        if (!take_member(r, m, out) || !next_member(r, &more))
            return false;
    }
    return true;
}

bool
put_json_open(struct put_json *r, struct slice body)
{
    *r = (struct put_json){ .begin = body.data,
                            .at = body.data,
                            .end = body.data + body.size };
    while (r->at < r->end && *r->at <= ' ')
        r->at++;
    if (r->at == r->end || (*r->at != '{' && *r->at != '['))
        return false;
    r->array = *r->at == '[';
    r->at += r->array;
    return true;
}

bool
put_json_next(struct put_json *r, struct put_json_point *out)
{
    if (r->done)
        return false;
    if (!r->array) {
        r->done = true;
        return take_point(r, out);
    }
    if (peek(r) == ']' && !r->started) {
        r->done = true;
        return false;
    }
    r->started = true;
    if (!take_point(r, out))
        return false;
    /* The end is looked for now, so that the last point is known as such. */
    if (peek(r) == ']') {
        r->done = true;
        return true;
    }
    return take(r, ',',
                r->at == r->end ? "the text ends too early"
                                : "a comma or ] is expected");
}

enum status
put_json_status(const struct put_json *r, struct error *e)
{
    if (r->fault == NULL)
        return ST_OK;
    return error_set(e, ST_INVALID, "%s, at byte %zu", r->fault,
                     (size_t)(r->at - r->begin));
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
    struct put_json r = { .begin = raw.data, .at = raw.data };
    bool more;

    tags->len = 0;
    if (raw.data == NULL)
        return;
    r.end = raw.data + raw.size;
    /* All at once, so that what the tags refer to never moves. */
    if (buf_reserve(text, 3 * raw.size) == NULL || !open_object(&r, &more))
        return;
    while (more) {
        enum token token;
        struct slice name, value;

        if (!take_name(&r, &name) || !take_scalar(&r, &token, &value) ||
            !next_member(&r, &more))
            return;
        name = put_json_text(name, text);
        put_tags_set(tags, name, put_json_text(value, text));
    }
}

bool
put_json_bucket(struct slice *left, struct buf *bounds, int64_t *count)
{
    struct put_json r = { .at = left->data };
    struct slice name;

    if (left->size == 0)
        return false;
    r.end = left->data + left->size;
    r.at++; /* the bracket, or the comma */
    if (!take_name(&r, &name) || !take_whole(&r, count))
        return false;
    (void)peek(&r);
    *left = slice_of(r.at, (size_t)(r.end - r.at));
    buf_clear(bounds);
    put_json_unescape(name, bounds);
    return true;
}

bool
put_json_item(struct slice *left, struct slice *raw)
{
    struct put_json r = { .at = left->data };
    enum token token;

    if (left->size == 0)
        return false;
    r.end = left->data + left->size;
    r.at++; /* the bracket, or the comma */
    if (peek(&r) == ']' || !take_scalar(&r, &token, raw))
        return false;
    (void)peek(&r);
    *left = slice_of(r.at, (size_t)(r.end - r.at));
    return true;
}
