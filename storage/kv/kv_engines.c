/* The engines of this program. */
#include "storage/kv/engine.h"

const struct kv_engine_entry kv_engines[] = {
    { "leveldb", kv_leveldb_open },
    { "memory", kv_mem_open },
    { "rados", kv_rados_open },
    { NULL, NULL },
};
