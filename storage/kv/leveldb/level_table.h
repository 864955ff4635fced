/* LevelDB's tables, read without LevelDB: blocks, each with a checksum.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"

/* What is wrong where; 'text' NULL: nothing. */
struct table_fault {
    const char *text;
    size_t at;
    bool index; /* what leads to the blocks is damaged */
};

/* Checks every block of a table and what leads there. */
struct table_fault level_table_check(struct slice bytes, uint64_t *blocks);

/* Makes each table of a folder anew whose index or footer is damaged, of its
 * blocks: LevelDB's own repair finds nothing in it. */
MUST_CHECK enum status level_tables_rebuild(const char *dir, struct error *e);
