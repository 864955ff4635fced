/*
 * UTF-8, one character at a time.
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/slice.h"

#define UTF8_BAD 0xfffdu

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

/* Writes ISO-8859-1 as UTF-8, at most twice as long; returns its end. */
static inline uint8_t *
utf8_put_latin1(uint8_t *to, struct slice s)
{
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] >= 0x80)
            *to++ = 0xc0 | s.data[i] >> 6;
        *to++ = s.data[i] < 0x80 ? s.data[i] : 0x80 | (s.data[i] & 0x3f);
    }
    return to;
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

#endif
