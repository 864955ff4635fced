/* See web/json/json.h.  The writer is ours because it is hot; parsing is
 * Jansson's, behind a check of the depth, which would otherwise be its stack's.
 */
#include "web/json/json.h"

#include <jansson.h>

#include "base/text/json_form.h"
#include "base/utf8.h"

#define DEPTH_MAX 64

/* 0: as it is; 1: needs thought (escape, or not ASCII). */
static const uint8_t special[256] = {
    [0x00 ... 0x1f] = 1, ['"'] = 1, ['\\'] = 1, [0x80 ... 0xff] = 1
};

static void
put_escape(struct buf *b, uint8_t c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *at = c == 0 ? NULL : strchr(from, c);

    if (at != NULL)
        buf_printf(b, "\\%c", to[at - from]);
    else
        buf_printf(b, "\\u%04X", c);
}

/* Most strings are short and need no escape: one reservation for all.  False,
 * and nothing was written, when this one is not. */
static bool
put_plain(struct buf *b, struct slice s)
{
    uint8_t *p;

    if (s.size > 256)
        return false;
    p = buf_reserve(b, s.size + 2);
    if (p == NULL)
        return true;
    p[0] = '"';
    for (size_t i = 0; i < s.size; i++) {
        if (special[s.data[i]])
            return false;
        p[i + 1] = s.data[i];
    }
    p[s.size + 1] = '"';
    b->size += s.size + 2;
    return true;
}

void
json_put_string(struct buf *b, struct slice s)
{
    size_t i = 0;

    if (put_plain(b, s))
        return;
    buf_put_u8(b, '"');
    while (i < s.size) {
        size_t start = i, len, bad;

        while (i < s.size && !special[s.data[i]])
            i++;
        buf_put(b, s.data + start, i - start);
        if (i == s.size)
            break;
        if (s.data[i] < 0x80) {
            put_escape(b, s.data[i++]);
            continue;
        }
        len = utf8_length(s.data + i, s.size - i, &bad);
        if (len == 0)
            buf_put(b, "\xef\xbf\xbd", 3);
        else
            buf_put(b, s.data + i, len);
        i += len == 0 ? bad : len;
    }
    buf_put_u8(b, '"');
}

void
json_next(struct buf *b)
{
    uint8_t last = b->size == 0 ? '{' : b->data[b->size - 1];

    if (last != '{' && last != '[' && last != ':' && last != ',')
        buf_put_u8(b, ',');
}

void
json_name(struct buf *b, const char *name)
{
    json_next(b);
    buf_put_u8(b, '"');
    buf_put_str(b, name);
    buf_put(b, "\":", 2);
}

void
json_open(struct buf *b, const char *name, char bracket)
{
    if (name == NULL)
        json_next(b);
    else
        json_name(b, name);
    buf_put_u8(b, (uint8_t)bracket);
}

static void
put_text(struct buf *b, struct slice text)
{
    if (text.data == NULL)
        buf_put_str(b, "null");
    else
        json_put_string(b, text);
}

void
json_put_member(struct buf *b, const char *name, struct slice text)
{
    json_name(b, name);
    json_put_string(b, text);
}

void
json_put_text(struct buf *b, const char *name, struct slice text)
{
    json_name(b, name);
    put_text(b, text);
}

void
json_put_int(struct buf *b, const char *name, int64_t v)
{
    json_name(b, name);
    buf_printf(b, "%lld", (long long)v);
}

void
json_put_bool(struct buf *b, const char *name, bool v)
{
    json_name(b, name);
    buf_put_str(b, v ? "true" : "false");
}

void
json_put_pair(struct buf *b, struct slice name, struct slice text)
{
    json_next(b);
    json_put_string(b, name);
    buf_put_u8(b, ':');
    put_text(b, text);
}

void
json_put_item(struct buf *b, struct slice text)
{
    json_next(b);
    json_put_string(b, text);
}

void
json_put_list(struct buf *b, const char *name, const struct slice *texts,
              size_t len)
{
    if (texts == NULL) {
        json_put_text(b, name, (struct slice){ NULL, 0 });
        return;
    }
    json_open(b, name, '[');
    for (size_t i = 0; i < len; i++)
        json_put_item(b, texts[i]);
    buf_put_u8(b, ']');
}

static void
pass(struct slice *text, size_t n)
{
    *text = slice_of(text->data + n, text->size - n);
}

/* The value at the front of the text, which is cut off it. */
static enum status
load(struct slice *text, json_t **out, struct error *e)
{
    json_error_t why;

    *out = json_loadb((const char *)text->data, text->size,
                      JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &why);
    if (*out != NULL) {
        pass(text, (size_t)why.position);
        return ST_OK;
    }
    if (json_error_code(&why) == json_error_out_of_memory)
        return error_set(e, ST_BUSY, "no memory for the JSON text");
    return error_set(e, ST_INVALID, "%s at line %d, column %d", why.text,
                     why.line, why.column);
}

enum status
json_parse(struct slice body, size_t max_values, struct json_t **out,
           struct error *e)
{
    struct json_form form = json_form(body);

    *out = NULL;
    if (body.size == 0)
        return error_set(e, ST_INVALID, "the JSON text is empty");
    if (form.depth > DEPTH_MAX)
        return error_set(e, ST_INVALID,
                         "the JSON text nests deeper than %d levels",
                         DEPTH_MAX);
    if (form.values > max_values)
        return error_set(e, ST_LIMIT, "the JSON text has more than %zu values",
                         max_values);
    /* Text after the document is ignored, as Jackson does, but not a second
     * document: its author would believe that it was read. */
    if (form.documents > 1)
        return error_set(e, ST_INVALID,
                         "the text contains more than one JSON document");
    return load(&body, out, e);
}

/* The next byte that is no space, which is cut off with them; 0: there is none.
 */
static uint8_t
next_byte(struct slice *text)
{
    size_t n = 0;

    while (n < text->size && (text->data[n] == ' ' || text->data[n] == '\t' ||
                              text->data[n] == '\r' || text->data[n] == '\n'))
        n++;
    if (n == text->size)
        return 0;
    pass(text, n + 1);
    return text->data[-1];
}

enum status
json_each(struct slice array, json_taker *take, void *ctx, struct error *e)
{
    uint8_t c = next_byte(&array);
    struct slice rest = array;
    enum status st;

    if (c != '[')
        return error_set(e, ST_INVALID, "no JSON array");
    if (next_byte(&rest) == ']')
        return ST_OK;
    do {
        json_t *element;

        st = load(&array, &element, e);
        if (st == ST_OK)
            st = take(ctx, element, e);
        json_decref(element);
        c = next_byte(&array);
    } while (st == ST_OK && c == ',');
    if (st == ST_OK && c != ']')
        return error_set(e, ST_INVALID, "a JSON array that does not end");
    return st;
}
