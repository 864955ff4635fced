/* Lower case as the filters that ignore case need it: letters of ASCII,
 * Latin-1, Greek and Cyrillic, in UTF-8.  Other bytes stay as they are, and no
 * text changes its size.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include "base/slice.h"

/* The byte that the i-th byte of 's' becomes; 'i' < s.size. */
uint8_t casefold_at(struct slice s, size_t i);

/* Folds s.size bytes into 'out', which may be s.data. */
void casefold_bytes(struct slice s, uint8_t *out);

/* slice_cmp() of 's', folded, and 'folded', which is already. */
int casefold_cmp(struct slice s, struct slice folded);
