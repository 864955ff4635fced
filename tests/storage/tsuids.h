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
