/* Decimal digits of small numbers, by table: the inner loops of those who write
 * numbers (base/text/number.c, the answers of queries).
 *
 * Threads: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* "00" "01" .. "99". */
extern const char decimal_pairs[200];

/* Numbers below a thousand without zeros in front: the text, and in the last
 * byte its length. */
extern const uint8_t decimal_short[1000][4];

/* Four digits, of v < 10,000. */
static inline void
decimal_put_four(void *to, unsigned v)
{
    unsigned high = v / 100;

    memcpy(to, decimal_pairs + 2 * high, 2);
    memcpy((char *)to + 2, decimal_pairs + 2 * (v - high * 100), 2);
}

/* v < 1,000,000 without zeros in front; may write 6 bytes, however many digits
 * there are.  Returns how many. */
static inline size_t
decimal_put_short(void *to, unsigned v)
{
    const uint8_t *text;
    char *p = to;
    unsigned low;

    if (v < 1000) {
        memcpy(to, decimal_short[v], 4);
        return decimal_short[v][3];
    }
    text = decimal_short[v / 1000];
    low = v % 1000;
    memcpy(to, text, 4);
    p += text[3];
    p[0] = (char)('0' + low / 100);
    memcpy(p + 1, decimal_pairs + 2 * (low % 100), 2);
    return (size_t)text[3] + 3;
}
