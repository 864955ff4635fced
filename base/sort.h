/* Sets of numbers as sorted arrays.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For qsort() and bsearch(). */
int sort_compare_u64(const void *a, const void *b);

/* Sorts and drops what is there twice; returns how many are left. */
size_t sort_unique_u64(uint64_t *items, size_t len);

/* Where 'v' is among ascending items, or would be. */
size_t sort_place_u64(const uint64_t *items, size_t len, uint64_t v);
bool sort_has_u64(const uint64_t *items, size_t len, uint64_t v);
