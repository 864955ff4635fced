#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness.h"

#define BLOCKS 64
#define BLOCK  (256 << 10)

/* Bytes of the process that are in memory. */
static int64_t
resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long all, pages;

    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%ld %ld", &all, &pages), 2);
    (void)fclose(f);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

START_TEST(freed_memory_is_kept_until_it_is_given_back)
{
    const int64_t most = (int64_t)BLOCKS * BLOCK;
    int64_t before, full, freed;
    void *blocks[BLOCKS];

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return; /* their malloc() has rules of its own */
#endif
    if (harness_is_valgrind())
        return;
    mem_keep_freed(UINT64_MAX);
    before = resident();
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK);
        ck_assert_ptr_nonnull(blocks[i]);
        memset(blocks[i], 1, BLOCK);
    }
    full = resident();
    for (size_t i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    freed = resident();
    ck_assert_int_gt(full - before, most * 3 / 4);
    ck_assert_int_gt(freed - before, most * 3 / 4);
    mem_give_back();
    ck_assert_int_lt(resident() - before, most / 4);
}
END_TEST

TEST_MAIN("mem", TEST(freed_memory_is_kept_until_it_is_given_back))
