/* Micro-benchmarks: one chunk of the program in a loop, beside its ceiling: the
 * least that a program must do with the same bytes (copy them, look for the
 * newlines, add the numbers), measured in the same run.
 *
 * Threads: one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct micro {
    const char *what, *unit; /* "read a line", "line" */
    size_t items;            /* units that one call works on */
    void (*work)(void *ctx);
    const char *ceiling; /* what 'limit' does: "newlines by memchr" */
    void (*limit)(void *ctx);
};

/* Prints a row of JSON: nanoseconds of CPU a unit, of both; of several rounds
 * the best. */
void micro_run(const struct micro *m, void *ctx);

/* Uses a result, so that no compiler leaves the work out. */
void micro_use(uint64_t v);

void micro_put(void);
void micro_block(void);
void micro_query(void);
