/* librados, loaded when a process opens its first pool: linked, it and the 40
 * libraries it needs take most of the time in which a command of a program
 * starts that opens none. */
#pragma once

#include <rados/librados.h>

#include "base/error.h"

/* Each call of librados that this room makes, without "rados_". */
#define LIBRADOS_CALLS(CALL)             \
    CALL(aio_cancel)                     \
    CALL(aio_create_completion2)         \
    CALL(aio_get_return_value)           \
    CALL(aio_is_complete)                \
    CALL(aio_read_op_operate)            \
    CALL(aio_release)                    \
    CALL(aio_wait_for_complete)          \
    CALL(aio_write_op_operate)           \
    CALL(blocklist_add)                  \
    CALL(break_lock)                     \
    CALL(buffer_free)                    \
    CALL(conf_parse_env)                 \
    CALL(conf_read_file)                 \
    CALL(conf_set)                       \
    CALL(connect)                        \
    CALL(create)                         \
    CALL(create_read_op)                 \
    CALL(create_write_op)                \
    CALL(decode_notify_response)         \
    CALL(free_notify_response)           \
    CALL(get_min_compatible_osd)         \
    CALL(getaddrs)                       \
    CALL(getxattr)                       \
    CALL(ioctx_create)                   \
    CALL(ioctx_destroy)                  \
    CALL(ioctx_set_namespace)            \
    CALL(list_lockers)                   \
    CALL(lock_exclusive)                 \
    CALL(nobjects_list_close)            \
    CALL(nobjects_list_next)             \
    CALL(nobjects_list_open)             \
    CALL(notify2)                        \
    CALL(notify_ack)                     \
    CALL(omap_get_end)                   \
    CALL(omap_get_next2)                 \
    CALL(read_op_omap_get_vals2)         \
    CALL(read_op_omap_get_vals_by_keys2) \
    CALL(read_op_read)                   \
    CALL(read_op_stat)                   \
    CALL(release_read_op)                \
    CALL(release_write_op)               \
    CALL(set_pool_full_try)              \
    CALL(shutdown)                       \
    CALL(unlock)                         \
    CALL(unwatch2)                       \
    CALL(wait_for_latest_osdmap)         \
    CALL(watch3)                         \
    CALL(watch_check)                    \
    CALL(watch_flush)                    \
    CALL(write_op_append)                \
    CALL(write_op_assert_exists)         \
    CALL(write_op_cmpxattr)              \
    CALL(write_op_create)                \
    CALL(write_op_omap_cmp2)             \
    CALL(write_op_omap_rm_keys2)         \
    CALL(write_op_omap_set2)             \
    CALL(write_op_remove)                \
    CALL(write_op_setxattr)              \
    CALL(write_op_write_full)

struct librados {
#define LIBRADOS_MEMBER(name) __typeof__(rados_##name) *name;
    LIBRADOS_CALLS(LIBRADOS_MEMBER)
#undef LIBRADOS_MEMBER
};

/* What librados_load() found; all NULL before.  Never unloaded. */
extern struct librados librados;

/* May be called again, by one thread at a time.  ST_IO: it is not installed, or
 * lacks a call. */
MUST_CHECK enum status librados_load(struct error *e);
