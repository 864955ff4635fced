/* librados, loaded when a process opens its first pool: it needs 40 libraries
 * (base/process/library.h). */
#pragma once

#include <rados/librados.h>

#include "base/process/library.h"

/* Each call of librados that this room makes. */
#define LIBRADOS_CALLS(CALL)                    \
    CALL(rados, aio_cancel)                     \
    CALL(rados, aio_create_completion2)         \
    CALL(rados, aio_get_return_value)           \
    CALL(rados, aio_is_complete)                \
    CALL(rados, aio_read_op_operate)            \
    CALL(rados, aio_release)                    \
    CALL(rados, aio_wait_for_complete)          \
    CALL(rados, aio_write_op_operate)           \
    CALL(rados, blocklist_add)                  \
    CALL(rados, break_lock)                     \
    CALL(rados, buffer_free)                    \
    CALL(rados, conf_parse_env)                 \
    CALL(rados, conf_read_file)                 \
    CALL(rados, conf_set)                       \
    CALL(rados, connect)                        \
    CALL(rados, create)                         \
    CALL(rados, create_read_op)                 \
    CALL(rados, create_write_op)                \
    CALL(rados, get_min_compatible_osd)         \
    CALL(rados, getaddrs)                       \
    CALL(rados, getxattr)                       \
    CALL(rados, ioctx_create)                   \
    CALL(rados, ioctx_destroy)                  \
    CALL(rados, ioctx_set_namespace)            \
    CALL(rados, list_lockers)                   \
    CALL(rados, lock_exclusive)                 \
    CALL(rados, nobjects_list_close)            \
    CALL(rados, nobjects_list_next)             \
    CALL(rados, nobjects_list_open)             \
    CALL(rados, notify2)                        \
    CALL(rados, notify_ack)                     \
    CALL(rados, omap_get_end)                   \
    CALL(rados, omap_get_next2)                 \
    CALL(rados, read_op_omap_get_vals2)         \
    CALL(rados, read_op_omap_get_vals_by_keys2) \
    CALL(rados, read_op_read)                   \
    CALL(rados, read_op_stat)                   \
    CALL(rados, release_read_op)                \
    CALL(rados, release_write_op)               \
    CALL(rados, set_pool_full_try)              \
    CALL(rados, shutdown)                       \
    CALL(rados, unlock)                         \
    CALL(rados, unwatch2)                       \
    CALL(rados, wait_for_latest_osdmap)         \
    CALL(rados, watch3)                         \
    CALL(rados, watch_check)                    \
    CALL(rados, watch_flush)                    \
    CALL(rados, write_op_append)                \
    CALL(rados, write_op_assert_exists)         \
    CALL(rados, write_op_cmpxattr)              \
    CALL(rados, write_op_create)                \
    CALL(rados, write_op_omap_cmp2)             \
    CALL(rados, write_op_omap_rm_keys2)         \
    CALL(rados, write_op_omap_set2)             \
    CALL(rados, write_op_remove)                \
    CALL(rados, write_op_setxattr)              \
    CALL(rados, write_op_write_full)

struct librados {
    LIBRADOS_CALLS(LIBRARY_MEMBER)
};

/* All NULL before the first pool is opened. */
extern struct librados librados;
