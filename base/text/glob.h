/* Texts against patterns, in which '*' stands for any bytes.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/slice.h"

static inline uint8_t
glob_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static inline bool
glob_fits_byte(uint8_t pattern, uint8_t c, bool loose)
{
    return pattern == c ||
           (loose && (pattern == '?' || glob_lower(pattern) == glob_lower(c)));
}

/* 'loose': '?' stands for any byte, and a letter of ASCII for both cases.  On a
 * mismatch goes back to the last '*' alone, and lets it take one more. */
static inline bool
glob_fits(struct slice pattern, struct slice text, bool loose)
{
    size_t p = 0, t = 0, star = SIZE_MAX, from = 0;

    while (t < text.size) {
        if (p < pattern.size && pattern.data[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.size &&
                   glob_fits_byte(pattern.data[p], text.data[t], loose)) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.size && pattern.data[p] == '*')
        p++;
    return p == pattern.size;
}
