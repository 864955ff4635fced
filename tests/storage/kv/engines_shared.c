/* The engines of programs that test several daemons over one place: stores
 * without a folder share their keys. */
#include "storage/kv/engine.h"
#include "tests/storage/kv/kv_shared.h"

const struct kv_engine_entry kv_engines[] = {
    { "leveldb", kv_leveldb_open },
    { "memory", kv_shared_open },
    { "map", kv_mem_open }, /* what the shared one is made of */
    { NULL, NULL },
};
