/*
 * The engines behind storage/kv/kv.h, for the tests that each of them must
 * pass. Another engine is another line here.
 *
 *     for (int i = 0; i < ENGINES; i++)
 *         engine_open(i, dir, &kv);
 */
#ifndef TESTS_STORAGE_ENGINES_H
#define TESTS_STORAGE_ENGINES_H

#include <check.h>

#include "storage/kv/kv.h"

#define ENGINES 2

struct engine {
    const char *name;  /* for messages */
    bool keeps;        /* what was written is there after closing */
    bool counts_tails; /* kv_approximate_bytes() knows what is new, too */
    bool in_folder;
};

static const struct engine engines[ENGINES] = {
    { "LevelDB", .keeps = true, .in_folder = true },
    { "memory", .counts_tails = true },
};

/* 'dir' is the test's; an engine that needs none leaves it empty. */
static inline void
engine_open(int i, const char *dir, struct kv **out)
{
    struct kv_options o = { .dir = engines[i].in_folder ? dir : NULL,
                            .create = true,
                            .write_buffer_bytes = 65536 };
    struct error e = { 0 };

    ck_assert_msg(kv_open(&o, out, &e) == ST_OK, "%s: %s", engines[i].name,
                  e.text);
}

#endif
