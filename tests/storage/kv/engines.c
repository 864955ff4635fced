/* The engines of programs that test: those of the daemon, and a slow one, which
 * takes their place if HALITE_ENGINE says so. */
#include <stdlib.h>
#include <string.h>

#include "storage/kv/engine.h"
#include "tests/storage/kv/kv_slow.h"

static bool
all_slow(void)
{
    const char *name = getenv("HALITE_ENGINE");

    return name != NULL && strcmp(name, "slow") == 0;
}

static enum status
open_leveldb(const struct kv_options *o, struct kv **out, struct error *e)
{
    return all_slow() ? kv_slow_open(o, out, e) : kv_leveldb_open(o, out, e);
}

static enum status
open_memory(const struct kv_options *o, struct kv **out, struct error *e)
{
    return all_slow() ? kv_slow_open(o, out, e) : kv_mem_open(o, out, e);
}

const struct kv_engine_entry kv_engines[] = {
    { "leveldb", open_leveldb },
    { "memory", open_memory },
    { "slow", kv_slow_open },
    { "rados", kv_rados_open },
    { "map", kv_mem_open }, /* what the slow one is made of */
    { NULL, NULL },
};
