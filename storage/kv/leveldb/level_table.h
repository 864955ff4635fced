/* LevelDB's tables, read without LevelDB: blocks, each with a checksum.
 *
 * Threads: any; these are functions of their arguments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/slice.h"

/* What is wrong where; 'text' NULL: nothing. */
struct table_fault {
    const char *text;
    size_t at;
    bool index;     /* what leads to the blocks is damaged */
    bool no_memory; /* to look at it: it may be whole */
};

/* Checks every block of a table and what leads there. */
struct table_fault level_table_check(struct slice bytes, uint64_t *blocks);

/* What can be used of a table: its blocks of data that check, in order. */
struct table_rest {
    size_t blocks;          /* 0: nothing */
    bool whole;             /* the table is good as it is */
    struct buf bytes;       /* a table of these blocks */
    struct buf first, last; /* its keys, each with the number of its write */
    uint64_t newest;        /* of the numbers of its writes */
};

/* Where the index or the footer is damaged, the ends of blocks are found by
 * their checksums.  ST_LIMIT: no memory.  The caller calls table_rest_fini()
 * after it. */
MUST_CHECK enum status
level_table_salvage(struct slice file, struct table_rest *out, struct error *e);
void table_rest_fini(struct table_rest *t);
