/* Series for the tests of the store: of one metric, told apart by the value of
 * one tag. */
#pragma once

#include "storage/row/key.h"

#define TSUID_BYTES 9

/* Metric 1, and tagk 1 with the value 'i'; in 'out', TSUID_BYTES. */
static inline struct slice
tsuid(uint8_t *out, unsigned i)
{
    key_put_uint(out, 1, 3);
    key_put_uint(out + 3, 1, 3);
    key_put_uint(out + 6, i, 3);
    return slice_of(out, TSUID_BYTES);
}

/* One of several metrics, from 0, as the value; a rollup has a pair with tagk 0
 * in front.  In 'out', TSUID_BYTES + 6. */
static inline struct slice
tsuid_of(uint8_t *out, unsigned metric, unsigned i, bool rollup)
{
    uint8_t *at = out + 3;

    key_put_uint(out, metric + 1, 3);
    if (rollup) {
        key_put_uint(at, 0, 3);
        key_put_uint(at + 3, 9, 3);
        at += 6;
    }
    key_put_uint(at, 1, 3);
    key_put_uint(at + 3, i + 1, 3);
    return slice_of(out, (size_t)(at + 6 - out));
}
