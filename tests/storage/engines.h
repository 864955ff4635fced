/* The engines behind storage/kv/kv.h, for the tests that each of them must
 * pass. Another engine is another line here.
 *
 *     for (int i = 0; i < ENGINES; i++)
 *         engine_open(i, dir, &kv); */
#pragma once

#include <check.h>

#include "storage/kv/kv.h"
#include "tests/storage/kv/kv_slow.h"

#define ENGINES 3
#define SLOW    2 /* which one is tests/storage/kv/kv_slow.h */

struct engine {
    const char *name;  /* of kv_place, and for messages */
    bool keeps;        /* what was written is there after closing */
    bool counts_tails; /* kv_approximate_bytes() knows what is new, too */
    bool pads;         /* kv_traits(): wants_padding */
};

static const struct engine engines[ENGINES] = {
    { "leveldb", .keeps = true, .pads = true },
    { "memory", .counts_tails = true },
    { "slow", .keeps = true, .counts_tails = true },
};

/* 'dir' is the test's; an engine that needs none leaves it empty. */
static inline void
engine_open(int i, const char *dir, struct kv **out)
{
    char at[4096];
    struct kv_options o = { .place = { engines[i].name, at },
                            .create = true,
                            .write_buffer_bytes = 65536 };
    struct error e = { 0 };

    (void)snprintf(at, sizeof at, "%s/%s", dir, engines[i].name);
    ck_assert_msg(kv_open(&o, out, &e) == ST_OK, "%s: %s", engines[i].name,
                  e.text);
}
