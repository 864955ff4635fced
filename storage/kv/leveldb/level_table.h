/* LevelDB's tables, read without LevelDB: blocks, each with a checksum.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* What is wrong where; 'text' NULL: nothing. */
struct table_fault {
    const char *text;
    size_t at;
    bool index;     /* what leads to the blocks of data is damaged */
    bool no_memory; /* to look at it: it may be whole */
};

/* Checks every block of a table and what leads there.  '*blocks' is how many
 * blocks of data are good. */
struct table_fault level_table_check(struct slice bytes, uint64_t *blocks);
