/* What a character is worth as a digit.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/slice.h"

/* 0 to 15, of either case; -1 for any other character. */
static inline int
digit_hex(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The bytes that pairs of them spell; false: others, or more than 'max' bytes.
 */
static inline bool
digits_parse_hex(struct slice text, uint8_t *out, size_t max, size_t *size)
{
    *size = text.size / 2;
    if (text.size % 2 != 0 || *size > max)
        return false;
    for (size_t i = 0; i < *size; i++) {
        int high = digit_hex(text.data[2 * i]);
        int low = digit_hex(text.data[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* 0 to 63 (RFC 4648, 4); -1 for any other, '=' too. */
static inline int
digit_base64(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}
