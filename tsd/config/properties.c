/* See tsd/config/properties.h.  Two passes: lines are joined first, then each
 * is cut and unescaped, as Java does it. */
#include "tsd/config/properties.h"

#include "base/buf.h"
#include "base/text/digit.h"
#include "base/utf8.h"

struct reader {
    const uint8_t *at, *end;
    size_t line;
};

static bool
is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static void
skip_blanks(struct reader *r)
{
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
}

/* Past the end of the line, which is \n, \r or \r\n. */
static void
skip_newline(struct reader *r)
{
    if (r->at < r->end && *r->at == '\r')
        r->at++;
    if (r->at < r->end && *r->at == '\n')
        r->at++;
    r->line++;
}

static void
skip_line(struct reader *r)
{
    while (r->at < r->end && *r->at != '\n' && *r->at != '\r')
        r->at++;
    if (r->at < r->end)
        skip_newline(r);
}

/* Takes one logical line; the escapes stay in. */
static void
take_line(struct reader *r, struct buf *out)
{
    while (r->at < r->end && *r->at != '\n' && *r->at != '\r') {
        uint8_t c = *r->at++;

        if (c != '\\') {
            buf_put_u8(out, c);
        } else if (r->at == r->end) {
            return;
        } else if (*r->at == '\n' || *r->at == '\r') {
            skip_newline(r);
            skip_blanks(r);
        } else {
            buf_put_u8(out, c);
            buf_put_u8(out, *r->at++);
        }
    }
    if (r->at < r->end)
        skip_newline(r);
}

/* The escape behind a backslash at s.data[*at]; false on a broken one. */
static bool
unescape(struct slice s, size_t *at, struct buf *out)
{
    uint8_t c = s.data[(*at)++];
    unsigned code = 0;

    if (c != 'u') {
        buf_put_u8(out, c == 't'   ? '\t'
                        : c == 'n' ? '\n'
                        : c == 'r' ? '\r'
                        : c == 'f' ? '\f'
                                   : c);
        return true;
    }
    for (int i = 0; i < 4; i++) {
        int d = *at < s.size ? digit_hex(s.data[(*at)++]) : -1;

        if (d < 0)
            return false;
        code = code << 4 | (unsigned)d;
    }
    utf8_put(out, code);
    return true;
}

/* The bytes from '*at' up to a separator ('in_key') or the end.  '*solid' is
 * how many of them there are without the blanks at the end. */
static bool
take_part(struct slice s, size_t *at, bool in_key, struct buf *out,
          size_t *solid)
{
    *solid = 0;
    while (*at < s.size) {
        uint8_t c = s.data[*at];

        if (in_key && (is_blank(c) || c == '=' || c == ':'))
            break;
        (*at)++;
        if (c == '\0')
            return false;
        if (c != '\\' || *at == s.size)
            buf_put_u8(out, c);
        else if (!unescape(s, at, out))
            return false;
        if (!is_blank(c))
            *solid = out->size;
    }
    return true;
}

static enum status
give_line(struct slice s, size_t line, struct buf *key, struct buf *value,
          properties_found *found, void *ctx, struct error *e)
{
    size_t at = 0, solid;

    buf_clear(key);
    buf_clear(value);
    if (!take_part(s, &at, true, key, &solid))
        return error_set(e, ST_INVALID, "line %zu: bad escape or byte", line);
    while (at < s.size && is_blank(s.data[at]))
        at++;
    if (at < s.size && (s.data[at] == '=' || s.data[at] == ':'))
        at++;
    while (at < s.size && is_blank(s.data[at]))
        at++;
    if (!take_part(s, &at, false, value, &solid))
        return error_set(e, ST_INVALID, "line %zu: bad escape or byte", line);
    if (key->failed || value->failed)
        return error_set(e, ST_LIMIT, "line %zu: no memory", line);
    found(ctx, buf_cstr(key), buf_cstr(value), solid, line);
    return ST_OK;
}

enum status
properties_parse(struct slice text, properties_found *found, void *ctx,
                 struct error *e)
{
    struct reader r = { NULL, NULL, 1 };
    struct buf line = BUF_INIT, key = BUF_INIT, value = BUF_INIT;
    enum status st = ST_OK;

    text = utf8_skip_mark(text);
    r.at = text.data;
    r.end = text.data + text.size;
    while (st == ST_OK && r.at < r.end) {
        size_t number = r.line;

        skip_blanks(&r);
        if (r.at < r.end && (*r.at == '#' || *r.at == '!')) {
            skip_line(&r);
            continue;
        }
        buf_clear(&line);
        take_line(&r, &line);
        if (line.size > 0)
            st = give_line(buf_slice(&line), number, &key, &value, found, ctx,
                           e);
    }
    buf_fini(&line);
    buf_fini(&key);
    buf_fini(&value);
    return st;
}
