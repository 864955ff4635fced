/* A fuzz target, of bytes 'data' and 'size' in its body:
 *
 *     FUZZ_TARGET(data, size)
 *     {
 *         ...
 *         return 0;
 *     }
 *
 * 'make check' replays its seeds; with -DREPLAY_HUNT it is
 * libFuzzer's alone (tests/fuzz/hunt). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(REPLAY_HUNT)

#define FUZZ_TARGET(data, size)                                   \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); \
                                                                  \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#define FUZZ_TARGET_EVERY(n, data, size) FUZZ_TARGET(data, size)

#else

#include "tests/suites.h"

/* Feeds 'target' the files of X.in, where 'file' is fuzz_X.c: 0, or 1 after a
 * failure. */
int fuzz_replay(const char *file,
                int (*target)(const uint8_t *data, size_t size), size_t every);

/* Inputs are cut off at every 'n'th byte, where one takes long; 0: at none. */
#define FUZZ_TARGET_EVERY(n, data, size)                      \
    static int fuzz_target(const uint8_t *data, size_t size); \
                                                              \
    SUITE(fuzz_suite)                                         \
    {                                                         \
        return fuzz_replay(__FILE__, fuzz_target, (n));       \
    }                                                         \
                                                              \
    static int fuzz_target(const uint8_t *data, size_t size)
#define FUZZ_TARGET(data, size) FUZZ_TARGET_EVERY(1, data, size)

#endif
