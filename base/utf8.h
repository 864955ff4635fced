/* UTF-8, one character at a time.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include <string.h>

#include "base/buf.h"

#define UTF8_BAD 0xfffdu

/* The text after its byte order mark, which Windows' programs write. */
static inline struct slice
utf8_skip_mark(struct slice s)
{
    return s.size >= 3 && memcmp(s.data, "\xef\xbb\xbf", 3) == 0
               ? slice_of(s.data + 3, s.size - 3)
               : s;
}

/* Takes the first character off '*s', which is not empty.  Of bytes that are
 * no UTF-8 it takes one, and yields UTF8_BAD. */
static inline uint32_t
utf8_take(struct slice *s)
{
    static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
    uint32_t c = s->data[0];
    size_t more = c < 0xc2 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

    if ((c >= 0x80 && c < 0xc2) || c >= 0xf5 || more >= s->size) {
        more = 0;
        c = UTF8_BAD;
    } else if (more > 0) {
        c &= 0x3fu >> more;
        for (size_t i = 1; i <= more; i++) {
            if ((s->data[i] & 0xc0) != 0x80) {
                c = UINT32_MAX;
                break;
            }
            c = c << 6 | (s->data[i] & 0x3f);
        }
        if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
            more = 0;
            c = UTF8_BAD;
        }
    }
    s->data += 1 + more;
    s->size -= 1 + more;
    return c;
}

/* The length of the UTF-8 character at the front, or 0 when there is none; then
 * '*bad' is how many bytes U+FFFD stands for. */
static inline size_t
utf8_length(const uint8_t *p, size_t left, size_t *bad)
{
    size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    uint8_t low = 0x80, high = 0xbf;

    *bad = 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    for (size_t i = 1; i < len; i++) {
        if (i >= left || p[i] < low || p[i] > high) {
            *bad = i;
            return 0;
        }
        low = 0x80;
        high = 0xbf;
    }
    return len;
}

/* A written U+FFFD counts as bad, too. */
static inline bool
utf8_is_valid(struct slice s)
{
    while (s.size > 0)
        if (utf8_take(&s) == UTF8_BAD)
            return false;
    return true;
}

/* How many bytes ISO-8859-1 takes as UTF-8. */
static inline size_t
utf8_size_of_latin1(struct slice s)
{
    size_t size = s.size;

    for (size_t i = 0; i < s.size; i++)
        size += s.data[i] >> 7;
    return size;
}

/* Writes these 'size' bytes to 'to', where 's' itself may begin. */
static inline void
utf8_of_latin1(struct slice s, size_t size, uint8_t *to)
{
    for (size_t i = s.size; i-- > 0;) {
        uint8_t c = s.data[i];

        to[--size] = c < 0x80 ? c : 0x80 | (c & 0x3f);
        if (c >= 0x80)
            to[--size] = 0xc0 | c >> 6;
    }
}

/* What telnet sends: 's' where it is valid UTF-8; otherwise it is ISO-8859-1,
 * and '*space' holds it as UTF-8.  Empty when there is no memory. */
static inline struct slice
utf8_or_latin1(struct slice s, struct buf *space)
{
    size_t size;
    uint8_t *to;

    if (utf8_is_valid(s))
        return s;
    size = utf8_size_of_latin1(s);
    buf_clear(space);
    to = buf_reserve(space, size);
    if (to == NULL)
        return slice_str("");
    utf8_of_latin1(s, size, to);
    space->size = size;
    return buf_slice(space);
}

/* Appends a character below 0x110000. */
static inline void
utf8_put(struct buf *out, uint32_t c)
{
    unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

    if (more == 0)
        buf_put_u8(out, (uint8_t)c);
    else
        buf_put_u8(out, (uint8_t)(0xf00 >> (more + 1) | c >> (6 * more)));
    while (more-- > 0)
        buf_put_u8(out, (uint8_t)(0x80 | (c >> (6 * more) & 0x3f)));
}
