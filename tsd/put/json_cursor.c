/* See tsd/put/json_cursor.h.  The bulk of a body is strings, so the scan over
 * them takes sixteen bytes a step where the CPU can.
 *
 * Not Jansson: it rejects a whole body for one NaN, 1e400 or lone surrogate,
 * which here spoil their point alone, and it would build a tree of what is the
 * hot path of a put over HTTP. */
#include "tsd/put/json_cursor.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/text/digit.h"

#define MAX_DEPTH 64

const uint8_t *
json_skip_plain(const uint8_t *p, const uint8_t *end)
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

bool
json_fail(struct json_cursor *c, const char *fault)
{
    if (c->fault == NULL)
        c->fault = fault;
    return false;
}

static bool
skip_escape(struct json_cursor *c)
{
    uint8_t byte;

    if (c->end - c->at < 2)
        return json_fail(c, "a string does not end");
    byte = c->at[1];
    c->at += 2;
    if (byte == 'u') {
        if (c->end - c->at < 4)
            return json_fail(c, "a string does not end");
        for (int i = 0; i < 4; i++)
            if (digit_hex(*c->at++) < 0)
                return json_fail(c, "\\u needs four hexadecimal digits");
        return true;
    }
    return (byte != 0 && strchr("\"\\/bfnrt", byte) != NULL) ||
           json_fail(c, "an unknown escape in a string");
}

/* At the opening quote; 'raw' is what stands inside. */
static bool
take_string(struct json_cursor *c, struct slice *raw)
{
    const uint8_t *from = ++c->at;

    for (;;) {
        c->at = json_skip_plain(c->at, c->end);
        if (c->at == c->end)
            return json_fail(c, "a string does not end");
        if (*c->at == '"')
            break;
        if (*c->at != '\\')
            return json_fail(c, "a control character in a string");
        if (!skip_escape(c))
            return false;
    }
    *raw = slice_of(from, (size_t)(c->at - from));
    c->at++;
    return true;
}

static bool
take_digits(struct json_cursor *c)
{
    const uint8_t *from = c->at;

    while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
        c->at++;
    return c->at > from;
}

/* Names that stand for numbers, which JSON proper has not. */
static bool
take_infinity(struct json_cursor *c)
{
    return json_take_word(c, "Infinity") || json_take_word(c, "INF");
}

bool
json_take_number(struct json_cursor *c)
{
    if (*c->at == '+') {
        c->at++;
        return take_infinity(c) || json_fail(c, "a number starts with +");
    }
    if (*c->at == '-')
        c->at++;
    if (c->at < c->end && *c->at == 'I')
        return take_infinity(c) || json_fail(c, "a value is expected");
    if (c->at < c->end && *c->at == '0') {
        c->at++;
        if (c->at < c->end && *c->at >= '0' && *c->at <= '9')
            return json_fail(c, "a number starts with 0");
    } else if (!take_digits(c)) {
        return json_fail(c, "a value is expected");
    }
    if (c->at < c->end && *c->at == '.') {
        c->at++;
        if (!take_digits(c))
            return json_fail(c, "digits are expected behind the point");
    }
    if (c->at < c->end && (*c->at | 0x20) == 'e') {
        c->at++;
        if (c->at < c->end && (*c->at == '+' || *c->at == '-'))
            c->at++;
        if (!take_digits(c))
            return json_fail(c, "digits are expected in the exponent");
    }
    return true;
}

bool
json_take_scalar(struct json_cursor *c, enum json_token *token,
                 struct slice *raw)
{
    const uint8_t *from;

    switch (json_peek(c)) {
    case '"':
        *token = JSON_TOKEN_STRING;
        return take_string(c, raw);
    case '{':
    case '[':
        return json_fail(c, "an object or array stands where a text or number "
                            "is expected");
    default:
        break;
    }
    from = c->at;
    if (c->at == c->end)
        return json_fail(c, "the text ends too early");
    *token = JSON_TOKEN_NUMBER;
    if (json_take_word(c, "null"))
        *token = JSON_TOKEN_NULL;
    else if (json_take_word(c, "true") || json_take_word(c, "false"))
        *token = JSON_TOKEN_BOOL;
    else if (!json_take_word(c, "NaN") && !json_take_number(c))
        return false;
    *raw = *token == JSON_TOKEN_NULL ? slice_of(NULL, 0)
                                     : slice_of(from, (size_t)(c->at - from));
    return true;
}

bool
json_take_name(struct json_cursor *c, struct slice *name)
{
    if (json_peek(c) != '"')
        return json_fail(c, "a name in quotes is expected");
    return take_string(c, name) && json_take(c, ':', "a colon is expected");
}

/* The stack is of the brackets that are open. */
bool
json_skip_value(struct json_cursor *c)
{
    uint8_t stack[MAX_DEPTH];
    size_t depth = 0;
    enum json_token token;
    struct slice raw;

    for (;;) {
        uint8_t byte = json_peek(c);

        if (byte == '{' || byte == '[') {
            if (depth == MAX_DEPTH)
                return json_fail(c, "values are nested too deep");
            stack[depth++] = byte + 2; /* its closing twin */
            c->at++;
            if (json_peek(c) != byte + 2) {
                if (byte == '{' && !json_take_name(c, &raw))
                    return false;
                continue;
            }
        } else if (!json_take_scalar(c, &token, &raw)) {
            return false;
        }
        /* Behind a value, or before the end of an empty one. */
        while (depth > 0 && json_peek(c) == stack[depth - 1]) {
            c->at++;
            depth--;
        }
        if (depth == 0)
            return true;
        if (!json_take(c, ',', "a comma or a closing bracket is expected"))
            return false;
        if (stack[depth - 1] == '}' && !json_take_name(c, &raw))
            return false;
    }
}

bool
json_open_object(struct json_cursor *c, bool *more)
{
    *more = false;
    if (!json_take(c, '{', "an object is expected"))
        return false;
    if (json_peek(c) == '}') {
        c->at++;
        return true;
    }
    *more = true;
    return true;
}

bool
json_next_member(struct json_cursor *c, bool *more)
{
    *more = json_peek(c) == ',';
    if (!*more && c->at < c->end && *c->at != '}')
        return json_fail(c, "a comma or } is expected");
    if (c->at == c->end)
        return json_fail(c, "the text ends too early");
    c->at++;
    return true;
}

bool
json_take_null(struct json_cursor *c, struct slice *out)
{
    *out = slice_of(NULL, 0);
    return json_peek(c) == 'n' && json_take_word(c, "null");
}
