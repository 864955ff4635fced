/* An allocation that fails, for programs linked with NOMEM_LINK:
 * realloc(), by which all buffers grow, and arrays.
 *
 *     for (unsigned n = 0; nomem_begin(n); n++) {
 *         st = code under test;
 *         nomem_end();
 *         ...
 *     }
 *
 * The first round fails the first call in it, the next one the second; the
 * last one, in which none was left to fail, is a round, too.
 *
 * Threads: one begins and ends; any may meet the failure. */
#pragma once

#include <stdbool.h>

bool nomem_begin(unsigned n);

/* Nothing fails from here on. */
void nomem_end(void);

/* Did one fail in this round? */
bool nomem_failed(void);
