/* The fast way from a double to its shortest digits, for number.c and its test.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* v = digits x 10^exponent, with the fewest digits that read back as 'v', and
 * of these the nearest; zeros may stand at the end.  'v' is finite and
 * positive.  False: take the long way. */
bool number_shortest(double v, uint64_t *digits, int *exponent);
