/* The engines behind storage/kv/kv.h, for the tests that each of them must
 * pass. Another engine is another line here.
 *
 *     for (int i = 0; i < engines_len(); i++)
 *         engine_open(i, dir, &kv);
 *     ...
 *     engines_clean(dir);
 *
 * The one in RADOS is there with a cluster alone
 * (tests/storage/rados/rados_rig.h). */
#pragma once

#include "storage/kv/kv.h"
#include "tests/harness.h"
#include "tests/storage/kv/kv_slow.h"

#include "tests/storage/rados/rados_rig.h"

#define ENGINES_MAX 4
#define SLOW        2 /* which one is tests/storage/kv/kv_slow.h */
#define RADOS       3

struct engine {
    const char *name;  /* of kv_place, and for messages */
    bool keeps;        /* what was written is there after closing */
    bool counts_tails; /* kv_approximate_bytes() knows what is new, too */
    bool pads;         /* kv_traits(): wants_padding */
};

static const struct engine engines[ENGINES_MAX] = {
    { "leveldb", .keeps = true, .pads = true },
    { "memory", .counts_tails = true },
    { "slow", .keeps = true, .counts_tails = true },
    { "rados", .keeps = true },
};

static inline int
engines_len(void)
{
    return rados_rig_conf() == NULL ? RADOS : RADOS + 1;
}

/* A folder of the test, or a namespace that is called like that. */
static inline void
engine_place(int i, const char *dir, char *at, size_t size)
{
    if (i == RADOS) {
        (void)snprintf(at, size, "tsdb/%s?conf=%s", dir, rados_rig_conf());
        return;
    }
    (void)snprintf(at, size, "%s/%s", dir, engines[i].name);
}

/* What is left elsewhere goes, after all engines are closed. */
static inline void
engines_clean(const char *dir)
{
    struct ceph *c;
    char at[4096];

    if (engines_len() > RADOS) {
        engine_place(RADOS, dir, at, sizeof at);
        c = rados_rig_admin(at);
        rados_rig_clear(c);
        ceph_close(&c);
    }
}

/* 'dir' is the test's; an engine that needs none leaves it empty. */
static inline void
engine_open(int i, const char *dir, struct kv **out)
{
    char at[4096];
    struct kv_options o = { .place = { engines[i].name, at },
                            .create = true,
                            .write_buffer_bytes = 65536 };
    struct error e = { 0 };

    engine_place(i, dir, at, sizeof at);
    ck_assert_msg(kv_open(&o, out, &e) == ST_OK, "%s: %s", engines[i].name,
                  e.text);
}
