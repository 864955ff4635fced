/* What the files of this room share of a connection. */
#pragma once

#include <stdatomic.h>

#include "storage/rados/ceph.h"
#include "storage/rados/librados.h"

#define CEPH_MAGIC FOURCC('C', 'E', 'P', 'H')

struct ceph {
    uint32_t magic;
    unsigned users; /* under the list's lock */
    struct ceph *next;
    char *at;
    rados_t cluster;
    rados_ioctx_t pool;
    atomic_bool blocklisted, full;
    atomic_uint_fast64_t calls[CEPH_CALLS];
    ceph_fault_fn *fault;
    void *fault_ctx;
};

/* Call 'call' in librados unless tests have it fail: 0, or their errno. */
int ceph_enter(struct ceph *c, enum ceph_call call, const char *object);
/* The result of that call, made unless 'fault' is negative. */
int ceph_leave(int fault, int result);

/* ceph_status() of a write, which may find the pool full. */
enum status ceph_write_status(struct ceph *c, int error, const char *what,
                              const char *object, struct error *e);
