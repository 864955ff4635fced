/* LevelDB's tables, read without LevelDB: blocks, each with a checksum.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* What is wrong where; 'text' NULL: nothing. */
struct table_fault {
    const char *text;
    size_t at;
};

/* Checks every block of a table and what leads there. */
struct table_fault level_table_check(struct slice bytes, uint64_t *blocks);
