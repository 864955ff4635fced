/*
 * What a character is worth as a digit.
 *
 * Threads: any; these are functions of their arguments.
 */
#ifndef BASE_TEXT_DIGIT_H
#define BASE_TEXT_DIGIT_H

#include <stdint.h>

/* 0 to 15, of either case; -1 for any other character. */
static inline int
digit_hex(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
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

#endif
