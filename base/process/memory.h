/* How much memory the process may use: the smallest of the machine's RAM and
 * the limits of its control groups, of either version (memory.max and
 * memory.high; memory.limit_in_bytes) and at every level of the hierarchy.
 *
 * Threads: any. */
#pragma once

#include <stdint.h>

/* In bytes.  A limit that cannot be read is left out. */
uint64_t memory_limit(void);

/* Returns the limit for a machine with 'ram' bytes of memory whose /proc and
 * /sys are located in the folder 'root' ("" for the real ones). */
uint64_t memory_limit_below(const char *root, uint64_t ram);
